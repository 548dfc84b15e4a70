package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Lower turns the configuration into one [Ruleset] a job. It reports every
// fault it finds in the pagination, as [Errors] in order of position; the
// warnings are those of the configuration and of all rulesets.
func (c *Config) Lower() ([]*Ruleset, error) {
	faults := NewFaults(c.Source)
	l := &lowerer{reader: reader{faults}, cfg: c, dialect: c.Dialect, switches: DialectSwitches[c.Dialect]}
	var sets []*Ruleset
	for i, job := range c.Jobs {
		if l.switches.JobsOnce && slices.ContainsFunc(c.Jobs[:i], job.alike) {
			continue
		}
		sets = append(sets, l.lower(job))
	}
	c.Warnings = append(c.Warnings, faults.Warnings().Unique()...)
	return sets, faults.Errors().Unique().Err()
}

// alike tells whether two jobs ask for the same and would have the same id in
// the reference, which keeps jobs in a map by id.
func (j Job) alike(other Job) bool {
	j.Path, other.Path = "", ""
	if strings.HasPrefix(j.ID, j.Endpoint+"#") && strings.HasPrefix(other.ID, j.Endpoint+"#") {
		j.ID, other.ID = "", ""
	}
	return reflect.DeepEqual(j, other)
}

// lowerer makes the rulesets of one configuration.
type lowerer struct {
	reader
	cfg      *Config
	dialect  string
	switches Switches
}

func (l *lowerer) lower(job Job) *Ruleset {
	set := &Ruleset{Job: job, Dialect: l.dialect, Source: l.cfg.Source, IncludeParams: true}
	if l.cfg.Pagination != nil {
		l.scroller(set, JoinPath(l.cfg.Path, "api.pagination"), l.cfg.Pagination, Settings{})
	}
	for _, status := range l.cfg.HTTP.IgnoreErrors {
		set.Rules = append(set.Rules, Rule{
			ID: fmt.Sprintf("ignoreErrors.%d", status), Role: OnError, Do: "continue", Source: fmt.Sprintf("status == %d", status),
			Message: "status {status} counts as a page", Says: fmt.Sprintf("a response has status %d", status),
			Origin: l.origin("config", JoinPath(l.cfg.Path, "api.http.ignoreErrors")),
		})
	}
	return set
}

// scroller adds the rules of one pagination object. Those beside method
// multiple apply to every scroller in it, and come first.
func (l *lowerer) scroller(set *Ruleset, path string, v any, outer Settings) {
	object, ok := value.Members(v)
	if !ok {
		if !l.switches.OptionalMethod {
			l.faults.Value(path, "", "want an object, got %s", found(v))
		}
		return
	}
	method, ok := l.method(path, object)
	if !ok {
		return
	}
	settings := Settings{}
	if l.dialect == Keboola {
		settings["dialect.keboola"] = Setting{Value: true}
	}
	l.resolve(settings, "", path, object, fieldsOf(method))
	scroll := &scroll{lowerer: l, set: set, method: method, settings: settings, path: path, outer: set.Scroller}
	if method.Name == Multiple {
		scroll.oneTotal()
		l.pick(scroll, object)
		return
	}
	scroll.lower()
}

// fieldsOf are the keys that a pagination object of a method may have.
func fieldsOf(m Method) []Field {
	fields := slices.Clone(m.Fields)
	for _, f := range commonFields {
		if _, own := find(fields, f.Name); !own {
			fields = append(fields, f)
		}
	}
	return fields
}

// method finds the entry of the table.
func (l *lowerer) method(path string, object Object) (Method, bool) {
	written, _ := object.Get("method")
	if l.switches.OptionalMethod && php.EmptyConfig(written) {
		return Method{}, false
	}
	name, _ := written.(string)
	var known []string
	for _, m := range Methods {
		if m.KeboolaOnly && l.dialect != Keboola {
			continue
		}
		if m.Name == name {
			return m, true
		}
		known = append(known, m.Name)
	}
	if written == nil {
		l.faults.Value(path, "one of "+strings.Join(known, ", "), "method is missing")
	} else {
		hint := DidYouMean(name, known)
		if hint == "" {
			hint = "there are " + strings.Join(known, ", ")
		}
		l.faults.Value(JoinPath(path, "method"), hint, "no method %s", found(written))
	}
	return Method{}, false
}

// pick chooses the scroller of a job, and checks those that no job uses too.
func (l *lowerer) pick(outer *scroll, object Object) {
	scrollers, _ := outer.settings["scrollers"].Value.(Object)
	path := JoinPath(outer.path, "scrollers")
	if len(scrollers) == 0 {
		if _, written := object.Get("scrollers"); written {
			l.faults.Value(path, "", "there is no scroller in it")
		}
		return
	}
	for _, m := range scrollers {
		l.scroller(&Ruleset{Job: outer.set.Job}, JoinPath(path, m.Name), m.Value, nil)
	}
	name, at := outer.set.Job.Scroller, JoinPath(outer.set.Job.Path, "scroller")
	if name == "" {
		name, _ = outer.settings["default"].Value.(string)
		at = JoinPath(outer.path, "default")
	}
	if name == "" {
		return
	}
	inner, ok := scrollers.Get(name)
	if !ok {
		hint := DidYouMean(name, scrollers.Names())
		if hint == "" {
			hint = "there are " + strings.Join(scrollers.Names(), ", ")
		}
		l.faults.Value(at, hint, "no scroller %q", name)
		return
	}
	outer.shared()
	outer.set.Scroller = name
	l.scroller(outer.set, JoinPath(path, name), inner, outer.settings)
}

