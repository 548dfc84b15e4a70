package explain

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// describeRequests describes the first two requests of the job, which are made without an API.
func (x *JobExplanation) describeRequests(j explainer, run RunDetails) {
	s := &simulation{explainer: j, inputs: run.Inputs, kept: run.Kept[j.ID()], sorts: run.sorts}
	if j.KeepFor != nil { // the partition is not known
		s.kept = nil
	}
	first, err := s.first()
	x.First = s.describe(first, err)
	if err != nil && len(j.For) == 0 {
		before := "the first request of the job"
		if _, failed := j.BaseURL(run.Inputs); failed != nil || j.CheckEndpoint(run.Inputs) != nil {
			before = "the first request of any job"
		}
		x.First.fails = fmt.Sprintf("run fails before %s (%s): %s.", before, statusConfig, j.redact(err.Error()))
	}
	for i := range j.For {
		if j.For[i].Window != nil {
			x.windows = append(x.windows, s.windowsInWords(&j.For[i]))
		}
	}
	if s.kept == nil && j.Reads(rules.ContextKept) {
		laterRun := &simulation{explainer: j, inputs: s.inputs, keptUnknown: true, sorts: s.sorts}
		if request, failed := laterRun.first(); failed == nil {
			later := laterRun.describe(request, nil)
			x.FirstKept = &later
			later.keptInAll, later.keptOnce = laterRun.sendsKept(request)
			if err != nil {
				s, first, err = laterRun, request, nil
			}
		}
	}
	if err != nil {
		return
	}
	if !j.hasOnePage() {
		if request, more, err := s.second(first); more || err != nil {
			second := s.describe(request, err)
			x.Second = &second
		}
	}
}

// A simulation makes requests without responses, as a run makes them. If only a response can tell the
// value of an expression, the value is a placeholder, which is replaced by a phrase in braces when the
// request is written.
type simulation struct {
	explainer
	inputs      map[string]any
	kept        map[string]any
	keptUnknown bool // a previous run saved values, which are not known here
	sorts       bool // the credentials sort the parameters of the query

	builder *compile.Builder
	page    rules.Context
	limit   string          // placeholder for an unknown page size; empty if the size is known
	phrases []string        // phrases of the placeholders
	texts   map[string]bool // the placeholders, in quotes, whose values are texts
}

func (s *simulation) machine() *language.Machine { return &language.Machine{Given: s.placeholderFor} }

// first makes the first request.
func (s *simulation) first() (request requests.Request, err error) {
	job := s.Spec()
	s.page = rules.Context{
		Limit: s.Ruleset.Limit, Input: s.inputs, Kept: s.kept, Now: func() time.Time { return time.Time{} },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: job.Constants()},
	}
	values, err := s.Compute(s.machine(), &s.page)
	if err == nil {
		s.builder, err = s.Builder(values)
	}
	if err != nil {
		return request, err
	}
	if s.limit != "" {
		s.builder.Limit, s.builder.First.Params = s.Ruleset.Limit, s.builder.First.Params.With(s.Ruleset.LimitParam, s.limit)
	}
	s.page.Limit, s.page.Job.Endpoint, s.page.Job.Params = s.builder.Limit, s.builder.First.Endpoint, s.builder.First.Params
	s.page.State, request, err = s.builder.Begin(s.machine(), &s.page)
	return request, err
}

// second makes the request after the first page. It reports false if there is no
// second request.
func (s *simulation) second(first requests.Request) (request requests.Request, more bool, err error) {
	page := s.page
	page.Page, page.Total.Pages = 1, 1
	_, parts, more, err := s.Advance(s.machine(), &page)
	if err != nil || !more {
		return request, more, err
	}
	base, _ := first.URL()
	request, err = s.builder.Apply(parts, base)
	return request, true, err
}

