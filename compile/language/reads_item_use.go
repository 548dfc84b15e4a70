package language

import (
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// itemUse finds the paths that an expression reads of the items of the page, and replaces the name
// items by calls that decode only these paths. Where it does not recognise how items are used, it
// lets complete items be decoded.
//
// A list of items is items itself, or the result of filter, sortBy, take, reverse or a slice of such a
// list. An item is an element of such a list: the element that a predicate is applied to, or the
// element that an index, first, last, find or findLast selects.
type itemUse struct {
	language *Language
	scopes   []bool     // of the predicates around a node: whether their elements are items
	paths    [][]string // the paths that are read of every item; an empty path is the whole item
}

// replaceItems replaces the name items in a tree, and returns the paths that the expression
// reads of every item.
func (l *Language) replaceItems(node *ast.Node) [][]string {
	u := &itemUse{language: l}
	u.walk(node)
	return u.paths
}

// need notes that a path of every item is read.
func (u *itemUse) need(path []string) {
	if !slices.ContainsFunc(u.paths, func(had []string) bool { return slices.Equal(had, path) }) {
		u.paths = append(u.paths, path)
	}
}

// walk replaces the name in a node whose value is needed completely.
func (u *itemUse) walk(node *ast.Node) {
	if *node == nil || u.replaceMember(node) {
		return
	}
	if u.isList(*node) {
		u.need(nil)
		u.replaceList(node)
		return
	}
	name, arguments := called(*node)
	f := u.language.function(name)
	switch {
	case f != nil && f.access.ofPath() && len(arguments) == 2 && u.isItem(arguments[0]):
		u.walkPathCall(arguments)
	case name != "" && len(arguments) > 0 && u.isList(arguments[0]) && (u.readsPath(f, arguments) || countsOnly(name, arguments)):
		u.walkArguments(arguments, u.replaceList)
	case name != "" && len(arguments) > 0:
		u.walkArguments(arguments, u.walk)
	default:
		for _, child := range children(*node) {
			u.walk(child)
		}
	}
}

// readsPath reports whether a function, which may be nil, reads only a constant path of each item
// of its list, and notes the path.
func (u *itemUse) readsPath(f *function, arguments []ast.Node) bool {
	if f == nil || !f.ofItems {
		return false
	}
	text, constant := arguments[1].(*ast.StringNode)
	if !constant || !usable(keypath.Split(text.Value)) {
		return false
	}
	u.need(keypath.Split(text.Value))
	return true
}

// countsOnly reports whether a function of the expression language needs only the paths of the elements
// that its other arguments read, as all and count do.
func countsOnly(name string, arguments []ast.Node) bool {
	f := library[name]
	return f.elements == countsElements && len(arguments) >= f.countsFrom
}

// walkArguments walks the arguments of a function. walkItems walks the first one if it is a list of
// items: it is replaceList if the function itself reads nothing of the items, and walk if it reads whole
// items.
func (u *itemUse) walkArguments(arguments []ast.Node, walkItems func(*ast.Node)) {
	items := u.isList(arguments[0])
	for i := range arguments {
		p, isPredicate := arguments[i].(*ast.PredicateNode)
		switch {
		case i == 0 && items:
			walkItems(&arguments[0])
		case isPredicate:
			u.scopes = append(u.scopes, items)
			u.walk(&p.Node)
			u.scopes = u.scopes[:len(u.scopes)-1]
		default:
			u.walk(&arguments[i])
		}
	}
}

// walkPathCall walks the arguments of at or has of an item.
func (u *itemUse) walkPathCall(arguments []ast.Node) {
	text, constant := arguments[1].(*ast.StringNode)
	if !constant || !usable(keypath.Split(text.Value)) {
		u.walk(&arguments[0])
		u.walk(&arguments[1])
		return
	}
	path := keypath.Split(text.Value)
	if !u.direct(arguments[0]) {
		u.need(path)
	}
	u.replaceItem(&arguments[0], path)
}

// called returns the function that a node calls, and its arguments.
func called(node ast.Node) (name string, arguments []ast.Node) {
	switch n := node.(type) {
	case *ast.BuiltinNode:
		return n.Name, n.Arguments
	case *ast.CallNode:
		return calleeName(n), n.Arguments
	}
	return "", nil
}

// isAll reports whether a node is items itself. No variable of let can have that name.
func (u *itemUse) isAll(node ast.Node) bool { return isIdentifier(node, rules.ContextItems) }

// isList reports whether a node is a list of items.
func (u *itemUse) isList(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ChainNode:
		return u.isList(n.Node)
	case *ast.SliceNode:
		return u.isList(n.Node)
	case *ast.BuiltinNode:
		return library[n.Name].elements == keepsElements && len(n.Arguments) > 0 && u.isList(n.Arguments[0])
	}
	return u.isAll(node)
}

