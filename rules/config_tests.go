package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Test is one test of a configuration: the responses of the API to a job, and the
// expected result.
type Test struct {
	Name    string
	Job     string         // ID of the job; empty if there is only one
	Kept    map[string]any // the values that an earlier run saved, by name
	Inputs  map[string]any // the values that the run sets, by name
	Binding map[string]any // the values of the variables of for, by name
	Pages   []TestResponse // each answers one request
	Expect  Expectation
	Path    string // config path of the test
}

// TestResponse is one response of the API in a [Test].
type TestResponse struct {
	Status  int             // 0: 200
	Headers http.Header     // headers in addition to Content-Type and Date
	Body    json.RawMessage // body sent unchanged; nil for an empty body
	After   time.Duration   // delay of the response, on the test's own clock
}

// Expectation is the expected result of a [Test]. Fields that are missing are not
// compared.
type Expectation struct {
	StoppedBy []string // ids of all rules that were met at the end, in order
	Reason    string
	Outcome   Outcome
	Message   string // text that the message contains
	Pages     *int
	Items     *int              // number of items
	List      []json.RawMessage // the items themselves
	Requests  []string          // "GET /v1/users?page=1"; a body may follow
	Exit      *int
	Error     string         // text that the error contains
	Findings  []string       // ids of the audit's findings
	Kept      map[string]any // the values that are saved for the next run
}

var testFields = []Field{
	{Name: "name", Kind: KindText, Required: true, Doc: "what the test shows; names must differ"},
	{Name: "job", Kind: KindText, Doc: "id of the job; optional if there is only one"},
	{Name: "kept", Kind: KindMap, Doc: "the values that an earlier run saved, by name"},
	{Name: "inputs", Kind: KindMap, Doc: "the values that the run sets, by name"},
	{Name: "partition", Kind: KindMap, Doc: "of a job with `for`: the values of its variables, by name; a window has `from` and `to`"},
	{Name: "pages", Kind: KindList, Required: true,
		Doc: "the responses of the API, in order: an object or a list is the body of a response, or a complete response"},
	{Name: "expect", Kind: KindBlock, Fields: expectFields, Required: true,
		Doc: "the expected result; keys that are missing are not compared"},
}

var testResponseFields = []Field{
	{Name: "status", Kind: KindStatus, Default: 200, Doc: "the HTTP status"},
	{Name: "headers", Kind: KindMap, Doc: "names, each with a string, or with a list of strings for a header that is sent several times"},
	{Name: "body", Kind: KindAny, Doc: "the body of the response, sent as it is written; " +
		"of a job whose format is not `json`, a string is sent as its text"},
	{Name: "after", Kind: KindSeconds, Doc: "delay of the response, by which the time of the test moves on; the test does not wait"},
}

var expectFields = []Field{
	{Name: "stoppedBy", Kind: KindAny, Doc: "the ids of all rules that match at the end, in order: a list, or a single id"},
	{Name: "reason", Kind: KindText, Doc: "the id of the first of them"},
	{Name: "outcome", Kind: KindText, Values: outcomeNames(), Doc: "the outcome"},
	{Name: "message", Kind: KindText, Doc: "text that the message about the end contains"},
	{Name: "pages", Kind: KindInteger, Doc: "the number of pages"},
	{Name: "items", Kind: KindAny,
		Doc: "the number of items, or the list of them, compared byte for byte except insignificant whitespace"},
	{Name: "requests", Kind: KindList, Each: &Field{Kind: KindText},
		Doc: "the requests, in order: `GET /v1/users?page=1`, without credentials; a body may follow after a space"},
	{Name: "exit", Kind: KindInteger, Doc: "the exit status of `stopwhen run`: 9 for a list with evidence that it is incomplete"},
	{Name: "error", Kind: KindText, Doc: "text that the error contains"},
	{Name: "findings", Kind: KindList, Each: &Field{Kind: KindText, Values: auditIDs()},
		Doc: "the ids of the audit's findings: `audit.token`"},
	{Name: "kept", Kind: KindMap, Doc: "the values that are saved for the next run, by name"},
}

// test reads one test.
func (d *decoder) test(path string, s settings) Test {
	t := Test{
		Name: s.get("name").text(), Job: s.get("job").text(),
		Kept: membersOf(s.get("kept").object()), Inputs: membersOf(s.get("inputs").object()), Binding: bindingOf(s.get("partition").object()),
		Expect: d.expect(s.inner("expect")), Path: path,
	}
	pages, _ := s.get("pages").Value.([]any)
	for i, v := range pages {
		t.Pages = append(t.Pages, d.testResponse(diag.Index(s.get("pages").path(), i), v))
	}
	return t
}

