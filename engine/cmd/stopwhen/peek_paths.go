package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile/explain"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A peekReport is the page that stopwhen peek shows.
type peekReport struct {
	Version   int            `json:"version"` // keys may be added to a version
	Job       string         `json:"job"`
	Page      int            `json:"page"`                // number of the page among those of the job
	Partition map[string]any `json:"partition,omitempty"` // values of the variables of for that expressions read
	Request   trace.Sent     `json:"request"`
	Status    int            `json:"status"` // 0 without a response
	Type      string         `json:"contentType,omitempty"`
	Bytes     int            `json:"bytes"`
	Headers   []peekHeader   `json:"headers"` // the headers that rules read
	Items     int            `json:"items"`
	OfItems   bool           `json:"ofItems,omitempty"` // body describes the list of items, since the response is not JSON
	Body      []peekPath     `json:"body"`              // in the order of the response
	StoppedBy []string       `json:"stoppedBy,omitempty"`
	Error     string         `json:"error,omitempty"`

	err error
}

// A peekHeader is a header that rules read.
type peekHeader struct {
	Name   string   `json:"name"`
	Value  string   `json:"value,omitempty"`
	Absent bool     `json:"absent,omitempty"`
	ReadBy []string `json:"readBy"`
}

// A peekPath is a path in the body.
type peekPath struct {
	Path   string   `json:"path"` // as an expression reads it, with [*] for the elements of a list
	Type   string   `json:"type"`
	Count  int      `json:"count"` // number of values
	Of     int      `json:"of"`    // number of objects that may have a value
	Sample string   `json:"sample,omitempty"`
	Items  bool     `json:"items,omitempty"` // it is the list of items
	ReadBy []string `json:"readBy,omitempty"`
	Absent bool     `json:"absent,omitempty"` // rules read it, and the response does not have it

	name  string
	depth int
}

// hiddenSample is shown in place of a value that is probably a credential.
const hiddenSample = "(hidden)"

// readers are the rules of a job by what they read: body.next, header("Link"), items[*].id.
type readers struct {
	items string              // path of the list of items; empty if it is the body, or the only list in its root
	by    map[string][]string // ids of the rules
}

// readersOf returns the readers of a job, and of the items the jobs that are its children.
func readersOf(e *explain.Explanation, id string) readers {
	r := readers{by: map[string][]string{}}
	for _, job := range e.Jobs {
		if job.Job != id {
			if job.Partitions != nil && job.Partitions.Parent == id {
				r.add(job.Partitions.Reads, "job "+job.Job, job.Partitions.Variables[0].Name)
			}
			continue
		}
		if job.Items.Path != "" {
			r.items = "body." + job.Items.Path
		}
		all := slices.Concat(job.Computed, job.State, job.Next, job.Shape, job.Stops, job.OnError, job.Keep)
		if job.NoNext != nil {
			all = append(all, *job.NoNext)
		}
		for _, rule := range all {
			r.add(rule.Reads, rule.ID, "item")
		}
	}
	return r
}

// add adds what a rule reads. root is the name of an item in the reads.
func (r readers) add(reads []string, id, root string) {
	for _, read := range reads {
		if inner, ok := strings.CutPrefix(read, "has("); ok {
			read = strings.TrimSuffix(inner, ")")
		}
		if rest, ok := strings.CutPrefix(read, root+"."); ok {
			read = "items[*]." + rest
		}
		if start, rest, ok := strings.Cut(read, "]"); ok && strings.HasPrefix(start, "items[") {
			read = "items[*]" + rest
		}
		r.by[read] = value.AppendNew(r.by[read], id)
	}
}

