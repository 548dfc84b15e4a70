package google

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// endpoint sets the path. A value in it is a member of the items of another list, a constant or an
// input.
func (t *translation) endpoint() {
	t.values = t.parent()
	t.out.Endpoint = inBraces().ReplaceAllStringFunc(t.path(), func(found string) string {
		m := inBraces().FindStringSubmatch(found)
		if t.values[m[2]] == "" {
			t.values[m[2]] = t.pathValue(m[2], m[1])
		}
		return t.values[m[2]]
	})
}

// path returns the path of a method, without a slash at its beginning.
func (c *call) path() string { return strings.TrimPrefix(c.Path, "/") }

// pathValue returns a value of the path that no other list has.
func (t *translation) pathValue(name, plus string) string {
	if text, set := t.set.Get(name); set {
		return text
	}
	p := t.call.Parameters[name]
	if p == nil {
		p = &parameter{}
	}
	in := importer.Input{Name: name, Doc: docOf(p.Description), Place: t.out.Place + ".parameters." + name}
	if p.Default != "" {
		in.Default = p.Default
	}
	if _, err := regexp.Compile(p.Pattern); err == nil && p.Pattern != "" {
		in.Pattern, in.Sample = p.Pattern, sample(p.Pattern)
	}
	return "{" + plus + t.input(in) + "}"
}

// sample returns a value that has a pattern of Google: projects/example/locations/example for
// ^projects/[^/]+/locations/[^/]+$.
func sample(pattern string) any {
	text := strings.NewReplacer("[^/]+", "example", ".*", "example", "^", "", "$", "").Replace(pattern)
	if matched, err := regexp.MatchString(pattern, text); err != nil || !matched {
		return nil
	}
	return text
}

// parent makes the stream a child of the list whose items have a value of its path: the list of the resource
// above, or the list with the same path up to the value. It returns the values of the path up to this value.
func (t *translation) parent() map[string]string {
	for _, span := range slices.Backward(inBraces().FindAllStringSubmatchIndex(t.path(), -1)) {
		param, plus := t.path()[span[4]:span[5]], t.path()[span[2]:span[3]]
		if _, set := t.options.Set[param]; set {
			continue
		}
		for _, c := range t.calls {
			above := len(t.resources) > 1 && slices.Equal(c.resources, t.resources[:len(t.resources)-1]) ||
				c.path() == strings.TrimSuffix(t.path()[:span[0]], "/")
			if c == t.call || c.name != "list" || !above {
				continue
			}
			if member := t.identifier(c, param, plus != ""); member != "" {
				return t.child(c, param, plus, member)
			}
		}
	}
	return map[string]string{}
}

// identifier returns the member of the items of a list that a parameter of a path means, or "". isName says
// whether the value of the parameter is the full name of a resource, which has slashes.
func (t *translation) identifier(c *call, param string, isName bool) string {
	if len(c.resources) == 0 || len(c.lists) > 1 {
		return ""
	}
	item := c.lists[0].Item
	noun := importer.Singular(importer.InputName(c.resources[len(c.resources)-1]))
	name, member := importer.InputName(param), ""
	switch {
	case isName && (name == "parent" || name == "name" || name == noun):
		member = t.propertyLike(item, "name")
	case !isName && (name == noun+"_id" || name == noun):
		member = t.propertyLike(item, "id", noun+"Id")
	}
	if member == "" || t.property(item, member).Type != "string" {
		return ""
	}
	return member
}

// child adds the variable with the items of the parent.
func (t *translation) child(parent *call, param, plus, member string) map[string]string {
	above := t.stream(parent)
	variable := above.ItemVariable(importer.Singular(importer.InputName(parent.resources[len(parent.resources)-1])))
	t.out.For = []importer.Variable{{Name: variable, Parent: above}}
	t.note(importer.Check, "parameters."+param, "for."+variable,
		"By their paths, the values of {%s} are the members %s of the items of %s", param, member, parent.short())
	values := map[string]string{}
	if plus == "" { // the path of the parent has the values before it
		maps.Copy(values, parent.values)
	}
	values[param] = "{" + plus + keypath.Format(variable, []string{member}) + "}"
	return values
}
