package language

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A Read is a value that an expression reads: a field of the context and a path in it. Of a response,
// only values that are read are decoded.
type Read struct {
	Root string   // field of the context: "count", "body", "state", "header"
	Path []string // keys below the field; if it is empty, the whole field is read
	Has  bool     // the expression asks only whether the value exists
	Past string   // "prev" or "first" for a field of that page; empty for the current page
	Args []string // constant arguments of a field that is called: header("X-Total")
	Open bool     // the path or an argument is not constant

	Tested    bool // the expression only compares the value with nil: kept.at == nil, but not kept.seen[item.id] == nil
	Defaulted bool // the expression allows for its absence, with ?? or ?.

	call string // the source of the call, if the field is a function
	rest int    // number of keys at the end of Path that are looked up in a decoded value: 2 for items[-1].id
}

// needed returns the read of the value that must be decoded: items for items[-1].id, because a decoded
// page is needed to count from its end.
func (r Read) needed() Read {
	if r.rest > 0 {
		r.Path, r.Has, r.rest = r.Path[:len(r.Path)-r.rest], false, 0
	}
	return r
}

// String returns the read as an expression: body.meta.next, total.pages.
func (r Read) String() string {
	root := r.Root
	if r.call != "" {
		root = r.call
	}
	if r.Past != "" {
		root = r.Past + "." + root
	}
	text := keypath.Format(root, r.Path)
	if r.Is(rules.ContextPartition) && len(r.Path) > 0 {
		text = keypath.Format(r.Path[0], r.Path[1:]) // a variable has a name of its own
	}
	if r.Has {
		return "has(" + text + ")"
	}
	return text
}

// Is reports whether the value is in a field of this page, such as body.
func (r Read) Is(field string) bool { return r.Past == "" && r.Root == field }

// InBody reports whether the value is in the body of this page.
func (r Read) InBody() bool { return r.Is(rules.ContextBody) }

// InResponse reports whether the value is a part of the response of this page: see
// [rules.ContextField].Response.
func (r Read) InResponse() bool { return r.Past == "" && pageFields().find(r.Root).Response }

// FalseOnPage1 reports whether the value is false on the first page, because it compares a page with earlier ones:
// see [rules.ContextField].Compares.
func (r Read) FalseOnPage1() bool {
	field := pageFields().find(r.Root)
	return r.Past == "" && field.Compares && field.Type.Kind() == reflect.Bool
}

// Phase returns the phase from which the value is available.
func (r Read) Phase() rules.Phase {
	if r.Past != "" {
		return pageFields().find(r.Past).Phase
	}
	field := pageFields().find(r.Root)
	for _, key := range r.Path {
		inner := fieldTable(field.Fields).find(key)
		if inner == nil {
			break
		}
		field = inner
	}
	return field.Phase
}

// An ElementRead is a path that a predicate reads of the elements of a list, such as
// .created_at in all(items, .created_at < "2026").
type ElementRead struct {
	List Read
	Path []string
}

// String returns the path with a star for the index: items[*].created_at.
func (r ElementRead) String() string { return keypath.Format(r.List.String()+"[*]", r.Path) }

// An access is a place in a tree that reads a value of the page, or of an element of a list.
type access struct {
	node      *ast.Node
	read      Read
	toBoolean bool // the value is converted to a boolean

	ofElement bool     // read is a list, and the access reads a path of its elements
	element   []string // that path
	call      string   // the function that reads the path, as greatest(items, "id") does; empty for a predicate
	lenient   bool     // the function leaves out elements without the path
}

func (a access) needed() Read { return a.read.needed() }

// eachAccess calls found for every access in a tree. An access that contains others comes before them.
func (l *Language) eachAccess(node *ast.Node, found func(access)) {
	f := &accessFinder{language: l, found: found, locals: map[string]int{}}
	f.walk(node)
}

// distinct returns readOf of each access in the list, without repetitions. Accesses to elements are left
// out.
func distinct(list []access, readOf func(access) Read) (reads []Read) {
	seen := map[string]int{} // indices in reads
	for _, a := range list {
		if a.ofElement {
			continue
		}
		r := readOf(a)
		if i, found := seen[r.String()]; found {
			reads[i].Defaulted = reads[i].Defaulted && r.Defaulted
			reads[i].Tested = reads[i].Tested && r.Tested
			continue
		}
		seen[r.String()] = len(reads)
		reads = append(reads, r)
	}
	return reads
}

