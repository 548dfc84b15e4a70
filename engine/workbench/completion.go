package workbench

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/rules"
)

// A Completion is a text that may stand at a place.
type Completion struct {
	Label  string `json:"label"`
	Kind   string `json:"kind"` // key, value, field, function, variable, path or header
	Detail string `json:"detail,omitempty"`
	Doc    string `json:"doc,omitempty"`
	Edit   Edit   `json:"edit"`
}

// The kinds of completions.
const (
	keyCompletion      = "key"
	valueCompletion    = "value"
	fieldCompletion    = "field"
	functionCompletion = "function"
	variableCompletion = "variable"
	pathCompletion     = "path"
	headerCompletion   = "header"
)

// maxCompletions is the largest number of completions that are returned.
const maxCompletions = 500

// Completion returns what may stand at a position: keys and values of the configuration and, within an
// expression, names, functions, and the paths that recorded responses have.
func (d *Document) Completion(at Position) []Completion {
	c := &completer{Document: d, all: []Completion{}}
	s := d.spotAt(d.lines().offset(at))
	if s == nil {
		return c.all
	}
	c.spot = s
	if s.isKey() {
		c.keys(s.object, s.slot)
	} else if e := s.expression(); e != nil {
		c.expression(e)
	} else {
		c.values()
	}
	return c.all[:min(len(c.all), maxCompletions)]
}

type completer struct {
	*Document
	*spot
	all []Completion
}

func (c *completer) add(one Completion) { c.all = append(c.all, one) }

// isJSON reports whether keys and texts have double quotes around the place.
func (c *completer) isJSON() bool { return c.outline().root.Flow }

// keys adds the keys that an object may have, without those that it has.
func (c *completer) keys(object *syntax.Node, slot rules.Slot) {
	written := ""
	if c.member != nil {
		written = strings.Trim(c.Text[c.start:c.offset], `"'`)
	}
	for _, f := range slot.Keys() {
		if other := object.Member(f.Name); other != nil && other != c.member || !nearOf(f.Name, written) && !strings.Contains(f.Name, written) {
			continue
		}
		c.add(Completion{Label: f.Name, Kind: keyCompletion, Detail: kindOf(f), Doc: f.Doc, Edit: c.keyEdit(f.Name)})
	}
	if slot.Field.Name == "partition" || slot.Field.Name == "inputs" || slot.Field.Name == "kept" { // of a test
		kind := map[string]nameKind{"partition": variableName, "inputs": inputName, "kept": keptName}[slot.Field.Name]
		for _, name := range c.nameIndex().names(kind) {
			if slices.Contains(c.steps, "tests") && object.Member(name) == nil {
				c.add(Completion{Label: name, Kind: variableCompletion, Detail: string(kind), Edit: c.keyEdit(name)})
			}
		}
	}
}

// keyEdit returns the edit that writes a key at the place.
func (c *completer) keyEdit(name string) Edit {
	text := name
	if c.isJSON() || !plainKey().MatchString(name) {
		text = quoted(name)
	}
	if c.member == nil || !c.member.Colon {
		text += ": "
	}
	return Edit{Range: c.lines().span(c.start, c.end), Text: text}
}

var plainKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w$.-]+$`) })

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(out))
}

// kindOf describes the values of a field.
func kindOf(f rules.Field) string {
	text := f.Kind.String()
	if len(f.Values) > 0 {
		text = strings.Join(f.Values, ", ")
	}
	if f.Required {
		text += "; required"
	}
	if f.Default != nil {
		text += fmt.Sprintf("; default: %s", inline(f.Default))
	}
	return text
}

// inline returns a value on one line.
func inline(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// values adds the values that may stand at the place.
func (c *completer) values() {
	f := c.slot.Field
	if keys := c.slot.Keys(); len(keys) > 0 && !c.isJSON() && c.ownLine() { // the value of an object begins
		written := c.node.Text
		for _, key := range keys {
			if strings.Contains(key.Name, written) {
				c.add(Completion{Label: key.Name, Kind: keyCompletion, Detail: kindOf(key), Doc: key.Doc, Edit: c.keyEdit(key.Name)})
			}
		}
	}
	for _, v := range f.Values {
		doc := ""
		if f.Name == "method" && len(c.steps) > 1 {
			doc = methodDoc(v, c.slot.Dialect)
		}
		c.value(v, valueCompletion, f.Name, doc)
	}
	switch {
	case f.Kind == rules.Flag:
		c.literal("true")
		c.literal("false")
	case f.Name == "items" && slices.Contains(c.steps, "for"), f.Name == "job" && slices.Contains(c.steps, "tests"):
		for _, name := range c.nameIndex().names(jobName) {
			c.value(name, variableCompletion, "job", "")
		}
	case f.Name == "scroller", f.Name == "default" && len(c.steps) > 1 && c.slot.Described && inPagination(c.steps):
		for _, name := range c.nameIndex().names(scrollerName) {
			c.value(name, variableCompletion, "scroller", "")
		}
	}
	c.paths(f)
}

// ownLine reports whether nothing but white space, or a dash, stands before the value in its line.
func (c *completer) ownLine() bool {
	start := strings.LastIndexByte(c.Text[:c.start], '\n') + 1
	before := strings.TrimLeft(c.Text[start:c.start], " \t")
	return strings.Trim(before, "- ") == ""
}

func inPagination(steps []string) bool {
	return slices.Contains(steps, "pagination")
}

// methodDoc returns the documentation of a method.
func methodDoc(name, dialect string) string {
	for _, m := range rules.Builtin().Methods(dialect) {
		if m.Name == name {
			return m.Doc
		}
	}
	return ""
}

// value adds a text.
func (c *completer) value(text, kind, detail, doc string) {
	written := ""
	if c.node.Kind == syntax.Scalar {
		written = c.node.Text[:c.node.Within(c.offset)]
	}
	if !strings.Contains(strings.ToLower(text), strings.ToLower(written)) {
		return
	}
	edit := Edit{Range: c.lines().span(c.start, c.end), Text: c.spelled(text)}
	c.add(Completion{Label: text, Kind: kind, Detail: detail, Doc: doc, Edit: edit})
}

// spelled returns a text as it is written at the place.
func (c *completer) spelled(text string) string {
	switch {
	case c.isJSON(), c.node.Style == syntax.DoubleQuoted:
		return quoted(text)
	case c.node.Style == syntax.SingleQuoted, !plainText().MatchString(text), slices.Contains([]string{"true", "false", "null"}, text):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}

var plainText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][\w$./-]*$`) })

// literal adds a word that has no quotes.
func (c *completer) literal(word string) {
	c.add(Completion{Label: word, Kind: valueCompletion, Edit: Edit{Range: c.lines().span(c.start, c.end), Text: word}})
}

// paths adds the paths of recorded responses, where a setting is a path.
func (c *completer) paths(f rules.Field) {
	isPath := slices.Contains([]rules.Kind{rules.Path, rules.Key, rules.PathList}, f.Kind)
	lists := f.Name == "dataField" || f.Name == "path" && slices.Contains(c.steps, "dataField")
	if !isPath && !lists {
		return
	}
	job := c.jobHere()
	s := c.sampled(job)
	if s == nil {
		return
	}
	root := &s.body
	if f.Kind == rules.PathList || slices.Contains([]string{"cursor", "idKey", "key"}, f.Name) {
		if root = c.itemsOf(job); root == nil {
			return
		}
	}
	pathsIn(root, func(path string, s *shape.Shape) {
		if lists && s.Lists == 0 || f.Kind == rules.Key && strings.Contains(path, ".") {
			return
		}
		c.value(path, pathCompletion, detailOf(path, s), "")
	})
}

// detailOf describes recorded values: their types and a sample.
func detailOf(path string, s *shape.Shape) string {
	detail := typeName(s)
	if sample := sampleOf(path, s); sample != "" {
		detail += ": " + sample
	}
	return detail
}

// jobHere returns the id of the job that the place is in, or of the only job.
func (c *completer) jobHere() string {
	node := c.node
	if c.spot.isKey() {
		node = c.object
	}
	return c.Document.jobHere(node)
}

func (d *Document) jobHere(n *syntax.Node) string {
	if job := d.outline().jobOf(n); job != nil {
		return jobID(job)
	}
	if jobs := d.nameIndex().jobs; len(jobs) == 1 {
		return jobID(jobs[0])
	}
	return ""
}

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
		if rules.IsIdentifier(m.Name) {
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
func functions(dialect string) []language.Function {
	functions := language.Builtin().Functions()
	if dialect != rules.Keboola {
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
