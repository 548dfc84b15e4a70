package yaml

import (
	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// isMerge reports whether a key is the merge key of YAML 1.1: its value is an object whose members the
// enclosing object has, too, or a list of such objects.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && isPlain(key) && !isTagged(key) && key.Value == "<<"
}

// merge adds the members that the value of a merge key has.
func (r *reader) merge(node *yaml.Node, path string, to *members, c nodeContext) error {
	var mark diag.Mark
	v, err := r.value(node, path, &mark, c)
	if err != nil {
		return err
	}
	list, isList := v.([]any)
	marks := mark.Inner()
	if !isList {
		list, marks = []any{v}, []diag.Mark{mark}
	}
	for i, element := range list {
		object, isObject := element.(rules.Object)
		if !isObject {
			return r.fault(path, marks[i].Value, "write <<: *NAME for an object with the anchor &NAME, or a list of such names",
				"the value of a merge key (<<) must be an object, or a list of objects")
		}
		for j, m := range marks[i].Inner() {
			to.add(object[j].Value, m, true)
		}
	}
	return nil
}

// members collects the members of an object. Its own ones replace merged ones, and merged ones
// replace those that are merged later.
type members struct {
	own    map[string]bool
	object rules.Object
	marks  []diag.Mark
	merged []bool
}

func (o *members) add(v any, mark diag.Mark, merged bool) {
	o.object = append(o.object, rules.Member{Name: mark.Name, Value: v})
	o.marks, o.merged = append(o.marks, mark), append(o.merged, merged)
}

// result returns the object and the marks of its members.
func (o *members) result() (object rules.Object, marks []diag.Mark) {
	object, seen := rules.Object{}, map[string]bool{}
	for i, m := range o.object {
		if o.merged[i] && (o.own[m.Name] || seen[m.Name]) {
			continue
		}
		seen[m.Name] = o.merged[i]
		object, marks = append(object, m), append(marks, o.marks[i])
	}
	return object, marks
}
