package language

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// FuzzLatestOf draws values of items. The greatest is one of them, no other is greater, and neither their
// order nor the page that they come on matters. A time that is moved back is no later.
func FuzzLatestOf(f *testing.F) {
	for _, text := range cursorLists {
		f.Add(text, "1h", "")
		f.Add(text, "1mo", "2006-01-02")
	}
	f.Fuzz(checkLatestOf)
}

func TestTheLatestOfItemsIsTheGreatest(t *testing.T) {
	for _, text := range cursorLists {
		checkLatestOf(t, text, "1h", "")
	}
}

var cursorLists = []string{
	`["2026-01-02", "2026-01-01T23:00:00-05:00", null, "N/A"]`, `[9, "10", 9007199254740993, 1.5e300]`, `["b", "a", ""]`,
	`[{"a": 1}, [2], true]`, `["1767312000", 1767312000000]`, `["Fri, 02 Jan 2026 03:04:05 GMT", "2026-01-02 03:04:05"]`,
}

func checkLatestOf(t *testing.T, text, lag, layout string) {
	var values []any
	if json.Unmarshal([]byte(text), &values) != nil || len(values) > 50 {
		return
	}
	items := make([]any, len(values))
	for i, v := range values {
		items[i] = map[string]any{"at": v}
	}
	latest := func(items []any, kept any) any {
		v, err := latestOf(items, "at", kept, layout)
		require.NoError(t, err)
		return v
	}
	all := latest(items, nil)
	same := func(other any) {
		a, b := cursorOf(&meter{}, all, layout), cursorOf(&meter{}, other, layout)
		require.Equal(t, a.rank, b.rank)
		require.False(t, a.after(b) || b.after(a), "%v and %v", all, other)
	}
	for cut := range len(items) + 1 {
		same(latest(items[cut:], latest(items[:cut], nil)))
	}
	slices.Reverse(items)
	same(latest(items, nil))
	for _, v := range values {
		require.False(t, cursorOf(&meter{}, v, layout).after(cursorOf(&meter{}, all, layout)), "%v is greater than %v", v, all)
	}
	if span, err := rules.ParseSpan(lag); err != nil || span.Number != nil || layout != "" {
		return
	}
	before, err := earlier(all, lag)
	if err != nil || before == nil {
		return
	}
	was, is := cursorOf(&meter{}, all, ""), cursorOf(&meter{}, before, "")
	if year := was.time.Year(); was.rank == timeCursor && is.rank == timeCursor && year > 1 && year < 9999 {
		require.False(t, is.time.After(was.time.Add(time.Second)), "%v less %s is %v", all, lag, before)
	}
}
