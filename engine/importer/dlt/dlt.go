// Package dlt reads the configurations of dlt's REST API source, as JSON or YAML.
//
// # Decisions
//
// A configuration of dlt is a value of Python, which may hold functions, secrets and connections. What
// is a function there is named in a note. Credentials are inputs here, whatever the document has, so
// that no secret comes into a configuration.
//
// Pagination by page and by offset goes on there until an empty page or a total, never to a short page,
// so the same is written. The paginator auto tries what the first response has; the command detect does
// this before the run, once.
package dlt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Format is the format of dlt's configurations.
var Format = importer.Format{
	Name: "dlt",
	Doc:  "configurations of dlt's REST API source, as JSON or YAML",
	Read: Read,
}

// Read reads one configuration: an object with client and resources.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one configuration")
	}
	f := files[0]
	v, err := importer.ParseYAML(f, importer.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	r := &reader{file: f.Name, settings: importer.NewSettings(o), streams: map[string]*importer.Stream{}, nodes: map[string]node{}}
	r.root = node{v: v}
	if !r.root.isObject() || !r.root.get("client").isObject() {
		return nil, fmt.Errorf("%s: want an object with client and resources", f.Name)
	}
	src, err := r.source(o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return src, nil
}

type reader struct {
	file     string
	root     node
	settings *importer.Settings
	inputs   []importer.Input
	streams  map[string]*importer.Stream // by name
	nodes    map[string]node             // resources with the defaults, by name
}

// source reads all resources that are wanted, and their parents.
func (r *reader) source(o importer.Options) (*importer.Source, error) {
	resources := r.root.get("resources")
	if !resources.isList() {
		return nil, fmt.Errorf("resources: want a list, got %s", value.KindOf(resources.v))
	}
	var names []string
	for _, n := range resources.list() {
		name := n.text()
		if n.isObject() {
			name = n.get("name").text()
		}
		if name == "" {
			return nil, fmt.Errorf("%s: want a name or an object with name", n.path)
		}
		if r.streams[name] != nil {
			return nil, fmt.Errorf("%s: there are two resources %q", n.path, name)
		}
		r.streams[name] = &importer.Stream{Name: name, Place: n.path}
		r.nodes[name] = r.withDefaults(n, name)
		names = append(names, name)
	}
	for _, wanted := range o.Streams {
		if !slices.Contains(names, wanted) {
			return nil, fmt.Errorf("there is no resource %q; the resources are %s", wanted, strings.Join(names, ", "))
		}
	}
	out := &importer.Source{Name: r.name(), From: "the configuration " + r.file + " of dlt"}
	for _, name := range names {
		t := &translation{reader: r, out: r.streams[name], node: r.nodes[name], params: map[string]string{}}
		if err := t.translate(); err != nil {
			t.out.Refused = err.Error()
		}
		if selected, _ := t.node.get("selected").v.(bool); t.node.get("selected").given() && !selected {
			t.out.Hidden = true
		}
	}
	for _, name := range names {
		if o.Wants(name) {
			if len(o.Streams) > 0 {
				r.streams[name].Hidden = false
			}
			out.Streams = append(out.Streams, r.streams[name])
		}
	}
	out.Inputs = r.inputs
	if name, unknown := r.settings.Unknown(); unknown {
		return nil, fmt.Errorf("there is no setting %q", name)
	}
	return out, nil
}

// name returns the name of the API: of the file, unless this is a usual one.
func (r *reader) name() string {
	base := r.file[strings.LastIndexAny(r.file, `/\`)+1:]
	base, _, _ = strings.Cut(base, ".")
	return cmp.Or(base, "api")
}

// withDefaults returns a resource as an object, with the resource_defaults. A member of the resource
// replaces that of the defaults; objects in endpoint are merged.
func (r *reader) withDefaults(n node, name string) node {
	own, _ := value.Members(n.v)
	if own == nil {
		own = value.ObjectOf("name", name)
	}
	if path, isText := get(own, "endpoint").(string); isText {
		own = own.With("endpoint", value.ObjectOf("path", path))
	}
	defaults, _ := value.Members(r.root.get("resource_defaults").v)
	merged := merge(defaults, own)
	return node{v: merged, path: n.path}
}

func get(o value.Object, key string) any {
	v, _ := o.Get(key)
	return v
}

// merge returns an object with the members of two, of which the second wins. Objects are merged, except
// those that are one thing: a paginator, credentials, an increment.
func merge(first, second value.Object) value.Object {
	out := slices.Clone(first)
	for _, m := range second {
		before, isObject := value.Members(get(out, m.Name))
		own, both := value.Members(m.Value)
		if isObject && both && !slices.Contains([]string{"paginator", "auth", "incremental"}, m.Name) {
			m.Value = merge(before, own)
		}
		out = out.With(m.Name, m.Value)
	}
	return out
}

// input declares an input, and returns the expression that reads it. A setting of its name is the
// constant that takes its place.
func (r *reader) input(in importer.Input) importer.Value {
	if v, set := r.settings.Get(in.Name); set && !in.Secret {
		return importer.Constant(v)
	}
	if !slices.ContainsFunc(r.inputs, func(known importer.Input) bool { return known.Name == in.Name }) {
		r.inputs = append(r.inputs, in)
	}
	return importer.Computed("input." + in.Name)
}

// A node is a value of the document with its place.
type node struct {
	v    any
	path string
}

func (n node) given() bool { return n.v != nil }

func (n node) isObject() bool {
	_, is := value.Members(n.v)
	return is
}

func (n node) isList() bool {
	_, is := n.v.([]any)
	return is
}

func (n node) get(key string) node {
	object, _ := value.Members(n.v)
	return node{v: get(object, key), path: join(n.path, key)}
}

// text returns a text, or the empty one for other values.
func (n node) text() string {
	s, _ := n.v.(string)
	return s
}

// number returns a whole number, or another one if there is none.
func (n node) number(otherwise int) int {
	if v, isInt := n.v.(int); isInt {
		return v
	}
	return otherwise
}

func (n node) list() []node {
	var out []node
	list, _ := n.v.([]any)
	for i, e := range list {
		out = append(out, node{v: e, path: fmt.Sprintf("%s[%d]", n.path, i)})
	}
	return out
}

func (n node) members() []namedNode {
	var out []namedNode
	object, _ := value.Members(n.v)
	for _, m := range object {
		out = append(out, namedNode{m.Name, node{v: m.Value, path: join(n.path, m.Name)}})
	}
	return out
}

type namedNode struct {
	name string
	node
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
