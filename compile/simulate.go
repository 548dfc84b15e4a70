package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// requests describes the first two requests of the job, which are made from the rules
// without an API.
func (x *JobExplanation) requests(j *Job, facts Facts) {
	s := &simulation{job: j, inputs: facts.Inputs, kept: facts.Kept[j.Set.Job.ID], redact: facts.Redact, unknown: map[string]bool{}}
	first, request, err := s.first()
	x.First = first
	if err != nil {
		return
	}
	if s.kept == nil && j.Reads("kept") {
		again := *s
		again.unknown, again.keptUnknown = map[string]bool{}, true
		if later, _, err := again.first(); err == nil {
			x.FirstKept = &later
		}
	}
	if j.Paged() && j.MaxPages() != 1 {
		x.Second = s.second(request)
	}
}

// simulation makes requests without responses. What only a response can tell is a mark in
// them, which is replaced by a phrase in braces when the request is written.
type simulation struct {
	job         *Job
	inputs      map[string]any
	kept        map[string]any
	keptUnknown bool // a previous run saved values, but which ones is not known
	redact      func(string) string

	machine Machine
	binding *Binding
	page    rules.Context
	unknown map[string]bool // variables whose value is a mark
	phrases []string        // of the marks
}

// first makes the first request.
func (s *simulation) first() (RequestExplanation, rules.Request, error) {
	job := s.job.Set.Job
	s.page = rules.Context{
		Limit: s.job.Set.Limit, Input: s.inputs, Kept: s.kept, Now: func() time.Time { return time.Time{} },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: job.Constants()},
	}
	if err := s.bind(); err != nil {
		return s.failed(s.job.first, err), rules.Request{}, err
	}
	s.page.Job.Endpoint, s.page.Job.Params = s.binding.First.Endpoint, s.binding.First.Params
	state, err := s.values(s.job.Init, s.page)
	if err != nil {
		return s.failed(s.job.first, err), rules.Request{}, err
	}
	s.page.State = state
	parts, _, err := s.parts(s.job.firstParts, s.page)
	if err != nil {
		return s.failed(s.job.first, err), rules.Request{}, err
	}
	request, err := s.binding.apply(s.job.firstParts, parts, s.binding.First)
	if err != nil {
		return s.failed(s.job.first, err), rules.Request{}, err
	}
	return s.written(request), request, nil
}

// bind computes the values of the job's own request, with marks for what is not known.
func (s *simulation) bind() error {
	s.binding = s.job.unbound()
	for _, e := range s.job.Binds {
		v, mark, err := s.value(e, s.page)
		switch role := e.Rule.Role; {
		case err != nil:
			return err
		case mark && role == rules.Endpoint && isWhole(e.Rule.Says):
			v = "https://" + rules.ExpandAddress(e.Rule.Says, s.mark) + markHost
		case mark && (role == rules.BaseURL || role == rules.Endpoint):
			v = rules.ExpandAddress(e.Rule.Says, s.mark)
		case mark && e.Rule.Target == s.job.Set.LimitBy:
			s.binding.First.Params = s.binding.First.Params.With(e.Rule.Target, v)
			continue
		}
		if err := s.binding.set(e.Rule, sendable(v)); err != nil {
			return &RuleError{e.Rule, err}
		}
	}
	s.page.Limit = s.binding.Limit
	return nil
}

// mark returns a mark that is written as a phrase.
func (s *simulation) mark(phrase string) string {
	s.phrases = append(s.phrases, phrase)
	return fmt.Sprintf(markFormat, len(s.phrases)-1)
}

// isWhole reports whether an endpoint is one value in braces, which may be a complete
// address: {+export.file}.
func isWhole(endpoint string) bool {
	return strings.HasPrefix(endpoint, "{+") && strings.IndexByte(endpoint, '}') == len(endpoint)-1
}

// second makes the request after the first page. It is nil if there is none.
func (s *simulation) second(first rules.Request) *RequestExplanation {
	page := s.page
	page.Page, page.Total.Pages = 1, 1
	changed, err := s.values(s.job.Next, page)
	if err == nil {
		state := maps.Clone(page.State)
		maps.Copy(state, changed)
		page.State = state
	}
	var parts Parts
	more := true
	if err == nil {
		parts, more, err = s.parts(s.job.nextParts, page)
	}
	if err == nil && !more {
		return nil
	}
	var request rules.Request
	if err == nil {
		base, _ := first.URL(s.job.Set.Dialect)
		request, err = s.binding.Apply(parts, base)
	}
	x := s.failed(s.binding.First, err)
	if err == nil {
		x = s.written(request)
	}
	return &x
}