// origin of something written at a config path.
func (l *lowerer) origin(by, path string) Origin {
	o := Origin{By: by, Path: path}
	if l.cfg.Source != nil {
		o.File = l.cfg.Source.Name
		if at := l.cfg.Source.ValueAt(path); at >= 0 {
			o.At = l.cfg.Source.Position(at)
		}
	}
	return o
}

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
	s.set.Method = s.method.Name
	s.limit()
	s.oneTotal()
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
	s.expressionNeedsRequest()
}

// expressionNeedsRequest: without one, the first page would be asked for again
// and again.
func (s *scroll) expressionNeedsRequest() {
	if s.method.Name == "expression" && !slices.ContainsFunc(s.set.Rules, func(r Rule) bool { return r.Role.Builds() }) {
		s.faults.Value(s.path, `for instance "nextRequest": {"params": {"page": "page + 1"}}`, "method expression needs nextRequest: how the next page is asked for")
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
		s.faults.Value(path, "count is a number of your own, field the path of the API's", "count and field exclude each other")
	case !count && !field && !s.written(path+".count") && !s.written(path+".field"):
		s.faults.Value(path, "count is a number of your own, field the path of the API's", "count or field is missing")
	}
}

// written tells whether a fault of a setting is its own, not its absence.
func (s *scroll) written(path string) bool {
	return slices.ContainsFunc(s.faults.all, func(e *Error) bool { return e.Path == path })
}

func (s *scroll) add(r Rule) { s.set.Rules = append(s.set.Rules, r) }

// limit settles the page size in force: the job's own parameter, else the setting.
func (s *scroll) limit() {
	setting := s.settings["limit"]
	name, _ := s.settings["limitParam"].Value.(string)
	if own, ok := s.set.Job.Params.Get(name); ok && !value.Empty(own) && !(s.dialect == Keboola && php.Empty(own)) {
		path := JoinPath(JoinPath(s.set.Job.Path, "params"), name)
		kind := Count
		if s.dialect == Keboola {
			kind = PHPInt
		}
		converted, fault := convert(kind, own)
		if fault == "" {
			setting = Setting{Value: converted, Path: path}
		} else if _, needed := find(s.method.Fields, "limit"); needed {
			s.faults.Value(path, "this parameter overrides the limit of the pagination", "%s", fault)
		}
	}
	s.set.Limit = setting.Value
	if setting.Value != nil {
		s.set.LimitFrom = s.origin("config", setting.Path)
	}
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
	path := JoinPath(s.path, "state")
	for _, m := range own {
		inner := JoinPath(path, m.Name)
		b := s.block(inner, m.Value, []Field{
			{Name: "init", Kind: Any, Doc: "value before the first request"},
			{Name: "next", Kind: Any, Doc: "value after each page"},
		})
		key, says := "init", "starts at"
		if role == Next {
			key, says = "next", "is then"
		}
		if b.has(key) {
			s.variable(role, m.Name, sourceOf(b.values[key]), says, s.origin("config", JoinPath(inner, key)))
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

// shared adds the rules of the shared table that are in force. A scroller of
// multiple does not add the guards again that stand beside it.
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
			s.faults.Value(setting.Path, "", "want stop, fail or ignore, got %s", found(setting.Value))
		}
		into[name] = setting
	}
	paths, _ := s.settings["guards.ignore"].Value.([]any)
	for i, p := range paths {
		text, ok := p.(string)
		if !ok || text == "" || text == "." {
			s.faults.Value(IndexPath(JoinPath(s.path, "guards.ignore"), i), "", "want a path in the response, got %s", found(p))
			continue
		}
		s.set.Ignore = append(s.set.Ignore, SplitPath(text))
	}
	if s.settings["guards.maxPages"].Value == nil && s.dialect != Keboola {
		s.settings["guards.maxPages"] = Setting{Value: defaultMaxPages, Path: JoinPath(s.path, "guards.maxPages"), Default: true}
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
	if path == "" && by != "default" {
		path = s.path
	}
	id := t.ID
	if slices.ContainsFunc(s.set.Rules, func(r Rule) bool { return r.ID == id }) {
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
	if o.ApplyToFirst != "" && s.settings.Holds(o.ApplyToFirst) {
		for _, r := range s.set.Rules[first:] {
			s.set.ApplyToFirst = append(s.set.ApplyToFirst, r.ID)
		}
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
		s.build(role, m.Name, Literal(v), s.origin("config", JoinPath(s.settings[p.Each].Path, m.Name)))
	}
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
	s.set.Rules = slices.DeleteFunc(s.set.Rules, func(r Rule) bool { return r.ID == id && target != "" })
	s.add(Rule{ID: id, Role: role, Target: target, Source: source, Says: "is", Origin: origin})
}
