package language

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestACommonSlipIsAnErrorThatProposesTheRightForm(t *testing.T) {
	for _, c := range []struct{ source, message, hint string }{
		{`body.n = 5`, "unknown operator =", "write =="},
		{`body.n === 5`, "unknown operator ===", "write =="},
		{`body.n !== 5`, "unknown operator !==", "write !="},
		{`body.n <> 5`, "unknown operator <>", "write !="},
		{`body.n =< 5`, "unknown operator =<", "write <="},
		{`count => 5`, "unknown operator =>", "write >="},
		{`len(filter(items, x => x.id > 1)) > 0`, "unknown operator =>", "filter(items, .id > 1)"},
		{`length(items) == 0`, "unknown function length", "write len(…)"},
		{`size(items) == 0`, "unknown function size", "write len(…)"},
		{`items.length == 0`, "no length of their own", "write len(items)"},
		{`items.size > 3`, "items is a list, which has no key size", "write count"},
		{`items.isEmpty`, "items is a list, which has no key isEmpty", "write count == 0"},
		{`items.last.id > 4`, "items is a list, which has no key last", "write items[-1]"},
		{`page.total > 3`, "page is the number of the page, which has no key total", "write body.page.total"},
		{`total > 3`, "total has several numbers", "write total.items"},
		{`3 <= total`, "total has several numbers", "write total.items"},
		{`header.X == "3"`, "header is a function", `write header("X")`},
		{`headers.X_Page == "3"`, "header is a function", `write header("X_Page")`},
		{`headers["X-Page"] == "3"`, "header is a function", `write header("X-Page")`},
		{`response.data == nil`, "unknown name response", "write body.data"},
		{`typeof body.x == "string"`, "unknown operator typeof", "write type(…)"},
		{`items?.length == 0`, "no length of their own", "write len(items)"},
		{`body.data.rows.length < 10`, "no length of their own", `write len(body.data.rows); for a key of an object write body.data.rows["length"]`},
		{`items.size() == 0`, "no functions of their own", "write len(items)"},
		{`body.rows.length() == 0`, "no functions of their own", "write len(body.rows)"},
		{`body.rows[0].name.toLowerCase() == "a"`, "no functions of their own", "write lower(body.rows[0].name)"},
		{`body.state.contains("end")`, "no functions of their own", `write body.state contains "text"`},
		{`body.state.startsWith("end")`, "no functions of their own", `write body.state startsWith "text"`},
		{`len(items.map(.id)) == 0`, "no functions of their own", "write map(items, …)"},
		{`body.at < 2024-01-31`, "a date without quotes is a subtraction", `write "2024-01-31" to compare text, or date("2024-01-31") for a time`},
		{`body.next == NULL`, "unknown name NULL", "write nil"},
		{`body.next == None`, "unknown name None", "write nil"},
		{`body.next is null`, "unknown operator is", "write == nil"},
		{`body.next is not None`, "unknown operator is not", "write != nil"},
		{`body.done == TRUE`, "unknown name TRUE", "write true"},
		{`page == 1 AND count == 0`, "unknown operator AND", "write and"},
		{`page == 1 OR count == 0`, "unknown operator OR", "write or"},
		{`NOT body.more`, "unknown operator NOT", "write not"},
		{`page == 1 & count == 0`, "unknown operator &", "write and"},
		{`page == 1 | count == 0`, "| passes a value to a function", "write or"},
		{`body.name =~ "^a"`, "unknown operator =~", "write matches"},
		{`body.name matches /^a.*/`, "a pattern is a string", "in quotes"},
		{`body.name matches /^a=b/`, "a pattern is a string", "in quotes"},
		{`page++ > 3`, "cannot change a value", "write x + 1"},
		{`page += 1`, "cannot change a value", "state keeps values"},
		{`min(items.created_at) < "2024"`, "items is a list, which has no key created_at", "map(items, .created_at)"},
		{`items.id > 3`, "items is a list, which has no key id", "write items[-1].id"},
		{`max(items, "updated")`, "max takes no path", `write greatest(items, "updated"), or max(map(items, .updated))`},
		{`body.n == min(items, 'meta.n')`, "min takes no path", `write least(items, "meta.n"), or min(map(items, .meta.n))`},
		{`exists(body.next)`, "unknown function exists", `has("a.b")`},
		{`isEmpty(body.next)`, "unknown function isEmpty", "empty(…)"},
		{`parseInt(body.n) > 3`, "unknown function parseInt", "number(…)"},
		{`$.meta.next == nil`, "unknown name $", "body.meta.next"},
		{`body.@odata.nextLink == nil`, "brackets", `body["@odata.nextLink"]`},
		{`body.next-cursor == nil`, "a dash is a subtraction", `body["next-cursor"]`},
		{`{body.next == nil}`, "braces", "leave out the braces"},
		{`count == "3"`, "mismatched types int and string", "write a number without quotes"},
		{`now() - 1 > now()`, "mismatched types time.Time and int", `duration("1h")`},
		{`date("2024-01-01").Foo() > 1`, "Foo", ""},
		{`split(5, "=")[0] == "a"`, "argument 1 of split must be a string, got a number (5)", "text(…) converts"},
		{`len(take(items, "x")) > 0`, "argument 2 of take must be an integer", ""},
		{`len(get(items)) > 0`, "not enough arguments in call to get", ""},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, faults := one(t, rules.RoleStop, c.source)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0].Message, c.message)
			require.Contains(t, faults[0].Message+faults[0].Hint, c.hint)
		})
	}
}

func TestWhatLooksLikeASlipIsLeftAlone(t *testing.T) {
	for _, source := range []string{
		`body.x == null`, `body.x != nil`, `body["length"] > 3`, `body.at >= "2024-01-31"`, `body.at == 'a = b => c | d'`, `len(items | map(.id)) > 0`,
		`let x = count; x == 1`, `body.x == 1 // a = b`, `body.lengths > 3`, `body.size > 3`, `body.None == nil`, `body.count > 2`, `page == 1 || count == 0`,
		`body.x matches "^/a=b/"`, `2024 - 1 - 1 > count`, "body.x == `2024-01-01`", `date("2024-01-01").Year() == 2024`, `!body.x.y`, `body.total - count > 1`, `max(map(items, .at), "2024-01-31") == body.at`,
	} {
		t.Run(source, func(t *testing.T) {
			_, faults := one(t, rules.RoleStop, source)
			require.Empty(t, faults)
		})
	}
}

// TestAnotherMistakeIsReportedInsteadOfASlip uses sources that have both.
func TestAnotherMistakeIsReportedInsteadOfASlip(t *testing.T) {
	for _, c := range []struct{ source, message string }{
		{`let x = cuont; x == 1`, "unknown name cuont"},
		{`len(items | map(.id)) > cuont`, "unknown name cuont"},
		{`cuont == 1 and body.is == 2`, "unknown name cuont"},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, faults := one(t, rules.RoleStop, c.source)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0].Message, c.message)
		})
	}
}

// TestEverySlipHasACure evaluates what the table proposes to users.
func TestEverySlipHasACure(t *testing.T) {
	for _, s := range mistakes {
		require.NotEmpty(t, s.message)
		require.NotEmpty(t, s.hint, s.message)
	}
}
