// Package dlt reads configurations of the source rest_api of dlt, in JSON and YAML.
//
// # Decisions
//
// A configuration is a Python object; its text form has no functions. So parts that are Python (steps of
// processing, conversions, sessions, classes of paginators) are refused, or left out with a note, by their
// names.
//
// The defaults come from dlt's code: a page_number reads the number of pages at total, an offset the number
// of items. An offset rises by the limit, however many items a page has, and a short page does not end the
// list. The method offset does neither, so expressions are written.
//
// Secrets never reach the configuration: references to dlt.secrets and to variables of the
// environment become inputs, and so do tokens that stand in the document.
package dlt

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Format is the format of dlt's configurations.
var Format = importer.Format{
	Name: "dlt",
	Doc:  "rest_api configurations of dlt, as JSON or YAML",
	Read: Read,
}

// maxBytes is the size of the largest document.
const maxBytes = 4 << 20

// SourceName is the setting that names the source, in a dlt.yml with several.
const SourceName = "source"

// Read reads one configuration: an object with client and resources, or a dlt.yml with sources. The
// settings are the names of inputs that are not secrets.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one configuration")
	}
	f := files[0]
	if strings.HasSuffix(f.Name, ".py") {
		return nil, fmt.Errorf("%s: the file is Python; write its configuration as JSON (json.dumps(config, default=str))", f.Name)
	}
	v, err := importer.ParseYAML(f, maxBytes)
	if err != nil {
		return nil, err
	}
	r := &reader{options: o, set: importer.NewSettings(o), inputs: map[string]string{}, resources: map[string]*resource{}}
	if err := r.document(node{v: v, has: true}, f.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return r.source, nil
}

type reader struct {
	options   importer.Options
	set       *importer.Settings
	source    *importer.Source
	inputs    map[string]string // the names of inputs, by the references or places that they replace
	resources map[string]*resource
	order     []*resource
	general   []importer.Note // of all streams

	client   node
	defaults node // resource_defaults
}

// A resource is a resource of the document, and its stream.
type resource struct {
	node
	name     string
	endpoint node
	out      *importer.Stream
	built    bool
}

// ofSource are the arguments of rest_api_source, which name and shape tables.
var ofSource = []string{"name", "section", "max_table_nesting", "root_key", "schema", "schema_contract", "parallelized", "type"}

