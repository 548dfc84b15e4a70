package configtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Sample writes a test of the first job to start from, as the key `tests` of a
// configuration. It tries one to three pages with one item or none, and returns the
// first test that passes, or else the last one.
func (s *Suite) Sample() string {
	job := s.Jobs[0].Set.Job
	full, empty := []any{rules.Object{{Name: "id", Value: 1}}}, []any{}
	var pages []any
	var tried Result
	for _, lists := range [][][]any{{full, empty}, {full}, {empty}, {full, full}, {empty, empty}, {full, full, full}, {empty, empty, empty}} {
		t := rules.Test{Job: job.ID}
		pages = nil
		for _, items := range lists {
			page, content := samplePage(items, job)
			body, _ := value.Marshal(content)
			pages, t.Pages = append(pages, page), append(t.Pages, rules.Answer{Body: body})
		}
		if tried = s.run(context.Background(), t, newCoverage()); tried.OK {
			break
		}
	}
	return s.sample(pages, tried)
}

// pageOf returns a response with the items at the path of the job.
func pageOf(items []any, at *rules.DataField) any {
	var page any = items
	if at == nil {
		return page
	}
	for _, key := range slices.Backward(at.Keys) {
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
	head := rules.Object{}.With("name", "stops after "+value.Counted(len(pages), "page"))
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
