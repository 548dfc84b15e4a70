package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// scroll adds the rules of one scroller to a ruleset.
type scroll struct {
	*lowerer
	set      *Ruleset
	method   Method
	settings Settings
	path     string // of its pagination object
	outer    string // the scroller that the job picked, if this is one
}

// lower adds everything, in the order of evaluation: variables, stops (shared,
// the method's, the user's), the variables' next values, the next request.
func (s *scroll) lower() {
	s.set.Method, s.set.Path = s.method.Name, s.path
	s.limit()
	s.keepNames()
	s.oneTotal()
	s.oneOf()
	s.dottedFlag()
	s.flagPolarity()
	s.variables(Init)
	s.shared()
	for _, t := range s.method.Stops {
		s.stop(t, "method "+s.method.Name, "")
	}
	s.stopRules()
	s.variables(Next)
	s.overlay()
	s.nextRequest()
	s.onError()
	s.keep()
	s.trust()
	s.expressionNeedsRequest()
}

// expressionNeedsRequest: without one, the first page would be asked for again
// and again.
func (s *scroll) expressionNeedsRequest() {
	if s.method.Name == "expression" && !slices.ContainsFunc(s.set.Rules, func(r Rule) bool { return r.Role.Builds() }) {
		s.faults.Errorf(diag.Value(s.path), "method expression needs nextRequest: how the next page is asked for").
			WithHint(`for instance "nextRequest": {"params": {"page": "page + 1"}}`)
	}
}

// oneTotal checks that limitStop has exactly one of its two forms (2.4).
func (s *scroll) oneTotal() {
	if s.settings["limitStop"].Value == nil {
		return
	}
	path := s.settings["limitStop"].Path
	count, field := s.settings["limitStop.count"].Value != nil, s.settings["limitStop.field"].Value != nil
	switch {
	case count && field:
		s.faults.Errorf(diag.Value(path), "count and field exclude each other").
			WithHint("count is a number of your own, field the path of the API's")
	case !count && !field && !s.written(path+".count") && !s.written(path+".field"):
		s.faults.Errorf(diag.Value(path), "count or field is missing").WithHint("count is a number of your own, field the path of the API's")
	}
}

// oneOf checks that exactly one of the method's alternatives is written.
func (s *scroll) oneOf() {
	var set []string
	for _, name := range s.method.OneOf {
		if s.settings[name].Value != nil || s.written(diag.Join(s.path, name)) {
			set = append(set, name)
		}
	}
	switch {
	case len(set) > 1:
		s.faults.Errorf(diag.Value(s.path), "%s exclude each other", strings.Join(set, " and "))
	case len(set) == 0 && len(s.method.OneOf) > 0:
		s.faults.Errorf(diag.Value(s.path), "%s is missing", strings.Join(s.method.OneOf, " or "))
	}
}

// written tells whether a fault of a setting is its own, not its absence.
func (s *scroll) written(path string) bool {
	return slices.ContainsFunc(s.faults.Diagnostics(), func(e *diag.Diagnostic) bool { return e.Path == path })
}

// dottedFlag points to stopRules for flags that are not in the root (2.2): the
// field is one key, dots included.
func (s *scroll) dottedFlag() {
	setting := s.settings["nextPageFlag.field"]
	if escaped, ok := setting.Value.(string); ok && strings.Contains(escaped, `\.`) {
		name := SplitPath(escaped)[0]
		s.faults.Warnf(diag.Value(setting.Path), "%q is one key in the root, dots included", name).
			WithHint(fmt.Sprintf("for a nested flag write a rule, like \"stopRules\": [\"truthy(body.%s)\"]", name))
	}
}

func (s *scroll) add(r Rule) { s.set.Rules = append(s.set.Rules, r) }

// limit settles the page size in force: the job's own parameter, else the setting.
func (s *scroll) limit() {
	setting := s.settings["limit"]
	name, _ := s.settings["limitParam"].Value.(string)
	if own, ok := s.set.Job.Params.Get(name); ok && !value.Empty(own) && !(s.dialect == Keboola && php.Empty(own)) {
		path := diag.Join(diag.Join(s.set.Job.Path, "params"), name)
		kind := Count
		if s.dialect == Keboola {
			kind = PHPInt
		}
		converted, fault := convert(kind, own)
		if fault == "" {
			setting = Setting{Value: converted, Path: path}
		} else if _, needed := find(s.method.Fields, "limit"); needed {
			s.faults.Errorf(diag.Value(path), "%s", fault).WithHint("this parameter overrides the limit of the pagination")
		}
	}
	s.set.Limit = setting.Value
	if setting.Value != nil {
		s.set.LimitFrom = s.origin("config", setting.Path)
	}
}

