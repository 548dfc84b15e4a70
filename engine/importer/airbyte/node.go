package airbyte

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A node is a value of a manifest, with its place and the parameters that hold there.
type node struct {
	v      any
	path   string
	params value.Object
	read   map[string]map[string]bool // the keys that were read of each component, by its path
}

// get returns the value of a key of a component or, if that is empty, the parameter of the same name.
func (n node) get(key string) node {
	out := node{path: diag.Join(n.path, key), read: n.read}
	object, isObject := value.Members(n.v)
	if !isObject {
		return out
	}
	n.mark(key)
	v, has := object.Get(key)
	parameters := n.params
	if (!has || untrue(v)) && key != "type" {
		if p, ok := parameters.Get(key); ok {
			v = p
		}
	}
	out.v = v
	out.params = parameters
	if _, isObject := value.Members(v); isObject {
		out.params = withParameters(parameters.Without(key), v)
	}
	return out
}

// own returns the value of a key without regard to parameters.
func (n node) own(key string) node {
	out := n.get(key)
	object, _ := value.Members(n.v)
	out.v, _ = object.Get(key)
	return out
}

// mark notes that a key of a component was read.
func (n node) mark(keys ...string) {
	if n.read == nil {
		return
	}
	if n.read[n.path] == nil {
		n.read[n.path] = map[string]bool{}
	}
	for _, k := range keys {
		n.read[n.path][k] = true
	}
}

// withParameters adds the parameters that a component declares.
func withParameters(params value.Object, v any) value.Object {
	object, _ := value.Members(v)
	for _, key := range []string{"$parameters", "$options"} {
		if own, ok := object.Get(key); ok {
			if members, isObject := value.Members(own); isObject {
				params = params.Merge(members)
			}
		}
	}
	return params
}

// list returns the elements of a list. A single value is a list of one.
func (n node) list() []node {
	if n.v == nil {
		return nil
	}
	list, isList := n.v.([]any)
	if !isList {
		return []node{n}
	}
	var out []node
	for i, e := range list {
		out = append(out, node{v: e, path: fmt.Sprintf("%s[%d]", n.path, i), params: withParameters(n.params, e), read: n.read})
	}
	return out
}

// members returns the members of an object, in their order, without parameters.
func (n node) members() []namedNode {
	var out []namedNode
	object, _ := value.Members(n.v)
	for _, m := range object {
		if m.Name == "$parameters" || m.Name == "$options" {
			continue
		}
		out = append(out, namedNode{m.Name, node{v: m.Value, path: diag.Join(n.path, m.Name), params: n.params, read: n.read}})
	}
	return out
}

type namedNode struct {
	name string
	node
}

// text returns a text, or a scalar as a text. It returns "" for any other value.
func (n node) text() string {
	text, _ := value.Text(n.v)
	return text
}

// at returns the value at a path below a component.
func (n node) at(path string) node {
	v := n.v
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		v, _ = value.At(v, []string{key})
	}
	return node{v: v, path: path}
}

func (n node) given() bool { return n.v != nil }

// flag reports whether a value is true, or a text that says so.
func (n node) flag() bool {
	return n.v == true || n.v == "true" || n.v == "True"
}

// kind returns the type of a component by its present name.
func (n node) kind() string {
	kind := n.own("type").text()
	if class := n.own("class_name").text(); kind == "" && strings.HasPrefix(class, "airbyte_cdk.") {
		kind = n.class()
	} else if kind == "" && class != "" {
		return "Custom"
	}
	if renamed, ok := oldTypes[kind]; ok {
		return renamed
	}
	if strings.HasPrefix(kind, "Custom") {
		return "Custom"
	}
	return kind
}

// class returns the name of the class of a custom component.
func (n node) class() string {
	name := n.own("class_name").text()
	return name[strings.LastIndex(name, ".")+1:]
}

// oldTypes are the types of the first versions of the format.
var oldTypes = map[string]string{
	"DatetimeStreamSlicer": "DatetimeBasedCursor", "SubstreamSlicer": "SubstreamPartitionRouter", "ListStreamSlicer": "ListPartitionRouter",
	"CartesianProductStreamSlicer": "CartesianProduct", "LimitPaginator": "DefaultPaginator", "InterpolatedRequestOptionsProvider": "",
	"SingleSlice": "", "SinglePartitionRouter": "", "BasicHttpAuthenticator": "BasicHttpAuthenticator",
}

