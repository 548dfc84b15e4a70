package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/importer/grade"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// A Config is a configuration that was written.
type Config struct {
	Name string // of its file: github.yaml
	Text []byte // YAML
	Jobs []string
}

// A Result has the configurations that a source was translated to, and the report.
type Result struct {
	Configs []Config
	Report  Report
}

// Write turns a source into configurations. Streams with the same host, credentials and common settings
// share a configuration; most sources give one.
func Write(format string, src *Source) (*Result, error) {
	w := &writer{src: src, at: map[*Stream]jobPosition{}}
	w.hideUsers()
	w.refuseChildren()
	w.shareParents()
	w.uniteParents()
	var out []Config
	for _, g := range w.groups() {
		c, err := w.config(g, len(out))
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, *c)
		}
	}
	return &Result{Configs: out, Report: w.report(format)}, nil
}

type writer struct {
	src *Source
	at  map[*Stream]jobPosition // of the streams that were written
}

// A jobPosition says where the job of a stream is.
type jobPosition struct {
	file, job string
	index     int
}

// A group is the streams of one configuration.
type group struct {
	first   *Stream
	streams []*Stream // parents before their children
	written []*Stream // those that are not hidden, in the order of the source
	emitted map[*Stream]bool
	inputs  []Input // as the configuration declares them
}

// needs reports whether a stream is read for the items of another one.
func (s *Stream) needs(parent *Stream) bool {
	return slices.ContainsFunc(s.For, func(v Variable) bool { return v.Parent != nil && (v.Parent == parent || v.Parent.needs(parent)) })
}

// refuseChildren refuses the streams whose parents are refused.
func (w *writer) refuseChildren() {
	var refused func(s *Stream, depth int) string
	refused = func(s *Stream, depth int) string {
		for _, v := range s.For {
			if v.Parent == nil || s.Refused != "" {
				continue
			}
			if depth > 50 {
				s.Refused = "its parents depend on each other"
			} else if why := refused(v.Parent, depth+1); why != "" {
				s.Refused = fmt.Sprintf("its parent %s is not translated: %s", v.Parent.Name, why)
			}
		}
		return s.Refused
	}
	for _, s := range w.src.Streams {
		refused(s, 0)
	}
}

// shareParents lets children have the same parent if their parents make the same requests. A filter of a parent
// is a condition of its children, and its fields have no effect on them.
func (w *writer) shareParents() {
	known := map[string]*Stream{}
	var shared func(s *Stream) *Stream
	shared = func(s *Stream) *Stream {
		for i, v := range s.For {
			if v.Parent != nil {
				s.For[i].Parent = shared(v.Parent)
			}
		}
		job := w.alone(s, pagination(s).Without("keep"), false).Without("id")
		if !s.Incremental.sends() {
			job = job.Without("incremental")
		}
		key := text([]any{s.BaseURL, object(s.Auth), object(s.Common), job})
		if t := known[key]; t == nil || t.Hidden && !s.Hidden {
			known[key] = s
		}
		return known[key]
	}
	hidden := func(v Variable) bool { return v.Parent != nil && v.Parent.Hidden }
	if !slices.ContainsFunc(w.src.Streams, func(s *Stream) bool { return slices.ContainsFunc(s.For, hidden) }) {
		return
	}
	for range 2 { // in the second pass, all streams that are not hidden are known
		for _, s := range w.src.Streams {
			if s.Refused == "" {
				shared(s)
			}
		}
	}
}

// uniteParents lets children have a stream itself as their parent in the place of its copy that is read as a whole. The
// stream is then read as a whole, too, and its filter leaves out the items that are not new.
func (w *writer) uniteParents() {
	children := map[*Stream][]*Variable{}
	for _, s := range w.src.Streams {
		if s.Refused == "" && !s.Hidden {
			s.parents(children)
		}
	}
	for _, t := range w.src.Streams {
		if t.Whole == nil || t.Hidden || t.Refused != "" || children[t] != nil {
			continue
		}
		var copies []*Stream
		for s := range children {
			if s.Hidden && s.Name == t.Name {
				copies = append(copies, s)
			}
		}
		if len(copies) != 1 || !t.pagesAs(copies[0]) {
			continue
		}
		whole := copies[0]
		t.For, t.Request, t.Kept, t.Filter = whole.For, whole.Request, t.Whole.Kept, Both(t.Filter, t.Whole.New)
		for _, v := range children[whole] {
			v.Parent = t
		}
		t.Note(Note{Grade: Check, Source: t.Place, Target: "filter",
			Text: "the whole list is read, which its children need; the filter leaves out the items that are not new, so that requests for them " +
				"alone are not needed"})
	}
}

