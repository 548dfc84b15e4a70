package airbyte

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A router gives the values of one member of a slice.
type router struct {
	node
	parent node // of a SubstreamPartitionRouter: one of its parents
}

// routers returns the combinations of routers that a stream is read for: one for each of several
// parents.
func (r *reader) routers(s *stream) [][]router {
	retriever := s.node.get("retriever")
	n := retriever.get("partition_router")
	if !n.given() {
		n = retriever.get("stream_slicer")
	}
	variants := [][]router{nil}
	for _, one := range n.list() {
		for _, flat := range r.flatRouters(one) {
			var next [][]router
			for _, v := range variants {
				for _, choice := range flat {
					next = append(next, append(slices.Clone(v), choice))
				}
			}
			variants = next
		}
	}
	return variants
}

// flatRouters returns the routers of a product, each with its choices.
func (r *reader) flatRouters(n node) [][]router {
	switch n.kind() {
	case "", "DatetimeBasedCursor":
		return nil
	case "CartesianProduct":
		var out [][]router
		for _, inner := range append(n.get("stream_slicers").list(), n.get("partition_routers").list()...) {
			out = append(out, r.flatRouters(inner)...)
		}
		return out
	case "SubstreamPartitionRouter":
		var choices []router
		for _, p := range n.get("parent_stream_configs").list() {
			choices = append(choices, router{n, p})
		}
		return [][]router{choices}
	}
	return [][]router{{{node: n}}}
}

// cursorNode returns the incremental_sync of the stream, also where older manifests have it.
func (t *translation) cursorNode() node {
	s := t.stream.node
	if n := s.get("incremental_sync"); n.given() {
		return n
	}
	retriever := s.get("retriever")
	for _, n := range append([]node{retriever.get("incremental_sync")}, retriever.get("stream_slicer").list()...) {
		if n.kind() == "DatetimeBasedCursor" {
			return n
		}
		for _, inner := range append(n.get("stream_slicers").list(), n.get("partition_routers").list()...) {
			if inner.kind() == "DatetimeBasedCursor" {
				return inner
			}
		}
	}
	return node{}
}

