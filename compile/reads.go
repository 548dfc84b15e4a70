package compile

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Read is one thing that an expression looks at: a field of the context and a
// path in it. The page reader decodes only what is read.
type Read struct {
	Root string   // "count", "body", "prev.body", "total", "state"
	Path []string // keys below it; none: the whole
	Has  bool     // only whether it is there
}

// String writes the read as in an expression: body.meta.next, total.pages.
func (r Read) String() string {
	var b strings.Builder
	b.WriteString(r.Root)
	for _, key := range r.Path {
		if isWord(key) {
			b.WriteString("." + key)
		} else if _, err := strconv.Atoi(key); err == nil {
			b.WriteString("[" + key + "]")
		} else {
			b.WriteString("[" + strconv.Quote(key) + "]")
		}
	}
	if r.Has {
		return "has(" + b.String() + ")"
	}
	return b.String()
}

func isWord(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// OfBody tells whether it is read from the body of this page.
func (r Read) OfBody() bool { return r.Root == "body" }

// readsOf finds what a tree looks at, each thing once.
func readsOf(node ast.Node) []Read {
	var reads []Read
	seen := map[string]bool{}
	replaceReads(&node, func(r Read) ast.Node {
		if key := r.String(); !seen[key] {
			seen[key] = true
			reads = append(reads, r)
		}
		return nil
	})
	return reads
}

// replaceReads calls f for every read of the tree, outermost first, and puts
// what it returns, unless that is nil, in its place.
func replaceReads(node *ast.Node, f func(Read) ast.Node) {
	r := &reader{found: f, locals: map[string]int{}}
	r.walk(node)
}

type reader struct {
	found  func(Read) ast.Node
	locals map[string]int // names of let, which hide the context's
}

func (r *reader) walk(node *ast.Node) {
	if *node == nil {
		return
	}
	if read, ok := r.read(*node); ok {
		if replacement := r.found(read); replacement != nil {
			*node = replacement
		}
		return
	}
	switch n := (*node).(type) {
	case *ast.VariableDeclaratorNode:
		r.walk(&n.Value)
		r.locals[n.Name]++
		r.walk(&n.Expr)
		r.locals[n.Name]--
	case *ast.CallNode:
		if _, name := n.Callee.(*ast.IdentifierNode); !name {
			r.walk(&n.Callee)
		}
		for i := range n.Arguments {
			r.walk(&n.Arguments[i])
		}
	default:
		for _, child := range children(n) {
			r.walk(child)
		}
	}
}

// children are the places of a node's direct children.
func children(node ast.Node) []*ast.Node {
	switch n := node.(type) {
	case *ast.UnaryNode:
		return []*ast.Node{&n.Node}
	case *ast.BinaryNode:
		return []*ast.Node{&n.Left, &n.Right}
	case *ast.ChainNode:
		return []*ast.Node{&n.Node}
	case *ast.MemberNode:
		return []*ast.Node{&n.Node, &n.Property}
	case *ast.SliceNode:
		return []*ast.Node{&n.Node, &n.From, &n.To}
	case *ast.BuiltinNode:
		return places(n.Arguments)
	case *ast.PredicateNode:
		return []*ast.Node{&n.Node}
	case *ast.SequenceNode:
		return places(n.Nodes)
	case *ast.ConditionalNode:
		return []*ast.Node{&n.Cond, &n.Exp1, &n.Exp2}
	case *ast.ArrayNode:
		return places(n.Nodes)
	case *ast.MapNode:
		return places(n.Pairs)
	case *ast.PairNode:
		return []*ast.Node{&n.Key, &n.Value}
	}
	return nil
}

func places(nodes []ast.Node) []*ast.Node {
	out := make([]*ast.Node, len(nodes))
	for i := range nodes {
		out[i] = &nodes[i]
	}
	return out
}

// read recognises a chain of constant members that begins at a name of the
// context, and the calls that read the body by path.
func (r *reader) read(node ast.Node) (Read, bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		return r.read(n.Node)
	case *ast.IdentifierNode:
		if r.locals[n.Value] == 0 {
			return Read{Root: n.Value}, true
		}
	case *ast.MemberNode:
		key, ok := constantKey(n.Property)
		inner, rooted := r.read(n.Node)
		if !ok || !rooted || inner.Has || n.Method || !extends(n.Node) {
			return Read{}, false
		}
		if len(inner.Path) == 0 && (inner.Root == "prev" || inner.Root == "first") {
			return Read{Root: inner.Root + "." + key}, true
		}
		inner.Path = append(inner.Path[:len(inner.Path):len(inner.Path)], key)
		return inner, true
	case *ast.CallNode:
		return readCall(n)
	}
	return Read{}, false
}

// extends tells whether a member of what is read is a longer path: it is not
// where a call gives something else than a part of what it reads.
func extends(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ChainNode:
		return extends(n.Node)
	case *ast.CallNode:
		callee, ok := n.Callee.(*ast.IdentifierNode)
		if !ok || callee.Value != "at" || len(n.Arguments) != 1 {
			return false
		}
		_, constant := n.Arguments[0].(*ast.StringNode)
		return constant
	}
	return true
}

