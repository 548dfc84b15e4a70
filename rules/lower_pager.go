package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A pager adds the rules of one pagination to a ruleset.
type pager struct {
	*pagination
	lowerer *lowerer
	set     *Ruleset
	outer   *pager // the pager of the enclosing pagination, whose method is multiple; nil if there is none
}

// build adds all rules of the pagination. The order of the rules of one role is the order in which they are
// evaluated.
func (p *pager) build() {
	p.set.Path = p.path
	if p.method.Once {
		p.addStateRules(RoleInit)
		p.addFailureRules()
		p.addOnceRules()
		p.addKeepRules()
		return
	}
	p.set.Method = p.method.Name
	p.setPageSize()
	p.addStateRules(RoleInit)
	p.addGuardRules()
	p.addFailureRules()
	p.addEndRules()
	p.addPageLimit()
	p.addStateRules(RoleNext)
	p.addRequestRules()
	p.addKeepRules()
}

// addOnceRules takes the place of addEndRules for a list that is one response, to which limits and
// guards do not apply.
func (p *pager) addOnceRules() {
	if p.outer != nil {
		p.outer.addOnceRules()
	}
	p.addOwnEndRules()
}

// addFailureRules adds the stopping rules of the configuration whose outcome is failed, beginning with the
// rules of the outer pagination. They come before all other rules but the guards, so that an invalid page
// never ends a list.
func (p *pager) addFailureRules() {
	if p.outer != nil {
		p.outer.addFailureRules()
	}
	p.addUserStops(func(o Outcome) bool { return o == Failed })
}

// addEndRules adds the other rules that end the list or handle error responses, beginning with the rules of
// the outer pagination.
func (p *pager) addEndRules() {
	if p.outer != nil {
		p.outer.addEndRules()
	}
	for _, row := range stopsIn(p.lowerer.dialect, sharedStops) {
		p.addRow(row, p.lowerer.configured(p.settings.get(row.Only[0].Setting).path()))
	}
	for _, row := range p.method.Stops {
		p.addRow(row, p.methodOrigin())
	}
	p.addOwnEndRules()
}

// addOwnEndRules adds the rules of the configuration that end the list or handle error responses.
func (p *pager) addOwnEndRules() {
	p.addUserStops(func(o Outcome) bool { return o != Failed })
	p.addErrorRules()
	p.set.IgnoredFindings = append(p.set.IgnoredFindings, p.settings.get("audit.ignore").texts()...)
}

// addPageLimit adds the rule of the option that limits the pages of every job.
func (p *pager) addPageLimit() {
	if p.lowerer.cfg.pages > 0 {
		values := p.settings.with(optionPages.ID, setting{Value: p.lowerer.cfg.pages})
		if rule, ok := p.rule(optionPages, values, Origin{By: Author{Kind: AuthorOption}}); ok {
			p.add(rule)
		}
	}
}

// addRow adds a rule of a table if it is in force.
func (p *pager) addRow(row StopRule, origin Origin) {
	if rule, ok := p.rule(row, p.settings, origin); ok {
		p.add(rule)
	}
}

// rule makes the rule of a row of a table, with the values of its settings. It reports false if the rule is
// not in force.
func (p *pager) rule(row StopRule, values settings, origin Origin) (Rule, bool) {
	if !values.allMet(row.Only) {
		return Rule{}, false
	}
	condition := values.expandSource(row.When)
	if row.Each != "" {
		var clauses []string
		for _, m := range values.get(row.Each).object() {
			clauses = append(clauses, inParentheses(values.with("each", setting{Value: m.Value}).expandSource(row.When)))
		}
		if clauses == nil {
			return Rule{}, false
		}
		condition = strings.Join(clauses, " and ")
	}
	row.ExceptPolled = row.ExceptPolled && values.get("nextRequest.after").given()
	if row.ExceptPolled {
		condition = inParentheses(condition) + " and not polled"
	}
	r := Rule{
		ID: p.id(row.ID), Role: RoleStop, Source: condition, Outcome: cmp.Or(row.Outcome, Complete), Stop: row.Stopping,
		Message: values.expandMessage(row.Message), NamesJob: row.NamesJob,
		Clause: values.expandText(row.Clause, p.phrasesByName()), Origin: origin,
	}
	if origin.By.Kind == AuthorMethod {
		only := row.Only
		if row.Each != "" {
			only = append(slices.Clone(only), IsSet(row.Each))
		}
		r.Uses = p.uses(only, row.When)
	}
	return r, true
}

func (p *pager) add(r Rule) {
	r.Shared = p.method.Name == Multiple
	p.set.Rules = append(p.set.Rules, r)
}

// hasRule reports whether the ruleset has a rule with the id.
func (p *pager) hasRule(id string) bool {
	return slices.ContainsFunc(p.set.Rules, func(had Rule) bool { return had.ID == id })
}

// id returns the id for a rule. It is qualified by the name of the scroller if a rule of the outer pagination
// has the same id, or will get it.
func (p *pager) id(id string) string {
	if p.hasRule(id) || p.outer != nil && p.outer.hasUserStop(id) {
		return cmp.Or(p.set.Scroller, "pagination") + "." + id
	}
	return id
}

