package workbench

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

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
	case f.Kind == rules.KindFlag:
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
func methodDoc(name string, dialect rules.Dialect) string {
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
	isPath := slices.Contains([]rules.Kind{rules.KindPath, rules.KindKey, rules.KindPathList}, f.Kind)
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
	if f.Kind == rules.KindPathList || slices.Contains([]string{"cursor", "idKey", "key"}, f.Name) {
		if root = c.itemsOf(job); root == nil {
			return
		}
	}
	pathsIn(root, func(path string, s *shape.Shape) {
		if lists && s.Lists == 0 || f.Kind == rules.KindKey && strings.Contains(path, ".") {
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
