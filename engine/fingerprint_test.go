package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// A state has the partitions that are still to come, so it must not be used with others.
func TestAStateBelongsToItsPartitions(t *testing.T) {
	parts := func(job string) map[string]string {
		t.Helper()
		e, err := engine.Load("config.json", fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [%s]}}`, job))
		require.NoError(t, err)
		return e.Fingerprint()
	}
	const values = `{"endpoint": "x/{v}", "for": {"v": {"values": ["a", "b"]}}}`
	const windows = `{"endpoint": "x", "params": {"since": {"expr": "w.from"}}, "for": {"w": {"from": 0, "to": 100, "step": 10}}}`
	tests := []struct{ name, part, before, after string }{
		{"value", "requests", values, `{"endpoint": "x/{v}", "for": {"v": {"values": ["a", "c"]}}}`},
		{"step", "requests", windows, `{"endpoint": "x", "params": {"since": {"expr": "w.from"}}, "for": {"w": {"from": 0, "to": 100, "step": 20}}}`},
		{"overlap", "requests", windows,
			`{"endpoint": "x", "params": {"since": {"expr": "w.from"}}, "for": {"w": {"from": 0, "to": 100, "step": 10, "overlap": 1}}}`},
		{"policy", "rules", values, `{"endpoint": "x/{v}", "onPartitionError": "skip", "for": {"v": {"values": ["a", "b"]}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := parts(tt.before), parts(tt.after)
			require.Equal(t, before, parts(tt.before))
			require.NotEqual(t, before[tt.part], after[tt.part])
			delete(before, tt.part)
			delete(after, tt.part)
			require.Equal(t, before, after, "nothing else has changed")
		})
	}
}
