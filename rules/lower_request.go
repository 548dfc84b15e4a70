package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// addRequestRules adds the parts of the next request: the method's, to which the
// user's are applied.
func (p *pager) addRequestRules() {
	parts := p.methodParts()
	userParts := p.userParts()
	if addresses := func(r Rule) bool { return r.Role.Addresses() }; slices.ContainsFunc(userParts, addresses) {
		parts = slices.DeleteFunc(parts, addresses)
	}
	for _, r := range userParts {
		parts.put(r)
	}
	if len(parts) == 0 && p.method.Next.empty() {
		path, method := p.path, p.method.Name
		p.lowerer.diags.Errorf(diag.Value(path), "method %s needs nextRequest, which makes the next request", method).
			WithHint(`for instance "nextRequest": {"params": {"page": "page + 1"}}`)
	}
	p.set.Rules = append(p.set.Rules, parts...)
}

// requestParts are parts of the next request, in order.
type requestParts []Rule

func (p requestParts) has(role Role) bool {
	return slices.ContainsFunc(p, func(r Rule) bool { return r.Role == role })
}

// put adds a part. It replaces an earlier part for the same target. If only the earlier part is in
// the first request, that part stays there.
func (p *requestParts) put(r Rule) {
	i := slices.IndexFunc(*p, func(had Rule) bool { return had.ID == r.ID && had.Sending.Subsequent && r.Target != "" })
	switch {
	case i < 0:
		*p = append(*p, r)
	case (*p)[i].Sending.First && !r.Sending.First:
		(*p)[i].Sending.Subsequent = false
		*p = slices.Insert(*p, i+1, r)
	default:
		(*p)[i] = r
	}
}

// laterPart returns the rule of a part of the requests after the first.
func laterPart(role Role, target, source string, origin Origin) Rule {
	r := Rule{Role: role, Target: target, Source: source, Sending: Sending{Subsequent: true}, Clause: "is", Origin: origin}
	r.ID = "nextRequest." + r.partName()
	return r
}

// partName returns the name of the part of the request that a rule sets, as keys of
// nextRequest have it: "url", "params.offset".
func (r Rule) partName() string {
	if r.Target == "" {
		return string(r.Role)
	}
	return string(r.Role) + "." + r.Target
}

// empty reports whether the overlay has no parts.
func (o Overlay) empty() bool {
	return o.URL.Value == "" && o.Endpoint.Value == "" && o.Verb.Value == "" && len(o.Params) == 0 && len(o.Body) == 0
}

// methodParts returns the parts of the method.
func (p *pager) methodParts() requestParts {
	o := p.method.Next
	if p.settings.isOn(o.OmitParams) {
		p.set.IncludeParams = false
		p.set.OmissionIntended = slices.ContainsFunc(o.OmitParams.when, func(c Condition) bool {
			s := p.settings.get(c.Setting)
			return s.Value != nil && !s.Default
		})
	}
	var parts requestParts
	add := func(role Role, list ...Part) {
		for _, part := range list {
			for _, r := range p.methodPart(role, part) {
				parts.put(r)
			}
		}
	}
	add(RoleURL, o.URL)
	add(RoleEndpoint, o.Endpoint)
	add(RoleVerb, o.Verb)
	add(RoleParam, o.Params...)
	add(RoleBody, o.Body...)
	p.applyToFirst(parts, o.ApplyToFirst)
	return parts
}

// applyToFirst sets whether parts are in the first request.
func (p *pager) applyToFirst(parts requestParts, toggle Toggle) {
	for i := range parts {
		parts[i].Sending.First = p.settings.isOn(toggle)
		for _, c := range toggle.when {
			if use, known := p.use(c.Setting); known {
				parts[i].Sending.FirstBy = &use
			}
		}
	}
}