// sendsKept reports whether the second request has a kept value of the first one, too. It returns the params and headers of
// the first one whose kept values the second one does not have.
func (s *simulation) sendsKept(first requests.Request) (found bool, once []string) {
	if s.hasOnePage() {
		return false, nil
	}
	known := len(s.phrases)
	second, more, err := s.second(first)
	if err != nil || !more {
		return false, nil
	}
	address, _ := second.URL()
	payload, _, _ := second.Payload()
	sent := address + string(payload) + fmt.Sprint(second.Headers)
	for i, phrase := range s.phrases[:known] {
		mark := fmt.Sprintf(placeholderFormat, i)
		switch {
		case !strings.Contains(phrase, "kept"):
		case strings.Contains(sent, mark):
			found = true
		default:
			for _, part := range slices.Concat(first.Params, first.Headers) {
				if strings.Contains(fmt.Sprint(part.Value), mark) {
					once = lists.AppendNew(once, part.Name)
				}
			}
		}
	}
	return found, once
}

// placeholderFor returns a placeholder for an expression whose value is secret, or not known before a run, in
// the form that its role needs: an address, an object or a number. It reports false if the expression
// can be evaluated.
func (s *simulation) placeholderFor(e *language.Expression, c *rules.Context) (any, bool) {
	if !e.Rule.Sending.Secret && !e.ReadsFunc(func(r language.Read) bool { return s.isUnknown(r, c) }) {
		return nil, false
	}
	for name, v := range c.State {
		if isPlaceholder(v) && e.IsStateVariable(name) {
			return v, true
		}
	}
	switch role := e.Rule.Role; {
	case e.Rule.Sending.PerPartition && role == rules.RoleEndpoint && isWhole(e.Rule.ValueInWords):
		return "https://" + rules.ExpandAddress(e.Rule.ValueInWords, s.placeholder) + placeholderHost, true
	case e.Rule.Sending.PerPartition && role == rules.RoleBaseURL && strings.HasPrefix(e.Rule.ValueInWords, "{+"): // it gives the host, too
		host := placeholderHost
		return "https://" + rules.ExpandAddress(e.Rule.ValueInWords, func(source string) string {
			mark := s.placeholder(source) + host
			host = ""
			return mark
		}), true
	case role == rules.RoleAllowedOrigin:
		return "https://" + s.placeholder(e.Rule.ValueInWords) + placeholderHost, true
	case e.Rule.Sending.PerPartition && (role == rules.RoleBaseURL || role == rules.RoleEndpoint):
		return rules.ExpandAddress(e.Rule.ValueInWords, s.placeholder), true
	case e.Rule.Sending.PerPartition && role == rules.RoleParam && e.Rule.Target == s.Ruleset.LimitParam:
		s.limit = s.placeholder(s.phrase(e, c))
		return 1, true // the builder checks it
	case role == rules.RoleURL:
		return "https://" + s.placeholder(s.phrase(e, c)) + placeholderHost + "/", true
	case role == rules.RoleVerb:
		return s.Request.Method, true
	case role == rules.RoleAfter:
		return nil, true // it is not sent
	case e.Rule.Target == "" && role.Builds() && role != rules.RoleEndpoint:
		return rules.Object{{Name: s.placeholder(s.phrase(e, c)), Value: ""}}, true
	}
	if !e.Rule.Sending.Secret && e.Rule.Role.Builds() {
		if v, ok := e.Composite(func(source string) any {
			return s.placeholderOf(source, strings.ReplaceAll(source, rules.ContextPartition+".", "")) // as it is written
		}); ok {
			return v, true
		}
	}
	return s.placeholderOf(e.Rule.Source, s.phrase(e, c)), true
}

// isUnknown reports whether a value is not known before a run.
func (s *simulation) isUnknown(r language.Read, c *rules.Context) bool {
	if r.Past == "" {
		switch r.Root {
		case "state":
			return len(r.Path) == 0 || isPlaceholder(c.State[r.Path[0]])
		case "kept":
			return s.keptUnknown
		case "input":
			return len(r.Path) == 0 || s.inputs[r.Path[0]] == nil
		case "now", rules.ContextPartition:
			return true
		}
	}
	return c.Page > 0 && r.Phase() != rules.PhaseJob && r.Phase() != rules.PhasePlan
}

