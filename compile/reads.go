package compile

import (
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// Read is one value that an expression reads: a field of the context and a path
// in it. The page reader decodes only what is read.
type Read struct {
	Root string   // field of the context: "count", "body", "state", "header"
	Path []string // keys below the field; none: all of it
	Has  bool     // only whether it exists

	of   string   // "prev" or "first": a field of that page; empty: of this one
	call string   // the source of the call, of a field that is called, such as header
	args []string // of the call, if they are constant
	open bool     // what is read depends on other values
}

// String returns the read as an expression: body.meta.next, total.pages.
func (r Read) String() string {
	root := r.Root
	if r.call != "" {
		root = r.call
	}
	if r.of != "" {
		root = r.of + "." + root
	}
	text := rules.FormatPath(root, r.Path)
	if r.of == "" && r.Root == partitionField && len(r.Path) > 0 {
		text = rules.FormatPath(r.Path[0], r.Path[1:]) // a variable has a name of its own
	}
	if r.Has {
		return "has(" + text + ")"
	}
	return text
}

// OfBody reports whether the value is in the body of this page.
func (r Read) OfBody() bool { return r.of == "" && r.Root == "body" }

// known returns the time at which the value is known.
func (r Read) known() rules.Known {
	if r.of != "" {
		return pageFields.find(r.of).Known
	}
	field := pageFields.find(r.Root)
	for _, key := range r.Path {
		inner := fieldTable(field.Fields).find(key)
		if inner == nil {
			break
		}
		field = inner
	}
	return field.Known
}

// readsOf returns what a tree reads, each value once, and those of them that it
// converts to booleans.
func (l *Language) readsOf(node ast.Node) (reads, flags []Read) {
	seen, flagged := map[string]bool{}, map[string]bool{}
	l.replaceReads(&node, func(r Read, flag bool) ast.Node {
		key := r.String()
		if !seen[key] {
			seen[key] = true
			reads = append(reads, r)
		}
		if flag && !flagged[key] {
			flagged[key] = true
			flags = append(flags, r)
		}
		return nil
	})
	return reads, flags
}

// replaceReads calls f for every read of the tree, outermost first, and replaces
// the read by what f returns, unless that is nil. The flag reports whether the
// value is converted to a boolean.
func (l *Language) replaceReads(node *ast.Node, f func(read Read, flag bool) ast.Node) {
	r := &reader{language: l, found: f, locals: map[string]int{}}
	r.walk(node)
}

// replacePlaces is replaceReads for what is shown to the user: a read includes what
// is selected from the end of a list, as in items[-1].id, although all of the list
// is needed for that.
func (l *Language) replacePlaces(node *ast.Node, f func(read Read, flag bool) ast.Node) {
	r := &reader{language: l, found: f, locals: map[string]int{}, fromEnd: true}
	r.walk(node)
}

// placesOf returns the values that a tree reads, as they are shown, each once.
func (l *Language) placesOf(node ast.Node) (places []Read) {
	seen := map[string]bool{}
	l.replacePlaces(&node, func(r Read, _ bool) ast.Node {
		if key := r.String(); !seen[key] {
			seen[key] = true
			places = append(places, r)
		}
		return nil
	})
	return places
}

type reader struct {
	language *Language
	found    func(Read, bool) ast.Node
	locals   map[string]int // let variables, which hide names of the context
	flags    int            // calls around the node that convert their argument to a boolean
	fromEnd  bool           // a negative index extends the path of a read
}

func (r *reader) walk(node *ast.Node) {
	if *node == nil {
		return
	}
	if read, ok := r.read(*node); ok {
		replacement := r.found(read, r.flags > 0)
		if !read.open {
			if replacement != nil {
				*node = replacement
			}
			return
		}
	}
	switch n := (*node).(type) {
	case *ast.VariableDeclaratorNode:
		r.walk(&n.Value)
		r.locals[n.Name]++
		r.walk(&n.Expr)
		r.locals[n.Name]--
	case *ast.CallNode:
		r.call(n)
	default:
		for _, child := range children(n) {
			r.walk(child)
		}
	}
}

func (r *reader) call(n *ast.CallNode) {
	f := r.language.function(calleeName(n))
	if flag := f != nil && f.flag; flag {
		r.flags++
		defer func() { r.flags-- }()
	}
	if _, named := n.Callee.(*ast.IdentifierNode); !named {
		r.walk(&n.Callee)
	}
	for i := range n.Arguments {
		r.walk(&n.Arguments[i])
	}
}

// read recognises a chain of constant members that begins at a name of the
// context, and the calls that read the page.
func (r *reader) read(node ast.Node) (Read, bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		return r.read(n.Node)
	case *ast.IdentifierNode:
		return Read{Root: n.Value}, r.locals[n.Value] == 0 && pageFields.find(n.Value) != nil
	case *ast.MemberNode:
		return r.member(n)
	case *ast.CallNode:
		return r.readCall(n)
	}
	return Read{}, false
}