// methodPart returns the rules of one part of a method's overlay.
func (p *pager) methodPart(role Role, row Part) []Rule {
	if row.Value == "" || !p.settings.allMet(row.Only) {
		return nil
	}
	if row.Each == "" {
		name, source := p.settings.expandText(row.Name, nil), p.settings.expandSource(row.Value)
		r := laterPart(role, name, source, p.methodOrigin())
		r.ValueInWords = strings.ReplaceAll(p.settings.expandText(row.ValueInWords, nil), " + -", " - ")
		r.Uses = p.uses(row.Only, row.Name, row.Value)
		r.Hint = row.Hint
		return []Rule{r}
	}
	var out []Rule
	for _, m := range p.settings.get(row.Each).object() {
		v := m.Value
		if had, ok := p.set.Job.Params.Get(m.Name); ok && p.lowerer.switches.mergeScroll && p.set.IncludeParams {
			v = value.Overlay(had, v) // as the reference merges a scrollRequest into its job
		}
		values := p.settings.with("each", setting{Value: v})
		path := diag.Join(p.settings.get(row.Each).path(), m.Name)
		r := laterPart(role, m.Name, values.expandSource(row.Value), p.lowerer.configured(path))
		r.ValueInWords = values.expandText(row.ValueInWords, nil)
		out = append(out, r)
	}
	return out
}

// userParts returns the parts of the user's nextRequest.
func (p *pager) userParts() requestParts {
	var parts requestParts
	for _, role := range []Role{RoleURL, RoleEndpoint, RoleVerb} {
		if part := p.settings.get("nextRequest." + string(role)); part.Value != nil {
			parts = append(parts, laterPart(role, "", addressOrVerb(role, part.text()), p.lowerer.configured(part.path())))
		}
	}
	if parts.has(RoleURL) && parts.has(RoleEndpoint) {
		p.lowerer.diags.Errorf(diag.Value(p.settings.get("nextRequest").path()), "url and endpoint are mutually exclusive").
			WithHint("url is an absolute address; endpoint is resolved against baseUrl")
	}
	for _, role := range []Role{RoleParam, RoleHeader, RoleBody} {
		parts = append(parts, p.namedParts(role)...)
	}
	switch include := p.settings.get("nextRequest.includeParams"); {
	case include.Value != nil:
		p.set.IncludeParams, p.set.OmissionIntended = include.flag(), !include.flag()
	case parts.has(RoleURL):
		p.set.IncludeParams = false
	}
	p.applyToFirst(parts, If(IsSet("nextRequest.applyToFirst")))
	if wait := p.settings.get("nextRequest.after"); wait.Value != nil {
		parts = append(parts, laterPart(RoleAfter, "", wait.text(), p.lowerer.configured(wait.path())))
	}
	return parts
}

// addressOrVerb returns the source of an address or a method. A method may be
// written as a word.
func addressOrVerb(role Role, source string) string {
	if verb := strings.ToUpper(source); role == RoleVerb && slices.Contains(verbs, verb) {
		return literal(verb)
	}
	return source
}

// namedParts returns params, headers or body: an expression for each name, or one
// expression for all names.
func (p *pager) namedParts(role Role) []Rule {
	part := p.settings.get("nextRequest." + string(role))
	if part.text() != "" {
		return []Rule{laterPart(role, "", part.text(), p.lowerer.configured(part.path()))}
	}
	object, ok := value.Members(part.Value)
	if part.Value != nil && !ok {
		p.lowerer.diags.Errorf(diag.Value(part.path()), "want an expression, or an object of expressions, got %s", describe(part.Value))
	}
	if !limitElements(p.lowerer.diags, &part, KindAny) {
		return nil
	}
	var out []Rule
	for _, m := range object {
		path := diag.Join(part.path(), m.Name)
		if strings.HasPrefix(m.Name, "#") {
			p.lowerer.diags.Errorf(diag.Key(path), "# marks a secret, but this is an expression").
				WithHint(`write the name without #; declare the secret as an input with "secret": true and read it as input.NAME`)
		}
		switch m.Value.(type) {
		case string, bool, int, int64, float64, nil:
			out = append(out, laterPart(role, m.Name, sourceOf(m.Value), p.lowerer.configured(path)))
		default:
			p.lowerer.diags.Errorf(diag.Value(path), "want an expression, got %s", describe(m.Value)).
				WithHint(`write an object as an expression, too: "{a: 1}"`)
		}
	}
	return out
}
