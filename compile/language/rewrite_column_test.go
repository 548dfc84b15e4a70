package language

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
)

// The predicates that are field tests, and others that are not.
var (
	fieldPredicates = []string{
		`.id == 3`, `.id != 3`, `3 == .id`, `.id > 2`, `2 < .id`, `.id < -1`, `.at <= "2026"`, `.at >= body.newest`, `body.newest > .at`, `.active`, `#.active`,
		`.owner.id == limit`, `.id in [1, "3", nil]`, `.id in body.ids`, `"b" in .tags`, `.at contains "5"`, `"2025" startsWith .at`, `.at endsWith body.nothing`,
		`.tags[0] == "a"`, `.owner == body.owner`, `.nothing == nil`, `.id == body["newest"]`, `.price > 10`, `.tags == ["a"]`, `.id == body.a.b.c`, `.id != page`,
	}
	otherPredicates = []string{
		`# == 3`, `.id == .price`, `not .active`, `.active == true and .id == 3`, `.id == len(body.ids)`, `.id + 1 == 3`, `len(.tags) == 1`,
		`true`, `.at matches "^2"`, `(.id ?? 1) == 1`, `.id == [.id]`, `.at == text(page)`, `.id == -body.newest`,
	}
)

// TestAFieldTestHasTheResultOfItsPredicate compares functions of all items with the same
// functions of a list whose elements are the items, which the interpreter goes over.
func TestAFieldTestHasTheResultOfItsPredicate(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	pages := []*rules.Context{{Page: 1}} // without content
	for _, items := range []string{
		`[]`, `[{"id": 3}]`, `[null, 5, "x", [], {}]`,
		`[{"id": 1, "at": "2025-01-01", "active": true, "tags": ["a"], "owner": {"id": 7}}, {"id": 3, "at": "2026", "tags": ["b", "a"], "price": 11},
			{"id": "3", "at": null, "active": null, "owner": null}, {"id": -5, "active": false, "price": 1.5}]`,
		`[{"id": 1}, {"id": {"a": 1}, "active": "yes", "at": 5, "price": "x"}, {"id": 3, "active": true}]`,
		`[{"at": "10", "price": "11"}, {"at": "9", "id": "3.0"}]`,
	} {
		list, _ := decoded(t, items).([]any)
		pages = append(pages, &rules.Context{Page: 1, Items: list, Count: len(list), Limit: 7, Body: map[string]any{
			"newest": "2025-06-01", "ids": []any{3, "x"}, "owner": map[string]any{"id": 7},
		}})
	}
	for function, f := range library {
		if f.tested == nil {
			continue
		}
		for _, predicate := range slices.Concat(fieldPredicates, otherPredicates) {
			for _, use := range resultUses {
				requireSame(t, pages, fmt.Sprintf(use, fmt.Sprintf(`%s(items, %s)`, function, predicate)), slices.Contains(fieldPredicates, predicate))
			}
		}
	}
}

// requireSame compares an expression with the one that the interpreter goes over.
func requireSame(t *testing.T, pages []*rules.Context, source string, isFieldTest bool) {
	t.Helper()
	tested, faults := one(t, rules.RoleKeep, source)
	interpreted, others := one(t, rules.RoleKeep, strings.Replace(source, "(items, ", "(concat(items), ", 1))
	require.Len(t, others, len(faults), source)
	if len(faults) > 0 {
		return // a list is not a number
	}
	require.Equal(t, isFieldTest, strings.Contains(tested.code.program.Disassemble(), safeTest), source)
	require.NotContains(t, interpreted.code.program.Disassemble(), safeTest, source)
	for _, page := range pages {
		var a, b Machine
		got, err := tested.Value(&a, page, MaxValueBytes)
		want, wantErr := interpreted.Value(&b, page, MaxValueBytes)
		require.Equal(t, want, got, "%s of %v", source, page.Items)
		require.Equal(t, b.meter.steps, a.meter.steps, "%s of %v", source, page.Items)
		require.Equal(t, b.meter.notes, a.meter.notes, "%s of %v", source, page.Items)
		require.Equal(t, strings.ReplaceAll(fmt.Sprint(wantErr), "concat(items)", "items"), fmt.Sprint(err), "%s of %v", source, page.Items)
	}
}

// resultUses are what an expression does with a result.
var resultUses = []string{`%s`, `[5, %s, 6]`, `%s == 1`, `%s != 0`, `[%s] != [nil]`, `%s + 1`, `let v = %s; [v, v]`}

func TestTheColumnOfAPageWithoutContentIsEmpty(t *testing.T) {
	e, faults := one(t, rules.RoleKeep, `map(items, .id)`)
	require.Empty(t, faults)
	v, err := e.Value(&Machine{}, &rules.Context{Page: 1}, MaxValueBytes)
	require.NoError(t, err)
	require.Equal(t, []any{}, v)
}

// TestATestOfTheItemHasTheResultOfTheInterpreter compares filters with the programs that they need not run.
func TestATestOfTheItemHasTheResultOfTheInterpreter(t *testing.T) {
	items := []string{
		`{}`, `{"id": 3, "at": "2026", "active": true, "owner": {"id": 7}, "tags": ["a"]}`, `{"id": "3", "at": "10", "active": null, "owner": null}`,
		`{"id": 9007199254740993, "at": 5, "active": "yes", "owner": []}`, `{"id": {"a": 1}, "at": ["b"], "owner": "x"}`, `[1]`, `null`, `"text"`,
		`{"id": 2.5, "at": "` + strings.Repeat("2", 2*maxTested) + `"}`,
	}
	for source, simple := range map[string]bool{
		`item.id == 3`: true, `item.id != 3`: true, `3 < item.id`: true, `item.id <= 2.5`: true, `item.at > "2"`: true, `item.at contains "5"`: true,
		`item.owner.id == 7`: true, `item.active == true`: true, `"2025" startsWith item.at`: true, `item?.owner?.id > 1`: true, `item["id"] > 1`: true,
		`item.id == nil`: false, `item.id in [1, 3]`: false, `item.id == page`: false, `not (item.id == 3)`: false, `item.tags[0] == "a"`: false,
		`item.id == 3 and item.active == true`: false, `item == 3`: false, `item.active`: false, `now() == nil`: false,
	} {
		filter, faults := one(t, rules.RoleFilter, source)
		require.Empty(t, faults, source)
		require.Equal(t, simple, filter.code.test != nil, source)
		interpreted := *filter.code
		interpreted.test = nil
		for _, text := range items {
			page := &rules.Context{Page: 1, Item: decoded(t, text)}
			var a, b Machine
			got, err := filter.Eval(&a, page)
			want, wantErr := (&Expression{Rule: filter.Rule, code: &interpreted}).Eval(&b, page)
			require.Equal(t, want, got, "%s of %s", source, text)
			require.Equal(t, wantErr, err, "%s of %s", source, text)
			require.Equal(t, b.meter.notes, a.meter.notes, "%s of %s", source, text)
		}
	}
}