var variableFields = []Field{
	{Name: "init", Kind: Any, Doc: "value before the first request"},
	{Name: "next", Kind: Any, Doc: "value after each page"},
}

// variables adds the method's variables and the user's; a variable of the user's
// takes the place of the method's of the same name.
func (s *scroll) variables(role Role) {
	own, _ := s.settings["state"].Value.(Object)
	for _, v := range s.method.State {
		if _, replaced := own.Get(v.Name); replaced || !s.settings.Holds(v.Only) {
			continue
		}
		source, says := s.source(v.Init, v.KeboolaInit), "starts at"
		if role == Next {
			source, says = s.source(v.Next, v.KeboolaNext), "is then"
		}
		s.variable(role, v.Name, source, says, s.origin("method "+s.method.Name, s.path))
	}
	path := diag.Join(s.path, "state")
	for _, m := range own {
		inner := diag.Join(path, m.Name)
		b := s.block(inner, m.Value, variableFields)
		key, says := "init", "starts at"
		if role == Next {
			key, says = "next", "is then"
		}
		if b.has(key) {
			s.variable(role, m.Name, sourceOf(b.values[key]), says, s.origin("config", diag.Join(inner, key)))
		} else if role == Init {
			s.variable(role, m.Name, "nil", says, s.origin("config", inner))
		}
	}
}

func (s *scroll) variable(role Role, name, source, says string, origin Origin) {
	if role == Init && !slices.Contains(s.set.Variables, name) {
		s.set.Variables = append(s.set.Variables, name)
	}
	s.add(Rule{ID: "state." + name + "." + string(role), Role: role, Target: name, Source: source, Says: says, Origin: origin})
}

// sourceOf is an expression as it is written: text, or a number or boolean that
// stands for itself.
func sourceOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return Literal(v)
}

// source picks the dialect's source and binds the settings into it.
func (s *scroll) source(spec, keboola string) string {
	if s.dialect == Keboola && keboola != "" {
		spec = keboola
	}
	return s.settings.Bind(spec)
}

// shared adds the rules of the shared table that are in force.
func (s *scroll) shared() {
	guards := Settings{}
	for name, fallback := range defaultPolicy[s.dialect] {
		guards[name] = Setting{Value: fallback, Default: true}
	}
	s.guards(guards)
	for _, t := range SharedStops {
		if policy := guards[t.ID]; policy.Value != nil {
			s.guard(t, policy)
			continue
		}
		s.stop(t, "config", s.settingPath(t))
	}
}

// settingPath is the config path that brought a shared rule in.
func (s *scroll) settingPath(t Template) string {
	if t.Only == "" {
		return ""
	}
	return s.settings[t.Only].Path
}

// guards reads the policies and the ignored paths that are written.
func (s *scroll) guards(into Settings) {
	for name := range into {
		setting, written := s.settings["guards."+name]
		if !written || name == "maxPages" {
			continue
		}
		if !slices.Contains(policies, setting.Value.(string)) {
			s.faults.Errorf(diag.Value(setting.Path), "want stop, fail or ignore, got %s", found(setting.Value))
		}
		into[name] = setting
	}
	paths, _ := s.settings["guards.ignore"].Value.([]any)
	for i, p := range paths {
		text, ok := p.(string)
		if !ok || text == "" || text == "." {
			s.faults.Errorf(diag.Value(diag.Index(diag.Join(s.path, "guards.ignore"), i)), "want a path in the response, got %s", found(p))
			continue
		}
		s.set.Ignore = append(s.set.Ignore, SplitPath(text))
	}
	if s.settings["guards.maxPages"].Value == nil && s.dialect != Keboola {
		s.settings["guards.maxPages"] = Setting{Value: defaultMaxPages, Path: diag.Join(s.path, "guards.maxPages"), Default: true}
	}
}

// guard adds a guard under its policy. Of the guard beside multiple and the
// scroller's own, the inner one counts.
func (s *scroll) guard(t Template, policy Setting) {
	had := slices.IndexFunc(s.set.Rules, func(r Rule) bool { return r.ID == t.ID })
	if had >= 0 && policy.Default && (t.ID != "maxPages" || s.settings["guards.maxPages"].Default) {
		return
	}
	if had >= 0 {
		s.set.Rules = slices.Delete(s.set.Rules, had, had+1)
	}
	if policy.Value == "ignore" {
		return
	}
	before := len(s.set.Rules)
	by, path := "default", ""
	if !policy.Default {
		by, path = "config", policy.Path
	}
	if t.ID == "maxPages" && !s.settings["guards.maxPages"].Default {
		by, path = "config", s.settings["guards.maxPages"].Path
	}
	s.stop(t, by, path)
	if len(s.set.Rules) == before {
		return
	}
	added := s.set.Rules[before]
	added.Policy = true
	if policy.Value == "fail" {
		added.Outcome = Failed
	}
	// Guards come first and in the table's order, whatever stood beside multiple.
	at := slices.IndexFunc(s.set.Rules[:before], func(r Rule) bool {
		return r.Role == Stop && (!r.Policy || tableOrder(r.ID) > tableOrder(t.ID))
	})
	if at < 0 {
		at = before
	}
	s.set.Rules = slices.Insert(s.set.Rules[:before], at, added)
}