func (r *reader) member(n *ast.MemberNode) (Read, bool) {
	key, constant := r.constantKey(n.Property)
	inner, ok := r.read(n.Node)
	if !constant || !ok || inner.Has || n.Method || !r.extends(n.Node) {
		return Read{}, false
	}
	if len(inner.Path) == 0 && inner.of == "" && isPast(inner.Root) {
		return Read{of: inner.Root, Root: key}, true
	}
	inner.Path = append(slices.Clip(inner.Path), key)
	return inner, true
}

// extends reports whether selecting from the node extends the path that it reads.
func (r *reader) extends(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ChainNode:
		return r.extends(n.Node)
	case *ast.CallNode:
		f := r.language.function(calleeName(n))
		_, constant := constantPath(n)
		return f != nil && f.body == valueAtPath && constant
	}
	return true
}

// constantPath returns the path of a call that reads the body, if it is constant.
func constantPath(n *ast.CallNode) (path []string, constant bool) {
	if len(n.Arguments) != 1 {
		return nil, false
	}
	text, ok := n.Arguments[0].(*ast.StringNode)
	if !ok {
		return nil, false
	}
	return rules.SplitPath(text.Value), true
}

// readCall recognises the calls that read the body by path, and those of the
// functions of the context.
func (r *reader) readCall(n *ast.CallNode) (Read, bool) {
	name := calleeName(n)
	if contextFunction(name) != nil && r.locals[name] == 0 {
		args, constant := constantArguments(n)
		return Read{Root: name, args: args, call: n.String(), open: !constant}, true
	}
	f := r.language.function(name)
	if f != nil && len(n.Arguments) == 2 && r.fromEnd {
		return r.readOfValue(n, f.body)
	}
	if f == nil || f.body == noAccess || len(n.Arguments) == 2 { // of another value, whose own reads count
		return Read{}, false
	}
	if f.body == searchByPath {
		return Read{Root: "body"}, true
	}
	path, constant := constantPath(n)
	return Read{Root: "body", Path: path, Has: constant && f.body == presenceOfPath, open: !constant}, true
}

// readOfValue recognises at(v, "a.b") and has(v, "a.b") for a v that is read.
func (r *reader) readOfValue(n *ast.CallNode, access bodyAccess) (Read, bool) {
	text, constant := n.Arguments[1].(*ast.StringNode)
	inner, ok := r.read(n.Arguments[0])
	if !ok || !constant || inner.open || inner.Has || access != valueAtPath && access != presenceOfPath {
		return Read{}, false
	}
	inner.Path = append(slices.Clip(inner.Path), rules.SplitPath(text.Value)...)
	inner.Has = access == presenceOfPath
	return inner, true
}

func constantArguments(n *ast.CallNode) (args []string, constant bool) {
	for _, a := range n.Arguments {
		text, ok := a.(*ast.StringNode)
		if !ok {
			return nil, false
		}
		args = append(args, text.Value)
	}
	return args, true
}

func (r *reader) constantKey(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		if n.Value >= 0 || r.fromEnd { // a negative index counts from the end: the complete list is read
			return strconv.Itoa(n.Value), true
		}
	case *ast.UnaryNode:
		if index, ok := n.Node.(*ast.IntegerNode); ok && n.Operator == "-" && r.fromEnd {
			return strconv.Itoa(-index.Value), true
		}
	}
	return "", false
}
