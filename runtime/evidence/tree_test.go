package evidence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// linesOf returns the job for the items of another one, whose requests send a value of the item.
func linesOf(t *testing.T) *compile.Job {
	return jobsOf(t, `{"method": "pagenum"}`, `{"id": "orders", "endpoint": "orders"}, {"id": "lines", "endpoint": "lines",
		"params": {"order": {"expr": "order.id"}}, "for": {"order": {"items": "orders"}}}`)[1]
}

func TestARestartOfTheParentIsAHintForItsChildren(t *testing.T) {
	job := linesOf(t)
	require.Nil(t, evidence.AuditRestart(job, []trace.Finding{{ID: "audit.total"}}))
	found := evidence.AuditRestart(job, []trace.Finding{{ID: "audit.total"}, {ID: "audit.restart"}})
	require.NotNil(t, found)
	require.Equal(t, rules.WeightHint, found.Weight)
	require.Contains(t, found.Message, "the list of orders was restarted")
}

func TestAFileThatLosesMoreThanHalfItsRowsIsAFinding(t *testing.T) {
	job := linesOf(t)
	require.Nil(t, evidence.AuditJob(job, trace.FindingShrank, rules.ListFacts{FileFacts: rules.FileFacts{File: "lines.ndjson", Rows: 50, Had: 100}}))
	found := evidence.AuditJob(job, trace.FindingShrank, rules.ListFacts{FileFacts: rules.FileFacts{File: "lines.ndjson", Rows: 49, Had: 100}})
	require.NotNil(t, found)
	require.Equal(t, "audit.shrank", found.ID)
	require.Contains(t, found.Message, "the list has 49 rows, less than half of the 100 in lines.ndjson")
}

func TestAValueThatIsNilInEveryPartitionIsEvidence(t *testing.T) {
	job := linesOf(t)
	require.Len(t, job.Computed, 1)
	weights := func(values ...any) (all []rules.Weight) {
		var seen evidence.Seen
		for _, v := range values {
			seen.Add(&evidence.Seen{Values: evidence.NewSubject(job).NilCounts(compile.ComputedValues{v})})
		}
		for _, f := range seen.Values.Findings(job, &evidence.MissingPaths{}) {
			all = append(all, f.Weight)
		}
		return all
	}
	require.Empty(t, weights(1, 2))
	require.Equal(t, []rules.Weight{rules.WeightHint}, weights(1, nil))
	require.Equal(t, []rules.Weight{rules.WeightEvidence}, weights(nil, nil))
	require.Equal(t, []rules.Weight{rules.WeightHint}, weights(nil, 1, nil))
}

func TestAPathThatNoItemHasIsFoundOnceForAllPages(t *testing.T) {
	job := linesOf(t)
	jobs := map[string]*compile.Job{job.ID(): job}
	var first, second, all evidence.MissingPaths
	first.Note(job, map[string]any{"name": "a"})
	second.Note(job, map[string]any{"id": 1})
	all.Merge(first.Save(), jobs)
	found := all.Finding(job, 1, nil, nil)
	require.NotNil(t, found)
	require.Contains(t, found.Message, "no item of orders has order.id, which lines reads")
	nilInAll := evidence.NewSubject(job).NilCounts(compile.ComputedValues{nil})
	require.Equal(t, rules.WeightEvidence, all.Finding(job, 1, nil, nilInAll).Weight)
	require.Empty(t, nilInAll.Findings(job, &all), "the path has a finding already")
	all.Merge(second.Save(), jobs)
	require.Nil(t, all.Finding(job, 1, nil, nil))
}