// phrase says the value of an expression in words.
func (s *simulation) phrase(e *language.Expression, c *rules.Context) string {
	phrase := e.Rule.ValueInWords
	if phrase == "" && c.Page > 0 {
		phrase = s.Prover().Later(e)
	}
	return cmp.Or(phrase, e.Rule.Source)
}

// isWhole reports whether an endpoint is one value in braces, which may be a complete
// address: {+export.file}.
func isWhole(endpoint string) bool {
	return strings.HasPrefix(endpoint, "{+") && strings.IndexByte(endpoint, '}') == len(endpoint)-1
}

// Placeholders consist of letters and digits, so every encoding leaves them unchanged. A placeholder for
// an address is a host, and a placeholder for an object is a name without a value.
const (
	placeholderFormat = "x7unknown%03dx7"
	placeholderHost   = ".invalid"
)

var (
	wholePlaceholder   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^x7unknown\d+x7$`) })
	quotedPlaceholder  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"x7unknown\d+x7"`) })
	placeholderPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`https://x7unknown(\d+)x7\.invalid(/\?|/$)?|x7unknown(\d+)x7=?`)
	})
)

// placeholder returns a new placeholder, which is replaced by the phrase at the end.
func (s *simulation) placeholder(phrase string) string {
	s.phrases = append(s.phrases, phrase)
	return fmt.Sprintf(placeholderFormat, len(s.phrases)-1)
}

// placeholderOf returns a new placeholder for the value of an expression, and notes whether the value is that of the function text.
func (s *simulation) placeholderOf(source, phrase string) string {
	mark := s.placeholder(phrase)
	if strings.HasPrefix(source, "text(") && strings.HasSuffix(source, ")") {
		if s.texts == nil {
			s.texts = map[string]bool{}
		}
		s.texts[`"`+mark+`"`] = true
	}
	return mark
}

func isPlaceholder(v any) bool {
	text, ok := v.(string)
	return ok && wholePlaceholder().MatchString(text)
}

// describe describes a request that was made, or why it cannot be made.
func (s *simulation) describe(request requests.Request, err error) RequestExplanation {
	address := ""
	if err == nil {
		address, err = request.URL()
	}
	if err != nil {
		return RequestExplanation{Method: s.Request.Verb(), URL: unknownRequest + s.redact(err.Error())}
	}
	base, _ := request.Base.Resolve("")
	if before, query, ok := strings.Cut(address, "?"); ok && s.sorts {
		pairs := strings.Split(query, "&")
		slices.Sort(pairs)
		address = before + "?" + strings.Join(pairs, "&")
	}
	payload, kind, _ := request.Payload()
	isJSON := strings.HasSuffix(kind, "json")
	return RequestExplanation{
		foreign: originInWords(address) != originInWords(base) && !placeholderPattern().MatchString(address+base),
		form:    len(payload) > 0 && !isJSON,
		typed:   isJSON && slices.ContainsFunc(quotedPlaceholder().FindAllString(string(payload), -1), s.mayBeNoText),
		Method:  request.Verb(), URL: s.redact(s.phrased(address, false)), Headers: request.Headers.Names(),
		Body:    s.redact(s.phrased(string(payload), isJSON)),
		headers: lists.Map(request.Headers, s.header), sent: s.implied(request.Headers, kind),
	}
}

// mayBeNoText reports whether the value of a placeholder in quotes might not be text.
func (s *simulation) mayBeNoText(quoted string) bool { return !s.texts[quoted] }

// implied returns the headers that a run adds to a request, whose body has a content type or is empty.
func (s *simulation) implied(own rules.Object, kind string) (list []string) {
	for _, h := range [][2]string{{"Accept", format.Accept(s.Spec().Response.Format)}, {"Content-Type", kind},
		{"User-Agent", "stopwhen/VERSION"}, {"Accept-Encoding", transport.AcceptedEncodings}} {
		isSet := slices.ContainsFunc(own, func(m rules.Member) bool { return strings.EqualFold(m.Name, h[0]) })
		if h[1] != "" && !isSet {
			list = append(list, h[0]+": "+h[1])
		}
	}
	return list
}