// values returns the values of variables, by name.
func (s *simulation) values(expressions []*Expression, page rules.Context) (map[string]any, error) {
	values, marked := map[string]any{}, map[string]bool{}
	for _, e := range expressions {
		v, mark, err := s.value(e, page)
		if err != nil {
			return nil, err
		}
		values[e.Rule.Target], marked[e.Rule.Target] = v, mark
	}
	maps.Copy(s.unknown, marked) // all change at once
	return values, nil
}

// parts returns the values of the parts of a request. It reports false if they give no
// address.
func (s *simulation) parts(expressions []*Expression, page rules.Context) (values Parts, more bool, err error) {
	for _, e := range expressions {
		v, mark, err := s.value(e, page)
		if err != nil {
			return nil, false, err
		}
		role := e.Rule.Role
		switch {
		case mark && role == rules.URL:
			v = fmt.Sprintf("https://%s%s/", v, markHost)
		case mark && role == rules.HTTPVerb:
			v = s.job.first.Method // a mark is no method
		case mark && role == rules.After:
			v = nil // it is no part of what is sent
		case mark && e.Rule.Target == "" && role.Builds() && !isAddress(role):
			v = rules.Object{{Name: v.(string), Value: ""}}
		case page.Page > 0 && isAddress(role) && (v == nil || v == ""):
			return nil, false, nil
		}
		values = append(values, v)
	}
	return values, true, nil
}

// value returns the value of an expression, or a mark if it is not known, or secret.
func (s *simulation) value(e *Expression, page rules.Context) (v any, mark bool, err error) {
	if !e.Rule.Secret && !slices.ContainsFunc(e.Reads, func(r Read) bool { return s.isUnknown(r, page.Page) }) {
		v, err := e.eval(&s.machine, &page)
		if err != nil {
			return nil, false, &RuleError{e.Rule, err}
		}
		return v, false, nil
	}
	for name, unknown := range s.unknown {
		if unknown && isVariable(e.code.syntax, name) {
			return page.State[name], true, nil
		}
	}
	phrase := e.Rule.Says
	if phrase == "" && page.Page > 0 {
		phrase = s.job.laterInWords(e)
	}
	if phrase == "" {
		phrase = e.Rule.Source
	}
	return s.mark(phrase), true, nil
}

// isUnknown reports whether a value is not known before a run.
func (s *simulation) isUnknown(r Read, page int) bool {
	switch {
	case r.Root == "state" && r.of == "":
		return len(r.Path) == 0 || s.unknown[r.Path[0]]
	case r.Root == "kept" && r.of == "":
		return s.keptUnknown
	case r.Root == "input" && r.of == "":
		return len(r.Path) == 0 || s.inputs[r.Path[0]] == nil
	case r.Root == "now" && r.of == "", r.Root == partitionField && r.of == "":
		return true
	}
	return page > 0 && r.known() != rules.KnownJob && r.known() != rules.KnownPlan
}

// Marks consist of letters and digits, so every encoding leaves them as they are. One that is
// an address is a host.
const (
	markFormat = "x7unknown%03dx7"
	markHost   = ".invalid"
)

// written describes a request, with phrases for its marks.
func (s *simulation) written(request rules.Request) RequestExplanation {
	address, err := request.URL(s.job.Set.Dialect)
	if err != nil {
		return s.failed(request, err)
	}
	payload, kind, _ := request.Payload(s.job.Set.Dialect)
	body := s.phrased(string(payload))
	if strings.HasSuffix(kind, "json") {
		body = s.phrasedJSON(string(payload))
	}
	return RequestExplanation{
		Method: request.Verb(), URL: s.redact(s.phrased(address)), Headers: request.Headers.Names(), Body: s.redact(body),
	}
}

// phrased replaces the marks in a text.
func (s *simulation) phrased(text string) string {
	return s.replaceMarks(text, func(phrase string) string { return phrase })
}

// phrasedJSON is phrased for a JSON text, which remains one.
func (s *simulation) phrasedJSON(text string) string {
	return s.replaceMarks(text, func(phrase string) string {
		quoted, _ := value.Marshal(phrase) // text is always encoded
		return string(quoted[1 : len(quoted)-1])
	})
}

func (s *simulation) replaceMarks(text string, encode func(phrase string) string) string {
	for i, phrase := range s.phrases {
		mark, phrase := fmt.Sprintf(markFormat, i), "{"+encode(phrase)+"}"
		address := "https://" + mark + markHost
		text = strings.ReplaceAll(text, address+"/?", phrase+" and ")
		for _, form := range []string{address + "/", address, mark + "=", mark} {
			text = strings.ReplaceAll(text, form, phrase)
		}
	}
	return text
}

// unknownRequest begins the address of a request that cannot be made; the reason follows.
const unknownRequest = "unknown: "

func (s *simulation) failed(request rules.Request, err error) RequestExplanation {
	x := RequestExplanation{Method: request.Verb()}
	if err != nil {
		x.URL = unknownRequest + s.redact(err.Error())
	}
	return x
}
