package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// Methods of paging and guards are data in the rule language.
type (
	// Method is a method of paging.
	Method = rules.Method

	// Setting is a setting of a [Method].
	Setting = rules.Field

	// Variable is a variable of a [Method], which changes from page to page.
	Variable = rules.Variable

	// Overlay is the next request of a [Method].
	Overlay = rules.Overlay

	// Part is a part of an [Overlay], such as a parameter.
	Part = rules.Part

	// StopRule is a stopping rule of a [Method].
	StopRule = rules.Template

	// Guard is a stopping rule against an API that makes no progress.
	Guard = rules.Guard
)

// The kinds of settings.
const (
	KindText    = rules.Text    // a string that is not empty
	KindFlag    = rules.Flag    // true or false
	KindCount   = rules.Count   // a whole number above 0
	KindInteger = rules.Integer // a whole number
	KindPath    = rules.Path    // a path in a response or an item
	KindPaths   = rules.Paths   // an object of names and paths, for Each
)

// WithFunction adds a function that expressions may call: fn takes and returns
// values of the types bool, string, int, float64, any, []any, map[string]any,
// time.Time and time.Duration, and may return an error as well. It must be safe
// for concurrent use. Its calls count against the budget of an expression; an
// error or a panic fails the rule.
func WithFunction(name string, fn any) Option {
	return loadOption(func(s *settings) error {
		language, err := s.language.WithFunction(compile.Function{Name: name, Func: fn})
		if err != nil {
			return refused("WithFunction", err)
		}
		s.language = language
		return nil
	})
}

// WithMethod adds a method of paging. It is refused if it is incomplete or names a
// setting, field or function that does not exist.
func WithMethod(m Method) Option {
	return loadOption(func(s *settings) error {
		catalog, err := s.decode.Catalog.WithMethod(m)
		if err != nil {
			return refused("WithMethod", err)
		}
		s.decode.Catalog = catalog
		s.trials = append(s.trials, trials(m)...)
		return nil
	})
}

// WithGuard adds a guard. It applies to every job that is paged, unless the configuration
// gives it another policy under its ID in `guards`.
func WithGuard(g Guard) Option {
	return loadOption(func(s *settings) error {
		catalog, err := s.decode.Catalog.WithGuard(g)
		if err != nil {
			return refused("WithGuard", err)
		}
		s.decode.Catalog = catalog
		s.trials = append(s.trials, rules.Object{}.With("method", "expression").With("nextRequest", rules.Object{}.With("url", "nil")))
		return nil
	})
}

// refused is the error for an addition.
func refused(option string, err error) error {
	return Diagnostics{{Path: option, Message: err.Error()}}
}

// trials returns pagination objects that use a method, with sample values: for each
// alternative of OneOf one with the settings that the method needs, and one for each
// other setting.
func trials(m Method) []rules.Object {
	alternatives := m.OneOf
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	var all []rules.Object
	for _, alternative := range alternatives {
		settings := rules.Object{{Name: "method", Value: m.Name}}
		var others []rules.Object
		for _, f := range m.Fields {
			sample := rules.Member{Name: f.Name, Value: f.Sample()}
			switch {
			case f.Required || f.Name == alternative:
				settings = append(settings, sample)
			case !slices.Contains(m.OneOf, f.Name):
				others = append(others, rules.Object{sample})
			}
		}
		all = append(all, settings)
		for _, other := range others {
			all = append(all, slices.Concat(settings, other))
		}
	}
	return all
}

// try compiles the additions of an engine in every dialect, whether its configuration
// uses them or not, and reports the mistakes in their expressions.
func (s settings) try() error {
	for _, dialect := range rules.Dialects() {
		if err := s.tryIn(dialect); err != nil {
			return err
		}
	}
	return nil
}

func (s settings) tryIn(dialect string) error {
	for _, pagination := range s.trials {
		root := rules.Object{
			{Name: "api", Value: rules.Object{{Name: "baseUrl", Value: "https://api.example.com/"}, {Name: "pagination", Value: pagination}}},
			{Name: "config", Value: rules.Object{{Name: "jobs", Value: []any{rules.Object{{Name: "endpoint", Value: "items"}}}}}},
		}
		_, err := build(nil, root, settings{decode: rules.Options{Catalog: s.decode.Catalog, Dialect: dialect}, language: s.language})
		if found, ok := errors.AsType[Diagnostics](err); ok {
			method, _ := pagination.Get("method")
			for _, d := range found {
				d.Path = fmt.Sprintf("method %v: %s", method, d.Path)
			}
			return found
		}
		if err != nil {
			return err
		}
	}
	return nil
}
