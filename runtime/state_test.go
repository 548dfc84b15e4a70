package runtime

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// drawValue draws a value that an expression may have.
func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 10).Draw(t, "kind")
	if depth == 0 {
		kind %= 8
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.String().Draw(t, "text")
	case 3:
		return rapid.Int().Draw(t, "int")
	case 4:
		return rapid.Float64().Draw(t, "float") + 0
	case 5:
		return json.Number("123456789012345678901234567890")
	case 6:
		return time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(t, "time"), 5).UTC()
	case 7:
		return time.Duration(rapid.Int64().Draw(t, "duration"))
	case 8:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	case 9:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			object[rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "key")] = drawValue(t, depth-1)
		}
		return object
	}
	object := rules.Object{}
	for range rapid.IntRange(0, 3).Draw(t, "length") {
		object = object.With(rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "key"), drawValue(t, depth-1))
	}
	return object
}

// Numbers keep their digits and kind, objects their order, times their type.
func TestASnapshotRestoresEveryValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		saved := snapshot[any]{drawValue(t, 3)}
		raw, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		var restored snapshot[any]
		if err := json.Unmarshal(raw, &restored); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		require.Equal(t, saved, restored, string(raw))
	})
}

func TestASnapshotRefusesWhatJSONCannotHold(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
	}{{"not a number", math.NaN()}, {"infinity", math.Inf(1)}, {"function", func() {}}, {"struct", struct{}{}}} {
		t.Run(c.name, func(t *testing.T) {
			_, err := json.Marshal(snapshot[any]{map[string]any{"state": map[string]any{"a": []any{0, c.value}}}})
			require.ErrorContains(t, err, "state.a[1] ")
			require.ErrorContains(t, err, "cannot be saved")
		})
	}
}

// A checkpoint has all of the state but what comes from the configuration or the
// next response.
func TestACheckpointRestoresTheState(t *testing.T) {
	r := judged(t, 1)
	r.Result.Kept = map[string]any{"since": 9007199254740993}
	c := &r.Context.Value
	c.First = &rules.Past{Page: 1, Count: 2, Total: rules.Total{Seconds: 1}, Items: []any{json.Number("123456789012345678901234567890")}}
	r.Last.Value = c.First
	r.Exchanges.add(document.DigestOf([]byte("a"), document.Digest{}), 0)
	r.Base = "https://user:pass@api.test/v1/users?token=secret#f"
	_, more, err := r.nextRequest()
	require.NoError(t, err)
	require.True(t, more)
	token, err := r.checkpoint(&Page{Record: Record{Decision: Continue}})
	require.NoError(t, err)
	require.NotContains(t, string(token), "pass")
	require.NotContains(t, string(token), "secret")

	resumed := judged(t, 1)
	request, more, err := resumed.resume(t.Context(), token)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, rules.Object{{Name: "limit", Value: 1000}, {Name: "offset", Value: 1000}}, request.Params)
	require.Equal(t, map[string]any{"since": json.Number("9007199254740993")}, resumed.Result.Kept)
	require.Equal(t, "https://api.test/v1/users", resumed.Base)
	require.Equal(t, r.Exchanges, resumed.Exchanges)
	require.Equal(t, r.Last, resumed.Last)
	again := resumed.Context.Value
	require.Equal(t, map[string]any{"offset": 1000}, again.State)
	require.Equal(t, c.First, again.First)
	require.Equal(t, c.Total, again.Total)
	require.Equal(t, c.Limit, again.Limit)
	require.Nil(t, again.Body, "the body is not saved")

	second, err := resumed.checkpoint(&Page{Record: Record{Decision: Continue}})
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
		{"exchange", `{"version": 1, "exchanges": "AAAA"}`, "not a list of digests"},
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

// Few exchanges are found without a map, and many with one.
func TestExchangesAreFound(t *testing.T) {
	var all exchanges
	digest := func(n int) document.Digest { return document.DigestOf(fmt.Append(nil, n), document.Digest{}) }
	for page := 1; page <= 3*maxExchanges; page++ {
		_, known := all.find(digest(page))
		require.False(t, known)
		all.add(digest(page), page)
		all.add(digest(page), page+1)
		for _, earlier := range []int{1, (page + 1) / 2, page} {
			found, known := all.find(digest(earlier))
			require.True(t, known)
			require.Equal(t, earlier, found, "the first page that had it")
		}
	}
	require.LessOrEqual(t, len(all.latest), 2*maxExchanges)
}