// bindingOf reads the values of variables. A window whose bounds are dates has times.
func bindingOf(o Object) map[string]any {
	binding := membersOf(o)
	for name, v := range binding {
		members, _ := value.Members(v)
		from, _ := members.Get("from")
		to, _ := members.Get("to")
		a, isTime := timeIn(from)
		b, also := timeIn(to)
		if isTime && also {
			binding[name] = map[string]any{"from": a, "to": b}
		}
	}
	return binding
}

func timeIn(v any) (time.Time, bool) {
	text, _ := v.(string)
	t, err := times.Parse(text)
	return t, err == nil
}

// testResponse reads a page of a test: a body, or a complete response.
func (d *decoder) testResponse(path string, v any) TestResponse {
	object, isObject := value.Members(v)
	if _, isList := v.([]any); !isList && !isObject {
		d.diags.Errorf(diag.Value(path), "want an object or a list, got %s", describe(v)).
			WithHint(`a response is the body itself, {"data": []}, or {"status": 503, "body": …}`)
		return TestResponse{}
	}
	if !isObject || !d.completeResponse(path, object) {
		return TestResponse{Body: d.raw(path, v)}
	}
	read := d.object(path, object, testResponseFields)
	a := TestResponse{Status: read.get("status").number(), Headers: d.testResponseHeaders(read.get("headers"))}
	if body, ok := object.Get("body"); ok {
		a.Body = d.raw(path+".body", body)
	}
	if after, ok := value.Text(read.get("after").Value); ok {
		a.After, _ = time.ParseDuration(after + "s")
	}
	return a
}

const asBody = `if this is the response's body, write {"body": …} around it`

// completeResponse reports whether an object is a complete response and not a body: it
// has a body or a status, and no other keys than a response. It reports keys that
// are misspelt.
func (d *decoder) completeResponse(path string, object Object) bool {
	known := supportedKeys(testResponseFields)
	_, body := object.Get("body")
	status, hasStatus := object.Get("status")
	if !body && !hasStatus {
		return false
	}
	var misspelt []string
	for _, name := range object.Names() {
		if slices.Contains(known, name) {
			continue
		}
		if diag.Nearest(name, known) == "" {
			return false
		}
		misspelt = append(misspelt, name)
	}
	for _, name := range misspelt {
		d.diags.Errorf(diag.Key(diag.Join(path, name)), "unknown key %q", name).WithHint(diag.DidYouMean(name, known) + " " + asBody)
	}
	if _, err := convert(KindStatus, status); hasStatus && status != nil && err != nil {
		d.diags.Errorf(diag.Value(path+".status"), "want an HTTP status, got %s", describe(status)).WithHint(asBody)
		return false
	}
	return len(misspelt) == 0
}

func (d *decoder) testResponseHeaders(s setting) http.Header {
	headers := http.Header{}
	for _, m := range s.object() {
		values, several := m.Value.([]any)
		if !several {
			values = []any{m.Value}
		}
		for _, v := range values {
			text, ok := value.Text(v)
			if !ok || strings.ContainsAny(text, "\r\n") {
				d.diags.Errorf(diag.Value(diag.Join(s.path(), m.Name)), "want a header value, got %s", describe(v))
				continue
			}
			headers.Add(m.Name, text)
		}
	}
	return headers
}

func (d *decoder) expect(s settings) Expectation {
	e := Expectation{
		Reason: s.get("reason").text(), Outcome: Outcome(s.get("outcome").text()), Message: s.get("message").text(), Error: s.get("error").text(),
		Pages: optional(s.get("pages")), Exit: optional(s.get("exit")), Kept: membersOf(s.get("kept").object()),
		Requests: textsOrNil(s.get("requests")), Findings: textsOrNil(s.get("findings")), StoppedBy: d.stoppedBy(s.get("stoppedBy")),
	}
	items := s.get("items")
	if list, ok := items.Value.([]any); ok {
		e.List = make([]json.RawMessage, len(list))
		for i, item := range list {
			e.List[i] = d.raw(diag.Index(items.path(), i), item)
		}
	} else if items.Value != nil {
		n, err := convert(KindInteger, items.Value)
		if err != nil {
			d.diags.Errorf(diag.Value(items.path()), "want a whole number, or a list of items, got %s", describe(items.Value))
		}
		items.Value = n
		e.Items = optional(items)
	}
	return e
}

