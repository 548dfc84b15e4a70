package document

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
)

// newColumnReader returns a reader of pages whose items have a text t.
func newColumnReader() *Reader {
	return NewReader(Options{DataField: &rules.DataField{Text: "data", Keys: []string{"data"}}, Items: [][]string{{"t"}}})
}

// columnOf returns the texts of the items of a page.
func columnOf(t *testing.T, r *Reader, page string) []any {
	t.Helper()
	reading, err := r.Read(Response{Status: http.StatusOK, Body: []byte(page)})
	require.NoError(t, err)
	column, ok, err := reading.Values.Column([]string{"t"})
	require.NoError(t, err)
	require.True(t, ok)
	return column
}

func TestTextsOfAColumnMayHaveAnyLength(t *testing.T) {
	var items []string
	var want []any
	add := func(item string, value any) {
		items, want = append(items, item), append(want, value)
	}
	for size := range 3 * shortText {
		text := strings.Repeat(string(rune('a'+size%26)), size)
		add(`{"t":"`+text+`"}`, text)
		if size%7 == 0 {
			add(`{"t":"\u00e9\n`+text+`"}`, "é\n"+text)
			add(`{"t":""}`, "")
			add(`{"t":7}`, 7)
			add(`{"t":null}`, nil)
			add(`{}`, nil)
		}
	}
	for range 2 * groupBytes {
		add(`{"t":""}`, "")
	}
	for range groupBytes {
		add(`{"t":"x"}`, "x")
	}
	require.Equal(t, want, columnOf(t, newColumnReader(), `{"data":[`+strings.Join(items, ",")+`]}`))
}

// A text that a rule keeps for the run must not keep the page that it comes from.
func TestATextOfAColumnDoesNotKeepItsPage(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	heap := func() uint64 {
		debug.FreeOSMemory() // collects garbage
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	for _, size := range []int{shortText - 10, 1000} {
		const pages, items = 100, 1000
		r, kept := newColumnReader(), []any{}
		before := heap()
		for page := range pages {
			var b strings.Builder
			b.WriteString(`{"data":[`)
			for i := range items {
				fmt.Fprintf(&b, `{"t":"%0*d"},`, size, page*items+i)
			}
			kept = append(kept, columnOf(t, r, b.String()+`{}]}`)[page])
		}
		r.Close()
		require.Less(t, int64(heap())-int64(before), int64(pages*size*items/10), "the texts of the pages have %d bytes", pages*size*items)
		require.Len(t, kept, pages)
	}
}
