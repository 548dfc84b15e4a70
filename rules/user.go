package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// What users write in the rule language: stopRules, nextRequest and onError.
// Their variables stand with the methods', in [scroll.variables].

var stopRuleFields = []Field{
	{Name: "name", Kind: Text, Doc: "its id in the trace and the result; default `stopRules[0]`, by position"},
	{Name: "when", Kind: Expression, Required: true, Doc: "expression; true stops the scrolling after this page"},
	{Name: "outcome", Kind: Text, Default: "complete", Values: outcomeNames(), Doc: "`complete`, `limited`, `guarded` or `failed`"},
	{Name: "message", Kind: Text, Doc: "for the log; {expressions} in it are evaluated"},
}

func (s *scroll) stopRules() {
	list, _ := s.settings["stopRules"].Value.([]any)
	for i, v := range list {
		path := diag.Index(diag.Join(s.path, "stopRules"), i)
		r := Rule{ID: fmt.Sprintf("stopRules[%d]", i), Role: Stop, Outcome: Complete}
		if source, ok := v.(string); ok {
			r.Source, r.Origin = source, s.origin("config", path)
		} else {
			b := s.block(path, v, stopRuleFields)
			r.Source, r.Origin = b.text("when"), s.origin("config", diag.Join(path, "when"))
			r.Message = b.text("message")
			if b.has("name") {
				r.ID = b.text("name")
			}
			if b.has("outcome") {
				r.Outcome = Outcome(b.text("outcome"))
			}
			if !slices.Contains(Outcomes, r.Outcome) {
				s.faults.Errorf(diag.Value(diag.Join(path, "outcome")), "want complete, limited, guarded or failed, got %s", found(b.text("outcome")))
			}
		}
		if s.taken(r.ID) && strings.HasPrefix(r.ID, "stopRules[") {
			r.ID = s.outer + "." + r.ID // the same position beside multiple and in the scroller
		}
		if s.taken(r.ID) {
			s.faults.Errorf(diag.Value(path), "a second rule with the id %q", r.ID).WithHint("give it another name")
		}
		r.Says = r.Source
		if r.Message == "" {
			r.Message = "your rule " + r.ID + " holds"
		}
		if r.Source != "" {
			s.add(r)
		}
	}
}

// taken tells whether a rule has the id.
func (s *scroll) taken(id string) bool {
	return slices.ContainsFunc(s.set.Rules, func(had Rule) bool { return had.ID == id })
}

// nextRequest adds the user's parts of the next request over the method's.
func (s *scroll) nextRequest() {
	if s.settings["nextRequest"].Value == nil {
		return
	}
	path := diag.Join(s.path, "nextRequest")
	for _, role := range []Role{URL, Endpoint} {
		if source, ok := s.settings["nextRequest."+string(role)].Value.(string); ok {
			s.address(role, source, path)
		}
	}
	if s.has(URL, path) && s.has(Endpoint, path) {
		s.faults.Errorf(diag.Value(path), "url and endpoint exclude each other").
			WithHint("url is a whole address, endpoint is resolved against baseUrl")
	}
	if verb, ok := s.settings["nextRequest.method"].Value.(string); ok {
		if slices.Contains(HTTPMethods, strings.ToUpper(verb)) {
			verb = Literal(strings.ToUpper(verb))
		}
		s.build(HTTPVerb, "", verb, s.origin("config", path+".method"))
	}
	for _, role := range []Role{Param, Header, Body} {
		s.parts(role, path)
	}
	include, said := s.settings["nextRequest.includeParams"].Value.(bool)
	switch {
	case said:
		s.set.IncludeParams = include
	case s.has(URL, path):
		s.set.IncludeParams = false
	}
	if s.settings["nextRequest.applyToFirst"].Value == true {
		s.applyToFirst(path)
	}
}

// applyToFirst lays the user's parts over the first request too, in the place of
// the method's that they replace.
func (s *scroll) applyToFirst(path string) {
	for i := range s.set.Rules {
		r := &s.set.Rules[i]
		r.First = r.First || r.Role.Builds() && under(*r, path)
	}
	s.set.Rules = slices.DeleteFunc(s.set.Rules, func(r Rule) bool { return r.Role.Builds() && !r.Later })
}