// headers returns the headers that rules read, by name.
func (r readers) headers(of http.Header) []peekHeader {
	found := []peekHeader{}
	for _, read := range slices.Sorted(maps.Keys(r.by)) {
		name, ok := strings.CutPrefix(read, `header("`)
		name = strings.TrimSuffix(name, `")`)
		if !ok {
			if !strings.HasPrefix(read, "link(") {
				continue
			}
			name = "Link"
		}
		h := peekHeader{Name: name, Value: of.Get(name), Absent: len(of.Values(name)) == 0, ReadBy: r.by[read]}
		if secret.Like(name, h.Value) {
			h.Value = hiddenSample
		}
		found = append(found, h)
	}
	return found
}

// paths returns the paths of a body, or of its list of items, and the paths that rules read and the
// body does not have.
func (r readers) paths(body *shape.Shape, ofItems bool) []peekPath {
	w := pathWalk{readers: r, found: map[string]bool{}}
	root := "body"
	switch {
	case ofItems:
		root, w.items = "items", "items"
	case r.items == "":
		w.items = onlyList(body)
	}
	w.add(root, root, body, 1, 0)
	for _, read := range slices.Sorted(maps.Keys(r.by)) {
		if (strings.HasPrefix(read, "body.") || strings.HasPrefix(read, "items[*].")) && !w.found[read] && !ofItems {
			w.all = append(w.all, peekPath{Path: read, name: read, Absent: true, ReadBy: r.by[read]})
		}
	}
	return w.all
}

