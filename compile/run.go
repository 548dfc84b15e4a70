package compile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// MaxRestarts is the number of times that onError rules may restart a list.
const MaxRestarts = 3

// maxPartBytes limits a part of a request: its value may come from a response.
const maxPartBytes = 1 << 20

// Parts are the values of the parts of a request after the first, in the order
// of [Job.Parts]. Together with the configuration they are the request: it can
// be made again from them, in another process too.
type Parts []any

// Begin evaluates the initial state, and returns it with the first request. The
// page is the context before the first response.
func (b *Builder) Begin(m *language.Machine, page *rules.Context) (state map[string]any, request requests.Request, err error) {
	if state, err = evaluate(b.job.Init, m, page); err != nil {
		return nil, requests.Request{}, err
	}
	values, _, err := evaluateParts(b.job.FirstParts, m, page, state)
	if err == nil {
		request, err = b.apply(b.job.FirstParts, values, b.First)
	}
	return state, request, err
}

// Advance evaluates, after a page, the new state and the parts of the next
// request. All variables are evaluated with the old state, all parts with the new
// one. It reports false if the rules give no address: the list has ended. The
// page is afterwards as it was before.
func (j *Job) Advance(m *language.Machine, page *rules.Context) (state map[string]any, parts Parts, more bool, err error) {
	changed, err := evaluate(j.Next, m, page)
	if err != nil {
		return nil, nil, false, err
	}
	state = make(map[string]any, len(page.State))
	maps.Copy(state, page.State)
	maps.Copy(state, changed)
	parts, more, err = evaluateParts(j.NextParts, m, page, state)
	return state, parts, more, err
}

// Apply returns the request that consists of parts: the job's own, with the parts
// applied to it. Relative addresses are resolved against base, the address of the
// response before it, unless the dialect says otherwise.
func (b *Builder) Apply(parts Parts, base string) (requests.Request, error) {
	j := b.job
	if len(parts) != len(j.NextParts) {
		return requests.Request{}, fmt.Errorf("the next request has %s, but %d are given", value.Counted(len(j.NextParts), "part"), len(parts))
	}
	request := b.First
	if !j.Ruleset.IncludeParams {
		request.Params = nil
	}
	if j.resolvesAgainstResponse() {
		request.Base = requests.NewBase(base)
	}
	return b.apply(j.NextParts, parts, request)
}

// CheckAddress returns an error if the request that Apply returned has no valid
// address. It names the rule that sets the address.
func (j *Job) CheckAddress(request requests.Request) error {
	_, err := request.URL()
	if err == nil {
		return nil
	}
	for _, part := range j.NextParts {
		if part.Rule.Role.Addresses() {
			return &language.RuleError{Rule: part.Rule, Err: err}
		}
	}
	return err
}

// resolvesAgainstResponse reports whether the next address is resolved against
// that of the response.
func (j *Job) resolvesAgainstResponse() bool {
	isURL := func(p *language.Expression) bool { return p.Rule.Role == rules.URL }
	return !rules.SwitchesOf(j.Ruleset.Dialect).RelativeToBase && slices.ContainsFunc(j.Parts, isURL)
}

// Keep returns the values for the next run, after the last page of a list. soFar has the result of
// [Job.KeepSoFar] for the pages before it. own reports whether the items of the context are those of the
// last page: after an error response they are those of the page before it. A nil value leaves the value
// of the previous run in place; lacking has the expressions of such values.
func (j *Job) Keep(m *language.Machine, page *rules.Context, soFar map[string]any, own bool) (
	values map[string]any, lacking []*language.Expression, err error,
) {
	if len(j.Keeps) == 0 {
		return nil, nil, nil
	}
	values = map[string]any{}
	for _, e := range j.Keeps {
		name := e.Rule.Target
		v := soFar[name]
		if own || !KeepsItems(e) {
			if v, err = keepValue(e, m, page, soFar); err != nil {
				return nil, nil, err
			}
		}
		if v == nil {
			v = page.Kept[name]
			lacking = append(lacking, e)
		}
		if v != nil {
			values[name] = v
		}
	}
	return values, lacking, nil
}

