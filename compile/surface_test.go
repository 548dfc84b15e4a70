package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/lists"
)

func TestTheSurfaceIsWhatAnAPIHasToProvide(t *testing.T) {
	one := func(v ResponseValue) Surface { return Surface{Values: []ResponseValue{v}} }
	for _, c := range []struct {
		name, pagination string
		want             Surface
	}{
		{"a flag", `{"method": "single", "stopRules": ["truthy(body.a.last)"]}`,
			one(ResponseValue{Path: []string{"a", "last"}, Judged: true, Flag: true})},
		{"a value that only fails the run", `{"method": "single", "stopRules": [{"when": "body.bad", "outcome": "failed"}]}`,
			one(ResponseValue{Path: []string{"bad"}, Judged: true, Fails: true, Failing: "body.bad"})},
		{"a header", `{"method": "single", "stopRules": ["header(\"X-Left\") == 7"]}`, one(ResponseValue{Header: "X-Left", Judged: true})},
		{"keys of items", `{"method": "single", "stopRules": ["items[-1].a.b == nil"]}`, Surface{Keys: [][]string{{"a", "b"}}}},
		{"what is sent and what is waited for", `{"method": "expression", "stopRules": ["count == 0"],
			"nextRequest": {"params": {"c": "body.c"}, "after": "body.wait"}}`,
			Surface{Values: []ResponseValue{{Path: []string{"c"}, Sent: true}, {Path: []string{"wait"}, Waits: true}}}},
	} {
		got := job(t, c.pagination).Analysis().Surface()
		require.Equal(t, c.want.Values, got.Values, c.name)
		require.Equal(t, c.want.Keys, got.Keys, c.name)
	}
}

func TestTheLiteralsOfASurfaceAreNoStatuses(t *testing.T) {
	require.Equal(t, []any{7}, job(t, `{"method": "single", "stopRules": ["status == 206 or count == 7"]}`).Analysis().Surface().Literals)
}

func TestAWatchIsAPathThatResponsesShouldHave(t *testing.T) {
	watched := map[string]Watch{}
	for _, w := range job(t, `{"method": "expression", "stopRules": [
		"body.last", "has(\"error\") and body.error == 1", {"when": "body.bad == true", "outcome": "failed"}],
		"nextRequest": {"params": {"c": "body.c"}}}`).Analysis().Watches() {
		watched[w.String()] = w
	}
	require.Len(t, watched, 4)
	require.False(t, watched["body.last"].Link)
	require.False(t, watched["body.last"].Optional)
	require.True(t, watched["body.error"].Optional, "the rule asks whether it is there")
	require.True(t, watched["body.bad"].Optional, "a response without the error is usual")
	require.True(t, watched["body.c"].Link, "the last page may lack it")
}

func TestDecisiveValuesDecideHowTheListGoesOn(t *testing.T) {
	decisive := func(pagination string) []string {
		return lists.Map(job(t, pagination).Analysis().Decisive(), func(r language.Read) string { return r.String() })
	}
	require.ElementsMatch(t, []string{"body.last", "count", "body.c"}, decisive(`{"method": "expression", "stopRules": ["body.last", "count == 0", "body.c == nil"],
		"nextRequest": {"params": {"c": "body.c"}}}`), "each once")
	require.Contains(t, decisive(`{"method": "offset", "limit": 5}`), "state.offset")
}
