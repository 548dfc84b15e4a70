package document

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/lists"
)

func TestIdentityIsTheFirstKeyThatNamesOne(t *testing.T) {
	for item, want := range map[string]string{
		`{"id":7}`: `7`,
		`{"name":"a, \"b\"","tags":[1],"id":"x"}`: `"x"`,
		`{"_id":{"$oid":"5f"},"id":null}`:         `{"$oid":"5f"}`,
		`{"id":null,"uuid":"u"}`:                  `"u"`,
		`{"cursor":"c","node":{"n":1,"id":"x"}}`:  `"x"`,
		`{"owner":{"id":1},"name":"a"}`:           ``,
		`{"id":""}`:                               ``,
		`{"id":[1]}`:                              ``,
		`{}`:                                      ``,
		`[1]`:                                     ``,
		`7`:                                       ``,
		`{"` + strings.Repeat("x", 5000) + `":1,"id":2}`: ``,
	} {
		t.Run(item, func(t *testing.T) {
			require.Equal(t, want, string(Identity([]byte(item))))
		})
	}
}

// compared returns the items of a page that are compared with items of other pages.
func compared(t *testing.T, dataField string, items []string) []string {
	t.Helper()
	body := "[ " + strings.Join(items, ", ") + "]"
	if dataField != "" {
		body = `{"` + dataField + `": ` + body + `}`
	}
	reading, err := NewReader(Options{}).Read(Response{Status: 200, Body: []byte(body)})
	require.NoError(t, err)
	return lists.Map(reading.Compared, func(item []byte) string { return string(item) })
}

func numbered(count int) []string {
	items := make([]string, count)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":%d}`, i)
	}
	return items
}

func TestTheEndsOfALargePageAreCompared(t *testing.T) {
	for _, dataField := range []string{"", "data"} {
		for _, count := range []int{0, 1, wholePage} {
			require.Equal(t, numbered(count), compared(t, dataField, numbered(count)))
		}
		for _, count := range []int{wholePage + 1, 100, 1000, 5000} {
			items := numbered(count)
			got := compared(t, dataField, items)
			require.Equal(t, items[:edgeItems], got[:edgeItems])
			require.Equal(t, items[count-edgeItems:], got[len(got)-edgeItems:])
			require.InDelta(t, 0.75*drawnItems, len(got)-2*edgeItems, 0.5*drawnItems, "of %d items", count)
		}
	}
}

// TestLargePagesWithTheSameItemsCompareTheSameOnes draws the items between the ends of a page by their content.
func TestLargePagesWithTheSameItemsCompareTheSameOnes(t *testing.T) {
	const count = 1000
	items := numbered(count)
	inner := func(all []string) []string { // drawn from the items that are at an end of neither page
		return slices.DeleteFunc(compared(t, "data", all), func(item string) bool {
			i := slices.Index(items, item)
			return i < edgeItems || i >= count-edgeItems || slices.Contains(all[:edgeItems], item) || slices.Contains(all[count-edgeItems:], item)
		})
	}
	straight := inner(items)
	shuffled := slices.Clone(items)
	rand.New(rand.NewPCG(1, 2)).Shuffle(count, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	again := inner(shuffled)
	require.Greater(t, len(again), drawnItems/4)
	require.Subset(t, straight, again)
}

// TestTheItemsThatAreComparedAreFew limits them if items differ only where they are not drawn by.
func TestTheItemsThatAreComparedAreFew(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for n := range 200 {
		same := strings.Repeat(fmt.Sprint(n), 20)
		items := make([]string, 1000)
		for i := range items {
			items[i] = fmt.Sprintf(`{"same":"%s","id":%d,"same":"%s"}`, same, 1000+i, same)
		}
		require.LessOrEqual(t, len(compared(t, "", items)), 2*edgeItems+2*drawnItems)
	}
}

func TestAKeyIsTheValueOfANumber(t *testing.T) {
	for _, test := range []struct{ one, other string }{
		{`100`, `100.0`},
		{`100`, `1e2`},
		{`100`, `1000.00E-1`},
		{`100`, `"100"`},
		{`-0.5`, `-5e-1`},
		{`0`, `-0`},
		{`0`, `0.0e7`},
		{`1.1`, `1.10`},
		{`1e500`, `0.1e501`},
		{`1e99999999999`, `1e99999999999`},
		{`true`, `"true"`},
	} {
		t.Run(test.one+" and "+test.other, func(t *testing.T) {
			require.Equal(t, keyOf(test.one), keyOf(test.other))
		})
	}
	for _, test := range []struct{ one, other string }{
		{`100`, `-100.0`},
		{`100`, `10.0`},
		{`9007199254740993`, `9007199254740992.0`},
		{`"1.1"`, `"1.10"`},
		{`12e3`, `1.2e3`},
		{`0.12`, `0.012`},
		{`1e500`, `1e501`},
		{`1e99999999999`, `2e99999999999`},
		{`true`, `false`},
		{`true`, `"True"`},
		{`null`, `"null"`},
		{`null`, `""`},
	} {
		t.Run(test.one+" and "+test.other, func(t *testing.T) {
			require.NotEqual(t, keyOf(test.one), keyOf(test.other))
		})
	}
}

// keyOf returns the key of an item whose id is a value.
func keyOf(id string) string {
	key, _ := AppendKey(nil, []byte(`{"id":`+id+`}`), [][]string{{"id"}})
	return string(key)
}
