package workbench

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/rules"
)

// A nameKind is a kind of name that a configuration defines.
type nameKind string

const (
	jobName      nameKind = "job"
	scrollerName nameKind = "scroller"
	inputName    nameKind = "input"
	variableName nameKind = "variable" // of for
	stateName    nameKind = "state"
	keptName     nameKind = "kept"
)

// A mention is an occurrence of a name.
type mention struct {
	kind       nameKind
	name       string
	scope      string       // path of the job of a variable, or of the pagination of a state; "" if it may be several
	defines    bool         // whether the mention defines the name
	node       *syntax.Node // the scalar, or the member whose key it is
	isKey      bool
	from, to   int // in the text of the scalar
	start, end int // in the document
}

// A nameIndex has all names of a configuration, with their places.
type nameIndex struct {
	mentions []mention
	jobs     []*syntax.Node
	parents  map[*syntax.Node][]*syntax.Node // parents of each job
}

// jobID returns the id of a job.
func jobID(job *syntax.Node) string {
	for _, key := range []string{"id", "endpoint"} {
		if n := job.Member(key); n != nil && n.Kind == syntax.Scalar {
			return n.Text
		}
	}
	return ""
}

// newNameIndex collects the names.
func newNameIndex(o *outline) *nameIndex {
	index := &nameIndex{parents: map[*syntax.Node][]*syntax.Node{}}
	root := o.config()
	if list := root.At("config", "jobs"); list != nil && list.Kind == syntax.List {
		index.jobs = list.Inner
	}
	for _, job := range index.jobs {
		index.job(o, job)
	}
	if api := root.Member("api"); api != nil {
		index.pagination(o, api.Member("pagination"))
	}
	index.keys(inputName, "", root.Member("inputs"), true)
	if tests := root.Member("tests"); tests != nil {
		for _, test := range tests.Inner {
			index.value(jobName, test.Member("job"), false)
			index.keys(inputName, "", test.Member("inputs"), false)
			index.keys(keptName, "", test.Member("kept"), false)
			index.keys(variableName, "", test.Member("partition"), false)
		}
	}
	o.expressions(func(n *syntax.Node, slot rules.Slot, from, to int) { index.expression(o, n, from, to) })
	slices.SortStableFunc(index.mentions, func(a, b mention) int { return a.start - b.start })
	return index
}

// job adds the names in a job.
func (index *nameIndex) job(o *outline, job *syntax.Node) {
	id := job.Member("id")
	if id == nil {
		id = job.Member("endpoint")
	}
	index.value(jobName, id, true)
	index.value(scrollerName, job.Member("scroller"), false)
	index.pagination(o, job.Member("pagination"))
	variables := job.Member("for")
	index.keys(variableName, job.Path(), variables, true)
	if variables == nil {
		return
	}
	for _, v := range variables.Inner {
		items := v.Member("items")
		index.value(jobName, items, false)
		for _, other := range index.jobs {
			if items != nil && items.Kind == syntax.Scalar && other != job && jobID(other) == items.Text {
				index.parents[job] = append(index.parents[job], other)
			}
		}
	}
}

// pagination adds the names in a pagination object.
func (index *nameIndex) pagination(o *outline, n *syntax.Node) {
	if n != nil && n.Kind == syntax.Alias {
		n = o.anchors[n.Text]
	}
	if n == nil {
		return
	}
	index.keys(stateName, n.Path(), n.Member("state"), true)
	index.keys(keptName, "", n.Member("keep"), true)
	index.value(scrollerName, n.Member("default"), false)
	if all := n.Member("scrollers"); all != nil {
		index.keys(scrollerName, "", all, true)
		for _, nested := range all.Inner {
			index.pagination(o, nested)
		}
	}
}

// value adds the name that is a value.
func (index *nameIndex) value(kind nameKind, n *syntax.Node, defines bool) {
	if n == nil || n.Kind != syntax.Scalar || n.Text == "" {
		return
	}
	index.mentions = append(index.mentions, mention{
		kind: kind, name: n.Text, defines: defines, node: n, from: 0, to: len(n.Text),
		start: n.Source(0), end: n.Source(len(n.Text)),
	})
}

// keys adds the names that are the keys of an object.
func (index *nameIndex) keys(kind nameKind, scope string, n *syntax.Node, defines bool) {
	if n == nil || n.Kind != syntax.Object {
		return
	}
	for _, m := range n.Inner {
		if m.KeyStart >= 0 && m.Name != mergeKey {
			index.mentions = append(index.mentions, mention{
				kind: kind, name: m.Name, scope: scope, defines: defines, node: m, isKey: true, start: m.KeyStart, end: m.KeyEnd,
			})
		}
	}
}

