package rules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Test is one test of a configuration: what the API answers to a job, and what
// must come of it.
type Test struct {
	Name   string
	Job    string         // id of the job; empty: the only one
	Kept   map[string]any // what an earlier run kept, by name
	Pages  []Answer       // in order, each given once
	Expect Expect
	Path   string // config path of the test
}

// Answer is one response of the API in a [Test].
type Answer struct {
	Status  int             // 0: 200
	Headers http.Header     // beside Content-Type and Date
	Body    json.RawMessage // as it is sent; nil: empty
	After   time.Duration   // passes before it comes, on the test's own clock
}

// Expect is what must come of a [Test]. What is left out is not compared.
type Expect struct {
	StoppedBy []string // ids of all rules that were met, in order
	Reason    string
	Outcome   Outcome
	Message   string // text that the message contains
	Pages     *int
	Items     *int              // how many
	List      []json.RawMessage // the items themselves
	Requests  []string          // "GET /v1/users?page=1"; a body may follow
	Exit      *int
	Error     string         // text that the error contains
	Findings  []string       // ids of what the audit finds
	Kept      map[string]any // what is kept for the next run
}

var testFields = []Field{
	{Name: "name", Kind: Text, Required: true, Doc: "what the test shows; names differ"},
	{Name: "job", Kind: Text, Doc: "id of the job; it may be left out when there is one job"},
	{Name: "kept", Kind: Map, Doc: "what an earlier run kept, by name"},
	{Name: "pages", Kind: List, Required: true, Doc: "what the API answers, in order: each an object or a list that is the response's body, or a whole response"},
	{Name: "expect", Kind: Block, Fields: expectFields, Required: true, Doc: "what must come of it; what is left out is not compared"},
}

var answerFields = []Field{
	{Name: "status", Kind: Status, Default: 200, Doc: "the HTTP status"},
	{Name: "headers", Kind: Map, Doc: "name to text, or to a list of texts for a header that comes several times"},
	{Name: "body", Kind: Any, Doc: "the response's body; it is sent as it is written here"},
	{Name: "after", Kind: Seconds, Doc: "time that passes before the response comes; the test does not wait"},
}

var expectFields = []Field{
	{Name: "stoppedBy", Kind: Any, Doc: "the ids of all rules that are met at the end, in order; a single one may stand without a list"},
	{Name: "reason", Kind: Text, Doc: "the id of the first of them"},
	{Name: "outcome", Kind: Text, Values: outcomeNames(), Doc: "`complete`, `limited`, `guarded` or `failed`"},
	{Name: "message", Kind: Text, Doc: "text that the message about the end contains"},
	{Name: "pages", Kind: Integer, Doc: "how many pages are obtained"},
	{Name: "items", Kind: Any, Doc: "how many items come out, or the list of them, byte for byte but for insignificant whitespace"},
	{Name: "requests", Kind: List, Each: &Field{Kind: Text}, Doc: "what is asked for, in order: `GET /v1/users?page=1`, without credentials; a body may follow after a space"},
	{Name: "exit", Kind: Integer, Doc: "the exit status of `stopwhen run`"},
	{Name: "error", Kind: Text, Doc: "text that the error contains"},
	{Name: "findings", Kind: List, Each: &Field{Kind: Text, Values: auditIDs()}, Doc: "the ids of what the audit finds: `audit.token`"},
	{Name: "kept", Kind: Map, Doc: "what is kept for the next run, by name"},
}

// test reads one test.
func (d *decoder) test(path string, s settings) Test {
	t := Test{Name: s["name"].text(), Job: s["job"].text(), Kept: membersOf(s["kept"].object()), Expect: d.expect(s.under("expect")), Path: path}
	pages, _ := s["pages"].Value.([]any)
	for i, v := range pages {
		t.Pages = append(t.Pages, d.answer(diag.Index(s["pages"].Path, i), v))
	}
	return t
}

// answer reads a page of a test: a body as it is, or a whole response.
func (d *decoder) answer(path string, v any) Answer {
	object, isObject := value.Members(v)
	if _, isList := v.([]any); !isList && !isObject {
		d.faults.Errorf(diag.Value(path), "want an object or a list, got %s", found(v)).
			WithHint(`a response is the body itself, {"data": []}, or {"status": 503, "body": …}`)
		return Answer{}
	}
	if !isObject || !d.wholeResponse(path, object) {
		return Answer{Body: d.raw(path, v)}
	}
	read := d.object(path, object, answerFields)
	a := Answer{Status: read["status"].number(), Headers: d.answerHeaders(read["headers"])}
	if body, ok := object.Get("body"); ok {
		a.Body = d.raw(path+".body", body)
	}
	if after, ok := value.Text(read["after"].Value); ok {
		a.After, _ = time.ParseDuration(after + "s")
	}
	return a
}

const asBody = `if this is the response's body, write {"body": …} around it`

