package compile

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// An elementRead is a path that a predicate reads of the elements of a list, such as
// .created_at in all(items, .created_at < "2026").
type elementRead struct {
	list Read
	path []string
}

// String returns the path with a star for the index: items[*].created_at.
func (r elementRead) String() string { return rules.FormatPath(r.list.String()+"[*]", r.path) }

// missing reports whether no element of the list has the path.
func (r elementRead) missing(page *rules.Context) bool {
	v, _ := r.list.Lookup(page)
	list, _ := v.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool {
		_, ok := walk(e, r.path)
		return ok
	})
}

// elementReadsOf returns what the predicates of a tree read of the elements of lists
// that are read directly.
func (l *Language) elementReadsOf(node ast.Node) []elementRead {
	finder := &elementFinder{reader: &reader{language: l, locals: map[string]int{}, fromEnd: true}}
	finder.walk(node)
	return finder.found
}

type elementFinder struct {
	*reader
	list  *Read // whose elements the innermost predicate sees; nil if it is no direct read
	found []elementRead
}

func (f *elementFinder) walk(node ast.Node) {
	if node == nil {
		return
	}
	if path, ok := f.elementPath(node); ok && len(path) > 0 {
		if f.list != nil {
			f.found = append(f.found, elementRead{*f.list, path})
		}
		return
	}
	n, ok := node.(*ast.BuiltinNode)
	if _, takesPredicate := withPredicate[calledName(n, ok)]; !takesPredicate {
		for _, child := range children(node) {
			f.walk(*child)
		}
		return
	}
	f.walk(n.Arguments[0])
	outer := f.list
	f.list = nil
	if read, ok := f.read(n.Arguments[0]); ok && !read.open {
		f.list = &read
	}
	for _, a := range n.Arguments[1:] {
		f.walk(a)
	}
	f.list = outer
}

func calledName(n *ast.BuiltinNode, ok bool) string {
	if !ok {
		return ""
	}
	return n.Name
}

// elementPath returns the path that a node selects from the element of a predicate.
func (f *elementFinder) elementPath(node ast.Node) ([]string, bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		return f.elementPath(n.Node)
	case *ast.PointerNode:
		return nil, n.Name == ""
	case *ast.MemberNode:
		key, constant := f.constantKey(n.Property)
		path, ok := f.elementPath(n.Node)
		if !ok || !constant || n.Method {
			return nil, false
		}
		return append(slices.Clip(path), key), true
	}
	return nil, false
}