// readCall recognises at, has and jsonpath, and the calls of the context's
// functions, whose arguments are part of what is read.
func readCall(n *ast.CallNode) (Read, bool) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return Read{}, false
	}
	switch callee.Value {
	case "at", "has":
		if len(n.Arguments) == 2 { // of a value, whose own reads count
			return Read{}, false
		}
		if path, ok := n.Arguments[0].(*ast.StringNode); ok {
			return Read{Root: "body", Path: rules.SplitPath(path.Value), Has: callee.Value == "has"}, true
		}
		return Read{Root: "body"}, true
	case "jsonpath":
		return Read{Root: "body"}, true
	case "header", "link", "now":
		return Read{Root: n.String()}, true
	}
	return Read{}, false
}

func constantKey(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		if n.Value >= 0 { // a negative index counts from the end: the whole list is read
			return strconv.Itoa(n.Value), true
		}
	}
	return "", false
}

// Lookup is the value of a read on a page, and whether the page has it.
func (r Read) Lookup(page *rules.Context) (any, bool) {
	if name, args, call := strings.Cut(r.Root, "("); call {
		return lookupCall(page, name, args)
	}
	v, ok := lookupRoot(page, r.Root)
	for _, key := range r.Path {
		if !ok {
			return nil, false
		}
		v, ok = member(v, key)
	}
	return v, ok
}

func lookupCall(page *rules.Context, name, args string) (any, bool) {
	var words []string
	for arg := range strings.SplitSeq(strings.TrimSuffix(args, ")"), ", ") {
		if word, err := strconv.Unquote(arg); err == nil {
			words = append(words, word)
		}
	}
	var v any
	switch {
	case name == "now" && page.Now != nil:
		v = page.Now()
	case name == "header" && page.Header != nil && len(words) == 1:
		v = page.Header(words[0])
	case name == "link" && page.Link != nil && len(words) > 0:
		v = page.Link(words[0], words[1:]...)
	}
	return v, v != nil
}

// lookupRoot finds a field of the context, or of an earlier page: prev.count.
func lookupRoot(page *rules.Context, root string) (any, bool) {
	v := reflect.ValueOf(page).Elem()
	for name := range strings.SplitSeq(root, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, false
			}
			v = v.Elem()
		}
		i, known := fieldIndex(v.Type())[name]
		if !known {
			return nil, false
		}
		v = v.Field(i)
	}
	return v.Interface(), true
}

var fieldIndexes = func() map[reflect.Type]map[string]int {
	all := map[reflect.Type]map[string]int{}
	for _, t := range contextTypes {
		all[t] = map[string]int{}
		for i, name := range fieldNames(t) {
			all[t][name] = i
		}
	}
	return all
}()

func fieldIndex(t reflect.Type) map[string]int { return fieldIndexes[t] }

// template is an expression's source in which the reads can be given their
// values: `count(7) < limit(10)`.
type template struct {
	text  []string // one more than reads
	reads []Read
}

const placeholder = "\x00"

// template prints the source with a mark in the place of every read.
func (c *compilation) template(source string) template {
	tree, err := parse(source)
	if err != nil {
		return template{text: []string{source}}
	}
	var t template
	replaceReads(&tree.Node, func(r Read) ast.Node {
		t.reads = append(t.reads, r)
		return &ast.IdentifierNode{Value: placeholder}
	})
	t.text = strings.Split(tree.Node.String(), placeholder)
	return t
}

// Because writes the expression with the value of everything that it read.
func (e *Expression) Because(page *rules.Context) string {
	var b strings.Builder
	for i, text := range e.because.text {
		b.WriteString(text)
		if i < len(e.because.reads) && i+1 < len(e.because.text) {
			b.WriteString(e.because.reads[i].show(page))
		}
	}
	return b.String()
}

func (r Read) show(page *rules.Context) string {
	v, ok := r.Lookup(page)
	switch {
	case r.Has:
		return r.String() + "(" + strconv.FormatBool(ok) + ")"
	case !ok:
		return r.String() + "(absent)"
	}
	return r.String() + "(" + preview(v) + ")"
}

// preview shows what a rule read: objects of the context by their type.
func preview(v any) string {
	if f, ok := v.(float64); ok && f != float64(int(f)) {
		return strconv.FormatFloat(f, 'f', 3, 64)
	}
	if list, ok := v.([]any); ok && list == nil {
		return "none"
	}
	return value.Preview(v)
}

// Missing lists what the expression read of the response that it does not have.
func (e *Expression) Missing(page *rules.Context) []string {
	var missing []string
	for _, r := range e.Reads {
		if !strings.HasSuffix(r.Root, "body") || len(r.Path) == 0 || r.Has || page.Prev == nil && strings.HasPrefix(r.Root, "prev.") {
			continue
		}
		if _, ok := r.Lookup(page); !ok {
			missing = append(missing, r.String())
		}
	}
	return missing
}