// An accessFinder walks a tree, and calls found for each place that reads a value of the page or of an
// element of a list. The longest chain of constant members counts as one access: in body.items[0].id ==
// state.id, the accesses are body.items[0].id and state.id. Inside a predicate, a chain that begins at the
// element is an access to the list of the enclosing function: in all(items, .id > 0), the accesses are items
// and the path id of its elements.
type accessFinder struct {
	language    *Language
	found       func(access)
	locals      map[string]int // number of let variables in force, by name; they hide names of the context
	conversions int            // number of calls around the node that convert their argument to a boolean
	defaults    int            // number of operators ?? around the node
	tests       int            // number of comparisons with nil around the node
	list        *Read          // list of the innermost predicate; nil if the list is not a value of the page
}

// isTest reports whether an operator compares a value of the context with nil.
func isTest(n *ast.BinaryNode) bool {
	return (n.Operator == "==" || n.Operator == "!=") && (isNil(n.Left) && isGivenAsIs(n.Right) || isNil(n.Right) && isGivenAsIs(n.Left))
}

// isGivenAsIs reports whether an operand is a value of the context or its default, which depends on no item.
func isGivenAsIs(operand ast.Node) bool {
	for node := range nodes(operand) {
		switch n := node.(type) {
		case *ast.IdentifierNode, *ast.ChainNode, *ast.NilNode, *ast.StringNode, *ast.IntegerNode, *ast.ConstantNode:
		case *ast.MemberNode:
			if _, isConstant := constantKey(n.Property); !isConstant {
				return false
			}
		case *ast.BinaryNode:
			if n.Operator != "??" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (f *accessFinder) walk(node *ast.Node) {
	if *node == nil {
		return
	}
	if path, ok := elementPath(*node); ok && len(path) > 0 {
		if f.list != nil {
			f.found(access{node: node, read: *f.list, ofElement: true, element: path})
		}
		return
	}
	if read, ok := f.read(*node); ok {
		read.Defaulted, read.Tested = read.Defaulted || f.defaults > 0, f.tests > 0
		f.found(access{node: node, read: read, toBoolean: f.conversions > 0})
		if !read.Open {
			return
		}
	}
	switch n := (*node).(type) {
	case *ast.VariableDeclaratorNode:
		f.walk(&n.Value)
		f.locals[n.Name]++
		f.walk(&n.Expr)
		f.locals[n.Name]--
	case *ast.CallNode:
		f.walkCall(node, n)
	case *ast.BuiltinNode:
		f.walkBuiltin(n)
	default:
		if b, ok := n.(*ast.BinaryNode); ok && b.Operator == "??" {
			f.defaults++
			defer func() { f.defaults-- }()
		} else if ok && isTest(b) {
			f.tests++
			defer func() { f.tests-- }()
		}
		for _, child := range children(n) {
			f.walk(child)
		}
	}
}

// walkCall walks a call of a function. Some functions read a path, which is a text, of each item.
func (f *accessFinder) walkCall(node *ast.Node, n *ast.CallNode) {
	name := calleeName(n)
	fn := f.language.function(name)
	if fn != nil && fn.toBoolean {
		f.conversions++
		defer func() { f.conversions-- }()
	}
	if _, named := n.Callee.(*ast.IdentifierNode); !named {
		f.walk(&n.Callee)
	}
	if fn != nil && fn.ofItems && len(n.Arguments) > 1 && isIdentifier(n.Arguments[0], rules.ContextItems) {
		if path, isText := n.Arguments[1].(*ast.StringNode); isText {
			f.found(access{node: node, read: Read{Root: rules.ContextItems}, ofElement: true, element: keypath.Split(path.Value), call: name,
				lenient: fn.lenient})
		}
	}
	for i := range n.Arguments {
		f.walk(&n.Arguments[i])
	}
}

// walkBuiltin walks a function of the expression language, whose predicate sees the elements of its
// list.
func (f *accessFinder) walkBuiltin(n *ast.BuiltinNode) {
	outer := f.list
	for i := range n.Arguments {
		f.walk(&n.Arguments[i])
		if i == 0 && library[n.Name].predicate != noPredicate {
			f.list = nil
			if list, ok := f.read(n.Arguments[0]); ok && !list.Open {
				f.list = &list
			}
		}
	}
	f.list = outer
}

// elementPath returns the path that a node selects from the element of a predicate.
func elementPath(node ast.Node) ([]string, bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		return elementPath(n.Node)
	case *ast.PointerNode:
		return nil, n.Name == ""
	case *ast.MemberNode:
		key, constant := constantKey(n.Property)
		path, ok := elementPath(n.Node)
		if !ok || !constant || n.Method {
			return nil, false
		}
		return append(slices.Clip(path), key), true
	}
	return nil, false
}

// read recognizes a chain of constant members that begins at a name of the context, and the
// calls that read the page.
func (f *accessFinder) read(node ast.Node) (read Read, ok bool) {
	switch n := node.(type) {
	case *ast.ChainNode: // a chain has an operator ?.
		read, ok = f.read(n.Node)
		read.Defaulted = true
		return read, ok
	case *ast.IdentifierNode:
		return Read{Root: n.Value}, f.locals[n.Value] == 0 && pageFields().find(n.Value) != nil
	case *ast.MemberNode:
		return f.member(n)
	case *ast.BuiltinNode:
		return f.readEnd(n)
	case *ast.CallNode:
		return f.readCall(n)
	}
	return Read{}, false
}

// readEnd recognizes first and last of a list that is itself a read: last(items) reads items[-1].
func (f *accessFinder) readEnd(n *ast.BuiltinNode) (read Read, ok bool) {
	use := library[n.Name].elements
	if use < selectsFirst || len(n.Arguments) != 1 {
		return Read{}, false
	}
	read, ok = f.read(n.Arguments[0])
	if !ok || read.Open || read.Has || !f.extends(n.Arguments[0]) || read.Past == "" && IsPast(read.Root) {
		return Read{}, false
	}
	key := "0"
	if use == selectsLast {
		key = "-1"
	}
	if read.rest > 0 || use == selectsLast {
		read.rest++
	}
	read.Path = append(slices.Clip(read.Path), key)
	return read, true
}

func (f *accessFinder) member(n *ast.MemberNode) (read Read, ok bool) {
	key, constant := constantKey(n.Property)
	read, ok = f.read(n.Node)
	switch {
	case !constant || !ok || read.Has || n.Method || !f.extends(n.Node):
		return Read{}, false
	case len(read.Path) == 0 && read.Past == "" && IsPast(read.Root):
		return Read{Past: read.Root, Root: key}, true
	case read.rest > 0 || isFromEnd(n.Property):
		read.rest++
	}
	read.Path = append(slices.Clip(read.Path), key)
	return read, true
}

// extends reports whether a member of the node extends the path that the node reads: so does at("a").b.
func (f *accessFinder) extends(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ChainNode:
		return f.extends(n.Node)
	case *ast.CallNode:
		fn := f.language.function(calleeName(n))
		_, constant := constantPath(n)
		return fn != nil && fn.access == valueAtPath && constant
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
	return keypath.Split(text.Value), true
}

// readCall recognizes calls that read the body by path, and calls of functions of the context.
func (f *accessFinder) readCall(n *ast.CallNode) (read Read, ok bool) {
	name := calleeName(n)
	if contextFunction(name) != nil && f.locals[name] == 0 {
		args, constant := constantArguments(n)
		return Read{Root: name, Args: args, call: n.String(), Open: !constant}, true
	}
	fn := f.language.function(name)
	switch {
	case fn == nil || fn.access == noAccess:
		return Read{}, false
	case len(n.Arguments) == 2:
		return f.readOfValue(n, fn.access)
	case fn.access == searchByPath:
		return Read{Root: rules.ContextBody}, true
	}
	path, constant := constantPath(n)
	return Read{Root: rules.ContextBody, Path: path, Has: constant && fn.access == presenceOfPath, Open: !constant}, true
}

// readOfValue recognizes at(v, "a.b") and has(v, "a.b"), where v is itself a read.
func (f *accessFinder) readOfValue(n *ast.CallNode, access bodyAccess) (read Read, ok bool) {
	text, constant := n.Arguments[1].(*ast.StringNode)
	read, ok = f.read(n.Arguments[0])
	if !ok || !constant || read.Open || read.Has {
		return Read{}, false
	}
	path := keypath.Split(text.Value)
	read.Path, read.rest = append(slices.Clip(read.Path), path...), read.rest+len(path)
	read.Has = access == presenceOfPath
	return read, true
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

// constantKey returns a constant name or index.
func constantKey(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return strconv.Itoa(n.Value), true
	case *ast.UnaryNode:
		if index, ok := n.Node.(*ast.IntegerNode); ok && n.Operator == "-" {
			return strconv.Itoa(-index.Value), true
		}
	}
	return "", false
}

// isFromEnd reports whether a constant key counts from the end of a list. The complete list is needed
// then.
func isFromEnd(n ast.Node) bool {
	if index, ok := n.(*ast.IntegerNode); ok {
		return index.Value < 0
	}
	_, isUnary := n.(*ast.UnaryNode)
	return isUnary
}

// InItem reports whether the value is in the item that filter or fields is about.
func (r Read) InItem() bool { return r.Is(rules.ContextItem) }

// VariesByItem reports whether the value may differ between the items of a page.
func (r Read) VariesByItem() bool { return r.InItem() || r.Is(rules.ContextKey) }