// wholeResponse reports whether an object is a whole response and not a body: it
// has a body or a status, and no other keys than a response. It reports keys that
// are misspelt.
func (d *decoder) wholeResponse(path string, object Object) bool {
	known := names(answerFields)
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
		d.faults.Errorf(diag.Key(diag.Join(path, name)), "unknown key %q", name).WithHint(diag.DidYouMean(name, known) + " " + asBody)
	}
	if _, fault := convert(Status, status); hasStatus && status != nil && fault != "" {
		d.faults.Errorf(diag.Value(path+".status"), "want an HTTP status, got %s", found(status)).WithHint(asBody)
		return false
	}
	return len(misspelt) == 0
}

func (d *decoder) answerHeaders(s setting) http.Header {
	headers := http.Header{}
	for _, m := range s.object() {
		values, several := m.Value.([]any)
		if !several {
			values = []any{m.Value}
		}
		for _, v := range values {
			text, ok := value.Text(v)
			if !ok || strings.ContainsAny(text, "\r\n") {
				d.faults.Errorf(diag.Value(diag.Join(s.Path, m.Name)), "want the text of a header, got %s", found(v))
				continue
			}
			headers.Add(m.Name, text)
		}
	}
	return headers
}

func (d *decoder) expect(s settings) Expect {
	e := Expect{
		Reason: s["reason"].text(), Outcome: Outcome(s["outcome"].text()), Message: s["message"].text(), Error: s["error"].text(),
		Pages: optional(s["pages"]), Exit: optional(s["exit"]), Kept: membersOf(s["kept"].object()),
		Requests: all(s["requests"]), Findings: all(s["findings"]), StoppedBy: d.stoppedBy(s["stoppedBy"]),
	}
	items := s["items"]
	if list, ok := items.Value.([]any); ok {
		e.List = make([]json.RawMessage, len(list))
		for i, item := range list {
			e.List[i] = d.raw(diag.Index(items.Path, i), item)
		}
	} else if items.Value != nil {
		n, fault := convert(Integer, items.Value)
		if fault != "" {
			d.faults.Errorf(diag.Value(items.Path), "want a whole number, or a list of items, got %s", found(items.Value))
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
		d.inner(&s, Field{Each: &Field{Kind: Text}})
		return all(s)
	default:
		d.faults.Errorf(diag.Value(s.Path), "want the id of a rule, or a list of ids, got %s", found(v))
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

// all returns the texts of a list. An empty list differs from none.
func all(s setting) []string {
	if s.Value == nil {
		return nil
	}
	return append([]string{}, s.texts()...)
}

// raw is a value as JSON without insignificant whitespace: as it is written,
// where that is JSON, so that no digit of a number changes.
func (d *decoder) raw(path string, v any) json.RawMessage {
	text := d.faults.Source().Raw(path)
	if same, err := ParseJSON(diag.NewSource("", string(text))); err != nil || !reflect.DeepEqual(same, v) {
		if text, err = value.Marshal(v); err != nil {
			d.faults.Errorf(diag.Value(path), "this cannot be written as JSON: %v", err)
			return nil
		}
	}
	var b bytes.Buffer
	_ = json.Compact(&b, text) // it is valid
	return b.Bytes()
}

// membersOf is an object without its order; nil for none.
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

// checkTests reports what is wrong with tests that are valid each by itself, and
// fills in the only job.
func (c *Config) checkTests(faults *diag.Collector) {
	var ids []string
	for _, j := range c.Jobs {
		ids = append(ids, j.ID)
	}
	seen := map[string]bool{}
	for i := range c.Tests {
		t := &c.Tests[i]
		if t.Path == "" {
			t.Path = diag.Index(diag.Join(c.Path, "tests"), i)
		}
		if seen[t.Name] {
			faults.Errorf(diag.Value(diag.Join(t.Path, "name")), "a second test with the name %q", t.Name).
				WithHint("names tell tests apart, so they must differ")
		}
		seen[t.Name] = true
		switch {
		case t.Job == "" && len(ids) == 1:
			t.Job = ids[0]
		case t.Job == "":
			faults.Errorf(diag.Value(t.Path), "job is missing: with several jobs a test says which it tests").
				WithHint("there are " + strings.Join(ids, ", "))
		case !slices.Contains(ids, t.Job):
			faults.Errorf(diag.Value(diag.Join(t.Path, "job")), "no job %q", t.Job).
				WithHint(cmp.Or(diag.DidYouMean(t.Job, ids), "there are "+strings.Join(ids, ", ")))
		}
		if len(t.Pages) == 0 {
			faults.Errorf(diag.Value(diag.Join(t.Path, "pages")), "there is no page in it").WithHint(`a page is at least {} or []`)
		}
		t.Expect.check(faults, diag.Join(t.Path, "expect"))
	}
}

func (e Expect) check(faults *diag.Collector, path string) {
	if reflect.ValueOf(e).IsZero() {
		faults.Errorf(diag.Value(path), "expect says nothing").WithHint(`for instance {"stoppedBy": "pagenum.empty", "pages": 2, "items": 3}`)
	}
	for i, request := range e.Requests {
		if verb, target, _ := strings.Cut(request, " "); verb != strings.ToUpper(verb) || target == "" {
			faults.Errorf(diag.Value(diag.Index(diag.Join(path, "requests"), i)), "not a request: %s", found(request)).
				WithHint("write it like GET /v1/users?page=1")
		}
	}
}