// partitions reads the variables of a stream.
func (t *translation) partitions(chosen []router) error {
	slices.SortStableFunc(chosen, func(x, y router) int { // parents come first
		order := func(r router) int {
			if r.parent.given() {
				return 0
			}
			return 1
		}
		return order(x) - order(y)
	})
	for _, r := range chosen {
		var err error
		switch kind := r.kind(); kind {
		case "SubstreamPartitionRouter":
			err = t.substream(r.parent)
		case "ListPartitionRouter":
			err = t.listRouter(r.node)
		case "Custom":
			err = custom("partition router", r.node)
		case "GroupingPartitionRouter":
			err = fmt.Errorf("%s: one request for several parents (GroupingPartitionRouter) is not translated", r.path)
		default:
			err = fmt.Errorf("%s: the partition router %s is not known", r.path, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// substream reads the stream for each item of a parent.
func (t *translation) substream(n node) error {
	if n.kind() == "Custom" {
		return custom("parent stream config", n)
	}
	incremental := n.get("incremental_dependency").flag() && !t.whole
	parent, err := t.parent(n.get("stream"), incremental)
	if err != nil {
		return fmt.Errorf("%s: %w", n.path, err)
	}
	if parent.Refused != "" {
		return fmt.Errorf("its parent %s is not translated: %s", parent.Name, parent.Refused)
	}
	if incremental && parent.Incremental != nil {
		t.note(importer.Check, n.get("incremental_dependency"), "for", "only the parents that have changed since the last run are read again")
	}
	if lazy := n.get("lazy_read_pointer"); lazy.given() {
		t.note(importer.Approximate, lazy, "for", "the first page of a child is requested; there, it is a list in the item of the parent")
	}
	for _, n := range parent.Notes { // its own report may be missing
		ofFilter := strings.HasSuffix(n.Source, ".record_filter.condition")
		if (ofFilter || strings.HasPrefix(n.Source, settingsPlace)) && !slices.Contains(t.out.Notes, n) {
			t.out.Note(n)
		}
	}
	above := t.translations[parent]
	if len(t.out.For) > 0 {
		if parent, err = t.product(n, parent); err != nil {
			return err
		}
	}
	name := t.variable(importer.Singular(strings.ToLower(parent.Name)))
	when := ""
	if parent.Filter != "" {
		when = renamedItem(parent.Filter, name)
	}
	member := jinja.Members(name, func(keys []string) (jinja.Expr, error) { return above.itemMember(name, keys) })
	key, err := t.parentKey(n, member)
	if err != nil {
		return err
	}
	if strings.Contains(n.get("parent_key").text(), "/") { // an item may lack what is around the key
		when = jinjaAnd(when, key.Source+" != nil")
	}
	t.out.For = append(t.out.For, importer.Variable{Name: name, Parent: parent, When: when})
	return t.sliceOf(n, above, member, key)
}

// parentKey returns the value of a parent's item that its children read.
func (t *translation) parentKey(n node, member jinja.Expr) (jinja.Expr, error) {
	key, err := t.one(n.get("parent_key"))
	if err != nil {
		return key, err
	}
	value, err := tokenMember(member, strings.Split(fmt.Sprint(key.Const), "/"))
	value.Absent = false
	return value, err
}

// sliceOf sets the members of the slice that a parent gives, and injects its key into the request. member is
// the item of the parent, and value that of its key.
func (t *translation) sliceOf(n node, above *translation, member, value jinja.Expr) (err error) {
	t.partition = append(append(slices.Clip(above.partition), value.Source), t.partition...)
	field := t.plain(n.get("partition_field"))
	if field == "" {
		field = t.plain(n.get("stream_slice_field"))
	}
	t.slice[field] = value
	t.inherit(above, field)
	for _, extra := range n.get("extra_fields").list() {
		var keys []string
		for _, k := range extra.list() {
			keys = append(keys, t.plain(k))
		}
		if t.slice["extra_fields."+strings.Join(keys, ".")], err = tokenMember(member, keys); err != nil {
			return err
		}
	}
	return t.inject(n.get("request_option"), value)
}

// inherit adds the members of the slices above. A member of this slice hides a member of the same name.
func (t *translation) inherit(above *translation, own string) {
	for name, e := range above.slice {
		if _, has := t.slice[name]; !has && name != own {
			t.slice[name] = e
		}
		t.slice["parent_slice."+name] = e
	}
}

// product returns a second parent as a list that is read for each item of the first one.
func (t *translation) product(n node, parent *importer.Stream) (*importer.Stream, error) {
	if len(parent.For) > 0 {
		return nil, fmt.Errorf("%s: a product of parents that have parents themselves is not translated", n.path)
	}
	clone := *parent
	clone.ID = fmt.Sprintf("%s_of_%s", parent.Name, t.out.For[0].Name)
	clone.Hidden, clone.For, clone.Kept = true, t.out.For, importer.Kept{}
	t.translations[&clone] = t.translations[parent]
	t.out.For = nil
	t.note(importer.Approximate, n, "for", "a job has one parent: the list of %s is read again for each item of %s", parent.Name,
		clone.For[0].Name)
	return &clone, nil
}

// itemMember returns a member of an item of this stream under the name of a variable, as its
// transformations have left it.
func (t *translation) itemMember(name string, keys []string) (jinja.Expr, error) {
	path := keypath.Join(keys...)
	if source, changed := t.overlay[path]; changed {
		if source == "" {
			return jinja.Literal(nil), nil
		}
		source = renamedItem(source, name)
		if strings.ContainsAny(source, " ?") {
			source = "(" + source + ")"
		}
		return jinja.Name(source, jinja.Any), nil
	}
	return jinja.Name(keypath.Format(name, append(slices.Clip(t.itemPath), keys...)), jinja.Any), nil
}

var itemName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bitem\b`) })

// renamedItem returns an expression over item as an expression over a variable.
func renamedItem(source, name string) string { return itemName().ReplaceAllString(source, name) }

// listRouter reads the stream for each value of a list.
func (t *translation) listRouter(n node) error {
	field := t.plain(n.get("cursor_field"))
	if field == "" {
		field = t.plain(n.get("slice_definition"))
	}
	values := n.get("values")
	if !values.given() {
		values = n.get("slice_values")
	}
	v := importer.Variable{Name: t.variable(field)}
	kind := jinja.Text
	if list, isList := values.v.([]any); isList {
		v.Values.List = []importer.Value{}
		for _, e := range list {
			v.Values.List = append(v.Values.List, importer.Constant(e))
			if _, isText := e.(string); !isText {
				kind = jinja.Any
			}
		}
	} else {
		e, err := t.one(values)
		if err != nil {
			return err
		}
		switch {
		case e.Constant && e.Const == nil:
			return fmt.Errorf("%s: the list of values is a setting that the specification does not have", values.path)
		case e.Constant:
			v.Values.List = []importer.Value{}
			for _, text := range pythonList(fmt.Sprint(e.Const)) {
				v.Values.List = append(v.Values.List, importer.Constant(text))
			}
		case e.Kind == jinja.Any:
			return fmt.Errorf("%s: the list of values is computed, which is not translated: %s", values.path, values.text())
		default:
			if e.Kind != jinja.List {
				e = e.Split()
			}
			v.Values.Source, kind = e.Source, jinja.Any
			if strings.HasSuffix(e.Source, ", ',')") {
				t.note(importer.Check, values, "for", "the values are those of the input, with commas between them")
			}
		}
	}
	t.out.For = append(t.out.For, v)
	e := jinja.Name(v.Name, kind)
	e.Segment = v.Values.List != nil
	t.slice[field] = e
	t.partition = append(t.partition, v.Name)
	return t.inject(n.get("request_option"), e)
}

// variable returns the name of a new variable.
func (t *translation) variable(name string) string {
	name = strings.Trim(notInNames().ReplaceAllString(name, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "parent"
	}
	used := func(name string) bool {
		if importer.IsReserved(name) {
			return true
		}
		for s := t.out; s != nil; {
			var above *importer.Stream
			for _, v := range s.For {
				if v.Name == name {
					return true
				}
				if v.Parent != nil {
					above = v.Parent
				}
			}
			s = above
		}
		return false
	}
	for candidate, n := name, 2; ; n++ {
		if !used(candidate) {
			return candidate
		}
		candidate = fmt.Sprintf("%s_%d", name, n)
		if n == 2 && importer.IsReserved(name) {
			candidate = "parent"
		}
	}
}