// objects are the names of the page context whose members the configuration declares.
var objects = map[string]nameKind{"state": stateName, "kept": keptName, "input": inputName, "partition": variableName}

// expression adds the names that an expression reads.
func (index *nameIndex) expression(o *outline, n *syntax.Node, from, to int) {
	source := n.Text[from:to]
	tokens := slices.DeleteFunc(lex(source), func(t token) bool { return t.kind == commentToken })
	word := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i].of(source)
	}
	job := o.jobOf(n)
	add := func(kind nameKind, scope string, t token, name string) {
		m := mention{kind: kind, name: name, scope: scope, node: n, from: from + t.start, to: from + t.end}
		if t.kind == textToken {
			m.from, m.to = m.from+1, m.to-1
		}
		m.start, m.end = n.Source(m.from), n.Source(m.to)
		index.mentions = append(index.mentions, m)
	}
	for i, t := range tokens {
		if t.kind != nameToken || isDot(word(i-1)) || word(i+1) == "(" {
			continue
		}
		name := t.of(source)
		kind, isObject := objects[name]
		switch {
		case isObject && isDot(word(i+1)) && i+2 < len(tokens) && tokens[i+2].kind == nameToken:
			add(kind, index.scopeOf(o, kind, n, job, word(i+2)), tokens[i+2], word(i+2))
		case isObject && word(i+1) == "[" && i+2 < len(tokens) && tokens[i+2].kind == textToken && tokens[i+2].closed:
			inside := unquoted(word(i + 2))
			add(kind, index.scopeOf(o, kind, n, job, inside), tokens[i+2], inside)
		case isObject, word(i-1) == "let", word(i+1) == ":" && (word(i-1) == "{" || word(i-1) == ","):
		default:
			if scope, known := index.variable(job, name); known {
				add(variableName, scope, t, name)
			}
		}
	}
}

// scopeOf returns the scope of a name that an expression of a job reads.
func (index *nameIndex) scopeOf(o *outline, kind nameKind, n, job *syntax.Node, name string) string {
	switch kind {
	case stateName:
		return o.pagingOf(n)
	case variableName:
		scope, _ := index.variable(job, name)
		return scope
	}
	return ""
}

// jobOf returns the job that a node is in, or nil.
func (o *outline) jobOf(n *syntax.Node) *syntax.Node {
	for ; n != nil && n.Parent != nil; n = n.Parent {
		if n.Index >= 0 && n.Parent.Name == "jobs" {
			return n
		}
	}
	return nil
}

// pagingOf returns the path of the pagination object that a node is in.
func (o *outline) pagingOf(n *syntax.Node) string {
	for ; n.Parent != nil; n = n.Parent {
		if n.Name == "pagination" || n.Parent.Name == "scrollers" || n.Anchor != "" {
			return n.Path()
		}
	}
	return ""
}

// variable returns the path of the job that declares the variable that name means in an expression of a job, and
// reports whether there is one. An expression outside of jobs, for which job is nil, can read the variables of
// all jobs; the path is then empty.
func (index *nameIndex) variable(job *syntax.Node, name string) (scope string, known bool) {
	for _, other := range index.jobs {
		if other.At("for", name) == nil {
			continue
		}
		if job == nil {
			return "", true
		}
		if other == job || index.isAncestor(other, job, 0) {
			scope, known = other.Path(), true
			if other == job {
				return scope, true
			}
		}
	}
	return scope, known
}

// isAncestor reports whether a job is a parent of another job, or an ancestor of one of its parents.
func (index *nameIndex) isAncestor(of, job *syntax.Node, depth int) bool {
	return depth < rules.MaxConfigDepth && slices.ContainsFunc(index.parents[job], func(parent *syntax.Node) bool {
		return parent == of || index.isAncestor(of, parent, depth+1)
	})
}

// at returns the mention at an offset, or nil.
func (index *nameIndex) at(offset int) *mention {
	for i := range index.mentions {
		if m := &index.mentions[i]; m.start <= offset && offset <= m.end {
			return m
		}
	}
	return nil
}

// same returns all mentions of the name that a mention stands for, including that mention.
func (index *nameIndex) same(as *mention) (mentions []mention) {
	for _, m := range index.mentions {
		if m.kind == as.kind && m.name == as.name && (m.scope == as.scope || m.scope == "" || as.scope == "") {
			mentions = append(mentions, m)
		}
	}
	return mentions
}

// names returns the names of a kind that the configuration defines, each once.
func (index *nameIndex) names(kind nameKind) (names []string) {
	for _, m := range index.mentions {
		if m.kind == kind && m.defines && !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// nearOf reports whether a name begins with the text that was typed so far, ignoring case.
func nearOf(name, written string) bool {
	return len(written) <= len(name) && strings.EqualFold(name[:len(written)], written)
}
