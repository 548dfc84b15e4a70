package configtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Sample writes a test of the first job to start from, as the key `tests` of a
// configuration. It tries one to three pages with at most one item, and returns the
// first test that passes, or else the last one.
func (s *Suite) Sample() string {
	job := s.Jobs[0].Spec()
	full, empty := []any{rules.Object{{Name: "id", Value: 1}}}, []any{}
	var pages []any
	var tried Result
	for _, lists := range [][][]any{{full, empty}, {full}, {empty}, {full, full}, {empty, empty}, {full, full, full}, {empty, empty, empty}} {
		t := rules.Test{Job: job.ID}
		pages = nil
		for _, items := range lists {
			page, content := samplePage(items, job)
			body, _ := value.Marshal(content)
			pages, t.Pages = append(pages, page), append(t.Pages, rules.TestResponse{Body: body})
		}
		if tried = s.run(context.Background(), t, newCoverage()); tried.OK {
			break
		}
	}
	return s.sample(pages, tried)
}

// pageOf returns a response with the items at the path of the job.
func pageOf(items []any, field *rules.DataField) any {
	var page any = items
	if field == nil {
		return page
	}
	for _, key := range slices.Backward(field.Keys) {
		page = rules.Object{{Name: key, Value: page}}
	}
	return page
}

// sample writes a test that expects the result of a run.
func (s *Suite) sample(pages []any, tried Result) string {
	expect := rules.Object{}.With("outcome", string(tried.Result.Outcome))
	if tried.OK {
		var by any = tried.Result.StoppedBy
		if len(tried.Result.StoppedBy) == 1 {
			by = tried.Result.StoppedBy[0]
		}
		expect = rules.Object{}.With("stoppedBy", by).With("pages", tried.Result.Pages).With("items", tried.Result.Items)
	}
	head := rules.Object{}.With("name", "stops after "+wording.Counted(len(pages), "page"))
	if len(s.Jobs) > 1 {
		head = head.With("job", tried.Job)
	}
	unclosed := strings.TrimSuffix(spaced(head), "}")
	return fmt.Sprintf("  \"tests\": [\n    %s,\n     \"pages\": %s,\n     \"expect\": %s}\n  ]", unclosed, spaced(pages), spaced(expect))
}

// spaced writes a value as JSON on one line, with spaces where people write them.
func spaced(v any) string {
	text, _ := value.Marshal(v)
	return strings.NewReplacer(`":`, `": `, `,"`, `, "`, `},{`, `}, {`, `],[`, `], [`).Replace(string(text))
}

// contentTypes has the content types of the formats other than JSON.
var contentTypes = map[rules.Format]string{
	rules.FormatNDJSON: "application/x-ndjson", rules.FormatCSV: "text/csv", rules.FormatXML: "application/xml",
	rules.FormatAuto: "text/plain",
}

// bodyOf returns the body of a page and its content type. In a test of a job whose format
// is not JSON, a body that is a string is sent as its text.
func bodyOf(answer rules.TestResponse, format rules.Format) (body []byte, contentType string) {
	var text string
	if contentType = contentTypes[format]; contentType != "" && json.Unmarshal(answer.Body, &text) == nil {
		return []byte(text), contentType
	}
	return answer.Body, "application/json"
}

// samplePage returns a page with items as a test has it, and its body: as JSON, or as a
// string that [bodyOf] sends as its text.
func samplePage(items []any, job *rules.Job) (page, body any) {
	text := ""
	switch job.Response.Format {
	case rules.FormatNDJSON:
		text = strings.Repeat("{\"id\": 1}\n", len(items))
	case rules.FormatCSV:
		if job.Response.Header {
			text = "id\n"
		}
		text += strings.Repeat("1\n", len(items))
	case rules.FormatXML:
		text = sampleXML(job.DataField.Keys, len(items))
	default:
		page = pageOf(items, job.DataField)
		return page, page
	}
	return rules.Object{{Name: "body", Value: text}}, text
}

// sampleXML returns a document with a number of elements at a path.
func sampleXML(path []string, items int) string {
	if len(path) == 0 {
		path = []string{"item"}
	}
	last := len(path) - 1
	text := strings.Repeat("<"+path[last]+"><id>1</id></"+path[last]+">", items)
	for _, name := range slices.Backward(path[:last]) {
		text = "<" + name + ">" + text + "</" + name + ">"
	}
	return text
}
