// Package airbyte reads low-code manifests of Airbyte (manifest.yaml) of both generations.
//
// A manifest means here what it means in Airbyte's CDK for low-code connectors. The CDK renders a template
// and reads the result as a literal of Python. So literals in a manifest are read in this way, too; values
// that a run computes are sent as they are.
package airbyte

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Format is the format of low-code manifests.
var Format = importer.Format{
	Name: "airbyte",
	Doc:  "low-code manifests of Airbyte (manifest.yaml, spec.yaml)",
	Read: Read,
}

// maxBytes is the size of the largest manifest.
const maxBytes = 4 << 20

// Read reads a manifest. A further file may have the specification of the connector, which older
// connectors keep apart.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	r := &reader{options: o, streams: map[string]*stream{}, translations: map[*importer.Stream]*translation{}, set: map[string]bool{}}
	for _, f := range files {
		root, err := importer.ParseYAML(f, maxBytes)
		if err != nil {
			return nil, err
		}
		object, isObject := value.Members(root)
		if !isObject {
			return nil, fmt.Errorf("%s: want a manifest, an object with streams", f.Name)
		}
		if err := r.document(f.Name, object); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if !r.manifest.given() {
		return nil, fmt.Errorf("%s: not a low-code manifest: it has no streams", files[0].Name)
	}
	return r.source()
}

type reader struct {
	options  importer.Options
	manifest node
	spec     value.Object // the schema of the settings
	name     string
	file     string

	inputs  []importer.Input
	streams map[string]*stream // by name
	order   []*stream

	translations map[*importer.Stream]*translation
	set          map[string]bool // the settings of the options that were read
}

// document takes a file as the manifest, or as the specification.
func (r *reader) document(name string, object value.Object) error {
	if spec, ok := settingsSchema(object); ok && r.spec == nil {
		r.spec = spec
	}
	_, streams := object.Get("streams")
	_, dynamic := object.Get("dynamic_streams")
	if !streams && !dynamic {
		return nil
	}
	resolved, err := resolve(object)
	if err != nil {
		return err
	}
	if spec, ok := value.Members(resolved); ok {
		if s, ok := settingsSchema(spec); ok {
			r.spec = s
		}
	}
	r.manifest = node{v: resolved, read: map[string]map[string]bool{}}
	r.name, r.file = nameOf(name), name
	return nil
}

// settingsSchema returns the schema of the settings in a manifest or a specification.
func settingsSchema(object value.Object) (value.Object, bool) {
	for _, keys := range [][]string{{"spec", "connection_specification"}, {"spec", "connectionSpecification"},
		{"connectionSpecification"}, {"connection_specification"}} {
		if v, ok := value.At(object, keys); ok {
			if schema, isObject := value.Members(v); isObject {
				return schema, true
			}
		}
	}
	return nil, false
}

