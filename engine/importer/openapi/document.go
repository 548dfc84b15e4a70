package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// The limits of documents. YAML is slower to read than JSON, by far.
const (
	maxJSONBytes = importer.MaxFileBytes
	maxYAMLBytes = 16 << 20
)

// A node is a value of a document: a map[string]any, a list, or a scalar. The zero node is absent.
type node struct{ v any }

// parse reads a document in JSON or YAML.
func parse(f importer.File) (node, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(f.Text, []byte("\xef\xbb\xbf")), " \t\r\n")
	if !bytes.HasPrefix(text, []byte("{")) || strings.HasSuffix(f.Name, ".yaml") || strings.HasSuffix(f.Name, ".yml") {
		v, err := importer.ParseCoreYAML(f, maxYAMLBytes)
		return node{value.Plain(v)}, err
	}
	if len(text) > maxJSONBytes {
		return node{}, fmt.Errorf("%s: the document has %s; the limit is %s", f.Name, wording.Size(len(text)), wording.Size(maxJSONBytes))
	}
	var v any
	if err := value.Unmarshal(text, &v); err != nil {
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			line := 1 + bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n"))
			return node{}, fmt.Errorf("%s: line %d: %w", f.Name, line, err)
		}
		return node{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	return node{v}, nil
}

func (n node) given() bool { return n.v != nil }

func (n node) get(keys ...string) node {
	for _, k := range keys {
		object, _ := n.v.(map[string]any)
		n = node{object[k]}
	}
	return n
}

// names returns the names of the members, sorted.
func (n node) names() []string {
	object, _ := n.v.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

func (n node) list() []node {
	list, _ := n.v.([]any)
	return lists.Map(list, func(v any) node { return node{v} })
}

func (n node) texts() []string {
	return lists.Map(n.list(), func(e node) string { return e.text() })
}

// text returns a scalar as text.
func (n node) text() string {
	switch v := n.v.(type) {
	case string:
		return v
	case nil, map[string]any, []any:
		return ""
	}
	text, _ := value.Text(n.v)
	return text
}

func (n node) flag() bool { return n.v == true }

// number returns a whole number.
func (n node) number() (int, bool) {
	i, err := strconv.Atoi(n.text())
	return i, err == nil && n.given()
}

// constant returns a scalar as a configuration has it.
func (n node) constant() any {
	if number, is := n.v.(json.Number); is {
		return value.Spelled(number)
	}
	return n.v
}

// maxRefs is the number of references that may follow each other.
const maxRefs = 20

// resolve follows the references of a node. An error names the reference that cannot be followed.
func (r *reader) resolve(n node) (node, error) {
	for range maxRefs {
		ref := n.get("$ref")
		if !ref.given() {
			return n, nil
		}
		target, err := r.target(ref.text())
		if err != nil {
			return node{}, err
		}
		n = target
	}
	return node{}, errors.New("its references refer to each other without end")
}

// target returns the value at a reference: #/components/schemas/User.
func (r *reader) target(ref string) (node, error) {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return node{}, fmt.Errorf("the reference %q leads to another document; put all into one document (with redocly bundle)", ref)
	}
	n := r.root
	for key := range strings.SplitSeq(pointer, "/") {
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		if list, isList := n.v.([]any); isList {
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(list) {
				return node{}, fmt.Errorf("the reference %q leads to nothing", ref)
			}
			n = node{list[i]}
			continue
		}
		if n = n.get(key); !n.given() {
			return node{}, fmt.Errorf("the reference %q leads to nothing", ref)
		}
	}
	return n, nil
}

// maxDepth is the depth to which schemas are looked into.
const maxDepth = 12

// schemas returns the parts of a schema that apply together: the schema itself, the schemas of allOf, and the
// first schemas of anyOf and oneOf. Schemas that cannot be resolved are left out.
func (r *reader) schemas(n node, depth int) []node {
	n, err := r.resolve(n)
	if err != nil || depth > maxDepth || !n.given() {
		return nil
	}
	v := reflect.ValueOf(n.v)
	if v.Kind() != reflect.Map {
		return nil
	}
	if known, has := r.known[v.Pointer()]; has {
		return known
	}
	r.known[v.Pointer()] = []node{n} // where it contains itself
	out := r.parts(n, depth)
	r.known[v.Pointer()] = out
	return out
}

// parts returns the parts of a schema that is not a reference.
func (r *reader) parts(n node, depth int) []node {
	out := []node{n}
	for _, part := range n.get("allOf").list() {
		out = append(out, r.schemas(part, depth+1)...)
		if len(out) > maxParts {
			return out
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, part := range n.get(key).list() {
			if found := r.schemas(part, depth+1); len(found) > 0 && !slices.Contains(typesOf(found[0]), "null") {
				return append(out, found...)
			}
		}
	}
	return out
}

// maxParts bounds the parts of one schema.
const maxParts = 100

// typesOf returns the types of a schema, which are a list in version 3.1.
func typesOf(n node) []string {
	if t := n.get("type"); t.text() != "" {
		return []string{t.text()}
	}
	return n.get("type").texts()
}

// typeOf returns the type of a schema, or "" if the schema does not say it.
func (r *reader) typeOf(n node) string {
	parts := r.schemas(n, 0)
	for _, p := range parts {
		for _, t := range typesOf(p) {
			if t != "null" {
				return t
			}
		}
	}
	for _, p := range parts {
		switch {
		case p.get("items").given():
			return "array"
		case p.get("properties").given():
			return "object"
		}
	}
	return ""
}

// property returns the schema of a property.
func (r *reader) property(n node, name string) node {
	for _, p := range r.schemas(n, 0) {
		if found := p.get("properties", name); found.given() {
			return found
		}
	}
	return node{}
}

// properties returns the names of the properties of a schema, sorted.
func (r *reader) properties(n node) []string {
	var out []string
	for _, p := range r.schemas(n, 0) {
		for _, name := range p.get("properties").names() {
			out = lists.AppendNew(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// elements returns the schema of the elements of an array.
func (r *reader) elements(n node) node {
	for _, p := range r.schemas(n, 0) {
		if found := p.get("items"); found.given() {
			return found
		}
	}
	return node{}
}

// keyword returns a keyword of a schema, such as default.
func (r *reader) keyword(n node, name string) node {
	for _, p := range r.schemas(n, 0) {
		if found := p.get(name); found.given() {
			return found
		}
	}
	return node{}
}
