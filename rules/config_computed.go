package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Computed is a value of the configuration that an expression computes: {"expr": "…"}. It is evaluated once,
// before the first request of a partition.
type Computed struct {
	Source string
	Secret bool // the value must never be printed

	since          *Cursor // the cursor of the items that incremental compares with it; nil: incremental does not send it
	ofCompleteList any     // if since is set: the parameter's value in a request for the complete list; nil to omit the parameter
	Path           string  // config path
}

// MarshalJSON writes the value as the configuration has it.
func (c Computed) MarshalJSON() ([]byte, error) {
	return value.Marshal(Object{{Name: "expr", Value: c.Source}})
}

// computed returns the value that an object {"expr": "…"} stands for.
func computed(path string, v any) (Computed, bool) {
	if c, ok := v.(Computed); ok { // functions of dialect keboola
		return c, true
	}
	object, isObject := value.Members(v)
	if !isObject || len(object) != 1 || object[0].Name != "expr" {
		return Computed{}, false
	}
	source, isText := object[0].Value.(string)
	return Computed{Source: source, Path: diag.Join(path, "expr")}, isText
}

// computedIn returns the computed values in a value, in their order.
func computedIn(v any) (found []Computed) {
	switch v := v.(type) {
	case Computed:
		return []Computed{v}
	case []any:
		for _, e := range v {
			found = append(found, computedIn(e)...)
		}
	case Object:
		for _, m := range v {
			found = append(found, computedIn(m.Value)...)
		}
	}
	return found
}

// sourceOfValue returns the expression for a configured value, parts of which may be computed.
func sourceOfValue(v any) string {
	if c, ok := v.(Computed); ok {
		return c.Source
	}
	return literal(v)
}

// constants returns the members of an object that are not computed.
func constants(o Object) Object {
	return slices.DeleteFunc(slices.Clone(o), func(m Member) bool { return computedIn(m.Value) != nil })
}

// ListParams returns the parameters that identify the list of the job: the parameters of a request for
// the complete list, without the value that incremental adds.
func (j Job) ListParams() Object {
	for i, m := range j.Params {
		c, ok := m.Value.(Computed)
		switch {
		case !ok || c.since == nil:
		case c.ofCompleteList == nil:
			return j.Params.Without(m.Name)
		default:
			out := slices.Clone(j.Params)
			out[i].Value = c.ofCompleteList
			return out
		}
	}
	return j.Params
}

// ListMembers returns the members of the parameters or of the body of a request that identify its list: without credentials
// and without the value that incremental adds.
func ListMembers(v any) any { return withoutMembers(v, secret.IsParameter) }

// ListHeaders returns the headers of requests of a job that identify its list, without the value that incremental adds
// and without those of [requests.DescribesNoList].
func (c *Config) ListHeaders(j *Job) any {
	all := slices.Clone(c.HTTP.Headers.Merge(j.Headers))
	for i, m := range all {
		all[i].Name = strings.ToLower(m.Name)
	}
	return withoutMembers(all, requests.DescribesNoList)
}

// withoutMembers returns a value without the members for which leavesOut reports true, and without the value that
// incremental adds. It sorts the members of objects.
func withoutMembers(v any, leavesOut func(name, text string) bool) any {
	switch v := v.(type) {
	case Computed:
		if v.since != nil {
			return v.ofCompleteList
		}
	case []any:
		return lists.Map(v, func(e any) any { return withoutMembers(e, leavesOut) })
	case Object:
		var out Object
		for _, m := range v {
			c, computed := m.Value.(Computed)
			text, _ := value.Text(m.Value)
			if leavesOut(m.Name, text) || computed && c.Secret {
				continue
			}
			if e := withoutMembers(m.Value, leavesOut); e != nil {
				out = append(out, Member{Name: m.Name, Value: e})
			}
		}
		slices.SortStableFunc(out, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
		return out
	}
	return v
}

// Constants returns the parameters of the job that no expression computes.
func (j Job) Constants() Object { return constants(j.Params) }
