package stress

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// An advance says how the variables of the state advance in method expression.
type advance int

const (
	asBefore advance = iota
	byItems          // by the number of items instead of the limit
)

// expression returns the changes that replace the rules that ended the run by another stopping rule, or nil if
// that is impossible. If one of them belongs to the method, the method is replaced by method expression, with the
// rules that the job was compiled to. All other settings stay. If there is a condition that the list goes on, a
// list that ends although it is true fails the run.
func (l *loss) expression(advance advance, stop string, goesOn ...string) []Change {
	if len(l.job.Parts) == 0 || l.job.Ruleset.Scroller != "" {
		return nil
	}
	p, ofMethod := l.withoutStops()
	replaced := ofMethod || advance == byItems
	if replaced {
		if p = l.asExpression(p, advance); p == nil {
			return nil
		}
	}
	had, _ := p.Get("stopRules")
	list, _ := had.([]any)
	list = append(slices.Clone(list), value.ObjectOf("name", "empty", "when", stop))
	for _, condition := range goesOn {
		if condition != "" {
			ends := append([]string{stop}, l.otherEnds(replaced)...)
			list = append(list, failingRule("tooEarly", anyOf(ends)+" and "+condition))
		}
	}
	return differences(keysOf(l.job.Ruleset.Path), l.current, p.With("stopRules", list))
}

// otherEnds returns the conditions of the rules that end the list as complete, besides those that ended the run
// and, if the method is replaced, those of the method.
func (l *loss) otherEnds(replaced bool) (conditions []string) {
	for _, e := range l.job.Stops {
		r := e.Rule
		ofMethod := r.Origin.By.Kind == rules.AuthorMethod
		if r.Outcome == rules.Complete && !r.Guard && !slices.Contains(l.stopped, r.ID) &&
			!(replaced && ofMethod) && r.Source != atEmptyPage {
			conditions = append(conditions, r.Source)
		}
	}
	return conditions
}

// anyOf joins conditions by or, in parentheses if there are several.
func anyOf(conditions []string) string {
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(lists.Map(conditions, func(c string) string {
		if strings.Contains(c, "?") {
			return "(" + c + ")"
		}
		return c
	}), " or ") + ")"
}

// withoutStops returns the pagination without the rules that ended the run, and whether the
// method has one of them, too.
func (l *loss) withoutStops() (p value.Object, ofMethod bool) {
	p = l.current
	had, _ := p.Get("stopRules")
	stops, _ := had.([]any)
	stops = slices.Clone(stops)
	for _, e := range slices.Backward(l.job.Stops) {
		if !slices.Contains(l.stopped, e.Rule.ID) {
			continue
		}
		path := keysOf(strings.TrimPrefix(e.Rule.Origin.Path, l.job.Ruleset.Path))
		switch i := slices.Index(path, "stopRules"); {
		case len(path) < 2 || path[1] == "method" || at(p, path[1:2]) == nil:
			ofMethod = true
		case i < 0:
			p = p.Without(path[1])
		default:
			if n, err := strconv.Atoi(path[i+1]); err == nil && n < len(stops) {
				stops = slices.Delete(stops, n, n+1)
			}
		}
	}
	if len(stops) > 0 {
		return p.With("stopRules", stops), ofMethod
	}
	return p.Without("stopRules"), ofMethod
}

// asExpression returns a pagination of method expression that is equivalent to the method of the job.
// It returns nil if there is no such pagination, or if no variable advances by the limit, although it
// should advance by the number of items instead.
func (l *loss) asExpression(p value.Object, advance advance) value.Object {
	var state, request value.Object
	advanced := advance == asBefore
	for _, e := range l.job.Init {
		state = state.WithPath([]string{e.Rule.Target, "init"}, e.Rule.Source)
	}
	for _, e := range l.job.Next {
		source := e.Rule.Source
		if advance == byItems && e.ReadsFunc(func(r language.Read) bool { return r.Root == rules.ContextLimit }) {
			source, advanced = keypath.Format(rules.ContextState, []string{e.Rule.Target})+" + count", true
		}
		state = state.WithPath([]string{e.Rule.Target, "next"}, source)
	}
	for _, e := range l.job.Parts {
		r := e.Rule
		if r.Sending.First != l.job.Parts[0].Rule.Sending.First {
			return nil
		}
		path := []string{string(r.Role)}
		if r.Target != "" {
			path = append(path, r.Target)
		}
		request = request.WithPath(path, r.Source)
	}
	if !advanced {
		return nil
	}
	request = request.With("includeParams", l.job.Ruleset.IncludeParams)
	if l.job.Parts[0].Rule.Sending.First {
		request = request.With("applyToFirst", true)
	}
	return l.withSettings(p, state, request)
}

// withSettings returns a pagination of method expression with a state and a request, and with the
// settings of another pagination that do not belong to its method.
func (l *loss) withSettings(p, state, request value.Object) value.Object {
	out := value.ObjectOf("method", "expression")
	if l.job.Ruleset.Limit != nil {
		out = out.With("limit", l.job.Ruleset.Limit)
	}
	if len(state) > 0 {
		out = out.With("state", state)
	}
	out = out.With("nextRequest", request)
	replaced := []string{"limitParam"} // it is a parameter of nextRequest
	for _, m := range l.methods {
		if m.Name == l.job.Ruleset.Method {
			for _, f := range m.Fields {
				replaced = append(replaced, f.Name)
			}
		}
	}
	for _, m := range p {
		if at(out, []string{m.Name}) == nil && !slices.Contains(replaced, m.Name) {
			out = out.With(m.Name, m.Value)
		}
	}
	return out
}

// differences returns the changes that make one value another one. Members and elements that both
// have stay as they are.
func differences(path []string, from, to any) (changes []Change) {
	memberPath := func(key string) []string { return append(slices.Clone(path), key) }
	members, isObject := value.Members(from)
	want, alsoObject := value.Members(to)
	old, isList := from.([]any)
	list, alsoList := to.([]any)
	switch {
	case isObject && alsoObject:
		for _, m := range members {
			if _, stays := want.Get(m.Name); !stays {
				changes = append(changes, Change{Path: memberPath(m.Name), Remove: true})
			}
		}
		for _, m := range want {
			if before, stays := members.Get(m.Name); stays {
				changes = append(changes, differences(memberPath(m.Name), before, m.Value)...)
			} else {
				changes = append(changes, Change{Path: memberPath(m.Name), Value: m.Value})
			}
		}
	case isList && alsoList:
		for i, e := range old {
			if len(list) > 0 && reflect.DeepEqual(e, list[0]) {
				list = list[1:]
			} else {
				changes = slices.Insert(changes, 0, Change{Path: memberPath(strconv.Itoa(i)), Remove: true})
			}
		}
		for _, e := range list {
			changes = append(changes, Change{Path: path, Value: e, Append: true})
		}
	case !reflect.DeepEqual(from, to):
		changes = []Change{{Path: path, Value: to}}
	}
	return changes
}

// keysOf returns the keys of a config path, including the indexes of lists.
func keysOf(path string) []string {
	path = strings.TrimPrefix(path, "parameters.")
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}
