package language

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// A condition on items compares each item with given values, such as kept.at, which the item does not have. A comparison with
// nil is false. That is right if the item lacks its member: the item is left out. But if the given value is nil, all items
// would be left out, and they are lost once the kept values move on. In the same way, a stopping rule that compares with a kept
// value, such as not any(items, .id > kept.last), would end the list of the first run.
//
// So the reads of such values are marked. If a rule leaves out an item or ends the list, it is evaluated again, with a [lack]
// as the value of every marked read that is nil. A function of a lack returns the lack, unless the function has a meaning for
// nil, and a comparison with a lack is taken for true at first, and then for false: see [supposition]. If one of the results
// would let the item pass or let the list go on, the absence of the value has decided, and the rule fails: see
// [lackCheck].

// A marking says whose reads are marked in a rule.
type marking struct {
	roots     []string // fields of the context
	variables []string // variables of the state
	key       string   // differs from those of other markings
}

func newMarking(variables []string, roots ...string) *marking {
	return &marking{roots, variables, strings.Join(roots, " ") + "," + strings.Join(variables, " ")}
}

var (
	marksNone  = newMarking(nil)
	marksEnd   = newMarking(nil, rules.ContextKept, rules.ContextInput) // for a variable of the state; see also marksOfEnds
	marksGiven = newMarking(nil, rules.ContextKept, rules.ContextInput, rules.ContextState, rules.ContextSent, rules.ContextJob,
		rules.ContextPrev, rules.ContextFirst) // for a condition on items, or the values of a variable
)

// markingOf returns the marking of a rule, and the check of its values. The check is nil if nothing is marked.
func (c *Compiler) markingOf(rule rules.Rule, set *rules.Ruleset) (*marking, *lackCheck) {
	switch {
	case rule.SelectsItems():
		return marksGiven, filterCheck
	case rule.Role == rules.RoleFor && rule.Target == "values":
		return marksGiven, valuesCheck
	case rule.Role.Addresses():
		return c.marksOfEnds(set), addressCheck
	case mayEnd(rule):
		return c.marksOfEnds(set), stopCheck
	case (rule.Role == rules.RoleInit || rule.Role == rules.RoleNext) && c.readsGiven(rule, set) && c.decides(rule.Target, set):
		return marksEnd, variableCheck
	}
	return marksNone, nil
}

// marksOfEnds returns the marking of the rules of a set that may end the list. It also has the variables of the state whose first
// values are kept values or inputs.
func (c *Compiler) marksOfEnds(set *rules.Ruleset) *marking {
	if c.ends[set] == nil {
		var variables []string
		for _, r := range set.Rules {
			if r.Role == rules.RoleInit && c.readsGiven(r, set) {
				variables = append(variables, r.Target)
			}
		}
		c.ends[set] = newMarking(variables, marksEnd.roots...)
	}
	return c.ends[set]
}

// mayEnd reports whether a rule may end the list.
func mayEnd(rule rules.Rule) bool {
	return rule.Role == rules.RoleStop || rule.Role == rules.RoleOnError && rule.OnError.Do == rules.ErrorStop || rule.Role.Addresses()
}

// readsOf returns the reads of a rule. It returns nil if the source has a mistake.
func (c *Compiler) readsOf(rule rules.Rule, set *rules.Ruleset) []Read {
	code, err := c.compile(rule.Source, set.ForNames, marksNone)
	if err != nil {
		return nil
	}
	return code.reads
}

// readsGiven reports whether a rule reads a kept value or an input.
func (c *Compiler) readsGiven(rule rules.Rule, set *rules.Ruleset) bool {
	return slices.ContainsFunc(c.readsOf(rule, set), marksEnd.marks)
}

// decides reports whether a variable of the state decides which items the job obtains: a rule that may end the list or that
// chooses items depends on it.
func (c *Compiler) decides(name string, set *rules.Ruleset) bool {
	vars, deciding := Variables{}, []Read{}
	for _, r := range set.Rules {
		switch {
		case r.Role == rules.RoleNext:
			vars[r.Target] = c.readsOf(r, set)
		case mayEnd(r), r.SelectsItems():
			deciding = append(deciding, c.readsOf(r, set)...)
		}
	}
	itself := Read{Root: rules.ContextState, Path: []string{name}}
	vars[name] = []Read{itself} // so that its reads stay
	return slices.ContainsFunc(vars.Resolve(deciding), func(r Read) bool { return r.String() == itself.String() })
}

// marks reports whether a read is marked.
func (k *marking) marks(r Read) bool {
	switch {
	case r.Has || r.Open:
		return false
	case r.Past != "":
		return slices.Contains(k.roots, r.Past)
	case len(r.Path) == 0:
		return false
	}
	return slices.Contains(k.roots, r.Root) || r.Root == rules.ContextState && slices.Contains(k.variables, r.Path[0])
}

