package airbyte

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A translation makes one variant of a stream.
type translation struct {
	*reader
	stream *stream
	whole  bool // without increments, as a parent
	out    *importer.Stream

	slice     map[string]jinja.Expr // the members of stream_slice
	partition []string              // expressions for the members of the slice, and for those of the slices above, that tell partitions apart
	interval  map[string]jinja.Expr // start_time and end_time
	token     jinja.Expr            // next_page_token.next_page_token after the first request
	initial   jinja.Expr            // next_page_token.next_page_token in the first request
	itemPath  []string
	overlay   map[string]string // expressions over item of the members that transformations have set
	injected  []injected
	sliced    int             // how many of them are of the slice
	next      []importer.Next // values of the requests after the first
	cursor    *cursor

	post, form bool

	ready string      // the condition that a report is ready
	extra jinja.Scope // further names that templates read
}

// An extent says how much of its list a job of a stream reads in a run.
type extent int

const (
	byIncrements extent = iota // the items that are new, if the stream has increments
	asWhole                    // the whole list, as a parent
)

// read returns the jobs of a stream.
func (r *reader) read(s *stream, extent extent) []*importer.Stream {
	s.reading = true
	defer func() { s.reading = false }()
	routers := r.routers(s)
	var out []*importer.Stream
	for i, chosen := range routers {
		t := &translation{reader: r, stream: s, whole: extent == asWhole, slice: map[string]jinja.Expr{}, interval: map[string]jinja.Expr{},
			overlay: map[string]string{}, initial: jinja.Literal(nil), token: jinja.Literal(nil)}
		t.out = &importer.Stream{Name: s.name, Place: s.node.path, Hidden: true}
		r.translations[t.out] = t
		t.out.ID = s.id
		if len(routers) > 1 {
			t.out.ID = fmt.Sprintf("%s_%d", cmp.Or(s.id, s.name), i+1)
		}
		if t.whole {
			t.out.ID = cmp.Or(s.id, s.name) + "_all"
		}
		if err := t.build(chosen); err != nil {
			t.out.Refused = err.Error()
		} else {
			t.unread()
		}
		out = append(out, t.out)
	}
	return out
}

