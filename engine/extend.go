package engine

import (
	"errors"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// WithFunction adds a function that expressions may call. fn takes and returns values of the types
// bool, string, int, float64, any, []any, map[string]any, time.Time and time.Duration, and may
// also return an error. It must be safe for concurrent use. Its calls count against the budget of
// an expression. An error fails the rule; a panic ends the run with an error of class internal.
func WithFunction(name string, fn any) Option {
	return loadOption(func(s *optionSet) error {
		extended, err := s.language.WithFunction(language.Function{Name: name, Func: fn})
		if err != nil {
			return refused("WithFunction", err)
		}
		s.language = extended
		return nil
	})
}

// WithMethod adds a pagination method. It is refused if it is incomplete or names a setting, field
// or function that does not exist.
func WithMethod(m rules.Method) Option {
	return loadOption(func(s *optionSet) error {
		catalog, err := s.decode.Catalog.WithMethod(m)
		if err != nil {
			return refused("WithMethod", err)
		}
		s.decode.Catalog = catalog
		for _, pagination := range catalog.MethodTrials(m) {
			s.trials = append(s.trials, trial{"method " + m.Name, pagination})
		}
		return nil
	})
}

// WithGuard adds a guard. It applies to every paged job, unless the configuration sets another
// policy for its ID in `guards`.
func WithGuard(g rules.Guard) Option {
	return loadOption(func(s *optionSet) error {
		catalog, err := s.decode.Catalog.WithGuard(g)
		if err != nil {
			return refused("WithGuard", err)
		}
		s.decode.Catalog = catalog
		s.trials = append(s.trials, trial{"guard " + g.ID, catalog.GuardTrial(g)})
		return nil
	})
}

// A trial is a pagination object that puts rows of an addition in force.
type trial struct {
	addition   string // such as "method from"
	pagination rules.Object
}

// try compiles the additions of an engine in every dialect, whether its configuration
// uses them or not, and reports the mistakes in their expressions.
func (s optionSet) try() error {
	for _, dialect := range rules.Dialects() {
		if err := s.tryIn(dialect); err != nil {
			return err
		}
	}
	return nil
}

func (s optionSet) tryIn(dialect rules.Dialect) error {
	for _, t := range s.trials {
		root := rules.Object{
			{Name: "api", Value: rules.Object{{Name: "baseUrl", Value: "https://api.example.com/"}, {Name: "pagination", Value: t.pagination}}},
			{Name: "config", Value: rules.Object{{Name: "jobs", Value: []any{rules.Object{{Name: "endpoint", Value: "items"}}}}}},
		}
		_, err := build(nil, root, optionSet{decode: rules.Options{Catalog: s.decode.Catalog, Dialect: dialect}, language: s.language})
		if found, ok := errors.AsType[Diagnostics](err); ok {
			for _, d := range found {
				d.Path = t.addition + ": " + d.Path
			}
			return found
		}
		if err != nil {
			return err
		}
	}
	return nil
}