// KeepSoFar returns the values for the next run that are about the items of all pages, after a page
// that is not the last. soFar has its result for the pages before.
func (j *Job) KeepSoFar(m *language.Machine, page *rules.Context, soFar map[string]any) (map[string]any, error) {
	var values map[string]any
	for _, e := range j.Keeps {
		if !KeepsItems(e) {
			continue
		}
		v, err := keepValue(e, m, page, soFar)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if values == nil {
			values = map[string]any{}
		}
		values[e.Rule.Target] = v
	}
	return values, nil
}

// KeepsItems reports whether an expression under keep is about the items of all pages: it reads those
// of the present one, and no variable, by which the configuration remembers those of the others itself.
func KeepsItems(e *language.Expression) bool {
	reads := func(root string) bool {
		return slices.ContainsFunc(e.Reads, func(r language.Read) bool { return r.Is(root) })
	}
	return reads("items") && !reads("state")
}

// keepValue evaluates an expression under keep. If it is about the items of all pages, it sees its own
// value so far as that of the previous run, and a page on which it is nil changes nothing.
func keepValue(e *language.Expression, m *language.Machine, page *rules.Context, soFar map[string]any) (any, error) {
	before, known := soFar[e.Rule.Target]
	if known {
		kept := page.Kept
		defer func() { page.Kept = kept }()
		page.Kept = maps.Clone(kept)
		if page.Kept == nil {
			page.Kept = map[string]any{}
		}
		page.Kept[e.Rule.Target] = before
	}
	v, err := e.Value(m, page, language.MaxValueBytes)
	if v = language.Kept(v); v == nil {
		v = before
	}
	return v, err
}

// evaluate returns the values of expressions by their targets.
func evaluate(expressions []*language.Expression, m *language.Machine, page *rules.Context) (map[string]any, error) {
	values := make(map[string]any, len(expressions))
	for _, e := range expressions {
		v, err := e.Value(m, page, language.MaxValueBytes)
		if err != nil {
			return nil, err
		}
		values[e.Rule.Target] = v
	}
	return values, nil
}

// evaluateParts returns the values of a request's parts, with a state other than that of the
// page. After a page, an address that is empty ends the list, and the parts after it are not
// evaluated.
func evaluateParts(
	parts []*language.Expression, m *language.Machine, page *rules.Context, state map[string]any,
) (values Parts, more bool, err error) {
	defer func(before map[string]any) { page.State = before }(page.State)
	page.State = state
	values = make(Parts, 0, len(parts))
	for _, e := range parts {
		v, err := e.Value(m, page, maxPartBytes)
		if err != nil {
			return nil, false, err
		}
		values = append(values, v)
		if page.Page > 0 && e.Rule.Role.Addresses() && (v == nil || v == "") {
			return values, false, nil
		}
	}
	return values, true, nil
}

// apply applies parts to a request, whose parameters override those of every request.
func (b *Builder) apply(parts []*language.Expression, values Parts, request requests.Request) (requests.Request, error) {
	for i, e := range parts {
		if err := b.job.applyPart(e.Rule, values[i], &request); err != nil {
			return request, &language.RuleError{Rule: e.Rule, Err: err}
		}
	}
	return request.Under(b.common), nil
}

func (j *Job) applyPart(rule rules.Rule, v any, to *requests.Request) (err error) {
	switch rule.Role {
	case rules.URL, rules.Endpoint:
		address, err := addressOf(v)
		if err != nil || address == "" { // of the first request: the job's own
			return err
		}
		to.Endpoint = address
		if rule.Role == rules.URL && !j.Ruleset.IncludeParams {
			to.Params = nil
		}
	case rules.HTTPVerb:
		to.Method, err = verbOf(v)
	case rules.Param:
		to.Params, err = merge(to.Params, rule.Target, v)
	case rules.Header:
		to.Headers, err = mergeHeaders(to.Headers, rule.Target, v)
	case rules.Body:
		to.Body, err = mergeBody(to.Body, rule.Target, v)
	case rules.After:
		to.After, err = waitOf(v)
	}
	return err
}

func addressOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, requests.CheckURLLength(v)
	}
	return "", fmt.Errorf("want an address, got %s", language.Described(v))
}

func verbOf(v any) (string, error) {
	text, _ := v.(string)
	if text = strings.ToUpper(text); slices.Contains(rules.HTTPMethods(), text) {
		return text, nil
	}
	return "", fmt.Errorf("want GET, POST or FORM, got %s", value.Preview(v))
}

// merge sets one name to a value or, if the name is empty, every name of an object to
// its value. A value that is nil removes the name.
func merge(to rules.Object, name string, v any) (rules.Object, error) {
	if name != "" {
		if v == nil {
			return to.Without(name), nil
		}
		return to.With(name, v), nil
	}
	if v == nil {
		return to, nil
	}
	object, ok := value.Members(v)
	if !ok {
		return to, fmt.Errorf("want an object, got %s", language.Described(v))
	}
	return mergeMembers(to, object), nil
}

// mergeMembers sets every name of an object to its value, and removes those whose
// value is nil. The object may come from a response, so the time is linear.
func mergeMembers(to, over rules.Object) rules.Object {
	removed := map[string]bool{}
	var set rules.Object
	for _, m := range over {
		if m.Value == nil {
			removed[m.Name] = true
			continue
		}
		set = append(set, m)
	}
	kept := slices.DeleteFunc(slices.Clone(to), func(m rules.Member) bool { return removed[m.Name] })
	return kept.Merge(set)
}

// mergeHeaders is merge for headers, whose values are sent as text.
func mergeHeaders(to rules.Object, name string, v any) (rules.Object, error) {
	merged, err := merge(to, name, v)
	if err != nil {
		return to, err
	}
	merged = slices.Clone(merged) // it may be the job's own
	for i, m := range merged {
		text, ok := value.Text(m.Value)
		if !ok || strings.ContainsAny(text, "\r\n") {
			return to, fmt.Errorf("want a header value for %s, got %s", m.Name, value.Preview(m.Value))
		}
		merged[i].Value = text
	}
	return merged, nil
}

// mergeBody is merge for a body, in which the name is a path. A value that is nil
// changes nothing.
func mergeBody(to any, path string, v any) (any, error) {
	if v == nil {
		return to, nil
	}
	object, _ := to.(rules.Object)
	if path == "" {
		return merge(object, "", v)
	}
	return object.WithPath(rules.SplitPath(path), v), nil
}

// The reasons of ends that no rule decides.
const (
	ReasonEnd         = "end"         // the job is not paged
	ReasonNextRequest = "nextRequest" // the rules give no address for the next request
)

// maxWait is the longest wait before a request. A longer one is probably a number of
// another unit.
const maxWait = 24 * time.Hour

// waitOf reads how long to wait before a request: a duration, or a number of seconds.
// Either may be text, as headers have it. Nil means no wait.
func waitOf(v any) (time.Duration, error) {
	if v == nil {
		return 0, nil
	}
	seconds, ok := secondsOf(v)
	switch {
	case !ok:
		return 0, fmt.Errorf("want a duration, or a number of seconds, got %s", language.Described(v))
	case seconds < 0:
		return 0, fmt.Errorf("want a wait of 0 or more, got %s", value.Preview(v))
	case seconds > maxWait.Seconds():
		return 0, fmt.Errorf("want a wait of at most %s, got %s", maxWait, value.Preview(v))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// secondsOf returns a duration in seconds. It reports false for any other value.
func secondsOf(v any) (seconds float64, ok bool) {
	if d, isDuration := v.(time.Duration); isDuration {
		return d.Seconds(), true
	}
	text, ok := value.Text(v)
	if _, isFlag := v.(bool); !ok || isFlag {
		return 0, false
	}
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	seconds, err := strconv.ParseFloat(text, 64)
	return seconds, err == nil && !math.IsNaN(seconds)
}