// untrue reports whether Python takes a value for false.
func untrue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case int:
		return v == 0
	case []any:
		return len(v) == 0
	case value.Object:
		return len(v) == 0
	}
	return false
}

// maxNodes is how many values a manifest may have once its references are replaced.
const maxNodes = 1_000_000

// A resolver replaces references by the values that they name.
type resolver struct {
	root any
	left int
	open []string // the references that are being replaced
	done map[string]any
}

// resolve returns a manifest without references.
func resolve(root any) (any, error) {
	r := &resolver{root: root, left: maxNodes, done: map[string]any{}}
	return r.value(root, 0)
}

func (r *resolver) value(v any, depth int) (any, error) {
	if r.left--; r.left < 0 {
		return nil, errors.New("the manifest is too large, counting what its references repeat")
	}
	if depth > 300 {
		return nil, errors.New("the manifest is nested too deeply")
	}
	switch v := v.(type) {
	case string:
		if target, ok := reference(v); ok {
			return r.target(target, depth)
		}
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = r.value(e, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case value.Object:
		return r.object(v, depth)
	}
	return v, nil
}

// object replaces the references in an object. An object with $ref becomes the object that it names, with
// its own members over it.
func (r *resolver) object(v value.Object, depth int) (any, error) {
	var base any
	if ref, ok := v.Get("$ref"); ok {
		text, _ := ref.(string)
		target, known := reference(text)
		if !known {
			return nil, fmt.Errorf("the reference %s is not understood; want #/definitions/NAME", value.Preview(ref))
		}
		var err error
		if base, err = r.target(target, depth); err != nil {
			return nil, err
		}
	}
	out := make(value.Object, 0, len(v))
	for _, m := range v {
		if m.Name == "$ref" {
			continue
		}
		inner, err := r.value(m.Value, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, value.Member{Name: m.Name, Value: inner})
	}
	if base == nil {
		return out, nil
	}
	if object, isObject := value.Members(base); isObject {
		if len(out) == 0 {
			return object, nil
		}
		return object.Merge(out), nil
	}
	return base, nil
}

// reference returns the path that a reference names: #/definitions/x, or *ref(definitions.x). A key may
// have spaces, as in #/definitions/streams/Order lines.
func reference(text string) ([]string, bool) {
	if path, ok := strings.CutPrefix(text, "#/"); ok && !strings.ContainsAny(path, "\n{") {
		return strings.Split(path, "/"), true
	}
	if path, ok := strings.CutPrefix(text, "*ref("); ok && strings.HasSuffix(path, ")") {
		return strings.Split(strings.TrimSuffix(path, ")"), "."), true
	}
	return nil, false
}

func (r *resolver) target(path []string, depth int) (any, error) {
	name := strings.Join(path, "/")
	if v, ok := r.done[name]; ok {
		r.left -= 50 // it is read again wherever it is used
		if r.left < 0 {
			return nil, errors.New("the manifest is too large, counting what its references repeat")
		}
		return v, nil
	}
	if slices.Contains(r.open, name) {
		return nil, fmt.Errorf("the reference #/%s contains itself", name)
	}
	at, ok := named(r.root, path)
	if !ok {
		return nil, fmt.Errorf("the reference #/%s names nothing", name)
	}
	r.open = append(r.open, name)
	v, err := r.value(at, depth+1)
	r.open = r.open[:len(r.open)-1]
	if err == nil {
		r.done[name] = v
	}
	return v, err
}

// named returns the value at a path. A key may have slashes: it is looked up with all that follows first.
func named(v any, path []string) (any, bool) {
	for len(path) > 0 {
		if object, isObject := value.Members(v); isObject {
			if found, ok := object.Get(strings.Join(path, "/")); ok {
				return found, true
			}
		}
		var ok bool
		if v, ok = value.At(v, path[:1]); !ok {
			return nil, false
		}
		path = path[1:]
	}
	return v, true
}