// onlyList returns the path of the items of a job without dataField.
func onlyList(body *shape.Shape) string {
	if body.Lists > 0 {
		return "body"
	}
	var found []string
	for _, m := range body.Members {
		if m.Lists > 0 {
			found = append(found, rules.FormatPath("body", []string{m.Name}))
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return ""
}

// A pathWalk collects the paths of a body.
type pathWalk struct {
	readers
	all   []peekPath
	found map[string]bool // reads that the body has
}

// add adds a path, and the paths below it. of is the number of objects or lists that may have a value.
func (w *pathWalk) add(path, name string, s *shape.Shape, of, depth int) {
	p := peekPath{Path: path, Type: typeName(s), Count: s.Count, Of: of, Sample: sampleOf(name, s), name: name, depth: depth}
	read := path
	if rest, ok := strings.CutPrefix(path, w.items+"[*]"); ok && w.items != "" {
		read = "items[*]" + rest
	}
	p.Items = path == w.items
	for _, spelled := range []string{path, read} {
		w.found[spelled] = true
		for _, id := range w.by[spelled] {
			p.ReadBy = value.AppendNew(p.ReadBy, id)
		}
	}
	if depth > 0 || s.Objects == 0 {
		w.all = append(w.all, p)
	} else {
		depth--
	}
	for _, m := range s.Members {
		w.add(rules.FormatPath(path, []string{m.Name}), m.Name, &m.Shape, s.Objects, depth+1)
	}
	if s.Unnamed > 0 {
		more := fmt.Sprintf("… %d more", s.Unnamed)
		w.all = append(w.all, peekPath{Path: path + more, name: more, depth: depth + 1})
	}
	if e := s.Element; e != nil && (e.Members != nil || e.Element != nil) {
		w.addElement(path+"[*]", e, depth)
	}
}

// addElement adds the paths of the elements of a list, one level below the list.
func (w *pathWalk) addElement(path string, e *shape.Shape, depth int) {
	for _, m := range e.Members {
		w.add(rules.FormatPath(path, []string{m.Name}), m.Name, &m.Shape, e.Objects, depth+1)
	}
	if e.Element != nil {
		w.add(path, "[*]", e, e.Count, depth+1)
	}
}

// sampleOf returns a sample of the values, unless they are probably credentials.
func sampleOf(name string, s *shape.Shape) string {
	if secret.Like(name, strings.Trim(s.Sample, `"`)) {
		return hiddenSample
	}
	return secret.ReplaceIssued(s.Sample, hiddenSample)
}

// typeName describes the types of the values: "integer", "text (date) or null", "list of 10 objects".
func typeName(s *shape.Shape) string {
	var names []string
	for _, name := range s.Types.Names() {
		switch {
		case name == "list":
			name = listName(s)
		case name == "text" && s.Format != "":
			name += " (" + s.Format + ")"
		}
		names = append(names, name)
	}
	return value.OrList(names)
}

// listName describes the lists.
func listName(s *shape.Shape) string {
	if s.Element == nil {
		return "empty list"
	}
	size := fmt.Sprint(s.Longest)
	if s.Lists > 1 {
		size = "up to " + size
	}
	types := s.Element.Types.Names()
	if len(types) != 1 || s.Element.Types == shape.Null {
		return fmt.Sprintf("list of %s values", size)
	}
	return strings.TrimSuffix(fmt.Sprintf("list of %s %s", size, plural(types[0], s.Longest)), " ")
}

func plural(name string, n int) string {
	_, noun, _ := strings.Cut(value.Counted(n, name), " ")
	return noun
}

// peekText is the template of a report.
//
//go:embed peek.txt
var peekText string

// A laidOutPeek is a report with its lines as they are printed.
type laidOutPeek struct {
	*peekReport
	HeaderLines, PathLines []string
	Ends                   string
}

// laidOut lays out a report for the width of the terminal, or for 100 columns.
func (a *app) laidOut(r *peekReport) laidOutPeek {
	width := cmp.Or(a.columns(), 100)
	l := laidOutPeek{peekReport: r}
	for _, h := range r.Headers {
		text := fmt.Sprintf("%s: %s", h.Name, h.Value)
		if h.Absent {
			text = h.Name + " is absent"
		}
		l.HeaderLines = append(l.HeaderLines, marked("  "+text, "read by "+strings.Join(h.ReadBy, ", "), width))
	}
	var columns [3]int
	for _, p := range r.Body {
		for i, cell := range p.cells() {
			columns[i] = max(columns[i], utf8.RuneCountInString(cell))
		}
	}
	columns[0], columns[1] = min(columns[0], max(12, width*2/5)), min(columns[1], 24)
	for _, p := range r.Body {
		l.PathLines = append(l.PathLines, p.line(columns, width))
	}
	return l
}

// cells returns the name, the type and the count of a path.
func (p peekPath) cells() [3]string {
	cells := [3]string{strings.Repeat("  ", p.depth) + p.name, p.Type, ""}
	if p.Count < p.Of {
		cells[2] = fmt.Sprintf("%d of %d", p.Count, p.Of)
	}
	return cells
}

// line returns the line of a path, whose columns have the given widths.
func (p peekPath) line(columns [3]int, width int) string {
	cells := p.cells()
	text := fmt.Sprintf("%-*s", columns[0], cells[0])
	if p.Absent {
		return marked(text+"  not in this response", "read by "+strings.Join(p.ReadBy, ", "), width)
	}
	for i, cell := range cells[1:] {
		if columns[i+1] > 0 {
			text += fmt.Sprintf("  %-*s", columns[i+1], cell)
		}
	}
	if room := width - utf8.RuneCountInString(text) - 2; room > 8 && p.Sample != "" {
		text += "  " + value.Clip(p.Sample, min(room-1, 40))
	}
	var marks []string
	if p.Items {
		marks = append(marks, "the items")
	}
	if len(p.ReadBy) > 0 {
		marks = append(marks, "read by "+strings.Join(p.ReadBy, ", "))
	}
	return marked(strings.TrimRight(text, " "), strings.Join(marks, "; "), width)
}

// marked returns a text with a mark after it, or below it if the line would be too long.
func marked(text, mark string, width int) string {
	switch {
	case mark == "":
		return text
	case utf8.RuneCountInString(text)+utf8.RuneCountInString(mark)+5 <= width:
		return text + "   ← " + mark
	}
	indent := len(text) - len(strings.TrimLeft(text, " ")) + 2
	return text + "\n" + strings.Repeat(" ", indent) + "↑ " + value.Clip(mark, max(width-indent-3, 20))
}
