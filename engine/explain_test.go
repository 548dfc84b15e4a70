package engine_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// golden compares a text with a file that -update rewrites.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestExplainOfAConfigurationThatUsesEveryOption(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	e, err := engine.LoadFile("testdata/everything.json")
	require.NoError(t, err)
	explanation := e.Explain()
	golden(t, "testdata/everything.explain.txt", explanation.String())
	text, err := json.MarshalIndent(explanation, "", "  ")
	require.NoError(t, err)
	golden(t, "testdata/everything.explain.json", string(text)+"\n")
	golden(t, "testdata/everything.explain.mmd", explanation.Mermaid())
	require.NotContains(t, explanation.String()+string(text)+explanation.Mermaid(), "never-printed")
}
