package botocore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// An input is an input of the configuration, with the form that its expression expects.
type input struct {
	importer.Input
	form string
}

func sortedNames(members map[string]*reference) []string { return slices.Sorted(maps.Keys(members)) }

func contains(list []string, name string) bool { return slices.Contains(list, name) }

// input declares an input and returns the expression that reads it. Operations share the input of a
// member that they both have, unless it has another form.
func (t *translation) input(form string, in importer.Input) string {
	in.Name = cmp.Or(in.Name, form)
	if known := t.inputs[in.Name]; known != nil && known.form != form {
		in.Name += "_" + snake(t.paginator.name)
	}
	if t.inputs[in.Name] == nil {
		one := &input{in, form}
		t.inputs[in.Name] = one
		t.order = append(t.order, one)
	}
	return "input." + in.Name
}

// memberValue returns the value of a member of the input, in the form that JSON, headers and addresses
// have: a constant that the user has set, or an expression over an input.
func (t *translation) memberValue(name string, ref *reference) importer.Value {
	s := t.service.shape(ref)
	if limit, err := t.paginator.list("limit_key"); err == nil && contains(limit, name) {
		if text, set := t.set.Get(PageSize); set {
			return importer.Constant(constant(s, text))
		}
	}
	if text, set := t.set.Get(name); set {
		return importer.Constant(constant(s, text))
	}
	in := importer.Input{Name: snake(name), Doc: docOf(ref.Documentation), Secret: s.Sensitive, Place: t.placeOf(name)}
	if t.service.Metadata.EndpointPrefix == "glacier" && name == "accountId" {
		in.Default = "-" // as the handlers of botocore do
	}
	switch s.Type {
	case "integer", "long", "float", "double":
		in.Sample = 10
		return importer.Computed("number(" + t.input("number", in) + ")")
	case "boolean":
		in.Sample = true
		return importer.Computed("string(" + t.input("boolean", in) + `) == "true"`)
	case "timestamp":
		in.Doc, in.Sample = addDoc(in.Doc, "a time such as 2026-01-31T00:00:00Z"), "2026-01-31T00:00:00Z"
		return importer.Computed(t.timeSource(t.input("time", in), ref, s))
	case "list":
		if isScalar(t.service.shape(s.Member).Type) {
			in.Doc = addDoc(in.Doc, "values with commas between them")
			return importer.Computed("split(" + t.input("list", in) + `, ",")`)
		}
		fallthrough
	case "map", "structure":
		in.Doc, in.Sample = addDoc(in.Doc, "as JSON"), "{}"
		return importer.Computed("fromJSON(" + t.input("json", in) + ")")
	}
	if ref.Token {
		return importer.Computed("uuid()")
	}
	in.Sample = "example"
	return importer.Computed(t.input("text", in))
}

func (t *translation) placeOf(name string) string { return t.operation.Input.Shape + "." + name }

func addDoc(doc, form string) string {
	if doc == "" {
		return form
	}
	return doc + " (" + form + ")"
}

func isScalar(kind string) bool {
	return !slices.Contains([]string{"list", "map", "structure", ""}, kind)
}

// timeSource returns the expression for a time in the form that its place has.
func (t *translation) timeSource(source string, ref *reference, s *shape) string {
	form := cmp.Or(ref.TimestampFormat, s.TimestampFormat)
	if form == "" {
		switch {
		case ref.Location == "header":
			form = "rfc822"
		case ref.Location == "" && strings.HasSuffix(t.protocol, "json"):
			form = "unixTimestamp"
		}
	}
	switch form {
	case "unixTimestamp":
		return "date(" + source + ").Unix()"
	case "rfc822":
		return "date(" + source + `).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")`
	}
	return source
}

// constant returns a value that the user has set, by the type of the member.
func constant(s *shape, text string) any {
	switch s.Type {
	case "integer", "long":
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	case "float", "double":
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case "list", "map", "structure":
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			return v
		}
		if s.Type == "list" {
			return lists.Map(strings.Split(text, ","), func(e string) any { return e })
		}
	}
	return text
}

// queryValue is the value of a member in the query, where a list has one value.
func (t *translation) queryValue(name string, ref *reference) importer.Value {
	s := t.service.shape(ref)
	if s.Type != "list" {
		return t.memberValue(name, ref)
	}
	t.oneOf(name)
	one := *s.Member
	one.Documentation = ref.Documentation
	return t.memberValue(name, &one)
}

func (t *translation) oneOf(name string) {
	t.note(importer.Approximate, t.placeOf(name), "params", "%s is a list, and the input has one value of it", name)
}

// maxDepth is the depth to which the members of structures are flattened.
const maxDepth = 5

// flatten adds a member to a form, in which lists and structures have names such as Filter.1.Name. Of
// a list it adds one element, and of a structure the required members, or all that are scalar.
func (t *translation) flatten(wire, name string, ref *reference, depth int) {
	s := t.service.shape(ref)
	switch {
	case depth > maxDepth:
	case s.Type == "list" && s.Member != nil:
		t.oneOf(name)
		one := *s.Member
		one.Documentation = cmp.Or(one.Documentation, ref.Documentation)
		t.flatten(t.listName(wire, s), name, &one, depth+1)
	case s.Type == "structure":
		for _, inner := range sortedNames(s.Members) {
			member := s.Members[inner]
			if contains(s.Required, inner) || len(s.Required) == 0 && t.mayStandAlone(member) {
				t.flatten(t.formName(wire+".", inner, member), name+inner, member, depth+1)
			}
		}
	case s.Type == "map":
		t.note(importer.Approximate, t.placeOf(name), "params", "%s is a map, and the inputs have one entry of it", name)
		t.out.Params = append(t.out.Params,
			importer.Member{Name: wire + ".entry.1.key", Value: importer.Computed(t.input("text", importer.Input{Name: snake(name + "Key")}))},
			importer.Member{Name: wire + ".entry.1.value", Value: importer.Computed(t.input("text", importer.Input{Name: snake(name + "Value")}))})
	default:
		t.out.Params = append(t.out.Params, importer.Member{Name: wire, Value: t.memberValue(name, ref)})
	}
}

// mayStandAlone reports whether a member is a scalar, or a list of scalars.
func (t *translation) mayStandAlone(ref *reference) bool {
	s := t.service.shape(ref)
	return isScalar(s.Type) || s.Type == "list" && isScalar(t.service.shape(s.Member).Type)
}

// formName returns the name of a member in a form.
func (t *translation) formName(prefix, name string, ref *reference) string {
	if t.protocol != "ec2" {
		return prefix + cmp.Or(ref.LocationName, name)
	}
	if ref.QueryName != "" {
		return prefix + ref.QueryName
	}
	letters := []rune(cmp.Or(ref.LocationName, name))
	if ref.LocationName != "" {
		letters[0] = unicode.ToUpper(letters[0])
	}
	return prefix + string(letters)
}

// listName returns the name of the first element of a list in a form.
func (t *translation) listName(wire string, s *shape) string {
	element := s.Member.LocationName
	switch {
	case t.protocol == "ec2":
		return wire + ".1"
	case !s.Flattened:
		return fmt.Sprintf("%s.%s.1", wire, cmp.Or(element, "member"))
	case element != "":
		if i := strings.LastIndexByte(wire, '.'); i >= 0 {
			return wire[:i+1] + element + ".1"
		}
		return element + ".1"
	}
	return wire + ".1"
}
