package workbench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// expression adds what may stand at a place in an expression.
func (c *completer) expression(e *expressionSpot) {
	if e.text {
		c.inText(e)
		return
	}
	if e.root == "" {
		c.namesIn(e)
		return
	}
	job := c.jobHere()
	fields, s, names := c.members(e.spot, job, e.root, e.path)
	for _, f := range fields {
		c.word(e, Completion{Label: f.Name, Kind: fieldCompletion, Detail: typeOf(f), Doc: f.Doc}, f.Name)
	}
	for _, name := range names {
		c.word(e, Completion{Label: name, Kind: variableCompletion, Detail: e.root}, name)
	}
	if s == nil {
		return
	}
	for _, m := range s.Members {
		completion := Completion{Label: m.Name, Kind: pathCompletion, Detail: detailOf(m.Name, &m.Shape)}
		if keypath.IsExpressionName(m.Name) {
			c.word(e, completion, m.Name)
			continue
		}
		dot := strings.LastIndexByte(e.source[:e.from], '.')
		if dot >= 0 && nearOf(m.Name, e.prefix) {
			completion.Edit = c.sourceEdit(c.node, e.base+dot, e.base+e.to, "["+quoted(m.Name)+"]")
			c.add(completion)
		}
	}
}

// word adds a completion of the word at the place, if that may become it.
func (c *completer) word(e *expressionSpot, completion Completion, text string) {
	if !nearOf(completion.Label, e.prefix) && !strings.Contains(strings.ToLower(completion.Label), strings.ToLower(e.prefix)) {
		return
	}
	completion.Edit = c.sourceEdit(c.node, e.base+e.from, e.base+e.to, text)
	c.add(completion)
}

// namesIn adds the names and functions that an expression may begin with.
func (c *completer) namesIn(e *expressionSpot) {
	for _, name := range c.variablesHere() {
		c.word(e, Completion{Label: name, Kind: variableCompletion, Detail: "variable of for"}, name)
	}
	for _, f := range rules.ContextFields() {
		if f.Scope != rules.ScopePage && f.Scope != c.slot.Scope {
			continue
		}
		completion := Completion{Label: f.Name, Kind: fieldCompletion, Detail: typeOf(f), Doc: f.Doc}
		text := f.Name
		if typeOf(f) == "function" {
			completion.Kind, text = functionCompletion, f.Name+"("
		}
		c.word(e, completion, text)
	}
	called := strings.HasPrefix(e.source[e.to:], "(")
	for _, f := range functions(c.slot.Dialect) {
		text := f.Name
		if !called {
			text += "("
		}
		c.word(e, Completion{Label: f.Name, Kind: functionCompletion, Detail: f.Signature, Doc: functionDoc(f)}, text)
	}
}

// functions returns the functions that expressions may call.
func functions(dialect rules.Dialect) []language.Function {
	functions := language.Builtin().Functions()
	if !dialect.Switches().Functions {
		functions = slices.DeleteFunc(functions, func(f language.Function) bool { return strings.HasPrefix(f.Name, "php") })
	}
	return append(functions, language.Library()...)
}

func functionDoc(f language.Function) string {
	return fmt.Sprintf("%s\n\n%s is %s", f.Doc, f.Example, f.Result)
}

// variablesHere returns the variables of for that the place may read.
func (c *completer) variablesHere() []string {
	index := c.nameIndex()
	at := c.node
	job := c.outline().jobOf(at)
	return slices.DeleteFunc(index.names(variableName), func(name string) bool {
		_, known := index.variable(job, name)
		return !known
	})
}

// typeOf names the type of a field of the page context.
func typeOf(f rules.ContextField) string {
	switch kind := f.Type.Kind().String(); {
	case kind == "func":
		return "function"
	case len(f.Fields) > 0, kind == "map":
		return "object"
	case kind == "slice":
		return "list"
	case kind == "int", kind == "float64":
		return "number"
	case kind == "bool":
		return "boolean"
	case kind == "string":
		return "text"
	}
	return ""
}

