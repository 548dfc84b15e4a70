package rules

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// nextRequest adds the parts of the next request: the method's, to which the
// user's are applied.
func (s *pager) nextRequest() {
	parts := s.methodParts()
	own := s.userParts()
	if own.has(URL) || own.has(Endpoint) {
		parts = slices.DeleteFunc(parts, func(r Rule) bool { return r.Role == URL || r.Role == Endpoint })
	}
	for _, r := range own {
		parts.put(r)
	}
	if len(parts) == 0 && s.method.Next.empty() {
		s.diags.Errorf(diag.Value(s.path), "method %s needs nextRequest, which makes the next request", s.method.Name).
			WithHint(`for instance "nextRequest": {"params": {"page": "page + 1"}}`)
	}
	s.set.Rules = append(s.set.Rules, parts...)
}

// requestParts are parts of the next request, in order.
type requestParts []Rule

func (p requestParts) has(role Role) bool {
	return slices.ContainsFunc(p, func(r Rule) bool { return r.Role == role })
}

// put adds a part. It replaces an earlier part for the same target; if only that
// one is part of the first request, it stays there.
func (p *requestParts) put(r Rule) {
	i := slices.IndexFunc(*p, func(had Rule) bool { return had.ID == r.ID && had.Subsequent && r.Target != "" })
	switch {
	case i < 0:
		*p = append(*p, r)
	case (*p)[i].First && !r.First:
		(*p)[i].Subsequent = false
		*p = slices.Insert(*p, i+1, r)
	default:
		(*p)[i] = r
	}
}

// part is a part of the requests after the first.
func part(role Role, target, source string, origin Origin) Rule {
	r := Rule{Role: role, Target: target, Source: source, Subsequent: true, Clause: "is", Origin: origin}
	r.ID = "nextRequest." + r.PartName()
	return r
}

// PartName returns the name of the part of the request that a rule sets, as keys of
// nextRequest have it: "url", "params.offset".
func (r Rule) PartName() string {
	if r.Target == "" {
		return string(r.Role)
	}
	return string(r.Role) + "." + r.Target
}

// empty reports whether the overlay has no parts.
func (o Overlay) empty() bool {
	return o.URL.Value == "" && o.Endpoint.Value == "" && o.Method.Value == "" && len(o.Params) == 0 && len(o.Body) == 0
}

// methodParts returns the parts of the method.
func (s *pager) methodParts() requestParts {
	o := s.method.Next
	if o.IncludeParams != nil {
		s.set.IncludeParams = s.settings.hold(o.IncludeParams)
	}
	var parts requestParts
	add := func(role Role, list ...Part) {
		for _, p := range list {
			for _, r := range s.methodPart(role, p) {
				parts.put(r)
			}
		}
	}
	add(URL, o.URL)
	add(Endpoint, o.Endpoint)
	add(HTTPVerb, o.Method)
	add(Param, o.Params...)
	add(Body, o.Body...)
	s.first(parts, o.ApplyToFirst)
	return parts
}

// first sets whether parts are in the first request, as settings say.
func (s *pager) first(parts requestParts, when Conditions) {
	for i := range parts {
		parts[i].First = when != nil && s.settings.hold(when)
		for _, c := range when {
			if use, known := s.use(c.Setting); known {
				parts[i].FirstBy = &use
			}
		}
	}
}

// methodPart returns what one part of a method's overlay adds.
func (s *pager) methodPart(role Role, p Part) []Rule {
	if p.Value == "" || !s.settings.hold(p.Only) {
		return nil
	}
	source := s.source(p.Value, p.Keboola)
	if p.Each == "" {
		r := part(role, s.settings.say(p.Name, nil), s.settings.bind(source), s.fromMethod())
		r.Says, r.Uses = s.settings.say(p.Says, nil), s.uses(p.Only, p.Name, source)
		r.Hint = p.Hint
		return []Rule{r}
	}
	var out []Rule
	for _, m := range s.settings.get(p.Each).object() {
		v := m.Value
		if had, ok := s.set.Job.Params.Get(m.Name); ok && s.switches.mergeScroll && s.set.IncludeParams {
			v = value.Overlay(had, v) // as the reference merges a scrollRequest into its job
		}
		settings := s.settings.with("each", setting{Value: v})
		r := part(role, m.Name, settings.bind(source), s.origin(Author{}, diag.Join(s.settings.get(p.Each).path(), m.Name)))
		r.Says = settings.say(p.Says, nil)
		out = append(out, r)
	}
	return out
}

// userParts returns the parts that the user wrote in nextRequest.
func (s *pager) userParts() requestParts {
	var parts requestParts
	for _, role := range []Role{URL, Endpoint, HTTPVerb} {
		if one := s.settings.get("nextRequest." + string(role)); one.Value != nil {
			parts = append(parts, part(role, "", addressOrVerb(role, one.text()), s.origin(Author{}, one.path())))
		}
	}
	if parts.has(URL) && parts.has(Endpoint) {
		s.diags.Errorf(diag.Value(s.settings.get("nextRequest").path()), "url and endpoint are mutually exclusive").
			WithHint("url is an absolute address; endpoint is resolved against baseUrl")
	}
	for _, role := range []Role{Param, Header, Body} {
		parts = append(parts, s.named(role)...)
	}
	switch include := s.settings.get("nextRequest.includeParams"); {
	case include.Value != nil:
		s.set.IncludeParams = include.flag()
	case parts.has(URL):
		s.set.IncludeParams = false
	}
	s.first(parts, Conditions{With("nextRequest.applyToFirst")})
	if wait := s.settings.get("nextRequest.after"); wait.Value != nil {
		parts = append(parts, part(After, "", wait.text(), s.origin(Author{}, wait.path())))
	}
	return parts
}

// addressOrVerb returns the source of an address or a method. A method may be
// written as a word.
func addressOrVerb(role Role, source string) string {
	if verb := strings.ToUpper(source); role == HTTPVerb && slices.Contains(httpMethods, verb) {
		return literal(verb)
	}
	return source
}

// named returns params, headers or body: one expression for each name, or one for
// all.
func (s *pager) named(role Role) []Rule {
	one := s.settings.get("nextRequest." + string(role))
	if one.text() != "" {
		return []Rule{part(role, "", one.text(), s.origin(Author{}, one.path()))}
	}
	object, ok := value.Members(one.Value)
	if one.Value != nil && !ok {
		s.diags.Errorf(diag.Value(one.path()), "want an expression, or an object of expressions, got %s", found(one.Value))
	}
	if !s.mayHave(&one, Any) {
		return nil
	}
	var out []Rule
	for _, m := range object {
		path := diag.Join(one.path(), m.Name)
		if strings.HasPrefix(m.Name, "#") {
			s.diags.Errorf(diag.Key(path), "# marks a secret, but this is an expression").
				WithHint(`write the name without #; declare the secret as an input with "secret": true and read it as input.NAME`)
		}
		switch m.Value.(type) {
		case string, bool, int, int64, float64, nil:
			out = append(out, part(role, m.Name, sourceOf(m.Value), s.origin(Author{}, path)))
		default:
			s.diags.Errorf(diag.Value(path), "want an expression, got %s", found(m.Value)).
				WithHint(`write an object as an expression, too: "{a: 1}"`)
		}
	}
	return out
}
