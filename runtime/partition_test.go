package runtime

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

func TestALabelDescribesTheValuesOfVariables(t *testing.T) {
	midnight := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, want string
		names      []string
		binding    map[string]any
	}{
		{"of no variables", "", nil, nil},
		{"without values", "", []string{"order"}, nil},
		{"a number", "order=1001", []string{"order", "month"}, map[string]any{"order": 1001}},
		{"an object", "order.id=1001", []string{"order"}, map[string]any{"order": value.ObjectOf("id", 1001)}},
		{"an object in an object", "order.by.id=7, order.id=1", []string{"order"}, map[string]any{"order": value.ObjectOf("by", value.ObjectOf("id", 7), "id", 1)}},
		{"a window", "month=2026-01-01 to 2026-02-01", []string{"month"}, map[string]any{
			"month": value.ObjectOf("from", midnight, "to", midnight.AddDate(0, 1, 0)),
		}},
		{"a time", "at=2026-01-01T01:00:00Z", []string{"at"}, map[string]any{"at": midnight.Add(time.Hour)}},
		{"nil", "order=nil", []string{"order"}, map[string]any{"order": nil}},
		{"a list", "order=a list", []string{"order"}, map[string]any{"order": []any{1}}},
		{"more variables than are shown", "a=1, b=2, c=3, d=4, e=5, f=6, …", []string{"a", "b", "c", "d", "e", "f", "g"}, map[string]any{
			"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, Label(tt.names, tt.binding))
		})
	}
}

func TestAPartitionOfAChildHasTheValuesOfItsParents(t *testing.T) {
	jobs := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [
		{"id": "orders", "endpoint": "orders"},
		{"id": "lines", "endpoint": "orders/{order.id}/lines", "for": {"order": {"items": "orders"}}}]}}`)
	parent := Partition{Job: jobs[0]}
	require.Equal(t, "orders", parent.Name())
	require.Equal(t, failure.Config, parent.Blame())
	child := parent.With(jobs[1], "order", value.ObjectOf("id", 5))
	require.Nil(t, parent.Binding)
	require.Equal(t, "lines (order.id=5)", child.Name())
	require.Equal(t, failure.Response, child.Blame())
}

func TestAResultTellsEvidenceFromHints(t *testing.T) {
	found := []trace.Finding{{ID: "a", Weight: rules.WeightEvidence}, {ID: "b", Weight: rules.WeightHint}}
	require.Equal(t, found[:1], (&Result{Findings: found}).Evidence())
	require.Empty(t, (&Result{Findings: found[1:]}).Evidence())
	for outcome, ended := range map[rules.Outcome]bool{rules.Complete: true, rules.Limited: true, rules.Failed: false, "": false} {
		t.Run(string(outcome), func(t *testing.T) {
			require.Equal(t, ended, (&Result{Outcome: outcome}).Ended())
		})
	}
}

func TestAResultThatNoRunCanHaveProducedIsRefused(t *testing.T) {
	for _, tt := range []struct {
		refused string // "" if the result is accepted
		change  func(*Result)
	}{
		{"", func(*Result) {}},
		{"", func(r *Result) { r.Pages, r.Items, r.Seconds = maxCount, maxCount, maxCount }},
		{`the outcome of job "users" is "won"`, func(r *Result) { r.Outcome = "won" }},
		{"the number of pages is -1", func(r *Result) { r.Pages = -1 }},
		{"the number of items is 9007199254740993", func(r *Result) { r.Items = maxCount + 1 }},
		{"the number of filtered items is -2", func(r *Result) { r.Filtered = -2 }},
		{"the number of bytes is -3", func(r *Result) { r.Bytes = -3 }},
		{"the running time is -1 seconds", func(r *Result) { r.Seconds = -1 }},
		{"the running time is +Inf seconds", func(r *Result) { r.Seconds = math.Inf(1) }},
		{"the number of partitions is -1", func(r *Result) { r.Partitions = &PartitionCounts{Count: -1} }},
		{"the number of skipped partitions is -1", func(r *Result) { r.Partitions = &PartitionCounts{Skipped: -1} }},
		{"the number of limited partitions is -1", func(r *Result) { r.Partitions = &PartitionCounts{Limited: -1} }},
	} {
		t.Run(cmp.Or(tt.refused, "accepted"), func(t *testing.T) {
			result := Result{Job: "users", Outcome: rules.Complete}
			tt.change(&result)
			if err := result.Check(); tt.refused == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tt.refused)
			}
		})
	}
}

func TestACheckpointOfAListIsChecked(t *testing.T) {
	r := judged(t, 1)
	_, more, err := r.nextRequest()
	require.NoError(t, err)
	require.True(t, more)
	secrets := r.Concealer(t.Context())
	for decision, ended := range map[trace.Decision]bool{trace.Continue: false, trace.Stop: true} {
		t.Run(string(decision), func(t *testing.T) {
			r.current.delivery.Page = &Page{Record: trace.Record{Decision: decision}}
			if ended {
				r.state.Result.Outcome = rules.Complete
			}
			token, err := r.checkpoint()
			require.NoError(t, err)
			got, err := Checkpoint(token).CheckList(secrets, "users")
			require.NoError(t, err)
			require.Equal(t, ended, got)
			require.Equal(t, ended, Checkpoint(token).Ended())
			_, err = Checkpoint(token).CheckList(secrets, "orders")
			require.EqualError(t, err, `it belongs to job "users"`)
		})
	}
	for text, refused := range map[string]string{
		`{"version": 2}`: "it has version 2, this program reads version 1",
		`{"version": 1, "done": true, "result": {"job": "users"}}`:     `the outcome of job "users" is ""`,
		`{"version": 1, "result": {"job": "users", "partitions": {}}}`: `the checkpoint of a single list of job "users" holds a result for all partitions`,
		`{"version": 1, "result": {"job": "users"}, "elapsed": -1}`:    "the running time is -1ns",
		`{"version": 1, "result": {"job": "users"}, "restarts": -1}`:   "the number of restarts is -1",
		`{"version": 1, "result": {"job": "users", "pages": -1}}`:      "the number of pages is -1",
	} {
		t.Run(refused, func(t *testing.T) {
			_, err := Checkpoint(json.RawMessage(text)).CheckList(secrets, "users")
			require.EqualError(t, err, refused)
		})
	}
	for _, name := range []string{
		"page", "count", "bytes", "status", "sameItems", "repeatedItems", "emptyPages",
		"total.pages", "total.items", "total.bytes", "total.seconds",
		"first.page", "first.count", "first.total.items", "prev.page", "prev.total.seconds",
	} {
		for _, n := range []string{"-1", "9007199254740994"} {
			t.Run(name+" "+n, func(t *testing.T) {
				place, path := "context", strings.Split(name, ".")
				if path[0] == "prev" {
					place, path = "last", path[1:]
				}
				number := n
				if strings.HasSuffix(name, "seconds") {
					number += ".0"
				}
				value := strings.Join(path, `": {"`) + `": ` + number + strings.Repeat("}", len(path))
				text := `{"version": 1, "result": {"job": "users"}, "` + place + `": {"` + value + "}"
				_, err := Checkpoint(json.RawMessage(text)).CheckList(secrets, "users")
				require.ErrorContains(t, err, name+" is ")
			})
		}
	}
}