// document reads the document.
func (r *reader) document(root node, file string) error {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), path.Ext(file))
	if !root.get("resources").has && root.get("sources").has {
		inner, chosen, err := r.chosen(root.get("sources"))
		if err != nil {
			return err
		}
		root, name = inner, chosen
	}
	if text := root.get("name").text(); text != "" {
		name = text
	}
	if _, isList := root.get("resources").v.([]any); !isList {
		return errors.New("not a rest_api configuration of dlt: want an object with client and a list of resources")
	}
	r.client, r.defaults = root.get("client"), root.get("resource_defaults")
	if !r.client.isObject() || r.client.get("base_url").text() == "" {
		return errors.New("client.base_url is missing")
	}
	if r.defaults.given() && !r.defaults.isObject() {
		return errors.New("resource_defaults must be an object")
	}
	for _, m := range root.members() {
		switch {
		case slices.Contains([]string{"client", "resources", "resource_defaults"}, m.name):
		case slices.Contains(ofSource, m.name):
			if m.name != "name" && m.name != "type" {
				r.general = append(r.general, importer.Note{Grade: importer.Left, Source: m.path,
					Text: m.name + " shapes tables and has no effect here"})
			}
		default:
			r.general = append(r.general, unknownKey(m))
		}
	}
	r.source = &importer.Source{Name: strings.Trim(strings.ToLower(notInName.Replace(name)), "-"),
		From: "the rest_api configuration " + path.Base(strings.ReplaceAll(file, `\`, "/")) + " of dlt"}
	return r.streams(root.get("resources"))
}

var notInName = strings.NewReplacer(" ", "-", "_", "-", "/", "-", ".", "-")

// chosen returns the source of type rest_api in a dlt.yml: the only such source, or the source that the user
// has named.
func (r *reader) chosen(sources node) (node, string, error) {
	var names []string
	for _, m := range sources.members() {
		if m.get("type").text() == "rest_api" || m.get("resources").has {
			names = append(names, m.name)
		}
	}
	name, set := r.set.Get(SourceName)
	switch {
	case set && !slices.Contains(names, name):
		return node{}, "", fmt.Errorf("there is no source %q of type rest_api; the sources are %s", name, strings.Join(names, ", "))
	case !set && len(names) == 0:
		return node{}, "", errors.New("none of the sources is of type rest_api")
	case !set && len(names) > 1:
		return node{}, "", fmt.Errorf("there are several sources; the setting %s chooses one of %s", SourceName, strings.Join(names, ", "))
	case !set:
		name = names[0]
	}
	return sources.get(name), name, nil
}

// streams reads the resources, the parents of each before itself.
func (r *reader) streams(list node) error {
	for _, n := range list.list() {
		res := &resource{node: n, out: &importer.Stream{Place: n.path}}
		switch {
		case n.text() != "":
			res.name = n.text()
			res.node = node{v: value.ObjectOf("name", res.name), has: true, path: n.path}
		case n.isObject():
			res.name = n.get("name").text()
		}
		if res.name == "" {
			return fmt.Errorf("%s: a resource must be a name, or an object with a name; resources that are Python cannot be read", n.path)
		}
		res.out.Name = res.name
		if r.resources[res.name] != nil {
			return fmt.Errorf("%s: the resource %s is there twice", n.path, res.name)
		}
		res.endpoint = endpointOf(res.get("endpoint"), res.name)
		r.resources[res.name] = res
		r.order = append(r.order, res)
	}
	for _, wanted := range r.options.Streams {
		if r.resources[wanted] == nil {
			names := lists.Map(r.order, func(res *resource) string { return res.name })
			return fmt.Errorf("there is no resource %q; the resources are %s", wanted, strings.Join(names, ", "))
		}
	}
	for _, res := range r.order {
		named := slices.Contains(r.options.Streams, res.name)
		if r.options.Wants(res.name) && (named || r.of(res, "selected").v != false) {
			r.build(res)
			continue
		}
		res.out.Hidden = true
	}
	for _, res := range r.order {
		r.addStream(res)
	}
	if name, unknown := r.set.Unknown(); unknown {
		return fmt.Errorf("the configuration has no setting %q; secrets are always inputs", name)
	}
	return nil
}

// addStream adds the stream of a resource to the source, if the user wants it or another stream needs it.
func (r *reader) addStream(res *resource) {
	switch {
	case !res.built && r.options.Wants(res.name):
		res.out.Hidden = false
		res.out.Refused = "selected is false, so that dlt does not load it; name the stream to import it"
	case !res.built:
		return
	case !res.out.Hidden:
		r.hiddenParents(res.out, res.out, 0)
		res.out.Notes = append(res.out.Notes, r.general...)
	}
	r.source.Streams = append(r.source.Streams, res.out)
}

// hiddenParents gives a stream the notes of its parents that have no report of their own.
func (r *reader) hiddenParents(s, child *importer.Stream, depth int) {
	for _, v := range child.For {
		if v.Parent == nil || !v.Parent.Hidden || depth > len(r.order) {
			continue
		}
		for _, n := range v.Parent.Notes {
			if n.Grade != importer.Check && n.Grade != importer.Left {
				n.Target = ""
				s.Note(n)
			}
		}
		r.hiddenParents(s, v.Parent, depth+1)
	}
}

// endpointOf returns an endpoint as an object, which has a path.
func endpointOf(n node, name string) node {
	switch {
	case n.text() != "":
		return node{v: value.ObjectOf("path", n.text()), has: true, path: n.path}
	case !n.given():
		return node{v: value.ObjectOf("path", name), has: true, path: n.path}
	case n.isObject() && !n.get("path").given():
		object, _ := value.Members(n.v)
		n.v = object.With("path", name)
	}
	return n
}

// of returns a key of a resource, or of the defaults.
func (r *reader) of(res *resource, key string) node {
	if own := res.get(key); own.has {
		return own
	}
	return r.defaults.get(key)
}

// in returns a key of the endpoint of a resource, or of the endpoint of the defaults.
func (r *reader) in(res *resource, key string) node {
	if own := res.endpoint.get(key); own.has {
		return own
	}
	return endpointDefaults(r.defaults).get(key)
}

func endpointDefaults(defaults node) node {
	n := defaults.get("endpoint")
	if n.text() != "" {
		return node{v: value.ObjectOf("path", n.text()), has: true, path: n.path}
	}
	return n
}

// merged returns the members of a key of the endpoint, after the members of the defaults that they do not
// replace.
func (r *reader) merged(res *resource, key string) []node {
	v := res.endpoint.get(key)
	if v.has && !v.given() {
		return nil
	}
	var out []node
	for _, m := range endpointDefaults(r.defaults).get(key).members() {
		if !v.get(m.name).has {
			out = append(out, m)
		}
	}
	return append(out, v.members()...)
}
