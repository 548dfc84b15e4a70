package google

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A document is a discovery document of the kind discovery#restDescription.
type document struct {
	Kind             string
	DiscoveryVersion string
	Name             string
	Version          string
	RootURL          string
	ServicePath      string
	BaseURL          string
	Protocol         string
	Parameters       map[string]*parameter // of all methods
	Schemas          map[string]*schema
	resource         // of the document itself
}

// A resource has methods, and resources below it.
type resource struct {
	Methods   map[string]*method
	Resources map[string]*resource
}

type method struct {
	ID         string
	Path       string
	HTTPMethod string
	Parameters map[string]*parameter
	Order      []string `json:"parameterOrder"`
	Request    *schema
	Response   *schema
	Scopes     []string
}

type parameter struct {
	Type        string
	Location    string // path or query
	Required    bool
	Pattern     string
	Default     string
	Maximum     string
	Enum        []string
	Description string
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        string
	Format      string
	Description string
	Properties  map[string]*schema
	Items       *schema
	Additional  *schema `json:"additionalProperties"`
	Annotations struct{ Required []string }
}

// parse reads a document.
func parse(f importer.File) (*document, error) {
	if len(f.Text) > importer.MaxFileBytes {
		return nil, fmt.Errorf("%s: the document has %s; the limit is %s", f.Name, wording.Size(len(f.Text)), wording.Size(importer.MaxFileBytes))
	}
	var d document
	if err := json.Unmarshal(f.Text, &d); err != nil {
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			line := 1 + bytes.Count(f.Text[:min(int(syntax.Offset), len(f.Text))], []byte("\n"))
			return nil, fmt.Errorf("%s: line %d: %w", f.Name, line, err)
		}
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	switch {
	case d.Kind != "discovery#restDescription":
		return nil, fmt.Errorf("%s: not a discovery document: its kind is %q, and must be discovery#restDescription", f.Name, d.Kind)
	case d.Protocol != "" && d.Protocol != "rest":
		return nil, fmt.Errorf("%s: the protocol %s is not supported; want rest", f.Name, d.Protocol)
	case d.RootURL == "" && d.BaseURL == "":
		return nil, fmt.Errorf("%s: the document has no rootUrl", f.Name)
	}
	return &d, nil
}

// maxRefs is the number of references that may follow each other.
const maxRefs = 20

// resolve follows the references of a schema. It is never nil.
func (d *document) resolve(s *schema) *schema {
	for range maxRefs {
		if s == nil {
			break
		}
		if s.Ref == "" {
			return s
		}
		s = d.Schemas[s.Ref]
	}
	return &schema{}
}

// property returns a property of a schema. It is never nil.
func (d *document) property(s *schema, name string) *schema {
	return d.resolve(d.resolve(s).Properties[name])
}

// A call is a method with the resources that it is below.
type call struct {
	*method
	resources []string          // projects, locations
	name      string            // of the method: list
	lists     []list            // that have the items
	others    []list            // that may have items, too
	values    map[string]string // of the parameters of its path, as in an endpoint
	made      *importer.Stream
}

// maxDepth is the depth of resources below each other.
const maxDepth = 20

// calls returns the methods of a resource and of the resources below it, by their names.
func (r *resource) calls(path []string) []*call {
	var out []*call
	for _, name := range slices.Sorted(maps.Keys(r.Methods)) {
		if m := r.Methods[name]; m != nil {
			out = append(out, &call{method: m, resources: path, name: name})
		}
	}
	if len(path) > maxDepth {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(r.Resources)) {
		if below := r.Resources[name]; below != nil {
			out = append(out, below.calls(append(slices.Clone(path), name))...)
		}
	}
	return out
}

// A list is a list of a response that may have the items.
type list = importer.Candidate[*schema]

// findLists finds the lists of the response of a method: arrays, and arrays in the values of a map.
func (d *document) findLists(c *call) {
	response := d.resolve(c.Response)
	var found []list
	for _, name := range slices.Sorted(maps.Keys(response.Properties)) {
		found = append(found, d.listsIn(name, d.property(response, name))...)
	}
	nouns := importer.NounsOf(c.name)
	if n := len(c.resources); n > 0 {
		nouns = append(nouns, c.resources[n-1])
	}
	c.lists, c.others = importer.Likeliest(found, nouns...)
}

// listsIn returns the lists of a property: an array, or the arrays of objects in the values of a map.
func (d *document) listsIn(name string, s *schema) []list {
	switch {
	case s.Type == "array":
		return []list{d.listAt(pathOf(name), name, s)}
	case s.Additional == nil:
		return nil
	}
	var found []list
	values := d.resolve(s.Additional)
	for _, inner := range slices.Sorted(maps.Keys(values.Properties)) {
		if p := d.property(values, inner); p.Type == "array" && d.resolve(p.Items).Type == "object" {
			found = append(found, d.listAt(pathOf(name)+".*."+pathOf(inner), inner, p))
		}
	}
	return found
}

// listAt returns the list at a path.
func (d *document) listAt(path, name string, array *schema) list {
	out := list{Path: path, Name: name, Item: d.resolve(array.Items)}
	out.OfObjects = out.Item.Type == "object"
	if array.Items != nil {
		out.Type = array.Items.Ref
	}
	return out
}

// propertyLike returns the property of a schema whose name is alike one of several.
func (d *document) propertyLike(s *schema, names ...string) string {
	for _, name := range slices.Sorted(maps.Keys(d.resolve(s).Properties)) {
		if apinames.AlikeAny(name, names) {
			return name
		}
	}
	return ""
}

// parameterLike returns the parameter of the query whose name is alike one of several.
func (c *call) parameterLike(names ...string) string {
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		if p := c.Parameters[name]; p != nil && p.Location == "query" && apinames.AlikeAny(name, names) {
			return name
		}
	}
	return ""
}

// docOf returns the first sentence of a description, without the word in front that says that
// something is required.
func docOf(text string) string {
	return importer.FirstSentence(strings.TrimPrefix(strings.TrimSpace(text), "Required."))
}
