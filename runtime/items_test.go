package runtime

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// itemExpressions read items in every way that the compiler distinguishes, and in ways in
// which all of an item is needed.
var itemExpressions = []string{
	`items`, `len(items)`, `items[-1].id`, `items[0]`, `items[count - 1].id`, `items[-1]?.owner?.id`, `items[99]`, `items[-99].id`,
	`first(items).id`, `last(items)`, `last(items).owner.id`, `items[len(items) - 1].tags[0]`,
	`map(items, .id)`, `map(items, #)`, `map(items, .owner.id)`, `map(items, #.owner?.id)`, `map(items, .owner)`, `map(items, .tags[0])`,
	`map(items, .tags[-1])`, `map(items, .tags["01"])`, `map(items, #index)`, `map(items, [.id, .at])`,
	`max(map(items, .at))`, `min(map(items, .id))`, `uniq(map(items, .id))`, `len(uniq(map(items, .mixed)))`, `sort(map(items, .at), "desc")`,
	`map(items, .id) == map(items, .id)`, `uniq(map(items, .owner))`, `flatten(map(items, .tags))`,
	`filter(items, .active == true)`, `len(filter(items, .price > 10))`, `map(filter(items, .price > 10), .id)`,
	`filter(items, .active == true)[0].id`, `filter(items, .id != nil)[-1]`, `last(filter(items, .id != nil)).owner.id`,
	`filter(items, len(.tags) > 1)[0].tags`, `map(items[1:], .id)`, `items[-2:]`, `map(items[:-1], .owner.id)`, `len(items[1:2])`,
	`any(items, .at < "2026")`, `all(items, .at < "2026")`, `none(items, .id == 3)`, `one(items, .id == 3)`, `count(items, .id == 3)`,
	`find(items, .id == 3)`, `find(items, .id == 3).owner`, `findIndex(items, .id == 3)`, `findLast(items, .id != nil).at`,
	`findLastIndex(items, .at != nil)`, `any(items, # == nil)`, `any(items, type(#) == "map")`, `count(items, "id" in #)`,
	`sum(items, .price ?? 0)`, `sum(map(items, .price))`, `reduce(items, #acc + (.price ?? 0), 0)`, `reduce(items, #)`,
	`map(sortBy(items, .at), .id)`, `sortBy(items, .at, "desc")`, `map(sortBy(items, text(.mixed)), .mixed)`, `groupBy(items, .at)`,
	`keys(groupBy(items, .at))`, `take(items, 2)`, `map(take(items, 2), .id)`, `map(reverse(items), .id)`, `reverse(items)`,
	`greatest(items, "id")`, `least(items, "owner.id", 3)`, `greatest(items, "at", "2020")`, `greatest(items, "tags.0")`,
	`map(items, at(#, "owner.id"))`, `count(items, has(#, "owner.id"))`, `at(items[0], "owner.id")`, `has(items[-1], "at")`,
	`has(items[-1].owner, "id")`, `map(items, get(#, "id"))`, `at(items, "0.id")`, `get(items, 0)`,
	`map(items, map(.tags ?? [], # + "x"))`, `count(items, any(.tags ?? [], # == "b"))`, `map(items, let o = .owner; o?.id)`,
	`map([1, 2], items[#].id)`, `map([0], items[#])`,
	`let every = items; map(every, .id)`, `let newest = items[-1]; newest.id`, `let items2 = items; items2[0].id`, `page > 100 and any(items, .id == 3)`, `items == items`, `[items[0].id, items[-1].id, len(items)]`, `toJSON(items)`, `items ?? 1`,
	`count(items, .id > 1 and .price < 100)`, `map(items, .a.b.c)`, `map(items, .a)`, `[map(items, .a.b), map(items, .a)]`,
	`map(items, .owner == nil)`, `map(items, .owner == {})`, `map(items, .nothing?.at.all)`, `concat(items, items)`, `flatten([items])`,
	`map(items, #["owner"]["id"])`, `map(items, #[0])`, `map(items, #["0"])`, `count(items, .active)`, `toPairs({"a": items[0].id})`,
	`count(items, 3 == .id)`, `filter(items, .id in [3, "3"])`, `findLast(items, .owner.id == limit)`, `findLastIndex(items, .at contains "5")`,
	`[any(items, .active), count(items, .active), .5]`, `none(items, .tags[0] == "a")`, `find(items, .owner == {"id": 3})`, `count(items, .at == kept.v)`,
	`max(map(items, number(.mixed)))`, `map(items, count > 1 ? .id : .at)`, `count > 1000 ? items : items[0].id`, `prev.items`, `first.items`,
}