// stoppedBy reads one id of a rule, or a list of them.
func (d *decoder) stoppedBy(s setting) []string {
	switch v := s.Value.(type) {
	case nil:
		return nil
	case string:
		return []string{v}
	case []any:
		d.elements(&s, &Field{Each: &Field{Kind: KindText}})
		return textsOrNil(s)
	default:
		d.diags.Errorf(diag.Value(s.path()), "want the id of a rule, or a list of ids, got %s", describe(v))
		return nil
	}
}

// optional returns the number of a setting, or nil if it is missing.
func optional(s setting) *int {
	if n, ok := s.Value.(int); ok {
		return &n
	}
	return nil
}

// textsOrNil returns the texts of a list, and nil if the list is missing.
func textsOrNil(s setting) []string {
	if s.Value == nil {
		return nil
	}
	return append([]string{}, s.texts()...)
}

// raw returns a value as JSON without insignificant whitespace. It uses the text of
// the configuration if that is JSON, so that no digit of a number changes.
func (d *decoder) raw(path string, v any) json.RawMessage {
	text := d.diags.Source().Raw(path)
	if same, err := ParseJSON(diag.NewSource("", string(text))); err != nil || !reflect.DeepEqual(same, v) {
		if text, err = value.Marshal(v); err != nil {
			d.diags.Errorf(diag.Value(path), "cannot be written as JSON: %v", err)
			return nil
		}
	}
	var b bytes.Buffer
	_ = json.Compact(&b, text) // it is valid
	return b.Bytes()
}

// membersOf returns an object as a map, or nil for no object.
func membersOf(o Object) map[string]any {
	if o == nil {
		return nil
	}
	out := make(map[string]any, len(o))
	for _, m := range o {
		out[m.Name] = m.Value
	}
	return out
}

// completeTests reports mistakes that involve several values, and fills in the job of
// tests if there is only one.
func (c *Config) completeTests(diags *diag.Collector) {
	if len(c.Tests) == 0 {
		return
	}
	ids, seen := c.jobIDs(), map[string]bool{}
	for i := range c.Tests {
		t := &c.Tests[i]
		if t.Path == "" {
			t.Path = diag.Index(diag.Join(c.path, "tests"), i)
		}
		if seen[t.Name] {
			diags.Errorf(diag.Value(diag.Join(t.Path, "name")), "duplicate test name %q", t.Name).
				WithHint("names tell tests apart, so they must differ")
		}
		seen[t.Name] = true
		switch {
		case t.Job == "" && len(ids) == 1:
			t.Job = ids[0]
		case t.Job == "":
			diags.Errorf(diag.Value(t.Path), "job is missing: there are several jobs").
				WithHint("known here: " + strings.Join(ids, ", "))
		case !slices.Contains(ids, t.Job):
			nearest(diags.Errorf(diag.Value(diag.Join(t.Path, "job")), "unknown job %q", t.Job), t.Job, ids)
		}
		if len(t.Pages) == 0 {
			diags.Errorf(diag.Value(diag.Join(t.Path, "pages")), "want at least one page").WithHint(`a page is at least {} or []`)
		}
		t.Expect.check(diags, diag.Join(t.Path, "expect"))
		c.checkBinding(diags, t)
	}
}

// checkBinding reports variables of the job of a test that have no value.
func (c *Config) checkBinding(diags *diag.Collector, t *Test) {
	i := slices.IndexFunc(c.Jobs, func(j Job) bool { return j.ID == t.Job })
	if i < 0 {
		return
	}
	for _, s := range c.Jobs[i].For {
		if _, ok := t.Binding[s.Name]; !ok {
			diags.Errorf(diag.Value(diag.Join(t.Path, "partition")), "job %s needs a value for %s", t.Job, s.Name).
				WithHint(fmt.Sprintf(`a test runs one partition: "partition": {%q: …}`, s.Name))
		}
	}
}

func (e Expectation) check(diags *diag.Collector, path string) {
	if reflect.ValueOf(e).IsZero() {
		diags.Errorf(diag.Value(path), "want at least one expectation").
			WithHint(`for instance {"stoppedBy": "pagenum.empty", "pages": 2, "items": 3}`)
	}
	for i, request := range e.Requests {
		if verb, target, _ := strings.Cut(request, " "); verb != strings.ToUpper(verb) || target == "" {
			diags.Errorf(diag.Value(diag.Index(diag.Join(path, "requests"), i)), "not a request: %s", describe(request)).
				WithHint("write it like GET /v1/users?page=1")
		}
	}
}
