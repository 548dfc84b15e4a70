package apinames_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/apinames"
)

func TestAnErrorSignTellsErrorsFromWordsOfSuccess(t *testing.T) {
	for _, c := range []struct {
		kind apinames.ErrorKind
		v    any
		want bool
	}{
		{apinames.ErrorValue, "quota exceeded", true},
		{apinames.ErrorValue, true, true},
		{apinames.ErrorValue, 17, true},
		{apinames.ErrorValue, map[string]any{"message": "no access"}, true},
		{apinames.ErrorValue, map[string]any{"code": 17}, true},
		{apinames.ErrorValue, []any{"no access"}, true},
		{apinames.ErrorValue, nil, false},
		{apinames.ErrorValue, false, false},
		{apinames.ErrorValue, 0, false},
		{apinames.ErrorValue, " ", false},
		{apinames.ErrorValue, "Success", false},
		{apinames.ErrorValue, map[string]any{}, false},
		{apinames.ErrorValue, map[string]any{"code": 0, "message": "OK"}, false},
		{apinames.ErrorValue, []any{}, false},
		{apinames.ErrorValue, []any{nil, map[string]any{}}, false},
		{apinames.ErrorFlag, true, true},
		{apinames.ErrorFlag, "true", true},
		{apinames.ErrorDenial, false, true},
		{apinames.ErrorDenial, nil, false},
		{apinames.ErrorDenial, 0, true},
		{apinames.ErrorDenial, "false", true},
		{apinames.ErrorDenial, 1, false},
		{apinames.ErrorDenial, "denied", false},
		{apinames.ErrorValue, []any{"End of list."}, false},
		{apinames.ErrorWord, "FAILED", true},
		{apinames.ErrorWord, "internal events", false},
		{apinames.ErrorStatus, "Failure", true},
		{apinames.ErrorStatus, "NOK", true},
		{apinames.ErrorStatus, "OVER_QUERY_LIMIT", true},
		{apinames.ErrorStatus, "REQUEST_DENIED", true},
		{apinames.ErrorStatus, "-1", true},
		{apinames.ErrorStatus, "ZERO_RESULTS", false},
		{apinames.ErrorStatus, "expired", false}, // a filter that is repeated
		{apinames.ErrorStatus, "0", false},
		{apinames.ErrorStatus, "500", true},
		{apinames.ErrorStatus, "200", false},
		{apinames.ErrorStatus, "30", false}, // APIs have codes of their own for no data
		{apinames.ErrorStatus, "40000", false},
		{apinames.ErrorStatus, -1, false},
		{apinames.ErrorCode, -1, true},
		{apinames.ErrorCode, 1, false},
		{apinames.ErrorEntry, []any{map[string]any{"type": "info"}, map[string]any{"type": "error"}}, true},
		{apinames.ErrorEntry, []any{map[string]any{"type": "error", "text": "No records found"}}, false},
		{apinames.ErrorEntry, []any{map[string]any{"id": 1}, "error"}, false},
		{apinames.ErrorEntry, "error", false},
		{apinames.ErrorRemark, "runtime error: Query timed out", true},
		{apinames.ErrorRemark, "no runtime error", false},
		{apinames.ErrorStatus, "TooManyRequests", true},
		{apinames.ErrorStatus, "com.amazon#ProvisionedThroughputExceededException", true},
		{apinames.ErrorStatus, "NotFound", false},
		{apinames.ErrorCut, []any{"results truncated due to limit"}, true},
		{apinames.ErrorCut, map[string]any{"type": "incomplete"}, true},
		{apinames.ErrorCut, []any{"the parameter sort is deprecated"}, false},
		{apinames.ErrorCut, map[string]any{"type": "complete"}, false},
		{apinames.ErrorList, []any{"zones/a"}, true},
		{apinames.ErrorList, []any{}, false},
		{apinames.ErrorList, 3, false}, // of tests
		{apinames.ErrorWord, "finished", false},
		{apinames.ErrorWord, 500, false},
		{apinames.ErrorCode, 404, true},
		{apinames.ErrorCode, 200, false},
		{apinames.ErrorCode, 10000, false},
		{apinames.ErrorCode, "404", false},
	} {
		sign := apinames.ErrorSign{Kind: c.kind}
		require.Equal(t, c.want, sign.Matches(c.v), "%s of %#v", c.kind, c.v)
		raw, err := json.Marshal(c.v)
		require.NoError(t, err)
		require.True(t, !c.want || sign.MayMatch(raw) || c.v == 0, "%s of %s", c.kind, raw)
	}
}

func TestAStatusOfALaterPageIsComparedWithPageOne(t *testing.T) {
	for _, c := range []struct {
		key         string
		v           any
		failed, own bool
	}{
		{"code", 50001, false, true},
		{"code", "50001", false, true},
		{"code", 204, false, false},
		{"code", 7, false, false},
		{"code", 404, true, true},
		{"status", "processing", false, true},
		{"status", "active", false, false},
		{"exceptionMessage", "Deadlock victim", true, false},
		{"exceptionMessage", "", false, false},
		{"last_error", "none", false, false},
		{"terror", "x", false, false}, // no word for an error
		{"detail", "Request was throttled.", true, false},
		{"detail", "2 of 5", false, false},
		{"success", 0, true, false},
	} {
		require.Equal(t, c.failed, apinames.Key(c.key).IsFailedStatus(c.v), "%s: %v", c.key, c.v)
		require.Equal(t, c.own, apinames.Key(c.key).IsOwnCode(c.v), "%s: %v", c.key, c.v)
	}
}

func TestListsAboutFailuresAreKnownByTheirNames(t *testing.T) {
	for _, name := range []string{"executionErrors", "failedLocation", "unreachable", "warnings", "partial_failures"} {
		require.True(t, apinames.Key(name).ListsFailures(), name)
		require.True(t, apinames.Key(name).ListsReports(), name)
	}
	for _, name := range []string{"items", "timeSeries", "messages", "notes", "locations"} {
		require.False(t, apinames.Key(name).ListsFailures(), name)
	}
	for _, name := range []string{"messages", "Messages", "diagnostics"} {
		require.True(t, apinames.Key(name).ListsReports(), name)
	}
	for _, name := range []string{"items", "results", "response", "users", "details", "notes", "status"} {
		require.False(t, apinames.Key(name).ListsReports(), name)
	}
}
