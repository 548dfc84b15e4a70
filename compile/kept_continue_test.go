package compile

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAListContinuesFromTheValuesThatItReads(t *testing.T) {
	for _, c := range []struct {
		job, kept string
		continues bool
		lacks     string
	}{
		{`"params": {"t": {"expr": "kept.a"}}`, `{}`, false, ""},
		{`"params": {"t": {"expr": "kept.a"}}`, `{"b": 1}`, false, ""},
		{`"params": {"t": {"expr": "kept.a"}}`, `{"a": null, "b": 1}`, false, "kept.a"},
		{`"params": {"t": {"expr": "kept.a"}}`, `{"a": 1, "b": null}`, true, ""},
		{`"params": {"t": {"expr": "kept.a"}, "u": {"expr": "kept.b"}}`, `{"a": null, "b": 1}`, true, "kept.a"},
		{`"params": {"t": {"expr": "kept.a"}, "u": {"expr": "kept.b"}}`, `{"b": 1}`, true, ""},
		{`"params": {"t": {"expr": "kept.a ?? kept.b"}}`, `{"a": null, "b": 1}`, true, ""},
		{`"params": {"t": {"expr": "kept.a ?? kept.b"}, "u": {"expr": "kept.a"}}`, `{"a": null, "b": 1}`, true, "kept.a"},
		{`"params": {"t": {"expr": "kept.a ?? 1"}, "u": {"expr": "kept.b"}}`, `{"a": null, "b": 1}`, true, "kept.a"},
		{`"params": {"t": {"expr": "kept.a"}}, "filter": "kept.b == nil or item.x > kept.b"`, `{"a": null, "b": 1}`, true, "kept.a"},
		{`"params": {"t": {"expr": "kept.n"}, "u": {"expr": "kept.b"}}`, `{"n": 7, "b": null}`, true, ""}, // the audit compares the items
		{`"params": {"t": {"expr": "toJSON(kept)"}}`, `{"a": null, "b": 1}`, true, "kept.a"},
		{`"dataField": "data"`, `{"a": null, "b": 1}`, true, ""}, // it reads none, which is evidence
		{`"dataField": "data"`, `{"a": null}`, false, ""},
		{`"for": {"k": {"values": ["x", "y"]}}, "keepFor": "k", "params": {"t": {"expr": "kept.a"}}`,
			`{"a": {"x": 1, "y": null}}`, true, "kept.a (y)"},
		{`"for": {"k": {"values": ["x", "y"]}}, "keepFor": "k", "params": {"t": {"expr": "kept.a"}}`,
			`{"a": {"x": 1}, "b": {"y": 1}}`, true, ""},
		{`"for": {"k": {"values": ["x", "y"]}}, "keepFor": "k", "params": {"t": {"expr": "kept.a"}}`,
			`{"a": {"x": null, "y": null}, "b": {"x": 1, "y": 1}}`, false, "kept.a (x)"},
	} {
		t.Run(c.job+c.kept, func(t *testing.T) {
			var kept map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.kept), &kept))
			job := jobsOf(t, "{}", fmt.Sprintf(`{"id": "j", "endpoint": "j", %s, "pagination": {"method": "pagenum",
				"keep": {"a": "body.a", "b": "body.b", "n": "greatest(items, 'n', kept.n)"}}}`, c.job))[0]
			continues, lacks := job.Analysis().Continues(kept, false)
			require.Equal(t, c.continues, continues)
			require.Equal(t, c.lacks, lacks)
		})
	}
}
