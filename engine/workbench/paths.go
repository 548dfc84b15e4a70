package workbench

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A ReadHeader is a header that rules read.
type ReadHeader struct {
	Name   string   `json:"name"`
	Value  string   `json:"value,omitempty"`
	Absent bool     `json:"absent,omitempty"`
	ReadBy []string `json:"readBy"`
}

// A ReadPath is a path in a body.
type ReadPath struct {
	Path   string   `json:"path"` // as an expression reads it, with [*] for the elements of a list
	Type   string   `json:"type"`
	Count  int      `json:"count"` // number of values
	Of     int      `json:"of"`    // number of objects that may have a value
	Sample string   `json:"sample,omitempty"`
	Items  bool     `json:"items,omitempty"` // it is the list of items
	ReadBy []string `json:"readBy,omitempty"`
	Absent bool     `json:"absent,omitempty"` // rules read it, and the response does not have it

	Name  string `json:"-"` // the last part of the path
	Depth int    `json:"-"` // number of paths around it
}

// hiddenSample is shown in place of a value that is probably a credential.
const hiddenSample = "(hidden)"

// Readers are the rules of a job, by what they read: body.next, header("Link"), items[*].id.
type Readers struct {
	items string              // path of the list of items; empty if it is the body, or the only list in its root
	by    map[string][]string // ids of the rules
}

// ReadersOf returns the rules of a job, and the children of the job that read its items.
func ReadersOf(e *explain.Explanation, id string) Readers {
	r := Readers{by: map[string][]string{}}
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
		for _, need := range job.Needs {
			if keys := keypath.Split(need.Path); len(keys) > 0 {
				r.add([]string{keypath.Format("items[*]", keys)}, need.Rule, "item")
			}
		}
	}
	return r
}

// add adds what a rule reads. root is the name of an item in the reads.
func (r Readers) add(reads []string, id, root string) {
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
		r.by[read] = lists.AppendNew(r.by[read], id)
	}
}

// Headers returns the headers that rules read, by name.
func (r Readers) Headers(header http.Header) []ReadHeader {
	found := []ReadHeader{}
	for _, read := range slices.Sorted(maps.Keys(r.by)) {
		name, ok := strings.CutPrefix(read, `header("`)
		name = strings.TrimSuffix(name, `")`)
		if !ok {
			if !strings.HasPrefix(read, "link(") {
				continue
			}
			name = "Link"
		}
		h := ReadHeader{Name: name, Value: header.Get(name), Absent: len(header.Values(name)) == 0, ReadBy: r.by[read]}
		if secret.IsValue(name, h.Value) {
			h.Value = hiddenSample
		}
		found = append(found, h)
	}
	return found
}

// Paths returns the paths of a body, or of its list of items, and the paths that rules read and the
// body does not have.
func (r Readers) Paths(body *shape.Shape, ofItems bool) []ReadPath {
	w := pathWalk{Readers: r, found: map[string]bool{}}
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
			w.all = append(w.all, ReadPath{Path: read, Name: read, Absent: true, ReadBy: r.by[read]})
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
			found = append(found, keypath.Format(rules.ContextBody, []string{m.Name}))
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return ""
}

// A pathWalk collects the paths of a body.
type pathWalk struct {
	Readers
	all   []ReadPath
	found map[string]bool // reads that the body has
}

// add adds a path, and the paths below it. of is the number of objects or lists that may have a value.
func (w *pathWalk) add(path, name string, s *shape.Shape, of, depth int) {
	p := ReadPath{Path: path, Type: typeName(s), Count: s.Count, Of: of, Sample: sampleOf(name, s), Name: name, Depth: depth}
	read := path
	if rest, ok := strings.CutPrefix(path, w.items+"[*]"); ok && w.items != "" {
		read = "items[*]" + rest
	}
	p.Items = path == w.items
	for _, spelled := range []string{path, read} {
		w.found[spelled] = true
		for _, id := range w.by[spelled] {
			p.ReadBy = lists.AppendNew(p.ReadBy, id)
		}
	}
	if depth > 0 || s.Objects == 0 {
		w.all = append(w.all, p)
	} else {
		depth--
	}
	for _, m := range s.Members {
		w.add(keypath.Format(path, []string{m.Name}), m.Name, &m.Shape, s.Objects, depth+1)
	}
	if s.Unnamed > 0 {
		more := fmt.Sprintf("… %d more", s.Unnamed)
		w.all = append(w.all, ReadPath{Path: path + more, Name: more, Depth: depth + 1})
	}
	if e := s.Element; e != nil && (e.Members != nil || e.Element != nil) {
		w.addElement(path+"[*]", e, depth)
	}
}

// addElement adds the paths of the elements of a list, one level below the list.
func (w *pathWalk) addElement(path string, e *shape.Shape, depth int) {
	for _, m := range e.Members {
		w.add(keypath.Format(path, []string{m.Name}), m.Name, &m.Shape, e.Objects, depth+1)
	}
	if e.Element != nil {
		w.add(path, "[*]", e, e.Count, depth+1)
	}
}

// sampleOf returns a sample of the values, unless they are probably credentials.
func sampleOf(name string, s *shape.Shape) string {
	if secret.IsValue(name, strings.Trim(s.Sample, `"`)) {
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
	return wording.OrList(names)
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
	_, noun, _ := strings.Cut(wording.Counted(n, name), " ")
	return noun
}
