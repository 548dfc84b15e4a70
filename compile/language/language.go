package language

import (
	"fmt"
	"slices"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/parser"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// Language is the language of rules: the expression language, the page
// context and a set of functions. It never changes and may be shared by
// goroutines.
type Language struct {
	functions []*function
	byName    map[string]*function
	parsing   *conf.Config
	checking  *conf.Config // a template: see checker
}

// Builtin returns the language with the built-in functions.
func Builtin() *Language { return builtinLanguage() }

var builtinLanguage = sync.OnceValue(func() *Language {
	var list []*function
	for _, table := range [][]function{builtins, phpBuiltins} {
		for i := range table {
			list = append(list, &table[i])
		}
	}
	return newLanguage(list)
})

func newLanguage(functions []*function) *Language {
	l := &Language{functions: functions, byName: map[string]*function{}, parsing: conf.CreateNew(), checking: conf.CreateNew()}
	for _, f := range pageFields() {
		if contextFunction(f.Name) != nil { // it hides a function of the language, such as now
			l.parsing.Functions[f.Name] = &builtin.Function{Name: f.Name}
		}
	}
	for name, f := range library {
		if f.ownCheck {
			l.parsing.Functions[name] = &builtin.Function{Name: name}
		}
	}
	l.checking.Optimize = false
	for _, f := range functions {
		l.byName[f.Name] = f
		f.define(l.checking.Functions)
	}
	for _, f := range internalFunctions() {
		l.checking.Functions[f.Name] = f
	}
	return l
}

// checker returns the configuration of the type checker and the compiler. They
// cache types in it while they work, so each goroutine needs its own; the tables
// of functions are shared.
func (l *Language) checker() *conf.Config {
	c := *l.checking
	c.WithEnv(environment{})
	return &c
}

// parse reads a source without the names of the context, so that count and first are
// functions of the language if they are called, and fields otherwise.
func (l *Language) parse(source string) (*parser.Tree, error) {
	return parser.ParseWithConfig(source, l.parsing)
}

// Functions returns the functions that this package and programs add to the expression language, in the
// order of the reference.
func (l *Language) Functions() []Function {
	return lists.Map(l.functions, (*function).described)
}

// function returns the function of a name, or nil.
func (l *Language) function(name string) *function { return l.byName[name] }

// names lists the fields of the context that all rules may read, and the functions that this package and
// programs add.
func (l *Language) names() []string {
	return append(pageFields().names(), lists.Map(l.functions, func(f *function) string { return f.Name })...)
}

// WithFunction returns the language with one more function. The receiver does
// not change.
//
// Func takes any number of parameters of the types bool, string, int, float64,
// any, []any, map[string]any, [time.Time] and [time.Duration], the last of which
// may be variadic, and returns one value of these types, or a value and an
// error. It must be safe for concurrent use, and must not change its arguments.
//
// An argument of any holds nil, a bool, a string, an int, a float64, a
// [encoding/json.Number] for an integer that an int cannot hold, a []any, a
// map[string]any, a time or a duration. If an argument is nil and its parameter
// is not any, the function is not called and the result is nil: an absent value
// never ends a run. A call costs one step and the size of its result. A function
// that exceeds the time of an expression fails the rule once it has returned, as
// does an error or a panic.
func (l *Language) WithFunction(f Function) (*Language, error) {
	if err := l.checkFree(f.Name); err != nil {
		return nil, err
	}
	added, err := newUserFunction(f)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.Name, err)
	}
	return newLanguage(append(slices.Clip(l.functions), added)), nil
}

// checkFree returns an error if a function cannot have the name.
func (l *Language) checkFree(name string) error {
	var owner string
	switch {
	case !keypath.IsExpressionName(name):
		return fmt.Errorf("function %q: the name must consist of letters, digits and underscores", name)
	case pageFields().find(name) != nil:
		owner = "a field of the page context"
	case l.function(name) != nil:
		owner = "another function"
	case isBuiltin(name) || !l.callable(name):
		owner = "the expression language"
	default:
		return nil
	}
	return fmt.Errorf("function %s: the name is taken by %s", name, owner)
}

// callable reports whether a name followed by parentheses is a call, which it is
// not for an operator or another word of the expression language.
func (l *Language) callable(name string) bool {
	tree, err := l.parse(name + "()")
	if err != nil {
		return false
	}
	call, ok := tree.Node.(*ast.CallNode)
	return ok && calleeName(call) == name
}

// Same reports whether two sources are the same expression, up to white space and the quotes of its texts. A
// source that cannot be parsed equals no other.
func (l *Language) Same(a, b string) bool {
	first, err := l.parse(a)
	if err != nil {
		return false
	}
	second, err := l.parse(b)
	return err == nil && first.Node.String() == second.Node.String()
}
