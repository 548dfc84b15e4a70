package compile

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// MaxSource is the longest expression, in bytes. The parser recurses as deep as
// a source nests, so the length bounds the stack.
const MaxSource = 16 << 10

// Expression is one compiled rule. It never changes and may be shared.
type Expression struct {
	Rule  rules.Rule
	Reads []Read // what it looks at, in the order of the source

	program *vm.Program
	because template
	syntax  ast.Node // as it was written, for what can be said without a page
}

// Machine evaluates expressions, one at a time. It keeps its stack between them.
type Machine struct {
	Observe func(e *Expression, v any) // sees every value; nil: nobody

	vm    vm.VM
	env   environment
	meter meter
}

// Eval evaluates the expression on a page. The error names what went wrong, not
// where: the caller knows job and page.
func (e *Expression) Eval(m *Machine, page *rules.Context) (any, error) {
	m.meter.reset()
	m.env = environment{page, &m.meter}
	v, err := m.vm.Run(e.program, &m.env)
	if err == nil {
		if m.Observe != nil {
			m.Observe(e, v)
		}
		return v, nil
	}
	if errors.Is(err, ErrBudget) {
		return nil, errors.Unwrap(err)
	}
	if located := (*file.Error)(nil); errors.As(err, &located) {
		if located.Message == "memory budget exceeded" {
			return nil, tooMuch("lists of too many elements")
		}
		return nil, errors.New(located.Message)
	}
	return nil, err
}

// EvalBool evaluates a condition: nil is false, anything but a boolean an error.
func (e *Expression) EvalBool(m *Machine, page *rules.Context) (bool, error) {
	v, err := e.Eval(m, page)
	if err != nil {
		return false, err
	}
	switch v := v.(type) {
	case bool:
		return v, nil
	case nil:
		return false, nil
	}
	return false, fmt.Errorf("want true or false, got %s; truthy(…) turns any value into a boolean", value.KindOf(v))
}

// expression compiles one rule. Faults are reported with the caret under the
// expression and the place in the configuration.
func (c *compilation) expression(rule rules.Rule) *Expression {
	fault := func(err error) {
		path := rule.Origin.Path
		if path == "" {
			path = rule.ID
		}
		message, hint, at := describe(err, rule.Source)
		c.faults.Errorf(diag.Within(path, rule.Source, at), "%s", message).WithHint(hint).Snippet = caret(rule.Source, at)
	}
	if len(rule.Source) > MaxSource {
		c.faults.Errorf(diag.Value(rule.Origin.Path), "an expression of %d bytes; the limit is %d", len(rule.Source), MaxSource)
		return nil
	}
	tree, t, err := c.check(rule.Source)
	if err == nil {
		err = wantKind(rule, t)
	}
	if err == nil {
		err = c.checkState(tree.Node)
	}
	if err == nil && rule.Role != rules.Audit && !strings.HasPrefix(rule.ID, "audit.") {
		err = noSigns(tree.Node)
	}
	if err != nil {
		fault(err)
		return nil
	}
	e := &Expression{Rule: rule, Reads: readsOf(tree.Node)}
	e.because = c.template(rule.Source)
	if written, err := parse(rule.Source); err == nil {
		e.syntax = written.Node
	}
	if err := makeSafe(&tree.Node); err != nil {
		fault(err)
		return nil
	}
	config := newConfig()
	if _, err = checker.Check(tree, config); err == nil {
		e.program, err = compiler.Compile(tree, config)
	}
	if err != nil {
		fault(err)
		return nil
	}
	return e
}

// check parses and type-checks a source.
func (c *compilation) check(source string) (*parser.Tree, reflect.Type, error) {
	tree, err := parse(source)
	if err != nil {
		return nil, nil, err
	}
	t, err := checker.Check(tree, newConfig())
	return tree, t, err
}

// parse reads a source without the context's names, so that `count` and `first`
// are fields where they stand alone and functions where they are called. Of the
// language's own functions now alone gives way to the context's.
func parse(source string) (*parser.Tree, error) {
	config := withFunctions(conf.CreateNew())
	config.Functions["now"] = &builtin.Function{Name: "now"}
	return parser.ParseWithConfig(source, config)
}

func newConfig() *conf.Config { return withFunctions(conf.New(environment{})) }

func withFunctions(config *conf.Config) *conf.Config {
	config.Optimize = false
	for name, f := range functions {
		config.Functions[name] = f
	}
	return config
}

// wantKind checks the static type of a rule's value. What comes from a response
// is known only when it runs.
func wantKind(rule rules.Rule, t reflect.Type) error {
	conditional := rule.Role == rules.Stop || rule.Role == rules.OnError
	if conditional && t != nil && t.Kind() != reflect.Bool && t.Kind() != reflect.Interface {
		return &file.Error{Message: fmt.Sprintf("want true or false, the expression gives %s", typeName(t))}
	}
	return nil
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Func:
		return "a function, which is not called"
	}
	return "an object"
}