// A lackMarker marks the reads of a rule, and the places at which a lack decides.
type lackMarker struct {
	finder   *accessFinder // its locals are the let variables in force
	marking  *marking
	lets     map[string]bool // whether a let variable may be a lack
	elements []bool          // whether the elements of the predicates in force may be lacks
	made     int             // number of let variables that were added
}

// markLacks marks the reads of a rule as marking says.
func (l *Language) markLacks(node *ast.Node, marking *marking) {
	k := &lackMarker{finder: &accessFinder{language: l, locals: map[string]int{}}, marking: marking, lets: map[string]bool{}}
	k.mark(node)
}

// mark marks a node and its children. It reports whether the value of the node may be a lack.
func (k *lackMarker) mark(node *ast.Node) (may bool) {
	if *node == nil {
		return false
	}
	if read, ok := k.finder.read(*node); ok && k.marking.marks(read) {
		k.give(node, read.Past, lack{source: read.String(), isKept: read.Is(rules.ContextKept)})
		return true
	}
	source, chosen := (*node).String(), k.isChosen(*node)
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		may = k.lets[n.Value]
	case *ast.PointerNode:
		may = n.Name != "" || len(k.elements) > 0 && k.elements[len(k.elements)-1]
	case *ast.VariableDeclaratorNode:
		may = k.let(n)
	case *ast.BuiltinNode:
		may = k.builtin(node, n)
	case *ast.BinaryNode:
		may = k.binary(node, n)
	case *ast.CallNode:
		may = k.call(node, n)
	default:
		may = k.inner(*node)
	}
	if chosen {
		k.give(node, "", lack{source: source, isKept: true})
		return true
	}
	if _, isPredicate := (*node).(*ast.PredicateNode); may && !isPredicate {
		(*node).SetType(anyType)
	}
	return may
}

// give makes the value of a node a lack if it is nil.
func (k *lackMarker) give(node *ast.Node, past string, lacking lack) {
	replaceMetered(node, safeGiven, *node, &ast.ConstantNode{Value: &givenRead{past, lacking}})
}

// inner marks the children of a node.
func (k *lackMarker) inner(node ast.Node) (may bool) {
	for _, child := range children(node) {
		may = k.mark(child) || may
	}
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			k.decideIfComputed(&n.Node)
		}
	case *ast.ConditionalNode:
		k.decideIfComputed(&n.Cond)
	}
	return may
}

func (k *lackMarker) let(n *ast.VariableDeclaratorNode) (may bool) {
	value := k.mark(&n.Value)
	k.lets[n.Name] = value
	k.finder.locals[n.Name]++
	may = k.mark(&n.Expr)
	k.finder.locals[n.Name]--
	return may || value
}

// builtin marks the arguments of a function. If the list of a predicate is a lack, it is supposed to have an element.
func (k *lackMarker) builtin(node *ast.Node, n *ast.BuiltinNode) (may bool) {
	if library[n.Name].predicate == noPredicate {
		if may = k.inner(n); may && (n.Name == "hasPrefix" || n.Name == "hasSuffix") {
			n.SetType(anyType)
			decide(node)
		}
		return may
	}
	if may = k.mark(&n.Arguments[0]); may {
		replaceMetered(&n.Arguments[0], safeElements, n.Arguments[0], &ast.ConstantNode{Value: &site{}})
	}
	k.elements = append(k.elements, may)
	for i := range n.Arguments[1:] {
		may = k.mark(&n.Arguments[i+1]) || may
		if p, ok := n.Arguments[i+1].(*ast.PredicateNode); ok && library[n.Name].predicate == testsElements && may {
			k.decideIfComputed(&p.Node)
		}
	}
	k.elements = k.elements[:len(k.elements)-1]
	return may
}

func (k *lackMarker) call(node *ast.Node, n *ast.CallNode) (may bool) {
	callee, isMethod := n.Callee.(*ast.MemberNode)
	if isMethod {
		may = k.mark(&callee.Node)
	}
	for i := range n.Arguments {
		may = k.mark(&n.Arguments[i]) || may
	}
	if may && isMethod && slices.Contains(comparingMethods, constantText(callee.Property)) {
		n.SetType(anyType)
		decide(node)
	}
	return may
}

// comparingMethods are the methods that compare a time with another one.
var comparingMethods = []string{"After", "Before", "Equal"}

func constantText(node ast.Node) string {
	text, _ := constantKey(node)
	return text
}

