package botocore

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// found is where a value is in a response.
type found struct {
	keys   []string // of its path, with * for every element and -1 for the last element
	header string   // the header that has it, instead
	shape  *shape
	query  path
}

// path returns the path as the keys of configurations have it.
func (f found) path() string {
	var b strings.Builder
	for i, k := range f.keys {
		if i > 0 {
			b.WriteByte('.')
		}
		if k == "*" {
			b.WriteString("*")
			continue
		}
		b.WriteString(keypath.Join(k))
	}
	return cmp.Or(b.String(), ".")
}

// source returns the expression for the value.
func (f found) source() string {
	if f.header != "" {
		return fmt.Sprintf("header(%s)", importer.Quote(f.header))
	}
	return keypath.Format("body", f.keys)
}

func (t *translation) isXML() bool { return !strings.HasSuffix(t.protocol, "json") }

// find returns where the value of a path of shapes is in a response.
func (t *translation) find(p path) (found, error) {
	shape := t.service.shape(t.operation.Output)
	out := found{keys: t.root(), query: p}
	for i, s := range p {
		switch s.kind {
		case member:
			ref := shape.Members[s.name]
			if ref == nil {
				return out, fmt.Errorf("the output has no member %s", pathText(p[:i+1]))
			}
			shape = t.service.shape(ref)
			name := t.nameOf(s.name, ref, shape)
			switch {
			case i == 0 && (ref.Location == "header" || ref.Location == "headers"):
				out.header = cmp.Or(ref.LocationName, s.name)
			case i == 0 && t.service.shape(t.operation.Output).Payload == s.name:
				out.keys = t.payloadRoot(ref, shape)
			default:
				out.keys = append(out.keys, name)
			}
		default:
			if shape.Type != "list" {
				return out, fmt.Errorf("%s is not a list", pathText(p[:i]))
			}
			if t.isXML() {
				return out, fmt.Errorf("%s reads the elements of a list in XML; only the last item of the result can be read", pathText(p))
			}
			shape = t.service.shape(shape.Member)
			out.keys = append(out.keys, map[stepKind]string{each: "*", element: strconv.Itoa(s.index)}[s.kind])
		}
	}
	out.shape = shape
	if shape.Type == "list" && t.isXML() && !shape.Flattened {
		out.keys = append(out.keys, t.elementOf(shape))
	}
	return out, nil
}

func pathText(p path) string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.kind == each:
			b.WriteString("[]")
		case s.kind == element:
			fmt.Fprintf(&b, "[%d]", s.index)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

// nameOf returns the name of a member in a response.
func (t *translation) nameOf(name string, ref *reference, s *shape) string {
	if t.protocol == "json" {
		return name
	}
	if t.isXML() && s.Type == "list" && s.Flattened && s.Member != nil && s.Member.LocationName != "" {
		return s.Member.LocationName
	}
	return cmp.Or(ref.LocationName, name)
}

// elementOf returns the name of the elements of a list in XML.
func (t *translation) elementOf(s *shape) string {
	if s.Member != nil && s.Member.LocationName != "" {
		return s.Member.LocationName
	}
	return "member"
}

// bucketRoots are the roots of S3's responses, which its model does not have.
var bucketRoots = map[string]string{
	"ListBuckets": "ListAllMyBucketsResult", "ListDirectoryBuckets": "ListAllMyDirectoryBucketsResult",
	"ListObjects": "ListBucketResult", "ListObjectsV2": "ListBucketResult", "ListObjectVersions": "ListVersionsResult",
	"ListMultipartUploads": "ListMultipartUploadsResult", "ListParts": "ListPartsResult",
}

// root returns the keys of the object that has the members of the output.
func (t *translation) root() []string {
	output := t.operation.Output
	switch {
	case !t.isXML() || output == nil:
		return nil
	case t.protocol == "rest-xml" && t.service.Metadata.EndpointPrefix == "s3" && bucketRoots[t.paginator.name] != "":
		return []string{bucketRoots[t.paginator.name]}
	case t.protocol == "rest-xml":
		return []string{cmp.Or(output.LocationName, t.service.shape(output).LocationName, output.Shape)}
	case output.ResultWrapper == "":
		return []string{t.paginator.name + "Response"}
	}
	return []string{t.paginator.name + "Response", output.ResultWrapper}
}

// payloadRoot returns the keys of a member that is the whole body.
func (t *translation) payloadRoot(ref *reference, s *shape) []string {
	if !t.isXML() {
		return nil
	}
	return []string{cmp.Or(ref.LocationName, s.LocationName, ref.Shape)}
}

// response sets the format, and the lists of items.
func (t *translation) response() error {
	if t.isXML() {
		t.out.Response = []importer.Member{{Name: "format", Value: importer.Constant("xml")}}
	}
	keys, err := t.paginator.list("result_key")
	if err != nil {
		return err
	}
	if keys == nil {
		return fmt.Errorf("result_key is missing")
	}
	for _, key := range keys {
		if err := t.result(key); err != nil {
			return fmt.Errorf("result_key: %w", err)
		}
	}
	if len(t.results) == 0 {
		return fmt.Errorf("result_key: %s is neither a list nor an object", strings.Join(keys, ", "))
	}
	if len(t.results) == 1 {
		t.out.Items = t.results[0].path()
		return nil
	}
	for i, r := range t.results {
		name := t.paginator.name
		if i > 0 {
			name += "." + r.query[len(r.query)-1].name
		}
		t.out.Lists = append(t.out.Lists, importer.List{Path: r.path(), Name: name})
	}
	return nil
}

// result adds a list of items.
func (t *translation) result(key string) error {
	q, err := parseQuery(key)
	if err != nil {
		return err
	}
	if len(q) > 1 {
		return fmt.Errorf("%q has alternatives", key)
	}
	f, err := t.find(q[0])
	if err != nil {
		return err
	}
	place := t.out.Place + ".result_key"
	switch f.shape.Type {
	case "list", "structure":
	case "map":
		if t.isXML() {
			return fmt.Errorf("%s is a map in XML", key)
		}
		f.keys = append(f.keys, "*")
		if t.service.shape(f.shape.Value).Type == "structure" {
			t.out.Fields = []importer.Field{{Name: "key", Source: "key"}}
		} else {
			t.note(importer.Approximate, place, "dataField", "%s is a map, and the items are its values, without their keys", key)
		}
	default:
		if len(t.results) > 0 {
			t.note(importer.Left, place, "", "%s is a value of a page and not a list; botocore adds up its values", key)
			return nil
		}
		f.keys = f.keys[:len(f.keys)-1]
		t.note(importer.Approximate, place, "dataField",
			"%s is a text; each page is an item, whose texts botocore joins", key)
	}
	if f.header != "" {
		return fmt.Errorf("%s is a header", key)
	}
	t.results = append(t.results, f)
	return nil
}