// pagesAs reports whether two streams that have the same name page alike and have their items in the same place.
func (s *Stream) pagesAs(t *Stream) bool {
	return s.BaseURL == t.BaseURL && s.Items == t.Items && text(pagination(s).Without("keep")) == text(pagination(t).Without("keep"))
}

// parents notes the variables that have the items of a stream, for the parents of s and theirs.
func (s *Stream) parents(children map[*Stream][]*Variable) {
	for i := range s.For {
		v := &s.For[i]
		if v.Parent != nil && !slices.Contains(children[v.Parent], v) {
			children[v.Parent] = append(children[v.Parent], v)
			v.Parent.parents(children)
		}
	}
}

// groups puts the streams into configurations.
func (w *writer) groups() []*group {
	var groups []*group
	by := map[string]*group{}
	for _, s := range w.src.Streams {
		if s.Refused != "" || s.Hidden {
			continue
		}
		common, _ := json.Marshal([]any{origin(s.BaseURL), object(s.Auth), object(apart(s.Common)), s.Inputs})
		g := by[string(common)]
		if g == nil {
			g = &group{first: s, emitted: map[*Stream]bool{}}
			by[string(common)] = g
			groups = append(groups, g)
		}
		g.emitted[s] = true
		g.written = append(g.written, s)
	}
	for _, g := range groups {
		for _, s := range g.written {
			g.add(s)
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(len(b.emitted), len(a.emitted)) })
	return groups
}

// origin returns the beginning of an address up to its path.
func origin(address string) string {
	scheme := strings.Index(address, "://") + len("://")
	depth := 0
	for i, r := range address {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == '/' && depth == 0 && i >= scheme:
			return address[:i+1]
		}
	}
	return address
}

// inCommon are the keys of api.http that one stream of a configuration sets for all.
var inCommon = []string{"maxRetries", "retryHeader"}

// apart returns the common settings that streams of one configuration must have in common.
func apart(common []Member) []Member {
	return slices.DeleteFunc(slices.Clone(common), func(m Member) bool { return slices.Contains(inCommon, m.Name) })
}

// http returns api.http. The first stream that says something about retries decides about them.
func (g *group) http() value.Object {
	out := object(apart(g.first.Common))
	for _, s := range g.streams {
		for _, m := range s.Common {
			v, set := out.Get(m.Name)
			switch {
			case !slices.Contains(inCommon, m.Name): // it is there already
			case !set:
				out = out.With(m.Name, configured(m.Value))
			case text(v) != text(configured(m.Value)):
				note := Note{Grade: Check, Source: s.Place, Target: "api.http." + m.Name,
					Text: fmt.Sprintf("%s is %v for all jobs; the source says %v for this stream", m.Name, v, configured(m.Value))}
				if !slices.Contains(s.Notes, note) {
					s.Note(note)
				}
			}
		}
	}
	return out
}

// add adds a stream after its parents. A hidden stream comes after that of which it is a copy.
func (g *group) add(s *Stream) {
	if slices.Contains(g.streams, s) {
		return
	}
	for _, t := range g.written {
		if !g.emitted[s] && t.Name == s.Name && !t.needs(s) {
			g.add(t)
		}
	}
	for _, v := range s.For {
		if v.Parent != nil {
			g.add(v.Parent)
		}
	}
	g.streams = append(g.streams, s)
}

// refuse refuses a stream and its children, and removes them from the group.
func (g *group) refuse(s *Stream, why string) {
	s.Refused = cmp.Or(s.Refused, why)
	g.streams = slices.DeleteFunc(g.streams, func(t *Stream) bool { return t == s })
	for _, t := range slices.Clone(g.streams) {
		if slices.ContainsFunc(t.For, func(v Variable) bool { return v.Parent == s }) {
			g.refuse(t, fmt.Sprintf("its parent %s is not translated: %s", s.Name, why))
		}
	}
}

// dropUnneeded leaves out the hidden streams that no other stream needs.
func (g *group) dropUnneeded() {
	needed := map[*Stream]bool{}
	for _, s := range slices.Backward(g.streams) {
		if g.emitted[s] {
			needed[s] = true
		}
		if needed[s] {
			for _, v := range s.For {
				needed[v.Parent] = true
			}
		}
	}
	g.streams = slices.DeleteFunc(g.streams, func(s *Stream) bool { return !needed[s] })
}

// config writes the configuration of a group. It returns nil if no stream is left.
func (w *writer) config(g *group, n int) (*Config, error) {
	for {
		if g.dropUnneeded(); len(g.streams) == 0 {
			return nil, nil
		}
		root := w.root(g)
		bad, err := mistakes(root)
		if err == nil {
			return w.written(g, root, n)
		}
		dropped := false
		for i, s := range slices.Clone(g.streams) {
			if why := bad[i]; why != "" && slices.Contains(g.streams, s) {
				g.refuse(s, why)
				dropped = true
			}
		}
		if !dropped { // a mistake that is not in a job
			for _, s := range slices.Clone(g.streams) {
				g.refuse(s, outside(err))
			}
		}
	}
}