func tableOrder(id string) int {
	return slices.IndexFunc(SharedStops, func(t Template) bool { return t.ID == id })
}

// stop adds a rule of a table, if it is in force in this dialect.
func (s *scroll) stop(t Template, by, path string) {
	source := s.source(t.When, t.Keboola)
	if source == off || !s.settings.Holds(t.Only) {
		return
	}
	if t.Each != "" {
		source = s.each(t.When, t.Each)
	}
	if path == "" && by != "default" {
		path = s.path
	}
	id := t.ID
	if s.taken(id) {
		id = s.outer + "." + id // the same limit beside multiple and in the scroller
	}
	outcome := t.Outcome
	if outcome == "" {
		outcome = Complete
	}
	origin := Origin{By: by}
	if path != "" {
		origin = s.origin(by, path)
	}
	s.add(Rule{ID: id, Role: Stop, Source: source, Outcome: outcome, Drop: t.Drop,
		Message: s.settings.Say(t.Message), Says: s.settings.Say(t.Says), Origin: origin})
}

// overlay adds the method's part of the next request.
func (s *scroll) overlay() {
	o := s.method.Next
	first := len(s.set.Rules)
	s.part(URL, o.URL)
	s.part(Endpoint, o.Endpoint)
	s.part(HTTPVerb, o.Method)
	if o.IncludeParams != "" {
		s.set.IncludeParams = s.settings.Holds(o.IncludeParams)
	}
	for _, p := range o.Params {
		s.part(Param, p)
	}
	for _, p := range o.Body {
		s.part(Body, p)
	}
	if o.ApplyToFirst == "" || !s.settings.Holds(o.ApplyToFirst) {
		return
	}
	for i := first; i < len(s.set.Rules); i++ {
		s.set.Rules[i].First = true
	}
}

func (s *scroll) part(role Role, p Part) {
	if p.Value == "" && p.Each == "" || !s.settings.Holds(p.Only) {
		return
	}
	origin := s.origin("method "+s.method.Name, s.path)
	if p.Each == "" {
		s.build(role, s.settings.Say(p.Name), s.source(p.Value, p.Keboola), origin)
		return
	}
	members, _ := s.settings[p.Each].Value.(Object)
	for _, m := range members {
		v := m.Value
		if had, ok := s.set.Job.Params.Get(m.Name); ok && s.switches.MergeScroll && s.set.IncludeParams {
			v = replaceRecursive(had, v)
		}
		s.build(role, m.Name, s.member(p.Value, v), s.origin("config", diag.Join(s.settings[p.Each].Path, m.Name)))
	}
}

// member binds a source for one member of a setting, whose value ${each} is.
func (s *scroll) member(source string, v any) string {
	bound := maps.Clone(s.settings)
	bound["each"] = Setting{Value: v}
	return bound.Bind(source)
}

// each is a source that holds when it does for every member of a setting.
func (s *scroll) each(source, setting string) string {
	members, _ := s.settings[setting].Value.(Object)
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = s.member(source, m.Value)
	}
	return strings.Join(parts, " and ")
}

// replaceRecursive lays an object over another, member by member, as the
// reference merges a scrollRequest over its job.
func replaceRecursive(under, over any) any {
	below, ok := value.Members(under)
	above, also := value.Members(over)
	if !ok || !also {
		return over
	}
	for _, m := range above {
		had, _ := below.Get(m.Name)
		below = below.With(m.Name, replaceRecursive(had, m.Value))
	}
	return below
}

// build adds one part of the next request, in the place of an earlier one for
// the same target.
func (s *scroll) build(role Role, target, source string, origin Origin) {
	id := "nextRequest." + string(role)
	if target != "" {
		id += "." + target
	}
	part := Rule{ID: id, Role: role, Target: target, Source: source, Later: true, Says: "is", Origin: origin}
	had := slices.IndexFunc(s.set.Rules, func(r Rule) bool { return r.ID == id && r.Later && target != "" })
	switch {
	case had < 0:
		s.add(part)
	case s.set.Rules[had].First: // what it replaces stays for the first request
		s.set.Rules[had].Later = false
		s.set.Rules = slices.Insert(s.set.Rules, had+1, part)
	default:
		s.set.Rules[had] = part
	}
}