// checkState finds variables, and kept values, that the scroller does not have.
func (c *compilation) checkState(node ast.Node) error {
	var fault error
	ast.Walk(&node, visitor(func(n *ast.Node) {
		member, ok := (*n).(*ast.MemberNode)
		if !ok || fault != nil {
			return
		}
		name, ok := member.Property.(*ast.StringNode)
		switch {
		case !ok:
		case isIdentifier(member.Node, "state") && !contains(c.set.Variables, name.Value):
			fault = &file.Error{Location: member.Property.Location(), Message: "unknown variable state." + name.Value}
		case isIdentifier(member.Node, "kept") && !contains(c.set.Kept, name.Value):
			fault = &file.Error{Location: member.Property.Location(), Message: "unknown name kept." + name.Value}
		}
	}))
	return fault
}

// noSigns refuses what is there for the audit alone.
func noSigns(node ast.Node) error {
	var fault error
	ast.Walk(&node, visitor(func(n *ast.Node) {
		if isIdentifier(*n, "signs") {
			fault = at(*n, "unknown name signs")
		}
	}))
	return fault
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func isIdentifier(n ast.Node, name string) bool {
	id, ok := n.(*ast.IdentifierNode)
	return ok && id.Value == name
}

type visitor func(*ast.Node)

func (v visitor) Visit(n *ast.Node) { v(n) }

var (
	unknownName  = regexp.MustCompile(`^unknown name (\S+)`)
	unknownField = regexp.MustCompile(`^type \*?rules\.(\w+) has no field (\w+)`)
	wrongCall    = regexp.MustCompile(`to call (\w+)`)
	unknownState = regexp.MustCompile(`^unknown variable state\.`)
	unknownKept  = regexp.MustCompile(`^unknown name kept\.`)
)

// describe turns an error of the language into words, a hint and the byte
// offset in the source.
func describe(err error, source string) (message, hint string, at int) {
	located := (*file.Error)(nil)
	if !errors.As(err, &located) {
		return err.Error(), "", 0
	}
	message = strings.TrimSpace(located.Message)
	runes := []rune(source)
	at = len(string(runes[:min(max(located.From, 0), len(runes))]))
	if strings.HasPrefix(message, "want true or false") {
		hint = "a comparison gives true or false, and truthy(…) turns any value into one"
	}
	if m := unknownName.FindStringSubmatch(message); m != nil {
		hint = diag.DidYouMean(m[1], vocabulary())
		if hint == "" {
			hint = "known are " + strings.Join(vocabularyOf(reflect.TypeFor[rules.Context]()), ", ") + "; a key of the response is body." + m[1]
		}
	}
	if m := unknownField.FindStringSubmatch(message); m != nil {
		known := fieldNames(contextTypes[m[1]])
		message = fmt.Sprintf("unknown name %s; there are %s", m[2], strings.Join(known, ", "))
		hint = diag.DidYouMean(m[2], known)
	}
	if m := wrongCall.FindStringSubmatch(message); m != nil {
		hint = usage(m[1])
	}
	if unknownState.MatchString(message) {
		hint = `variables are declared in "state"`
	}
	if unknownKept.MatchString(message) {
		hint = `what is kept for the next run is declared in "keep"`
	}
	return message, hint, at
}

// usage is how a function of ours is called.
func usage(name string) string {
	for _, f := range rules.Functions {
		if f.Name == name {
			return "it is " + f.Signature + ": " + f.Doc
		}
	}
	return ""
}

// caret draws the line of a source that a byte offset falls in, and a caret.
func caret(source string, offset int) string {
	s := diag.NewSource("", source)
	return s.Snippet(s.Position(offset))
}

// contextTypes are the objects of the context, by the names that the language
// uses for them in messages.
var contextTypes = map[string]reflect.Type{
	"Context": reflect.TypeFor[rules.Context](), "Total": reflect.TypeFor[rules.Total](), "Sent": reflect.TypeFor[rules.Sent](),
	"Past": reflect.TypeFor[rules.Past](), "JobFacts": reflect.TypeFor[rules.JobFacts](), "Hints": reflect.TypeFor[rules.Hints](),
}

// fieldNames are the names that expressions use for the fields of a type.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("expr"))
	}
	return names
}

// vocabularyOf are the names that are there for everybody.
func vocabularyOf(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("doc") != "-" {
			names = append(names, f.Tag.Get("expr"))
		}
	}
	return names
}

// vocabulary is every word of ours.
func vocabulary() []string {
	words := vocabularyOf(reflect.TypeFor[rules.Context]())
	for _, f := range rules.Functions {
		words = append(words, f.Name)
	}
	return words
}
