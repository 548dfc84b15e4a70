package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// compiled returns the jobs of a configuration.
func compiled(tb testing.TB, config string) []*compile.Job {
	source := diag.NewSource("c.json", config)
	root, err := rules.ParseJSON(source)
	require.NoError(tb, err)
	cfg, diagnostics := rules.Decode(source, root, rules.Options{})
	require.NoError(tb, diagnostics.Err())
	lowered, diagnostics := cfg.Lower()
	require.NoError(tb, diagnostics.Err())
	jobs, diagnostics := compile.Jobs(cfg, lowered, nil)
	require.NoError(tb, diagnostics.Err())
	return jobs
}
