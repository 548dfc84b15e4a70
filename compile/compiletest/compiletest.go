// Package compiletest compiles configurations for the tests of packages that run or describe compiled jobs.
package compiletest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Jobs compiles a configuration in JSON. A mistake in it ends the test.
func Jobs(tb testing.TB, text string) []*compile.Job {
	tb.Helper()
	_, jobs := Config(tb, text, nil)
	return jobs
}

// Config is [Jobs] in a rule language, which may be nil. It also returns the configuration.
func Config(tb testing.TB, text string, l *language.Language) (*rules.Config, []*compile.Job) {
	tb.Helper()
	source := diag.NewSource("c.json", text)
	root, err := rules.ParseJSON(source)
	require.NoError(tb, err)
	cfg, found := rules.Decode(source, root, rules.Options{})
	require.NoError(tb, found.Err())
	compiled, found := compile.Compile(cfg, compile.Options{Language: l})
	require.NoError(tb, found.Err())
	return cfg, compiled.Jobs
}
