package language

import (
	"reflect"
	"slices"
	"sync"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
)

// pageFields returns the table of the page context.
func pageFields() fieldTable { return rules.ContextFields() }

type fieldTable []rules.ContextField

// find returns the field of a name, or nil.
func (t fieldTable) find(name string) *rules.ContextField {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// names lists the fields that all rules may read.
func (t fieldTable) names() []string {
	var names []string
	for _, f := range t {
		if f.Scope == rules.ScopePage {
			names = append(names, f.Name)
		}
	}
	return names
}

var pastType = reflect.TypeFor[*rules.Past]()

// IsPast reports whether a field of the context is an earlier page.
func IsPast(name string) bool {
	f := pageFields().find(name)
	return f != nil && f.Type == pastType
}

// contextFunction returns the type of a field of the context that is called,
// such as header, or nil.
func contextFunction(name string) reflect.Type {
	if f := pageFields().find(name); f != nil && f.Type.Kind() == reflect.Func {
		return f.Type
	}
	return nil
}

// fieldOf returns the field of the context that a node selects, or nil.
func fieldOf(node ast.Node) *rules.ContextField {
	switch n := node.(type) {
	case *ast.ChainNode:
		return fieldOf(n.Node)
	case *ast.IdentifierNode:
		return pageFields().find(n.Value)
	case *ast.MemberNode:
		key, ok := n.Property.(*ast.StringNode)
		if object := fieldOf(n.Node); ok && object != nil {
			return fieldTable(object.Fields).find(key.Value)
		}
	}
	return nil
}

// indexes holds, for each struct of the context, the positions of its fields by
// their names in expressions.
var indexes = sync.OnceValue(func() map[reflect.Type]map[string][]int {
	tables := map[reflect.Type]map[string][]int{}
	var add func(t reflect.Type, fields fieldTable)
	add = func(t reflect.Type, fields fieldTable) {
		if len(fields) == 0 || tables[t] != nil {
			return
		}
		tables[t] = map[string][]int{}
		for _, f := range fields {
			tables[t][f.Name] = f.Index
			object := f.Type
			if object.Kind() == reflect.Pointer {
				object = object.Elem()
			}
			add(object, f.Fields)
		}
	}
	add(reflect.TypeFor[rules.Context](), pageFields())
	return tables
})

// fieldsOf returns a struct of the context, such as sent, as an object of its fields, at any
// depth, and any other value unchanged. A page that does not exist is nil.
func fieldsOf(v any) any {
	switch v.(type) {
	case nil, bool, string, int, float64, []any, map[string]any, rules.Object: // the most frequent types
		return v
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && indexes()[rv.Type().Elem()] != nil {
		if rv.IsNil() {
			return nil
		}
		rv = rv.Elem()
	}
	names := indexes()[rv.Type()]
	if names == nil {
		return v
	}
	object := make(rules.Object, 0, len(names))
	for name, i := range names {
		if f := rv.FieldByIndex(i); f.Kind() != reflect.Func {
			object = append(object, rules.Member{Name: name, Value: fieldsOf(f.Interface())})
		}
	}
	slices.SortFunc(object, func(a, b rules.Member) int { return slices.Compare(names[a.Name], names[b.Name]) })
	return object
}

// expandNames replaces the names that stand for something else:
//
//   - null is nil,
//   - a variable of for, which expressions read by its own name, is a member of partition,
//     unless a let variable of the same name hides it,
//   - login.header("X") is header("X"): in the scope of a login, the context has the headers of
//     the response to the login.
func expandNames(node *ast.Node, variables []string) {
	switch n := (*node).(type) {
	case nil:
		return
	case *ast.IdentifierNode:
		switch {
		case n.Value == "null":
			null := &ast.NilNode{}
			null.SetLocation(n.Location())
			*node = null
		case slices.Contains(variables, n.Value):
			*node = memberAt(rules.ContextPartition, n.Value, n)
		}
		return
	case *ast.VariableDeclaratorNode:
		expandNames(&n.Value, variables)
		inner := slices.DeleteFunc(slices.Clone(variables), func(name string) bool { return name == n.Name })
		expandNames(&n.Expr, inner)
		return
	}
	for _, child := range children(*node) {
		expandNames(child, variables)
	}
	if call, ok := (*node).(*ast.CallNode); ok {
		loginHeader(call)
	}
}

// loginHeader replaces the callee of login.header("X").
func loginHeader(call *ast.CallNode) {
	callee := call.Callee
	if chain, optional := callee.(*ast.ChainNode); optional {
		callee = chain.Node
	}
	member, ok := callee.(*ast.MemberNode)
	if !ok || !isIdentifier(member.Node, rules.ContextLogin) {
		return
	}
	if key, ok := member.Property.(*ast.StringNode); ok && key.Value == "header" {
		call.Callee = identifierAt(rules.ContextHeader, call.Callee)
	}
}

// memberAt returns the member of an object at the place of another node.
func memberAt(object, key string, place ast.Node) ast.Node {
	property := &ast.StringNode{Value: key}
	member := &ast.MemberNode{Node: identifierAt(object, place), Property: property}
	property.SetLocation(place.Location())
	member.SetLocation(place.Location())
	return member
}
