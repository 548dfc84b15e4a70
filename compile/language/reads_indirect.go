package language

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// AllReads returns Reads, followed by the paths that the expression reads in other ways than by a chain of members: through a
// variable of let, get(v, "a"), at(v, "a.b") or jsonpath("$.a"). Of those, only v is among Reads.
func (e *Expression) AllReads() []Read {
	if indirect := e.code.indirect(); indirect != nil {
		return slices.Concat(e.Reads, indirect)
	}
	return e.Reads
}

// indirectReads returns the reads that [Expression.AllReads] adds, in a tree.
func (l *Language) indirectReads(node *ast.Node) []Read {
	f := &indirectFinder{aliases: map[string][]Read{}}
	f.direct = accessFinder{language: l, locals: map[string]int{}}
	f.walk(*node)
	return f.found
}

// An indirectFinder walks a tree, and notes the longest indirect reads.
type indirectFinder struct {
	direct  accessFinder
	aliases map[string][]Read // what the variables of let in force stand for, by name; an open read if that is no path
	found   []Read

	defaults int // number of operators ?? around the node
}

func (f *indirectFinder) walk(node ast.Node) {
	if node == nil {
		return
	}
	_, isName := node.(*ast.IdentifierNode) // of a value that has been noted
	if read, indirect, ok := f.read(node); ok && indirect && !isName && len(read.Path) > 0 {
		read.Defaulted = read.Defaulted || f.defaults > 0
		if isFound(read) {
			read.call = ""
		}
		f.found = append(f.found, read)
		return
	}
	if b, ok := node.(*ast.BinaryNode); ok && b.Operator == "??" {
		f.defaults++
		defer func() { f.defaults-- }()
	}
	n, declares := node.(*ast.VariableDeclaratorNode)
	if !declares {
		for _, child := range children(node) {
			f.walk(*child)
		}
		return
	}
	f.walk(n.Value)
	read, _, ok := f.read(n.Value)
	read.Open = read.Open || !ok
	outer := f.aliases[n.Name]
	f.aliases[n.Name] = append(outer, read)
	f.direct.locals[n.Name]++
	f.walk(n.Expr)
	f.direct.locals[n.Name]--
	f.aliases[n.Name] = outer
}

// read recognizes a read. indirect says that it is no chain of members alone.
func (f *indirectFinder) read(node ast.Node) (read Read, indirect, ok bool) {
	switch n := node.(type) {
	case *ast.ChainNode:
		read, indirect, ok = f.read(n.Node)
		read.Defaulted = true
		return read, indirect, ok
	case *ast.IdentifierNode:
		if known := f.aliases[n.Value]; len(known) > 0 {
			read = known[len(known)-1]
			return read, true, !read.Open
		}
	case *ast.MemberNode:
		if key, constant := constantKey(n.Property); constant && !n.Method {
			if read, indirect, ok = f.below(n.Node, key); indirect {
				return read, indirect, ok
			}
		}
	case *ast.CallNode:
		return f.call(n)
	}
	read, ok = f.direct.read(node)
	return read, false, ok && !read.Open && !read.Has
}

// below recognizes a read of keys below a value. Below the list of values that jsonpath finds, it is the read of these values.
func (f *indirectFinder) below(v ast.Node, keys ...string) (read Read, indirect, ok bool) {
	read, indirect, ok = f.read(v)
	if isFound(read) {
		return read, indirect, ok
	}
	if ok && len(read.Path) == 0 && read.Past == "" && IsPast(read.Root) { // page = first; page.body
		read.Past, read.Root, keys = read.Root, keys[0], keys[1:]
	}
	read.Path = append(append([]string{}, read.Path...), keys...)
	return read, indirect, ok
}

// isFound reports whether a read is that of the values that jsonpath finds. It has call for a mark while the tree is walked.
func isFound(read Read) bool { return read.Root == rules.ContextBody && read.call != "" }

// call recognizes get(v, "a"), at(v, "a.b") and jsonpath("$.a.b").
func (f *indirectFinder) call(n *ast.CallNode) (read Read, indirect, ok bool) {
	name := calleeName(n)
	if name == "get" && len(n.Arguments) == 2 {
		if key, constant := constantKey(n.Arguments[1]); constant {
			read, _, ok = f.below(n.Arguments[0], key)
			return read, true, ok
		}
	}
	fn := f.direct.language.function(name)
	if fn != nil && len(n.Arguments) > 0 {
		path, constant := n.Arguments[len(n.Arguments)-1].(*ast.StringNode)
		switch {
		case !constant:
		case fn.access == valueAtPath && len(n.Arguments) == 2:
			read, _, ok = f.below(n.Arguments[0], keypath.Split(path.Value)...)
			return read, true, ok
		case fn.access == searchByPath && plainJSONPath().MatchString(path.Value):
			return Read{Root: rules.ContextBody, Path: strings.Split(path.Value, ".")[1:], call: rules.ContextBody}, true, true
		}
	}
	read, ok = f.direct.read(n)
	return read, false, ok && !read.Open && !read.Has
}

// plainJSONPath matches a JSONPath of members alone.
var plainJSONPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(\.[A-Za-z_]\w*)+$`) })