// inText adds what may stand in a text of an expression: a path of has and at, a header, a member in brackets.
func (c *completer) inText(e *expressionSpot) {
	job := c.jobHere()
	switch e.call {
	case "header":
		for _, name := range c.headerNames(job) {
			c.word(e, Completion{Label: name, Kind: headerCompletion}, name)
		}
	case "has", "at", "greatest", "least", "latestOf":
		root, path := e.root, e.path
		if root == "" {
			root = "body"
		}
		_, s, _ := c.members(e.spot, job, root, path)
		if s != nil && s.Element != nil && e.root != "" {
			s = s.Element
		}
		if s == nil {
			return
		}
		pathsIn(s, func(path string, s *shape.Shape) {
			c.word(e, Completion{Label: path, Kind: pathCompletion, Detail: detailOf(path, s)}, path)
		})
	case "[":
		if _, s, _ := c.members(e.spot, job, e.root, e.path); s != nil {
			for _, m := range s.Members {
				c.word(e, Completion{Label: m.Name, Kind: pathCompletion, Detail: detailOf(m.Name, &m.Shape)}, m.Name)
			}
		}
	}
}

// members returns what may be selected of the value of a chain: fields of the page context, members of recorded
// values, or names that the configuration gives.
func (d *Document) members(at *spot, job, root string, path []string) (fields []rules.ContextField, s *shape.Shape, names []string) {
	if kind, isObject := objects[root]; isObject && len(path) == 0 {
		names = d.nameIndex().names(kind)
		if kind == stateName {
			for _, name := range d.methodState(at) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		return nil, nil, names
	}
	if root == "partition" {
		root, path = path[0], path[1:]
	}
	contextFields := rules.ContextFields()
	for i := slices.IndexFunc(contextFields, func(f rules.ContextField) bool { return f.Name == root }); i >= 0; {
		f := contextFields[i]
		switch f.Name {
		case "body":
			return nil, d.bodyAt(job, path), nil
		case "items":
			return nil, d.itemAt(job, path), nil
		case "item":
			return nil, d.itemAt(job, append([]string{"*"}, path...)), nil
		}
		if len(f.Fields) == 0 {
			return nil, nil, nil
		}
		if len(path) == 0 {
			return f.Fields, nil, nil
		}
		contextFields = f.Fields
		i = slices.IndexFunc(contextFields, func(f rules.ContextField) bool { return f.Name == path[0] })
		path = path[1:]
	}
	return nil, d.variableAt(at, root, path), nil
}

// bodyAt returns the shape of recorded bodies at a path, or nil.
func (d *Document) bodyAt(job string, path []string) *shape.Shape {
	if s := d.sampled(job); s != nil {
		return shapeAt(&s.body, path)
	}
	return nil
}

// itemAt returns the shape of recorded items at a path, whose first step is the element.
func (d *Document) itemAt(job string, path []string) *shape.Shape {
	s := d.itemsOf(job)
	if s == nil {
		return nil
	}
	if len(path) == 0 {
		return &shape.Shape{Types: shape.List, Lists: 1, Element: s}
	}
	return shapeAt(s, path[1:])
}

// variableAt returns the shape of the values of a variable of for at a path, or nil.
func (d *Document) variableAt(s *spot, name string, path []string) *shape.Shape {
	n := s.node
	if n == nil {
		n = s.object
	}
	job := d.outline().jobOf(n)
	for _, other := range d.nameIndex().jobs {
		v := other.At("for", name)
		if v == nil || job != nil && other != job && !d.nameIndex().isAncestor(other, job, 0) {
			continue
		}
		if items := v.Member("items"); items != nil {
			return d.itemAt(items.Text, append([]string{"*"}, path...))
		}
		if v.Member("from") != nil && len(path) == 0 {
			return &shape.Shape{Types: shape.Object, Objects: 1, Members: []*shape.Member{{Name: "from"}, {Name: "to"}}}
		}
	}
	return nil
}

// methodState returns the variables of the method of the pagination object that contains a place.
func (d *Document) methodState(place *spot) (names []string) {
	n := place.node
	if n == nil {
		n = place.object
	}
	for ; n != nil; n = n.Parent {
		method := n.Member("method")
		if method == nil {
			continue
		}
		for _, m := range rules.Builtin().Methods(place.slot.Dialect) {
			if m.Name == method.Text {
				for _, v := range m.State {
					names = append(names, v.Name)
				}
			}
		}
	}
	return names
}
