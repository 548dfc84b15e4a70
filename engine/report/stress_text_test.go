package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/value"
)

// combined has a row of each verdict, a combination that is not worse than one of its parts, and
// one that is.
func combined() *stress.Report {
	change := stress.Change{Path: []string{"api", "pagination", "stopRules"}, Append: true, Value: value.Object{
		{Name: "name", Value: "noList"}, {Name: "when", Value: `not has("data") and ` + strings.Repeat("count > 0 and ", 5) + "true"},
	}}
	fix := &stress.Fix{Says: "Fail if there is no list.", Changes: []stress.Change{change},
		Verdict: stress.Reported, Costs: []string{"oneItem"}}
	return &stress.Report{Version: 1, Depth: 2, Jobs: []stress.JobReport{{
		Job: "users", Model: []string{"body.next is a token of the next page."},
		Rows: []stress.Row{
			{Behaviour: "oneItem", Group: "length", Says: "The list has one item.", Served: 1, Obtained: 1, Requests: 1, Verdict: stress.Complete},
			{Behaviour: "html", Group: "errors", Says: "A page is HTML.", Served: 25, Obtained: 10, Missing: 15, Requests: 2, Exit: 5,
				Reason: "error", Why: "the response is no JSON", Verdict: stress.Reported},
			{Behaviour: "pagingIgnored", Group: "parameters", Says: "Every page is the first one.", Served: 25, Obtained: 10, Missing: 15,
				Requests: 2, Reason: "samePage", Why: "page 2 repeats page 1", Findings: []string{"audit.repeated"}, Verdict: stress.Endless},
			{Behaviour: "noList", Group: "errors", Says: "A page has no list.", Served: 25, Obtained: 10, Missing: 15, Requests: 2,
				Reason: "offset.empty", Why: "page 2 is empty", Verdict: stress.Silent, Fix: fix},
			{Behaviour: "emptyBody", Group: "errors", Says: "A page is {}.", Served: 25, Obtained: 10, Missing: 15, Requests: 2,
				Reason: "offset.empty", Why: "page 2 is empty", Verdict: stress.Silent, Fix: fix},
			{Behaviour: "oneItem+noList", Group: "length", Says: "Both.", Served: 1, Missing: 1, Requests: 1, Verdict: stress.Silent},
			{Behaviour: "oneItem+html", Group: "length", Says: "Both.", Served: 1, Missing: 1, Requests: 1, Verdict: stress.Silent},
		},
		Left: []stress.LeftOut{
			{Behaviour: "flagNull", Why: "the rules read no flag"}, {Behaviour: "flagText", Why: "the rules read no flag"},
			{Behaviour: "tokenGone", Why: "no token"},
		},
	}, {Job: "lines", Rows: []stress.Row{}, Unknown: "the model found no API"}}}
}

const wanted = `job users
    The model of its API:
    - body.next is a token of the next page.

  verdict   behaviour      obtained  missing  duplicated  requests  exit  findings
  SILENT    noList         10 of 25       15           0         2     0
            A page has no list.
            run      was stopped by offset.empty: page 2 is empty
            fix      Fail if there is no list.
                     api.pagination.stopRules: add {
                       "name": "noList",
                       "when": "not has(\"data\") and count > 0 and count > 0 and count > 0 and
                     count > 0 and count > 0 and true"
                     }
                     With it, the verdict is reported. Worse with it: oneItem.
  SILENT    emptyBody      10 of 25       15           0         2     0
            A page is {}.
            run      was stopped by offset.empty: page 2 is empty
            fix      That of noList: the verdict is reported. Worse with it: oneItem.
  SILENT    oneItem+html     0 of 1        1           0         1     0
            Both.

  endless   pagingIgnored  10 of 25       15           0         2     0  audit.repeated
            Every page is the first one.
            run      was stopped by samePage: page 2 repeats page 1

  reported  html           10 of 25       15           0         2     5
            A page is HTML.

  1 combination with a verdict that one of the behaviours has alone, too; --all lists them

  complete  length 1 of 1, errors 0 of 3, parameters 0 of 1, combined 0 of 2
  left out  the rules read no flag (2), no token (1)

job lines
    It was not put under stress: the model found no API.

4 SILENT, 1 endless, 1 reported, 1 complete; 1 job without a model
`

func stressText(t *testing.T, o report.TextOptions) string {
	t.Helper()
	b := &strings.Builder{}
	require.NoError(t, report.StressText(b, combined(), o))
	return b.String()
}

func TestTheTextBeginsWithTheWorst(t *testing.T) {
	require.Equal(t, wanted, stressText(t, report.TextOptions{}))
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	for width := 60; width <= 200; width++ {
		for _, all := range []bool{false, true} {
			text := stressText(t, report.TextOptions{Width: width, All: all})
			for line := range strings.Lines(text) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), width, line)
			}
			require.Contains(t, text, "SILENT    noList")
		}
	}
}

func TestANarrowTextSaysTheNumbersInASentence(t *testing.T) {
	text := strings.Join(strings.Fields(stressText(t, report.TextOptions{Width: 60})), " ")
	require.Contains(t, text, "SILENT noList 10 of 25 items, 15 missing, 0 duplicated, 2 requests, exit status 0 A page has no list.")
	require.NotContains(t, text, "verdict behaviour")
}

func TestAllRowsAreShownIfTheyAreWanted(t *testing.T) {
	text := stressText(t, report.TextOptions{All: true})
	require.Contains(t, text, "  complete  oneItem ")
	require.Contains(t, text, "  SILENT    oneItem+noList ")
	require.Contains(t, text, "the rules read no flag: flagNull, flagText")
	require.Contains(t, text, "failed: the response is no JSON")
}

func TestColoursChangeNoColumn(t *testing.T) {
	plain := stressText(t, report.TextOptions{All: true})
	coloured := stressText(t, report.TextOptions{All: true, Colour: true})
	require.NotContains(t, plain, "\x1b")
	require.Contains(t, coloured, "\x1b[1;31mSILENT\x1b[0m    noList")
	for _, code := range []string{"\x1b[0m", "\x1b[1;31m", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m"} {
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	require.Equal(t, plain, coloured)
}