// methodOrigin returns the origin of the rules of the method.
func (p *pager) methodOrigin() Origin {
	return p.lowerer.origin(Author{Kind: AuthorMethod, Method: p.method.Name}, p.path)
}

// commonParams is the config path of the parameters of all requests.
const commonParams = "api.http.defaultOptions.params"

// setPageSize sets the page size in force: the job's own parameter, the setting, or the parameter of all requests.
func (p *pager) setPageSize() {
	limit := p.settings.get("limit")
	name, own := p.settings.get("limitParam").text(), p.lowerer.switches.ownPageSize
	if size, ok := p.set.Job.Params.Get(name); ok && !value.Empty(size) && !(own && php.Empty(size)) {
		limit = p.limitOfJob(name, size, limit)
	} else if size, ok := p.lowerer.cfg.HTTP.Params.Get(name); ok && limit.Value == nil && !own {
		if converted, err := convert(limitKind(p.lowerer.dialect), size); err == nil {
			limit = setting{Value: converted, base: diag.Join(commonParams, name)}
		}
	}
	p.set.Limit = limit.Value
	if limit.Value != nil {
		p.set.LimitFrom = p.lowerer.configured(limit.path())
	}
}

// limitOfJob returns the page size that a parameter of the job sets. It has no value if the size is computed,
// or if the API chooses it.
func (p *pager) limitOfJob(name string, size any, limit setting) setting {
	path := diag.Join(diag.Join(p.set.Job.path, "params"), name)
	converted, err := convert(limitKind(p.lowerer.dialect), size)
	_, needed := fieldNamed(p.method.Fields, "limit")
	switch {
	case computedIn(size) != nil:
		p.set.LimitParam = name
	case err == nil:
		return setting{Value: converted, base: path}
	case needed:
		p.lowerer.diags.Errorf(diag.Value(path), "%v", err).WithHint("this parameter overrides the limit of the pagination")
		return limit
	}
	p.set.LimitFrom = p.lowerer.configured(path)
	return setting{}
}

// addStateRules adds the variables of the method and of the user. A variable of the
// user replaces that of the method with the same name.
func (p *pager) addStateRules(role Role) {
	variables := p.settings.get("state").list()
	for _, v := range p.method.State {
		if slices.ContainsFunc(variables, func(o setting) bool { return o.Name == v.Name }) || !p.settings.allMet(v.Only) {
			continue
		}
		source := v.Init
		if role == RoleNext {
			source = v.Next
		}
		r := stateRule(role, v.Name, p.settings.expandSource(source), p.methodOrigin())
		r.Uses = p.uses(v.Only, source)
		if role == RoleNext {
			r.ValueInWords = p.settings.expandText(v.ValueInWords, nil)
		}
		p.add(r)
		p.set.StateNames = lists.AppendNew(p.set.StateNames, v.Name)
	}
	for _, o := range variables {
		variable, _ := o.settings()
		source := variable.get(string(role))
		switch {
		case source.Value != nil:
			p.add(stateRule(role, o.Name, sourceOf(source.Value), p.lowerer.configured(source.path())))
		case role == RoleInit:
			p.add(stateRule(role, o.Name, "nil", p.lowerer.configured(o.path())))
		}
		p.set.StateNames = lists.AppendNew(p.set.StateNames, o.Name)
	}
}

func stateRule(role Role, name, source string, origin Origin) Rule {
	clause := "becomes"
	if role == RoleInit {
		clause = "starts at"
	}
	return Rule{ID: "state." + name + "." + string(role), Role: role, Target: name, Source: source, Clause: clause, Origin: origin}
}

// sourceOf returns an expression as it is configured: a text, or a number or
// boolean, which is an expression by itself.
func sourceOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return literal(v)
}

// addGuardRules adds the guards under their policies.
func (p *pager) addGuardRules() {
	for level := p; level != nil; level = level.outer {
		level.readIgnoredPaths()
	}
	for _, g := range p.lowerer.cfg.catalog.guards {
		for _, g.StopRule = range stopsIn(p.lowerer.dialect, []StopRule{g.StopRule}) {
			p.addGuard(g)
		}
	}
}

// addGuard adds a guard, unless it is not in force.
func (p *pager) addGuard(g Guard) {
	name := "guards." + g.ID
	configured, origin := p.guardSetting(name), Origin{By: Author{Kind: AuthorDefault}}
	if configured.given() {
		origin = p.lowerer.configured(configured.path())
	}
	policy := g.policy(configured, p.lowerer.dialect)
	if policy == PolicyIgnore || configured.Invalid {
		p.addUnused(g.ID, name+" is ignore", origin)
		return
	}
	if g.Threshold != nil && configured.Value == nil {
		p.addUnused(g.ID, name+" is not set", origin)
		return
	}
	if rule, ok := p.rule(g.StopRule, p.settings.with(name, configured), origin); ok {
		rule.Guard, rule.Hint = true, g.Hint
		if policy == PolicyFail {
			rule.Outcome = Failed
		}
		p.add(rule)
	}
}

