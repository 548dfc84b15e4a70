package runtime

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A checkpoint has all of the state but what comes from the configuration or the
// next response.
func TestACheckpointRestoresTheState(t *testing.T) {
	r := judged(t, 1)
	r.state.Result.Kept = map[string]any{"since": 9007199254740993}
	c := r.pageContext()
	c.First = &rules.Past{Page: 1, Count: 2, Total: rules.Total{Seconds: 1}, Items: []any{json.Number("123456789012345678901234567890")}}
	r.state.Last.Value = c.First
	r.state.Exchanges.Put(document.DigestOf([]byte("a"), document.Digest{}), 1)
	r.state.Base = "https://user:pass@api.test/v1/users?token=secret#f"
	_, more, err := r.nextRequest()
	require.NoError(t, err)
	require.True(t, more)
	r.current.delivery.Page = &Page{Record: trace.Record{Decision: trace.Continue}}
	token, err := r.checkpoint()
	require.NoError(t, err)
	require.NotContains(t, string(token), "pass")
	require.NotContains(t, string(token), "secret")

	resumed := judged(t, 1)
	request, more, err := resumed.resume(t.Context(), token)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, rules.Object{{Name: "limit", Value: 1000}, {Name: "offset", Value: 1000}}, request.Params)
	require.Equal(t, map[string]any{"since": json.Number("9007199254740993")}, resumed.state.Result.Kept)
	require.Equal(t, "https://api.test/v1/users", resumed.state.Base)
	require.Equal(t, r.state.Exchanges, resumed.state.Exchanges)
	require.Equal(t, r.state.Last, resumed.state.Last)
	again := resumed.state.Context.Value
	require.Equal(t, map[string]any{"offset": 1000}, again.State)
	require.Equal(t, c.First, again.First)
	require.Equal(t, c.Total, again.Total)
	require.Equal(t, c.Limit, again.Limit)
	require.Nil(t, again.Body, "the body is not saved")

	resumed.current.delivery.Page = r.current.delivery.Page
	second, err := resumed.checkpoint()
	require.NoError(t, err)
	withoutTimes := func(token []byte) map[string]any {
		var out map[string]any
		require.NoError(t, json.Unmarshal(token, &out))
		delete(out, "elapsed")
		delete(out["result"].(map[string]any), "seconds")
		return out
	}
	require.Equal(t, withoutTimes(token), withoutTimes(second))
}

func TestAnUnusableCheckpointIsRefused(t *testing.T) {
	for _, c := range []struct{ name, token, want string }{
		{"empty", ``, "unexpected end of JSON input"},
		{"null", `null`, "version 0"},
		{"list", `[]`, "cannot unmarshal array"},
		{"no version", `{"content": "x"}`, "it has version 0"},
		{"digest", `{"version": 1, "content": "x"}`, "not a digest"},
		{"version before this one", `{"done": true}`, "it has version 0, this program reads version 1"},
		{"version after this one", `{"version": 2, "done": true}`, "it has version 2, this program reads version 1"},
		{"number of parts", `{"version": 1, "result": {"job": "users"}, "parts": [1, 2, 3, 4, 5]}`, "the next request has 2 parts, but 5 are given"},
		{"number too large", `{"version": 1, "context": {"state": {"a": 1e999}}}`, "1e999"},
		{"exchange", `{"version": 1, "exchanges": "AAAA"}`, "not a list of pairs"},
		{"another job", `{"version": 1, "done": true, "result": {"job": "groups"}}`, `it belongs to job "groups"`},
		{"type of a field", `{"version": 1, "context": {"page": "one"}}`, "page: want int, got a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := judged(t, 1).resume(t.Context(), json.RawMessage(c.token))
			require.ErrorIs(t, err, failure.ErrState)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestKeptValuesNeedNoRedactor(t *testing.T) {
	job := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "single", "keep": {"since": "greatest(items, 'at')"}}},
		"config": {"jobs": [{"id": "a", "endpoint": "a/{v}", "for": {"v": {"values": ["x"]}}, "keepFor": "v"}]}}`)[0]
	loop := &Loop{EarlierRuns: EarlierRuns{KeptBefore: map[string]map[string]any{"a": {"since": map[string]any{"x": "2026"}}}}}
	key, err := loop.KeepKey(&language.Machine{}, job, &rules.Context{Partition: map[string]any{"v": "x"}})
	require.NoError(t, err)
	kept, err := loop.RevealKept(t.Context(), job, key)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"since": "2026"}, kept)
}