// address adds the user's url or endpoint in the place of the method's of either kind.
func (s *scroll) address(role Role, source, path string) {
	s.set.Rules = slices.DeleteFunc(s.set.Rules, func(r Rule) bool {
		return (r.Role == URL || r.Role == Endpoint) && strings.HasPrefix(r.Origin.By, "method ")
	})
	s.build(role, "", source, s.origin("config", diag.Join(path, string(role))))
}

// has tells whether a rule of the role was brought in under a config path.
func (s *scroll) has(role Role, path string) bool {
	return slices.ContainsFunc(s.set.Rules, func(r Rule) bool { return r.Role == role && under(r, path) })
}

// under tells whether a rule was brought in by a setting under a config path.
func under(r Rule, path string) bool { return strings.HasPrefix(r.Origin.Path, path+".") }

// parts adds params, headers or body: one expression for all, or one for each name.
func (s *scroll) parts(role Role, path string) {
	setting := s.settings["nextRequest."+string(role)]
	path = diag.Join(path, string(role))
	if source, ok := setting.Value.(string); ok {
		s.build(role, "", source, s.origin("config", path))
		return
	}
	object, ok := value.Members(setting.Value)
	if setting.Value != nil && !ok {
		s.faults.Errorf(diag.Value(path), "want an expression, or an object of expressions, got %s", found(setting.Value))
	}
	for _, m := range object {
		inner := diag.Join(path, m.Name)
		switch m.Value.(type) {
		case string, bool, int, int64, float64, nil:
			s.build(role, m.Name, sourceOf(m.Value), s.origin("config", inner))
		default:
			s.faults.Errorf(diag.Value(inner), "want an expression, got %s", found(m.Value)).
				WithHint(`an object is written as an expression too: "{a: 1}"`)
		}
	}
}

// keepNames tells the ruleset what is kept, which any expression may read.
func (s *scroll) keepNames() {
	object, _ := s.settings["keep"].Value.(Object)
	s.set.Kept = append(s.set.Kept, object.Names()...)
}

// keep adds what is kept for the next run.
func (s *scroll) keep() {
	object, _ := s.settings["keep"].Value.(Object)
	for _, m := range object {
		path := diag.Join(diag.Join(s.path, "keep"), m.Name)
		source, ok := m.Value.(string)
		if !ok || source == "" {
			s.faults.Errorf(diag.Value(path), "want an expression, got %s", found(m.Value))
			continue
		}
		s.add(Rule{ID: "keep." + m.Name, Role: Keep, Target: m.Name, Source: source, Says: "is", Origin: s.origin("config", path)})
	}
}

var onErrorFields = []Field{
	{Name: "when", Kind: Expression, Required: true, Doc: "expression over status, header() and body of the error"},
	{Name: "do", Kind: Text, Required: true, Values: errorActions, Doc: "`stop`, `retry`, `restart`, `fail` or `continue`"},
	{Name: "message", Kind: Text, Doc: "for the log; {expressions} in it are evaluated"},
}

// errorActions are what an onError rule may do.
var errorActions = []string{"stop", "retry", "restart", "fail", "continue"}

func (s *scroll) onError() {
	list, _ := s.settings["onError"].Value.([]any)
	for i, v := range list {
		path := diag.Index(diag.Join(s.path, "onError"), i)
		b := s.block(path, v, onErrorFields)
		do := b.text("do")
		if b.has("do") && !slices.Contains(errorActions, do) {
			s.faults.Errorf(diag.Value(diag.Join(path, "do")), "want stop, retry, restart, fail or continue, got %s", found(do)).
				WithHint(diag.DidYouMean(do, errorActions))
		}
		if !b.has("when") {
			continue
		}
		id := fmt.Sprintf("onError[%d]", i)
		if s.taken(id) {
			id = s.outer + "." + id
		}
		s.add(Rule{
			ID: id, Role: OnError, Do: do, Outcome: Complete, Source: b.text("when"),
			Message: b.text("message"), Says: "an error response has " + b.text("when"),
			Origin: s.origin("config", diag.Join(path, "when")),
		})
	}
}