// build reads all parts of a stream.
func (t *translation) build(chosen []router) error {
	s := t.stream.node
	if t.stream.state {
		t.note(importer.Approximate, s, "", "the runs after the first read another stream there (incremental_stream); here all read this one")
	}
	if uploader := s.get("file_uploader"); uploader.given() {
		t.note(importer.Partial, uploader, "", "the files that records name are not downloaded")
	}
	retriever := s.get("retriever")
	switch kind := retriever.kind(); kind {
	case "", "SimpleRetriever":
	case "Custom":
		return custom("retriever", retriever)
	case "AsyncRetriever":
		return t.async(chosen, retriever)
	default:
		return fmt.Errorf("%s: the retriever %s is not known", retriever.path, kind)
	}
	requester := retriever.get("requester")
	if requester.kind() == "Custom" {
		return custom("requester", requester)
	}
	t.out.Key = t.primaryKey(s.get("primary_key"))
	for _, step := range []func() error{
		func() error { return t.partitions(chosen) },
		func() error { return t.increment(t.cursorNode()) },
		func() error { t.sliced = len(t.injected); return nil },
		func() error { return t.response(retriever) },
		func() error { return t.transformations(s, retriever) },
		func() error { return t.paging(retriever) },
		func() error { return t.request(requester) },
		func() error { return t.authenticator(requester.get("authenticator")) },
		func() error { return t.errorHandler(requester.get("error_handler")) },
		func() error { return t.finish(retriever) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, key := range []string{"name", "primary_key", "decoder", "partition_router",
		"stream_slicer", "incremental_sync"} {
		retriever.mark(key)
	}
	return nil
}

// finish writes the settings that depend on several parts.
func (t *translation) finish(n node) error {
	t.out.Errors = slices.Clip(t.out.Errors)
	t.budget(t.manifest.get("api_budget"))
	if len(t.next) > 0 {
		if t.out.Paging == nil {
			return fmt.Errorf("%s: a template reads the token of a page, but there is no paginator", n.path)
		}
		t.out.Paging.Next = append(t.out.Paging.Next, t.next...)
	}
	t.onlyFirst(n.get("ignore_stream_slicer_parameters_on_paginated_requests"))
	recordFilter := t.out.Filter != ""
	if err := t.finishIncrement(); err != nil {
		return err
	}
	if c := t.cursor; recordFilter || c != nil && c.onlyNew && !c.get("is_data_feed").flag() {
		t.filteredPages()
	}
	return nil
}

// onlyFirst leaves out the parameters of the slice in the requests after the first, if these are made of an
// address and have no other parameters.
func (t *translation) onlyFirst(n node) {
	p := t.out.Paging
	switch {
	case !n.flag() || t.sliced == 0 || p == nil:
	case p.Into.In == importer.InURL && len(t.out.Params) == t.sliced:
		p.NoParam = true
	default:
		t.note(importer.Approximate, n, "pagination", "the requests after the first have the parameters of the slice, too")
	}
}

// filteredPages notes that the end of a page, or its length, is that of the items before the filter. An
// OffsetIncrement counts them before it, too.
func (t *translation) filteredPages() {
	p := t.out.Paging
	if p == nil || p.Kind == importer.Offset {
		return
	}
	reads := p.Kind == importer.Pages || p.Kind == importer.LastItem || readsItems().MatchString(p.Source)
	for _, s := range p.Stops {
		reads = reads || readsItems().MatchString(s.When)
	}
	if reads {
		t.note(importer.Approximate, t.stream.node.get("retriever").get("record_selector").get("record_filter"), "pagination",
			"the items of a page are counted before the filter; there, after it, so that the list may end sooner")
	}
}

// readsItems matches expressions that read the items of a page.
var readsItems = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(count|items)\b`) })

func custom(what string, n node) error {
	return fmt.Errorf("%s: a custom %s (%s), which is Python and is not translated; write what it does by hand", n.path, what, n.class())
}

func (t *translation) note(grade importer.Grade, n node, target, format string, args ...any) {
	note := importer.Note{Grade: grade, Text: fmt.Sprintf(format, args...), Source: n.path, Target: target}
	if !slices.Contains(t.out.Notes, note) {
		t.out.Note(note)
	}
}

// primaryKey returns the paths of a key, if it is one of members that can be read.
func (t *translation) primaryKey(n node) []string {
	var out []string
	for _, k := range n.list() {
		var keys []string
		for _, part := range k.list() {
			keys = append(keys, t.plain(part))
		}
		if len(keys) > 0 && keys[0] != "" {
			out = append(out, keypath.Join(keys...))
		}
	}
	return out
}

// withParams returns the scope with the parameters of a component.
func withParams(s jinja.Scope, n node) jinja.Scope {
	parameters := jinja.Members("parameters", func(keys []string) (jinja.Expr, error) {
		return constant(n.params, keys), nil
	})
	return s.With("parameters", parameters).With("options", parameters)
}

// scope returns the names that templates of the request may read. The token is the token of the first
// request, or of the later requests.
func (t *translation) scope(n node, token jinja.Expr) jinja.Scope {
	slice := jinja.Members("stream_slice", t.sliceMember)
	page := jinja.Members("next_page_token", func(keys []string) (jinja.Expr, error) {
		if keys[0] != "next_page_token" || token.Constant && token.Const == nil {
			return jinja.Literal(nil), nil
		}
		return tokenMember(token, keys[1:])
	})
	if token.Constant && token.Const == nil {
		page = jinja.Literal(nil)
	}
	scope := withParams(jinja.Scope{
		"config": jinja.Members("config", t.setting), "stream_slice": slice, "stream_partition": slice,
		"stream_interval": jinja.Members("stream_interval", t.intervalMember), "next_page_token": page,
		"stream_state": jinja.Path("kept"),
	}, n)
	maps.Copy(scope, t.extra)
	return scope
}

// tokenMember returns a member of the token, which may be an object.
func tokenMember(token jinja.Expr, keys []string) (jinja.Expr, error) {
	var err error
	for _, k := range keys {
		if token, err = jinja.Member(token, jinja.Literal(k)); err != nil {
			return token, err
		}
	}
	return token, nil
}

// setting returns the expression for a setting, and notes that it is a constant if the source has another one for it.
func (t *translation) setting(keys []string) (jinja.Expr, error) {
	name := strings.Join(keys, ".")
	schema, n := t.schemaOf(keys)
	v, isUsual := usualValue(keys, schema, n)
	if _, set := t.options.Set[name]; isUsual && !set {
		given := "not set"
		if v != nil {
			given = fmt.Sprintf("%v, its default", v)
		}
		t.note(importer.Check, node{path: settingsPlace + name}, "", "the setting %s is %s; to choose another value, import with one for it",
			name, given)
	}
	return t.reader.setting(keys)
}

// sliceMember returns a member of stream_slice.
func (t *translation) sliceMember(keys []string) (jinja.Expr, error) {
	switch keys[0] {
	case "cursor_slice", "partition":
		if len(keys) == 1 {
			return jinja.Members(keys[0], t.sliceMember), nil
		}
		return t.sliceMember(keys[1:])
	}
	if e, ok := t.interval[keys[0]]; ok {
		return e, nil
	}
	for n := len(keys); n > 0; n-- {
		if e, ok := t.slice[strings.Join(keys[:n], ".")]; ok {
			return tokenMember(e, keys[n:])
		}
	}
	prefix := strings.Join(keys, ".") + "."
	for name := range t.slice {
		if strings.HasPrefix(name, prefix) {
			return jinja.Members(keys[0], func(more []string) (jinja.Expr, error) {
				return t.sliceMember(append(slices.Clip(keys), more...))
			}), nil
		}
	}
	if keys[0] == "parent_slice" && len(keys) > 1 { // it also has the members of all slices above
		return t.sliceMember(keys[1:])
	}
	return jinja.Literal(nil), nil
}

func (t *translation) intervalMember(keys []string) (jinja.Expr, error) {
	if e, ok := t.interval[keys[0]]; ok {
		return e, nil
	}
	return jinja.Literal(nil), nil
}

// eval translates a template of the request, for the first request and for the later requests.
func (t *translation) eval(n node) (first, later jinja.Expr, err error) {
	text := n.text()
	if first, err = jinja.Translate(text, t.scope(n, t.initial)); err != nil {
		return first, later, fmt.Errorf("%s: %w", n.path, err)
	}
	if later, err = jinja.Translate(text, t.scope(n, t.token)); err != nil {
		return first, later, fmt.Errorf("%s: %w", n.path, err)
	}
	return first.AsLiteral(), later.AsLiteral(), nil
}

// one translates a template that reads no page.
func (t *translation) one(n node) (jinja.Expr, error) {
	e, err := jinja.Translate(n.text(), t.scope(n, jinja.Literal(nil)))
	if err != nil {
		return e, fmt.Errorf("%s: %w", n.path, err)
	}
	return e, nil
}

// unread notes the keys of components that nothing has read.
func (t *translation) unread() {
	for _, place := range slices.Sorted(maps.Keys(t.manifest.read)) {
		if place != t.stream.node.path && !strings.HasPrefix(place, t.stream.node.path+".") {
			continue
		}
		if strings.Contains(strings.TrimPrefix(place, t.stream.node.path), "].stream") {
			continue // a parent, which has its own notes
		}
		n := t.manifest.at(place)
		for _, m := range n.members() {
			if !t.manifest.read[place][m.name] && !silent[m.name] {
				t.note(importer.Approximate, m.node, "", "the key %s is not known here: what it does is missing", m.name)
			}
		}
	}
}

// silent are keys without an effect on requests and items.
var silent = map[string]bool{
	"type": true, "class_name": true, "description": true, "schema_loader": true, "state_migrations": true, "name": true, "primary_key": true,
	"title": true, "$comment": true, "stream_cursor_field": true, "schema_normalization": true, "use_cache": true, "retriever": true,
	"incremental_sync": true, "failure_type": true, "error_message": true, "display_type": true, "spec": true, "$ref": true,
	"transformations":     true,
	"checkpoint_interval": true, "allow_catalog_defined_cursor_field": true, "refresh_token_error_status_codes": true,
	"refresh_token_error_key": true, "refresh_token_error_values": true, "path": true, "field_path": true, "lazy_read_pointer": true,
}