// replaceList replaces the name in a list of items that needs only the noted paths.
func (u *itemUse) replaceList(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ChainNode:
		u.replaceList(&n.Node)
	case *ast.SliceNode:
		u.replaceList(&n.Node)
		u.walk(&n.From)
		u.walk(&n.To)
	case *ast.BuiltinNode:
		u.walkArguments(n.Arguments, u.replaceList)
	default:
		replaceMetered(node, safeItems)
	}
}

// isItem reports whether a node is an item.
func (u *itemUse) isItem(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ChainNode:
		return u.isItem(n.Node)
	case *ast.PointerNode:
		return n.Name == "" && len(u.scopes) > 0 && u.scopes[len(u.scopes)-1]
	case *ast.MemberNode:
		return !n.Method && u.isList(n.Node)
	case *ast.BuiltinNode:
		return library[n.Name].elements >= selectsElement && len(n.Arguments) > 0 && u.isList(n.Arguments[0])
	}
	return false
}

// direct reports whether a node selects one item of items itself, by an index, first or last, outside of
// predicates. Only this item is decoded then.
func (u *itemUse) direct(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.ChainNode:
		return u.direct(n.Node)
	case *ast.MemberNode:
		return u.isAll(n.Node) && len(u.scopes) == 0
	case *ast.BuiltinNode:
		return library[n.Name].elements >= selectsFirst && u.isAll(n.Arguments[0]) && len(u.scopes) == 0
	}
	return false
}

// replaceItem replaces the name in an item that needs only the noted paths. If the item is one that is selected directly, only
// the given path of it is needed.
func (u *itemUse) replaceItem(node *ast.Node, path []string) {
	direct := u.direct(*node)
	switch n := (*node).(type) {
	case *ast.ChainNode:
		u.replaceItem(&n.Node, path)
	case *ast.MemberNode:
		u.walk(&n.Property)
		if direct {
			replaceMetered(node, safeItem, n.Property, &ast.ConstantNode{Value: path})
			return
		}
		u.replaceList(&n.Node)
	case *ast.BuiltinNode:
		if direct {
			index := 0
			if library[n.Name].elements == selectsLast {
				index = -1
			}
			replaceMetered(node, safeItem, &ast.IntegerNode{Value: index}, &ast.ConstantNode{Value: path})
			return
		}
		u.walkArguments(n.Arguments, u.replaceList)
	}
}

// replaceMember replaces a node that is an item, or selects a path of an item. It reports whether the
// node has one of these forms.
func (u *itemUse) replaceMember(node *ast.Node) bool {
	item, path, ok := u.pathOf(node)
	switch {
	case !ok:
		return false
	case u.direct(*item):
		u.replaceItem(item, path)
		return true
	}
	u.need(path)
	u.replaceItem(item, path)
	if len(path) > 0 {
		replace(node, safeField, *item, &ast.ConstantNode{Value: path})
	}
	return true
}

// pathOf splits a node such as items[0].owner.id into the item and the path that is selected from it.
func (u *itemUse) pathOf(node *ast.Node) (item *ast.Node, path []string, ok bool) {
	if u.isItem(*node) {
		return node, nil, true
	}
	switch n := (*node).(type) {
	case *ast.ChainNode:
		return u.pathOf(&n.Node)
	case *ast.MemberNode:
		key, constant := constantKey(n.Property)
		item, path, ok = u.pathOf(&n.Node)
		if path = append(path, key); ok && constant && !n.Method && usable(path) {
			return item, path, true
		}
	}
	return nil, nil, false
}

// usable reports whether each key of a path is a name, or an index without a sign or leading zeros. Only
// such paths can be found in items without decoding them.
func usable(path []string) bool {
	return len(path) > 0 && !slices.ContainsFunc(path, func(key string) bool {
		i, err := strconv.Atoi(key)
		return err == nil && (i < 0 || strconv.Itoa(i) != key)
	})
}

func isPointer(node ast.Node) bool {
	if n, ok := node.(*ast.ChainNode); ok {
		return isPointer(n.Node)
	}
	n, ok := node.(*ast.PointerNode)
	return ok && n.Name == ""
}
