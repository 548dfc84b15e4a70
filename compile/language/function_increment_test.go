package language

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/times"
)

func TestDatesWhoseTextDoesNotSortAreKnown(t *testing.T) {
	for _, text := range []string{"31/12/2025", "12-31-2025", "31 Dec 2025", "Dec 31, 2025", "Sep 2025", "september-2025", "Q4 2025", "q1/2026", "12/2025",
		"31/Dec/2025:10:00:00 +0000", "28JAN2026:01:00:00", "28JAN2026", "JAN2026", "28.Jan.2026", "Sep-26", "12-2025", "4Q2025", "H2 2025", "W52/2025",
		"Week 52, 2025", "31. Dezember 2025", "31 de diciembre de 2025", "11:00 AM", "1:00:30 p.m."} {
		require.True(t, hasUnknownDate(text), text)
	}
	for _, text := range []string{"2025-12-31", "2025-12", "2025 Q4", "May 2025 newsletter", "13/2025", "Q5 2025", "v10", "order 10-2025", "a/2025",
		"28JAN", "12-2099-1", "marvel-26", "1:1", "11:00", "2026-W05", "10 items", "v2.2025", "INV-2025", "H5 2025", "2026-Q2", "2026-03-01T10:00:00Z#17",
		"2026-03-01T10:00:00Z|a1"} {
		require.False(t, hasUnknownDate(text), text)
	}
}

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
	`["650000000000000000000001", "65000000000000000000000a"]`, `["1327e247", "20000000", "a0000000"]`,
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
	latest := func(items []any, kept any) (any, error) { return latestOf(items, "at", kept, layout) }
	all, err := latest(items, nil)
	if err != nil { // a date of an unknown form, or numbers beside other texts
		return
	}
	same := func(other any, err error) {
		if err != nil { // the times are on another page
			return
		}
		a, b := cursorOf(&meter{}, all, layout), cursorOf(&meter{}, other, layout)
		both := []cursor{a, b}
		require.NoError(t, align(both))
		require.False(t, both[0].after(both[1]) || both[1].after(both[0]), "%v and %v", all, other)
	}
	for cut := range len(items) + 1 {
		if kept, err := latest(items[:cut], nil); err == nil {
			same(latest(items[cut:], kept))
		}
	}
	slices.Reverse(items)
	same(latest(items, nil))
	for _, v := range values {
		order, ok := CompareCursors(v, all, layout)
		require.False(t, ok && order > 0, "%v is greater than %v", v, all)
	}
	if span, err := times.ParseSpan(lag); err != nil || span.Number != nil || layout != "" {
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

func TestLatestOfReadsTheFormsOfTimes(t *testing.T) {
	for _, c := range []struct{ older, newer string }{ // the text of the older time is the greater text
		{"Sun Mar 01 10:00:00 +0000 2026", "Mon Mar 02 10:00:00 +0000 2026"},
		{"Sun Mar  1 10:00:00 UTC 2026", "Mon Mar  2 10:00:00 UTC 2026"},
		{"Wed, 4 Mar 2026 10:00:00 GMT", "Fri, 6 Mar 2026 10:00:00 GMT"},
		{"2026/3/9 9:00:00", "2026/3/10 9:00:00"},
		{"2026-3-9 9:00", "2026-3-10 9:00"},
		{"2026-3-9", "2026-3-10"},
		{"2026/03/01 11:00:00 AM", "2026/03/01 01:00:00 PM"},
		{"2026-03-01 9:00 am", "2026-03-01 1:00 pm"},
		{"2026-Mar-09", "2026-Apr-10"},
		{"31-Jan-2026 10:00:00", "01-Feb-2026 10:00:00"},
		{"31 Dec 2025", "1 Jan 2026"},
		{"September 1, 2026", "October 1, 2026"},
		{"Mar 2, 2026 9:00:00 AM", "Mar 2, 2026 1:00:00 PM"},
		{"/Date(999999999000)/", "/Date(1767261700000+0000)/"},
	} {
		t.Run(c.newer, func(t *testing.T) {
			require.Greater(t, c.older, c.newer)
			v, err := latestOf([]any{map[string]any{"at": c.newer}, map[string]any{"at": c.older}}, "at", c.older)
			require.NoError(t, err)
			require.Equal(t, c.newer, v)
		})
	}
}

// TestANumberIsTheTimeThatItsDigitsSay: a later time would be that of items which the API then leaves out.
func TestANumberIsTheTimeThatItsDigitsSay(t *testing.T) {
	for _, test := range []struct {
		number any
		want   string
	}{
		{1767225600578287000, "2026-01-01T00:00:00.578287Z"},
		{1767225600578287123, "2026-01-01T00:00:00.578287123Z"},
		{"1767225600578287123", "2026-01-01T00:00:00.578287123Z"},
		{1767225600578287, "2026-01-01T00:00:00.578287Z"},
		{1767225600578, "2026-01-01T00:00:00.578Z"},
		{1767225600, "2026-01-01T00:00:00Z"},
		{1767225600.578294, "2026-01-01T00:00:00.578294Z"},
		{"1767225600.578294", "2026-01-01T00:00:00.578294Z"},
		{json.Number("1767225600.578294123"), "2026-01-01T00:00:00.578294123Z"},
		{"1767225600.578294123", "2026-01-01T00:00:00.578294123Z"},
		{"+1767225600.5782941239", "2026-01-01T00:00:00.578294123Z"}, // rounded down
		{json.Number("1767225600578.294123"), "2026-01-01T00:00:00.578294123Z"},
		{1.767225600578287e18, "2026-01-01T00:00:00.578287Z"},
		{json.Number("1.767225600578e12"), "2026-01-01T00:00:00.578Z"},
		{-1, "1969-12-31T23:59:59Z"},
		{-1.5, "1969-12-31T23:59:58.5Z"},
		{-1500000000001, "1922-06-20T21:19:59.999Z"},
		{json.Number("-0.00000000012345678901"), "1969-12-31T23:59:59.999999999Z"}, // rounded down
		{json.Number("99999999999999999999"), "5138-11-16T09:46:39.999999999Z"},
		{"20240503", "2024-05-03T00:00:00Z"}, // a day, and not a time in August 1970
		{"20240503120000", "2024-05-03T12:00:00Z"},
		{20240532, "1970-08-23T06:22:12Z"}, // not a day
	} {
		sent, err := earlier(test.number, nil, time.RFC3339Nano)
		require.NoError(t, err)
		require.Equal(t, test.want, sent, test.number)
		if isNumber(test.number) {
			read, err := date(&meter{}, []any{test.number})
			require.NoError(t, err)
			require.Equal(t, test.want, read.(time.Time).Format(time.RFC3339Nano), test.number)
		}
	}
	far, err := date(&meter{}, []any{1e300})
	require.NoError(t, err)
	long, err := date(&meter{}, []any{json.Number("1" + strings.Repeat("0", 2000))})
	require.NoError(t, err)
	require.Equal(t, far, long)
	require.Greater(t, far.(time.Time).Year(), 9999)
}

func TestALagIsSubtractedFromNumbersExactly(t *testing.T) {
	for _, test := range []struct{ number, lag, want any }{
		{1767225600578287123, "1s", 1767225599578287123},
		{1767225600578287, "1s", 1767225599578287},
		{1767225600578, "1s", 1767225599578},
		{1767225600, "1s", 1767225599},
		{json.Number("99999999999999999999"), "1s", json.Number("99999999998999999999")},
		{767225600578287123, 0, 767225600578287123}, // which may be an identifier
		{"767225600578287123", "0d", 767225600578287123},
		{7.5, 0, 7.5},
		{json.Number("1" + strings.Repeat("0", 40)), 0, json.Number("1" + strings.Repeat("0", 40))},
	} {
		got, err := earlier(test.number, test.lag)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
}

// TestADayWithoutSeparatorsIsComparedWithATime: as a count of seconds, it is in 1970, before each time that is sent.
func TestADayWithoutSeparatorsIsComparedWithATime(t *testing.T) {
	for _, day := range []any{20240503, "20240503"} {
		order, ok := CompareCursors(day, "2024-05-02", time.DateOnly)
		require.True(t, ok)
		require.Equal(t, 1, order)
	}
}

// TestTextsWithLongFractionsAreComparedExactly: as floats, they are equal.
func TestTextsWithLongFractionsAreComparedExactly(t *testing.T) {
	items := []any{map[string]any{"at": "1767225600.578294123"}, map[string]any{"at": "1767225600.578294124"}}
	latest, err := latestOf(items, "at")
	require.NoError(t, err)
	require.Equal(t, "1767225600.578294124", latest)
}

func TestLatestOfRefusesDatesThatItCannotRead(t *testing.T) {
	for _, text := range []string{
		"31/12/2025", "03/01/2026 01:00 PM", "31.12.2025 10:00", "28-03-26", "26-03-01 10:00", "Sun Mar  1 10:00:00 EST 2026",
		"2026-03-01 10:00:00 EST", "2026-03-01 1:00 p.m.", "2026-March-01", "1 Sept. 2026",
	} {
		_, err := latestOf([]any{map[string]any{"at": text}}, "at")
		require.ErrorContains(t, err, text, text)
	}
	for _, text := range []string{ // no dates, or dates that sort as texts
		"01HZX3J8P9QRSTVWXYZ0123456", "Mark 2", "2026-01-15-000123", "12-34-56", "2026-W09-1", "2026-03-01t10:00:00z", "v2026.13.1", "May",
	} {
		v, err := latestOf([]any{map[string]any{"at": text}}, "at")
		require.NoError(t, err)
		require.Equal(t, text, v)
	}
}

func TestLatestOfTakesIdentifiersOfOneFormForTexts(t *testing.T) {
	for _, c := range []struct {
		values []any
		want   any
	}{
		{[]any{"650000000000000000000001", "65000000000000000000000a", "N/A"}, "65000000000000000000000a"},
		{[]any{"1327e247", "a0000000"}, "a0000000"},
		{[]any{"1327e247", "20000000"}, "20000000"},
		{[]any{"20000000", "100000000"}, "100000000"},
		{[]any{"99", "unknown", "-", "100"}, "100"},
		{[]any{9, "draft", 10}, 10},
		{[]any{"1e3", "999"}, "1e3"},
	} {
		items := make([]any, len(c.values))
		for i, v := range c.values {
			items[i] = map[string]any{"id": v}
		}
		for range 2 {
			slices.Reverse(items)
			v, err := latestOf(items, "id")
			require.NoError(t, err)
			require.Equal(t, c.want, v)
			v, err = latestOf(items[1:], "id", c.values[len(c.values)-1])
			require.NoError(t, err)
			require.Equal(t, c.want, v)
			slices.Reverse(items)
			v, err = latestOf(items[:1], "id", c.want)
			require.NoError(t, err)
			require.Equal(t, c.want, v)
		}
	}
	v, err := extreme(identifier, 1)([]any{map[string]any{"id": "650000000000000000000001"}, map[string]any{"id": "65000000000000000000000a"}}, "id")
	require.NoError(t, err)
	require.Equal(t, "65000000000000000000000a", v)
}

func TestLatestOfRefusesNumbersBesideOtherTexts(t *testing.T) {
	for _, values := range [][]any{
		{"99965", "X-99932"}, {99965, "X-99932"}, {"10", "9f"}, {"12345", "ABC"}, {"650000000000000000000001", "65a"}, {"7", 9, "abc"},
	} {
		items := make([]any, len(values))
		for i, v := range values {
			items[i] = map[string]any{"id": v}
		}
		for range 2 {
			_, err := latestOf(items, "id")
			require.ErrorContains(t, err, "cannot be compared")
			_, err = latestOf(items[1:], "id", items[0].(map[string]any)["id"])
			if len(values) == 2 {
				require.ErrorContains(t, err, "cannot be compared")
			}
			slices.Reverse(items)
		}
	}
}

func TestAWordForNoValueIsNoIdentifier(t *testing.T) {
	_, err := eval(t, `{}`, `greatest([{"at": "2026-Q2"}, {"at": "N/A"}], "at")`)
	require.ErrorContains(t, err, `"N/A" and "2026-Q2" cannot be compared; latestOf leaves out texts that say that there is no value`)
	v, err := eval(t, `{}`, `greatest([{"name": "Ann"}, {"name": "None"}], "name")`)
	require.NoError(t, err)
	require.Equal(t, "None", v)
}