// randomItem returns an item that few APIs would send.
func randomItem(r *rand.Rand, depth int) string {
	scalars := []string{
		`1`, `3`, `3.0`, `-0`, `0.1e2`, `1e2`, `123456789012345678901234567890`, `9007199254740993`, `9007199254740992.0`, `"3"`, `"2025-01-02"`,
		`""`, `"\u0062\n\""`, `"ä\ud83d\ude00"`, `true`, `false`, `null`, `"b"`, `[]`, `{}`, `1.50`, `"a,b]}{[:"`, `"\\"`,
	}
	keys := []string{
		`id`, `id`, `\u0069d`, `owner`, `owner`, `o\u0077ner`, `tags`, `tags`, `at`, `price`, `active`, `mixed`, `a`, `b`, `c`, `0`, `x\"id`, `"`[:0],
	}
	switch n := r.IntN(10); {
	case depth > 3 || n < 3 && depth > 0 || n == 0:
		return scalars[r.IntN(len(scalars))]
	case n < 5 && depth > 0 || n == 1:
		parts := make([]string, r.IntN(4))
		for i := range parts {
			parts[i] = randomItem(r, depth+1)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	parts := make([]string, r.IntN(7))
	for i := range parts {
		parts[i] = `"` + keys[r.IntN(len(keys))] + `":` + randomItem(r, depth+1)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// randomItems returns items that are alike, as those of most APIs are, and others.
func randomItems(r *rand.Rand) []string {
	items := make([]string, r.IntN(6))
	for i := range items {
		if items[i] = randomItem(r, 0); r.IntN(3) > 0 {
			items[i] = fmt.Sprintf(`{"id":%d,"owner":{"id":%d,"b":[1]},"tags":["a","b"],"at":"2025-01-%02d","price":%d.5,"active":%t,"mixed":%s}`,
				r.IntN(5), r.IntN(5), 1+r.IntN(28), r.IntN(30), i%2 == 0, []string{`1`, `"1"`, `1.0`, `null`}[r.IntN(4)])
		}
	}
	return items
}

// evaluated returns the value of the only value that a job keeps for the next run, or the error.
func evaluated(r *listRun, c *rules.Context) (value any, err error) {
	r.workspace.machine.Observe = nil
	for _, keep := range r.job.Keeps {
		value, err = keep.Value(&r.workspace.machine, c, language.MaxValueBytes)
	}
	return value, err
}

func TestARuleThatReadsItemsHasTheValueThatItHasWithDecodedItems(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	random := rand.New(rand.NewPCG(1, 2))
	pages := [][]string{nil, {`null`}, {`{}`}, {`[]`}, {`5`}, {`"x"`}}
	for range 60 {
		pages = append(pages, randomItems(random))
	}
	for i, source := range itemExpressions {
		quoted, err := json.Marshal(source)
		require.NoError(t, err)
		keys := ""
		if i%4 == 3 {
			keys = `, "dataField": "data.*"` // the items are collected from their places
		}
		r := runOf(t, `, "pagination": {"method": "pagenum", "keep": {"v": `+string(quoted)+`}}`, keys)
		for _, items := range pages {
			raw := `{"data": [` + strings.Join(items, ", ") + `]}`
			reading, err := r.workspace.reader.Read(document.Response{Status: http.StatusOK, Body: []byte(raw)})
			require.NoError(t, err)
			page := rules.Context{Page: 1, Count: reading.Items.Len(), Values: reading.Values, Items: reading.Decoded}
			if r.job.Needs.Past {
				page.Values, page.First = nil, &rules.Past{Items: reading.Decoded}
			}
			full := page
			full.Values, full.Items = nil, []any{}
			for item := range reading.Items.All() {
				v, err := document.Decode(item)
				require.NoError(t, err)
				full.Items = append(full.Items, v)
			}
			if full.First != nil {
				full.First = &rules.Past{Items: full.Items}
			}
			want, wantErr := evaluated(r, &full)
			for range 2 { // what was decoded serves again
				got, err := evaluated(r, &page)
				require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%s of %s", source, raw)
				require.Equal(t, want, got, "%s of %s", source, raw)
			}
			if len(items) > 0 && err == nil {
				e := r.job.Keeps[0]
				require.Equal(t, e.Because(&full), e.Because(&page), "%s of %s", source, raw)
				require.Equal(t, e.Missing(&full), e.Missing(&page), "%s of %s", source, raw)
				require.Equal(t, e.Misspelt(&full), e.Misspelt(&page), "%s of %s", source, raw)
			}
		}
	}
}