// nameOf returns the name of a connector, by the path of its file: source-github/…/manifest.yaml.
func nameOf(file string) string {
	parts := strings.Split(path.Clean(strings.ReplaceAll(file, `\`, "/")), "/")
	for _, p := range slices.Backward(parts[:len(parts)-1]) {
		if name, ok := strings.CutPrefix(p, "source-"); ok {
			return name
		}
		if name, ok := strings.CutPrefix(p, "source_"); ok {
			return strings.ReplaceAll(name, "_", "-")
		}
	}
	base := strings.TrimSuffix(strings.TrimSuffix(parts[len(parts)-1], ".yaml"), ".yml")
	if base == "manifest" && len(parts) > 1 && parts[len(parts)-2] != ".." {
		return parts[len(parts)-2]
	}
	return base
}

// source reads all streams that are wanted, and their parents.
func (r *reader) source() (*importer.Source, error) {
	streams := r.manifest.get("streams")
	if _, isList := streams.v.([]any); streams.given() && !isList {
		return nil, fmt.Errorf("%s: streams: want a list of streams, got %s", r.file, value.KindOf(streams.v))
	}
	for _, n := range streams.list() {
		r.declare(n)
	}
	var names []string
	for _, s := range r.order {
		names = append(names, s.name)
	}
	for _, wanted := range r.options.Streams {
		if !slices.Contains(names, wanted) {
			return nil, fmt.Errorf("the manifest has no stream %q; its streams are %s", wanted, strings.Join(names, ", "))
		}
	}
	out := &importer.Source{Name: r.name, From: "the manifest " + r.file + " of Airbyte"}
	for _, s := range r.order {
		if r.options.Wants(s.name) {
			for _, one := range r.variants(s) {
				one.Hidden = false
				out.Streams = append(out.Streams, one)
			}
		}
	}
	r.dynamic(out)
	out.Inputs = r.inputs
	return out, r.checkSet()
}

// checkSet refuses settings of the options that the manifest does not have, and secrets, which would
// stand in the configuration.
func (r *reader) checkSet() error {
	for _, name := range slices.Sorted(maps.Keys(r.options.Set)) {
		schema, _ := r.schemaOf(strings.Split(name, "."))
		hidden, _ := schema.Get("airbyte_secret")
		switch {
		case hidden == true:
			return fmt.Errorf("the setting %s is a secret, which would stand in the configuration: leave it an input", name)
		case !r.set[name] && schema == nil:
			return fmt.Errorf("the manifest has no setting %q", name)
		}
	}
	return nil
}

// dynamic refuses the streams that a manifest makes from a response or a setting.
func (r *reader) dynamic(out *importer.Source) {
	for _, n := range r.manifest.get("dynamic_streams").list() {
		name := cmp.Or(n.own("name").text(), "dynamic streams")
		if !r.options.Wants(name) {
			continue
		}
		out.Streams = append(out.Streams, &importer.Stream{Name: name, Place: n.path,
			Refused: "its streams are made from a response or a setting when the connector runs; write a job with for for each kind of list"})
	}
}

// withoutNotes returns the definition of a stream without the parts that neither its requests nor its children
// depend on.
func withoutNotes(v any) any {
	object, _ := value.Members(v)
	for _, key := range []string{"schema_loader", "$parameters", "name", "primary_key", "incremental_sync", "state_migrations"} {
		object = object.Without(key)
	}
	return object
}

// A stream is a stream of a manifest.
type stream struct {
	name     string
	id       string // of its job, if that is not the name
	node     node
	made     []*importer.Stream // nil until they are read
	whole    []*importer.Stream // the same as a parent, without the increments
	reading  bool
	temporal bool // it has an incremental_sync
	state    bool // it is the full refresh of a StateDelegatingStream
}

// declare notes a stream of the manifest.
func (r *reader) declare(n node) {
	s := r.newStream(n)
	if r.streams[s.name] == nil {
		r.streams[s.name] = s
	}
	r.order = append(r.order, s)
}

func (r *reader) newStream(n node) *stream {
	n.params = withParameters(n.params, n.v)
	if n.kind() == "StateDelegatingStream" || n.own("full_refresh_stream").given() {
		name := n.get("name").text()
		n.mark("incremental_stream", "api_retention_period")
		n = n.get("full_refresh_stream")
		return &stream{name: cmp.Or(name, n.get("name").text()), node: n, temporal: n.get("incremental_sync").given(), state: true}
	}
	s := &stream{name: r.plain(n.get("name")), node: n}
	if s.name == "" {
		s.name = fmt.Sprintf("stream %d", len(r.order)+1)
	}
	s.temporal = n.get("incremental_sync").given() || n.get("retriever").get("stream_slicer").kind() == "DatetimeBasedCursor"
	return s
}

// plain returns a text in which templates read parameters only.
func (r *reader) plain(n node) string {
	e, err := jinja.Translate(n.text(), withParams(nil, n))
	if err != nil || !e.Constant {
		return n.text()
	}
	return fmt.Sprint(e.Const)
}

// variants returns the jobs of a stream: one for each of its parents.
func (r *reader) variants(s *stream) []*importer.Stream {
	if s.made == nil {
		s.made = r.read(s, byIncrements)
	}
	return s.made
}

// parent returns a stream as the parent of another stream. Every run reads a parent as a whole, unless it is
// incremental.
func (r *reader) parent(n node, incremental bool) (*importer.Stream, error) {
	fresh := r.newStream(n)
	s := r.streams[fresh.name]
	if s != nil && !reflect.DeepEqual(withoutNotes(s.node.v), withoutNotes(n.v)) {
		fresh.temporal = fresh.temporal && !incremental
		for i := 1; s != nil && !reflect.DeepEqual(withoutNotes(s.node.v), withoutNotes(n.v)); i++ {
			fresh.id = fresh.name + "_as_parent"
			if i > 1 {
				fresh.id = fmt.Sprintf("%s_%d", fresh.id, i)
			}
			s = r.streams[fresh.id]
		}
	}
	if s == nil {
		s = fresh
		r.streams[cmp.Or(s.id, s.name)] = s
	}
	if s.reading {
		return nil, fmt.Errorf("its parents depend on each other: %s", s.name)
	}
	var streams []*importer.Stream
	if !s.temporal || incremental {
		streams = r.variants(s)
	} else {
		if s.whole == nil {
			s.whole = r.read(s, asWhole)
		}
		streams = s.whole
	}
	if len(streams) > 1 {
		return nil, fmt.Errorf("its parent %s has several parents itself, and a child has one parent here", s.name)
	}
	return streams[0], nil
}
