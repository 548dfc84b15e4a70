package rules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Lower turns the configuration into one [Ruleset] a job. It reports every
// fault it finds in the pagination, as [diag.Diagnostics] in order of position; the
// warnings are those of the configuration and of all rulesets.
func (c *Config) Lower() ([]*Ruleset, error) {
	faults := diag.NewCollector(c.Source)
	c.unused = nil
	l := &lowerer{reader: reader{faults}, cfg: c, dialect: c.Dialect, switches: DialectSwitches[c.Dialect]}
	var sets []*Ruleset
	for i, job := range c.Jobs {
		if l.switches.JobsOnce && slices.ContainsFunc(c.Jobs[:i], job.alike) {
			continue
		}
		sets = append(sets, l.lower(job))
	}
	c.Warnings = append(c.Warnings, faults.Diagnostics().Warnings().Unique()...)
	return sets, faults.Diagnostics().Errors().Unique().Err()
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
		l.scroller(set, diag.Join(l.cfg.Path, "api.pagination"), l.cfg.Pagination)
	}
	l.audit(set)
	for _, status := range l.cfg.HTTP.IgnoreErrors {
		set.Rules = append(set.Rules, Rule{
			ID: fmt.Sprintf("ignoreErrors.%d", status), Role: OnError, Do: "continue", Source: fmt.Sprintf("status == %d", status),
			Message: "status {status} counts as a page", Says: fmt.Sprintf("a response has status %d", status),
			Origin: l.origin("config", diag.Join(l.cfg.Path, "api.http.ignoreErrors")),
		})
	}
	return set
}

// audit adds the audit rules that the pagination does not leave out.
func (l *lowerer) audit(set *Ruleset) {
	for _, t := range Audit {
		if !slices.Contains(set.Trusted, t.ID) {
			set.Rules = append(set.Rules, Rule{ID: t.ID, Role: Suspect, Source: t.When, Message: t.Message, Says: t.Says, Origin: Origin{By: "default"}})
		}
	}
}

// trust reads which audit rules a pagination leaves out.
func (s *scroll) trust() {
	ids := auditIDs()
	list, _ := s.settings["audit.ignore"].Value.([]any)
	for i, v := range list {
		id, _ := v.(string)
		if !slices.Contains(ids, id) {
			s.faults.Errorf(diag.Value(diag.Index(diag.Join(s.path, "audit.ignore"), i)), "no audit rule %s", found(v)).
				WithHint(either(diag.DidYouMean(id, ids), "there are "+strings.Join(ids, ", ")))
		}
		s.set.Trusted = append(s.set.Trusted, id)
	}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// scroller adds the rules of one pagination object. Those beside method
// multiple apply to every scroller in it, and come first.
func (l *lowerer) scroller(set *Ruleset, path string, v any) {
	object, ok := value.Members(v)
	if !ok {
		if !l.switches.OptionalMethod {
			l.faults.Errorf(diag.Value(path), "want an object, got %s", found(v))
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
		scroll.dottedFlag()
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
		l.faults.Errorf(diag.Value(path), "method is missing").WithHint("one of " + strings.Join(known, ", "))
	} else {
		l.faults.Errorf(diag.Value(diag.Join(path, "method")), "no method %s", found(written)).
			WithHint(either(diag.DidYouMean(name, known), "there are "+strings.Join(known, ", ")))
	}
	return Method{}, false
}

// pick chooses the scroller of a job, and checks those that no job uses too.
func (l *lowerer) pick(outer *scroll, object Object) {
	for _, key := range []string{"limit", "limitParam", "nextRequest", "state", "keep"} {
		if _, written := object.Get(key); written && !l.switches.IgnoreUnknown {
			l.faults.Errorf(diag.Key(diag.Join(outer.path, key)), "%s has no place beside scrollers", key).WithHint("write it in a scroller")
		}
	}
	scrollers, _ := outer.settings["scrollers"].Value.(Object)
	path := diag.Join(outer.path, "scrollers")
	if len(scrollers) == 0 {
		if _, written := object.Get("scrollers"); written {
			l.faults.Errorf(diag.Value(path), "there is no scroller in it")
		}
		return
	}
	l.unused(scrollers, path)
	name, at := outer.set.Job.Scroller, diag.Join(outer.set.Job.Path, "scroller")
	if name == "" {
		name, _ = outer.settings["default"].Value.(string)
		at = diag.Join(outer.path, "default")
	}
	if name == "" {
		return
	}
	inner, ok := scrollers.Get(name)
	if !ok {
		l.faults.Errorf(diag.Value(at), "no scroller %q", name).
			WithHint(either(diag.DidYouMean(name, scrollers.Names()), "there are "+strings.Join(scrollers.Names(), ", ")))
		return
	}
	outer.shared()
	outer.stopRules()
	outer.onError()
	outer.trust()
	outer.set.Scroller = name
	l.scroller(outer.set, diag.Join(path, name), inner)
}

// unused lowers every scroller for itself, so that those which no job picks are
// checked too.
func (l *lowerer) unused(scrollers Object, path string) {
	for _, m := range scrollers {
		set := &Ruleset{Dialect: l.dialect, Source: l.cfg.Source, IncludeParams: true, Scroller: m.Name}
		l.scroller(set, diag.Join(path, m.Name), m.Value)
		picked := func(j Job) bool { return j.Scroller == m.Name }
		if !slices.ContainsFunc(l.cfg.Jobs, picked) {
			l.cfg.unused = append(l.cfg.unused, set)
		}
	}
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