// guardSetting returns the setting of a guard. A setting in a scroller overrides the setting next to the
// scroller.
func (p *pager) guardSetting(name string) setting {
	for level := p; level != nil; level = level.outer {
		if s := level.settings.get(name); s.given() {
			return s
		}
	}
	return p.settings.get(name)
}

// addUnused notes a rule of a table that is not in force.
func (p *pager) addUnused(id, why string, origin Origin) {
	if origin.By.Kind == AuthorDefault {
		why += ", the default in dialect " + string(p.lowerer.dialect)
	}
	p.set.Unused = append(p.set.Unused, Unused{ID: id, Why: why, Origin: origin})
}

// readIgnoredPaths reads the paths that the same-page check ignores.
func (p *pager) readIgnoredPaths() {
	for _, path := range p.settings.get("guards.ignore").list() {
		keys := keypath.Split(path.text())
		if len(keys) == 0 {
			p.lowerer.diags.Errorf(diag.Value(path.path()), "want a path in the response, got %s", describe(path.Value))
			continue
		}
		p.set.Ignore = append(p.set.Ignore, keys)
	}
}

// inParentheses puts a source in parentheses, unless it is one call.
func inParentheses(source string) string {
	if name, rest, call := strings.Cut(source, "("); call && keypath.IsExpressionName(name) && strings.IndexByte(rest, ')') >= len(rest)-2 {
		return source
	}
	return "(" + source + ")"
}

// hasUserStop reports whether id, such as stopRules[0], is the default id of a user's stopping rule that has
// no name.
func (p *pager) hasUserStop(id string) bool {
	for i, element := range p.settings.get("stopRules").elements() {
		object, _ := element.settings()
		if id == userStopID(i) && object.get("name").text() == "" {
			return true
		}
	}
	return false
}

func userStopID(i int) string { return fmt.Sprintf("stopRules[%d]", i) }

// addUserStops adds the user's stopping rules with the wanted outcomes.
func (p *pager) addUserStops(wanted func(Outcome) bool) {
	for i, element := range p.settings.get("stopRules").elements() {
		r := Rule{ID: p.id(userStopID(i)), Role: RoleStop, Outcome: Complete,
			Source: element.text(), Origin: p.lowerer.configured(element.path())}
		if object, ok := element.settings(); ok {
			r.Source, r.Origin = object.get("when").text(), p.lowerer.configured(object.get("when").path())
			r.Message, r.Outcome = p.message(object.get("message")), Outcome(object.get("outcome").text())
			if name := object.get("name").text(); name != "" {
				r.ID = name
			}
		}
		if !wanted(r.Outcome) {
			continue
		}
		if p.hasRule(r.ID) {
			p.lowerer.diags.Errorf(diag.Value(element.path()), "duplicate rule id %q", r.ID).WithHint("give it another name")
		}
		r.Clause = r.Source
		r.CustomMessage = r.Message != ""
		if !r.CustomMessage {
			source := r.Source
			if strings.ContainsAny(source, "{}") { // they would be read as expressions of the message
				source = ""
			}
			r.Message = r.DefaultMessage(source)
		}
		if r.Source != "" {
			p.add(r)
		}
	}
}

// The limits of the message of a rule.
const (
	maxMessage = 4096 // bytes
	MaxHoles   = 50   // opening braces, since each may begin an expression
)

// message returns the message of a rule that the user wrote.
func (p *pager) message(rule setting) string {
	text := rule.text()
	if n := strings.Count(text, "{"); len(text) > maxMessage || n > MaxHoles {
		p.lowerer.diags.Errorf(diag.Value(rule.path()),
			"want a message of at most %d bytes with at most %d expressions, got %d bytes and %d braces",
			maxMessage, MaxHoles, len(text), n)
		return ""
	}
	return text
}

func (p *pager) addErrorRules() {
	for i, element := range p.settings.get("onError").elements() {
		object, _ := element.settings()
		when, message := object.get("when"), object.get("message")
		if when.Value == nil {
			continue
		}
		p.add(Rule{
			ID: p.id(fmt.Sprintf("onError[%d]", i)), Role: RoleOnError, Outcome: Complete,
			OnError: Handling{Do: ErrorAction(object.get("do").text()), On: object.get("on").text()},
			Source:  when.text(), Clause: when.text(),
			Message: p.message(message), CustomMessage: message.text() != "", Origin: p.lowerer.configured(when.path()),
		})
	}
}

// addKeepRules adds the values that are saved for the next run.
func (p *pager) addKeepRules() {
	for _, kept := range p.settings.get("keep").list() {
		p.set.KeptNames = append(p.set.KeptNames, kept.Name)
		p.add(Rule{
			ID: "keep." + kept.Name, Role: RoleKeep, Target: kept.Name, Source: kept.text(), Clause: "is",
			Origin: p.lowerer.configured(kept.path()),
		})
	}
}