func (k *lackMarker) binary(node *ast.Node, n *ast.BinaryNode) (may bool) {
	left, right := k.seesNil(n, n.Left, n.Right), k.seesNil(n, n.Right, n.Left)
	mayLeft, mayRight := k.mark(&n.Left), k.mark(&n.Right)
	see := func(side *ast.Node) { replaceMetered(side, safeSeen, *side) }
	switch {
	case !mayLeft && !mayRight:
		return false
	case n.Operator == "??":
		k.alternative(node, n)
	case slices.Contains([]string{"and", "&&", "or", "||"}, n.Operator):
		k.decideIfComputed(&n.Left)
		k.decideIfComputed(&n.Right)
	case n.Operator == "matches", operators[n.Operator].boolean:
		if left && mayLeft {
			see(&n.Left)
		}
		if right && mayRight {
			see(&n.Right)
		}
		n.SetType(anyType)
		decide(node)
	}
	return true
}

// seesNil reports whether nil is an ordinary value for a side of a comparison, and not a lack. It is if the side is a given
// value itself, which may be compared with nil. It is not if the side computes with given values, nor if a kept value is
// compared with a value of the response.
func (k *lackMarker) seesNil(n *ast.BinaryNode, side, other ast.Node) bool {
	switch {
	case n.Operator == "in":
		return side == n.Left && k.marking != marksGiven && !k.varies(other)
	case n.Operator != "==" && n.Operator != "!=":
		return false
	}
	return !k.computes(side) && !(k.isKept(side) && k.varies(other))
}

// alternative makes a ?? b take b if a is a lack, and yield the lack of a if b is nil as well:
//
//	let x = a; ·seen(x) ?? ·either(x, b)
func (k *lackMarker) alternative(node *ast.Node, n *ast.BinaryNode) {
	k.made++
	name, value := fmt.Sprintf("·given%d", k.made), n.Left
	n.Left = identifierAt(name, n)
	replaceMetered(&n.Left, safeSeen, n.Left)
	replaceMetered(&n.Right, safeEither, identifierAt(name, n), n.Right)
	ast.Patch(node, &ast.VariableDeclaratorNode{Name: name, Value: value, Expr: n})
	n.SetType(anyType)
}

// decide makes the value of a node true or false, as the [supposition] says, if the value is a lack.
func decide(node *ast.Node) {
	replaceMetered(node, safeDecide, *node, &ast.ConstantNode{Value: &site{}})
}

// decideIfComputed calls decide for a condition, such as an operand of and, or, not and ?:, if it is the value of a function or
// of an element. A given value that is nil is false there, like any other value that is nil.
func (k *lackMarker) decideIfComputed(node *ast.Node) {
	_, computed := elementPath(*node)
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		computed = library[n.Name].predicate == noPredicate
	case *ast.CallNode:
		name := calleeName(n)
		computed = name != "get" && !strings.HasPrefix(name, "·")
	}
	if computed && (*node).Type() == anyType {
		decide(node)
	}
}

// isChosen reports whether a node is an element of a kept value, and an expression says which, as in kept.seen[item.id].
func (k *lackMarker) isChosen(node ast.Node) bool {
	var base ast.Node
	switch n := node.(type) {
	case *ast.CallNode:
		if calleeName(n) == "get" {
			base = n.Arguments[0]
		}
	case *ast.MemberNode:
		if _, isConstant := constantKey(n.Property); !isConstant {
			base = n.Node
		}
	}
	read, ok := k.finder.read(base)
	return ok && read.Is(rules.ContextKept)
}

// isKept reports whether an operand is a kept value, or a member of one with a constant key.
func (k *lackMarker) isKept(node ast.Node) bool {
	read, ok := k.finder.read(node)
	return ok && read.Is(rules.ContextKept) && len(read.Path) > 0 && !read.Open
}

// varies reports whether an operand depends on the response, or on an element of a list.
func (k *lackMarker) varies(node ast.Node) (varies bool) {
	f := &accessFinder{language: k.finder.language, locals: map[string]int{}}
	f.found = func(a access) {
		varies = varies || a.read.Past != "" || !slices.Contains(marksGiven.roots, a.read.Root)
	}
	f.walk(&node)
	for inner := range nodes(node) {
		_, isElement := inner.(*ast.PointerNode)
		varies = varies || isElement
	}
	return varies
}

// computes reports whether an operand of == computes with values, instead of being a value itself.
func (k *lackMarker) computes(node ast.Node) bool {
	if _, isValue := k.finder.read(node); isValue {
		return false
	}
	switch n := node.(type) {
	case *ast.CallNode:
		return calleeName(n) != "get"
	case *ast.BuiltinNode, *ast.SliceNode:
		return true
	case *ast.BinaryNode:
		return n.Operator != "??"
	}
	return false
}