// windowsInWords says which windows a run has, as far as that is known before it.
func (s *simulation) windowsInWords(v *compile.ForVariable) string {
	const most = 10_000
	firstRun, open := false, false
	few, n, err := partition.Windows(v, most, func(e *language.Expression) (any, error) {
		isKept := func(r language.Read) bool { return r.Is(rules.ContextKept) }
		switch unknown := e.ReadsFunc(func(r language.Read) bool { return s.isUnknown(r, &s.page) }); {
		case unknown && e == v.To && !e.ReadsFunc(isKept):
			open = true
			return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), nil
		case unknown || e.Rule.Sending.Secret:
			return nil, errUnknownWindow
		}
		firstRun = firstRun || s.kept == nil && e.ReadsFunc(isKept)
		return e.Value(&language.Machine{}, &s.page, language.MaxValueBytes)
	})
	shown := lists.Map(few, func(w map[string]any) string { return boundInWords(w["from"]) + " to " + boundInWords(w["to"]) })
	subject := "The windows of for." + v.Name + " are "
	switch {
	case err != nil && !errors.Is(err, errUnknownWindow):
		begin := "The windows"
		if firstRun {
			begin = "Without kept values, the windows"
		}
		return s.redact(fmt.Sprintf("%s of for.%s cannot be computed, so the run fails before the first request of the job (%s): %s",
			begin, v.Name, statusConfig, err)) + "."
	case err != nil || n == 0 || open && n == 1:
		return ""
	case n == 1:
		subject = "The only window of for." + v.Name + " is "
	case open:
		shown = append(shown[:2], "and so on up to "+v.To.Rule.Source)
	case n > 3:
		shown[1] += ", …"
		fallthrough
	default:
		subject = fmt.Sprintf("The %d windows of for.%s are ", n, v.Name)
		if n == most {
			subject = fmt.Sprintf("The first %d windows of for.%s are ", n, v.Name)
		}
	}
	if firstRun {
		subject = "Without kept values, " + strings.ToLower(subject[:1]) + subject[1:]
	}
	return s.redact(subject+strings.Join(shown, ", ")) + "."
}

// errUnknownWindow says that the windows depend on something that only a run can tell.
var errUnknownWindow = errors.New("the windows are not known before the run")

// boundInWords writes the bound of a window as it is sent.
func boundInWords(v any) string {
	if t, ok := v.(time.Time); ok {
		return t.Format(time.RFC3339Nano)
	}
	text, _ := value.Text(v)
	return text
}

// header describes a header: its name, and its value, or *** for one of the configuration that may be a secret.
func (s *simulation) header(m rules.Member) string {
	text, ok := value.Text(m.Value)
	isPhrase := wholePlaceholder().MatchString(text) // its expression is shown elsewhere, too
	if text = s.redact(s.phrased(text, false)); !ok || text == "" || !isPhrase && secret.IsHeader(m.Name, text) {
		return m.Name + ": ***"
	}
	return m.Name + ": " + text
}

// unknownRequest begins the address of a request that cannot be made; the reason follows.
const unknownRequest = "unknown: "

// phrased replaces the placeholders in a text. A text that is JSON remains JSON.
func (s *simulation) phrased(text string, isJSON bool) string {
	return placeholderPattern().ReplaceAllStringFunc(text, func(found string) string {
		groups := placeholderPattern().FindStringSubmatch(found)
		i, _ := strconv.Atoi(groups[1] + groups[3])
		if i >= len(s.phrases) {
			return found
		}
		phrase := s.phrases[i]
		if isJSON {
			quoted, _ := value.Marshal(phrase) // text is always encoded
			phrase = string(quoted[1 : len(quoted)-1])
		}
		phrase = "{" + phrase + "}"
		if groups[2] == "/?" {
			phrase += " and "
		}
		return phrase
	})
}