// written adds the tests and writes the text.
func (w *writer) written(g *group, root value.Object, n int) (*Config, error) {
	name := cmp.Or(w.src.Name, fileName(g.first.Name))
	if n > 0 && w.src.Name != "" {
		name += "-" + fileName(g.first.Name)
	}
	c := &Config{Name: name + ".yaml"}
	if tests := w.tests(g, root); len(tests) > 0 {
		root = append(root, value.Member{Name: "tests", Value: tests})
	}
	for i, s := range g.streams {
		c.Jobs = append(c.Jobs, jobID(s))
		if s.Paging.connection(s) != "" {
			s.Note(Note{Grade: Approximate, Source: s.Place, Target: "pagination",
				Text: "a response with errors, or without hasNextPage, ends the run with an error; there, the list ends or goes on"})
		}
		if g.emitted[s] {
			w.at[s] = jobPosition{c.Name, jobID(s), i}
		}
	}
	layout := yaml.Layout{Line: 100, Flat: []string{"pages"}, Block: []string{"jobs", "tests"}, Comment: w.comment(g, root)}
	plain, err := reparsed(root)
	if err != nil {
		return nil, err
	}
	c.Text, err = layout.Format(plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	return c, nil
}

var notInFiles = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

// fileName returns a text as a part of the name of a file.
func fileName(text string) string {
	return cmp.Or(strings.ToLower(strings.Trim(notInFiles().ReplaceAllString(text, "-"), "-.")), "stream")
}

// reparsed returns a value as it is read from a file.
func reparsed(v any) (any, error) {
	text, err := value.Marshal(v)
	if err != nil {
		return nil, err
	}
	return rules.ParseJSON(diag.NewSource("", string(text)))
}

// mistakes loads a configuration. With an error it returns the mistakes in jobs, by their index.
func mistakes(root value.Object) (map[int]string, error) {
	_, err := load(root)
	if err == nil {
		return nil, nil
	}
	bad := map[int]string{}
	found, ok := errors.AsType[engine.Diagnostics](err)
	if !ok {
		return bad, err
	}
	for _, d := range found {
		var i int
		if _, failed := fmt.Sscanf(d.Path, "config.jobs[%d]", &i); failed == nil && bad[i] == "" {
			bad[i] = fmt.Sprintf("check refuses the translation: %s: %s", d.Path, d.Message)
		}
	}
	return bad, err
}

// outside describes a mistake that is not in a job.
func outside(err error) string {
	if found, ok := errors.AsType[engine.Diagnostics](err); ok && len(found) > 0 {
		return fmt.Sprintf("check refuses the translation: %s: %s", found[0].Path, found[0].Message)
	}
	return err.Error()
}

func load(root value.Object) (*engine.Engine, error) {
	text, err := value.Marshal(root)
	if err != nil {
		return nil, err
	}
	return engine.Load("import.json", text, engine.WithPlaceholders())
}

// report says how each stream was translated.
func (w *writer) report(format string) Report {
	r := Report{Version: 1, Format: format, Streams: []StreamReport{}}
	index := map[string]int{}
	for _, s := range w.src.Streams {
		if s.Hidden {
			continue
		}
		p, written := w.at[s]
		notes := slices.Clone(s.Notes)
		if s.Refused != "" {
			notes = append(notes, Note{Grade: Refused, Text: s.Refused, Source: s.Place})
		}
		for i, n := range notes {
			switch {
			case !written:
				notes[i].Target = ""
			case n.Target != "" && !isAbsolute(n.Target):
				notes[i].Target = fmt.Sprintf("config.jobs[%d].%s", p.index, n.Target)
			}
		}
		i, known := index[s.Name]
		if !known {
			i = len(r.Streams)
			index[s.Name] = i
			r.Streams = append(r.Streams, StreamReport{Name: s.Name, Grade: Exact, File: p.file, Job: p.job, Notes: []Note{}})
		}
		stream := &r.Streams[i]
		for _, n := range notes {
			if !slices.Contains(stream.Notes, n) {
				stream.Notes = append(stream.Notes, n)
			}
		}
		stream.Grade = grade.Of(stream.Notes)
	}
	return r
}

// isAbsolute reports whether a target is a config path of the whole configuration.
func isAbsolute(target string) bool {
	root, _, _ := strings.Cut(target, ".")
	return root == "api" || root == "inputs" || root == "config"
}
