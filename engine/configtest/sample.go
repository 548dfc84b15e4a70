package configtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Sample writes a test of the first job, as the key `tests` of a configuration, to
// start from. It is found by trying: it passes where one to three pages of one
// item or none can pass.
func (s *Suite) Sample() string {
	job := s.Jobs[0].Set.Job
	full, empty := []any{rules.Object{{Name: "id", Value: 1}}}, []any{}
	var pages []any
	var tried Result
	for _, lists := range [][][]any{{full, empty}, {full}, {empty}, {full, full}, {empty, empty}, {full, full, full}, {empty, empty, empty}} {
		t := rules.Test{Job: job.ID}
		pages = nil
		for _, items := range lists {
			page := pageOf(items, job.DataField)
			body, _ := value.Marshal(page)
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
	for i := len(at.Keys) - 1; i >= 0; i-- {
		page = rules.Object{{Name: at.Keys[i], Value: page}}
	}
	return page
}

// sample writes a test that expects what was seen.
func (s *Suite) sample(pages []any, tried Result) string {
	expect := rules.Object{{Name: "outcome", Value: string(tried.Result.Outcome)}}
	if tried.OK {
		expect = rules.Object{{Name: "stoppedBy", Value: tried.Result.StoppedBy}, {Name: "pages", Value: tried.Result.Pages}, {Name: "items", Value: tried.Result.Items}}
		if len(tried.Result.StoppedBy) == 1 {
			expect[0].Value = tried.Result.StoppedBy[0]
		}
	}
	head := rules.Object{{Name: "name", Value: "stops after " + value.Counted(len(pages), "page")}}
	if len(s.Jobs) > 1 {
		head = head.With("job", tried.Job)
	}
	write := func(v any) string {
		text, _ := value.Marshal(v)
		return strings.NewReplacer(`":`, `": `, `,"`, `, "`, `},{`, `}, {`, `],[`, `], [`).Replace(string(text))
	}
	inner := write(head)
	return fmt.Sprintf("  \"tests\": [\n    %s,\n     \"pages\": %s,\n     \"expect\": %s}\n  ]", inner[:len(inner)-1], write(pages), write(expect))
}
