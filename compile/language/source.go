package language

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm"

	"github.com/stopwhen/stopwhen/rules"
)

// maxSource is the longest expression, in bytes. The parser recurses as deep as
// a source nests, so the length limits the stack.
const maxSource = 16 << 10

var (
	anyType      = reflect.TypeFor[any]()
	boolType     = reflect.TypeFor[bool]()
	stringType   = reflect.TypeFor[string]()
	intType      = reflect.TypeFor[int]()
	numberType   = reflect.TypeFor[float64]()
	listType     = reflect.TypeFor[[]any]()
	mapType      = reflect.TypeFor[map[string]any]()
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
)

// code is a compiled source. It does not depend on the rule, so rules with the
// same source share it.
type code struct {
	program *vm.Program
	test    *itemTest    // the program in a simpler form; nil if there is no such form
	syntax  ast.Node     // as written, with its types, for proofs
	result  reflect.Type // static type of the value
	reads   []Read
	items   [][]string // the paths that the source reads of every item of the page; an empty path is all of it
	names   names
	because func() template // formats the source with the values that it reads

	accesses []access
	shown    func() []Read // the reads as they are shown to users
	indirect func() []Read // see [Expression.AllReads]
	flags    []Read        // the reads that the source converts to booleans

	needsKept string // the kept value without which the source, a condition, is never true; "" if there is none
}

// A Compiler compiles the sources of rules, each once. It serves one goroutine.
type Compiler struct {
	language *Language
	config   *conf.Config
	cache    map[string]cached           // by the source, its variables, and its marking
	ends     map[*rules.Ruleset]*marking // of rules that may end the list
}

type cached struct {
	code *code
	err  error
}

// NewCompiler returns a compiler of expressions in a language.
func NewCompiler(l *Language) *Compiler {
	return &Compiler{language: l, config: l.checker(), cache: map[string]cached{}, ends: map[*rules.Ruleset]*marking{}}
}

// Expression compiles a rule of a ruleset. Besides the fields that all rules may read, it may read the
// fields of a scope. The error is a mistake in the source: see [AsFault].
func (c *Compiler) Expression(rule rules.Rule, set *rules.Ruleset, scope rules.Scope) (*Expression, error) {
	marking, check := c.markingOf(rule, set)
	code, err := c.compile(rule.Source, set.ForNames, marking)
	if err != nil {
		return nil, err
	}
	if err := checkCondition(rule.Role, code.result); err != nil {
		return nil, err
	}
	if err := code.names.checkFor(set, scope); err != nil {
		return nil, err
	}
	return &Expression{Rule: rule, Reads: code.reads, check: check, code: code}, nil
}

// compile returns the code of a source, which may name the given variables of for. Its reads are marked as
// the marking says. The error is a fault, or an error of the expression language.
func (c *Compiler) compile(source string, variables []string, marking *marking) (*code, error) {
	if len(source) > maxSource { // nor is it searched for mistakes
		return nil, &Fault{Message: fmt.Sprintf("the expression has %d bytes; the limit is %d", len(source), maxSource)}
	}
	variables = slices.DeleteFunc(slices.Clone(variables), func(name string) bool { return !strings.Contains(source, name) })
	key := strings.Join(append(variables, source, marking.key), "\x00")
	entry, known := c.cache[key]
	if !known {
		entry.code, entry.err = c.translate(source, variables, marking)
		if found, _ := findMistake(source, mayHave(source)); found != nil {
			entry.code, entry.err = nil, found
		} else if entry.err != nil {
			entry.err = mistakeIn(source, entry.err)
		}
		c.cache[key] = entry
	}
	return entry.code, entry.err
}

// translate takes a source from text to a program.
func (c *Compiler) translate(source string, variables []string, marking *marking) (*code, error) {
	tree, err := c.language.parse(source)
	if err != nil {
		return nil, err
	}
	expandNames(&tree.Node, variables)
	names, err := c.language.checkNames(tree.Node)
	if err != nil {
		return nil, err
	}
	if err := checkCalls(tree.Node); err != nil {
		return nil, err
	}
	result, err := checker.Check(tree, c.config)
	if err != nil {
		return nil, err
	}
	if err := c.language.checkArguments(tree.Node); err != nil {
		return nil, err
	}
	if err := checkLimits(tree.Node, 0); err != nil {
		return nil, err
	}
	syntax := tree.Node
	code := &code{syntax: syntax, result: result, names: names, needsKept: neededKept(syntax)}
	code.because = sync.OnceValue(func() template { return c.language.templateOf(clone(syntax)) }) // few rules are ever met
	c.language.eachAccess(&syntax, func(a access) { code.accesses = append(code.accesses, a) })
	code.shown = sync.OnceValue(func() []Read {
		return distinct(code.accesses, func(a access) Read { return a.read })
	})
	code.indirect = sync.OnceValue(func() []Read { return c.language.indirectReads(&syntax) })
	code.reads = distinct(code.accesses, access.needed)
	code.flags = distinct(slices.DeleteFunc(slices.Clone(code.accesses), func(a access) bool { return !a.toBoolean }), access.needed)
	tree.Node = clone(syntax)
	if marking != marksNone {
		c.language.markLacks(&tree.Node, marking)
	}
	c.language.exposeDigests(&tree.Node)
	code.items = c.language.replaceItems(&tree.Node)
	if err := c.language.makeSafe(&tree.Node); err != nil {
		return nil, err
	}
	code.test = itemTestOf(tree.Node)
	if _, err := checker.Check(tree, c.config); err != nil { // for the types of the nodes that makeSafe changed
		return nil, err
	}
	code.program, err = compiler.Compile(tree, c.config)
	return code, err
}

// checkCondition refuses a condition whose value cannot be true or false. The kind of a value of the
// response is known only when the rule runs.
func checkCondition(role rules.Role, result reflect.Type) error {
	if role.IsCondition() && result != nil && result.Kind() != reflect.Bool && result.Kind() != reflect.Interface {
		f := &Fault{Message: "want true or false, got " + kindName(result)}
		return f.withHint("a comparison gives true or false, and truthy(…) converts any value to one")
	}
	return nil
}
