package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

func TestSettingsAreThoseWrittenAndTheDefaultsInForce(t *testing.T) {
	root, err := rules.ParseJSON(diag.NewSource("c.json", `{"parameters": {
		"api": {"baseUrl": "https://x.example/", "http": {"maxRetries": 2}, "pagination": {"method": "multiple", "scrollers": {
			"a": {"method": "offset", "limit": 10, "stopRules": ["count == 0", {"when": "body.done"}]}}}},
		"config": {"jobs": [{"endpoint": "users"}, {"endpoint": "orders", "for": {"u": {"items": "users"}}, "dataType": "o"}]}}}`))
	require.NoError(t, err)
	written, defaults := map[string]bool{}, map[string]any{}
	for _, s := range rules.Builtin().ConfiguredKeys(root, rules.Spec) {
		require.NotEmpty(t, s.Path)
		if s.Written {
			require.False(t, written[s.Path], s.Path)
			written[s.Path] = true
			continue
		}
		defaults[s.Path] = s.Default
	}
	for _, path := range []string{
		"parameters.api.baseUrl", "parameters.api.http.maxRetries", "parameters.api.pagination.scrollers.a.limit",
		"parameters.api.pagination.scrollers.a.stopRules[1].when", "parameters.config.jobs[1].for.u.items",
	} {
		require.True(t, written[path], path)
		require.NotContains(t, defaults, path)
	}
	for path, want := range map[string]any{
		"parameters.api.dialect": "spec", "parameters.api.http.retryHeader": "Retry-After",
		"parameters.api.pagination.scrollers.a.offsetParam":             "offset",
		"parameters.api.pagination.scrollers.a.stopRules[1].outcome":    "complete",
		"parameters.api.pagination.scrollers.a.guards.repeatedExchange": "fail",
		"parameters.config.jobs[0].dataType":                            "users", // the endpoint
		"parameters.config.jobs[1].onPartitionError":                    "fail",
	} {
		require.Equal(t, want, defaults[path], path)
	}
	for _, path := range []string{
		"parameters.config.jobs[0].onPartitionError", // it has no partitions
		"parameters.api.http.burst",                  // without a rate
		"parameters.config.jobs[1].dataType",         // it is written
		"parameters.config.debug",                    // false is nothing
		"parameters.api.retryConfig.maxRetries",      // api.http has it
	} {
		require.NotContains(t, defaults, path)
	}
}
