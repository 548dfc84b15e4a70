package compile

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// The rules of the audit are compiled only when a list has ended, so a mistake in their
// table would not be found before. They are evaluated without what other rules need of
// the responses.
func TestEveryRuleOfTheAuditIsCompiled(t *testing.T) {
	j := job(t, `{"method": "pagenum"}`)
	var want []string
	for _, rule := range j.Ruleset.Rules {
		if rule.Role == rules.RoleAudit {
			want = append(want, rule.ID)
		}
	}
	require.Contains(t, want, "audit.shift")
	var got []string
	for _, c := range j.Analysis().AuditTriggers() {
		got = append(got, c.Rule.ID)
		require.Len(t, c.Message.holes, strings.Count(c.Rule.Message, "{"), "%s: an expression of the message is text", c.Rule.ID)
		for _, e := range append([]*language.Expression{c.Expression}, c.Message.holes...) {
			for _, read := range e.Reads {
				require.NotContains(t, []string{"body", "items", "prev", "first"}, read.Root, c.Rule.ID)
			}
		}
	}
	require.Equal(t, want, got)
	require.Same(t, j.Analysis().AuditTriggers()[0], job(t, `{"method": "offset", "limit": 5}`).Analysis().AuditTriggers()[0])
}

// The rules about partitions have no facts that they require.
func TestEveryRuleAboutPartitionsIsCompiled(t *testing.T) {
	j := job(t, `{"method": "pagenum"}`)
	for _, rule := range rules.PartitionAudits() {
		require.Contains(t, lists.Map(j.Analysis().AuditTriggers(), func(t *Trigger) string { return t.Rule.ID }), rule.ID, "audit.ignore has the same ids")
		compiled := AuditTrigger(&rule)
		require.Len(t, compiled.Message.holes, strings.Count(rule.Message, "{"), "%s: an expression of the message is text", rule.ID)
		met, err := compiled.EvalBool(&language.Machine{}, &rules.Context{Partitions: &rules.PartitionFacts{}})
		require.NoError(t, err)
		require.False(t, met, "%s is met without facts", rule.ID)
	}
}

// A rule whose facts are missing is not evaluated, so it must not be met then.
func TestNoRuleOfTheAuditIsMetWithoutItsSigns(t *testing.T) {
	list := slices.Clone(job(t, `{"method": "pagenum"}`).Ruleset.Rules)
	split := rules.Rule{
		ID: "audit.window", Role: rules.RoleAudit, Source: `list.fullWindow != ""`, Audit: &rules.Auditing{Requires: rules.FactList},
	}
	for _, rule := range append(list, split) {
		if rule.Role != rules.RoleAudit || rule.Audit.Requires == 0 {
			continue
		}
		e := sharedAuditCompiler().compile(rule)
		rapid.Check(t, func(t *rapid.T) {
			number := rapid.SampledFrom([]int{0, 1, 2, 3, 10, 11, 1000, 10_000})
			c := &rules.Context{
				Page: number.Draw(t, "page"), Count: number.Draw(t, "count"),
				Total: rules.Total{Pages: number.Draw(t, "pages"), Items: rapid.IntRange(0, 999).Draw(t, "items")},
				Signs: &rules.Signs{LargestPage: number.Draw(t, "largest page")},
				List:  &rules.ListFacts{OrdinaryFacts: rules.OrdinaryFacts{Identified: number.Draw(t, "identified")}},
			}
			for _, other := range []struct {
				fact rules.Facts
				add  func()
			}{
				{rules.FactList, func() { c.List.Cycles, c.List.Repeats, c.List.RepeatCount = 1, 1, c.Signs.LargestPage }},
				{rules.FactTotal, func() { c.Signs.Total = number.Draw(t, "total") }},
				{rules.FactPages, func() { c.Signs.Pages = number.Draw(t, "stated pages") }},
				{rules.FactNext, func() { c.Signs.Next = "x" }},
				{rules.FactMore, func() { c.Signs.More = true }},
				{rules.FactShort, func() { c.Count++; c.Limit = max(c.Count+number.Draw(t, "unused"), c.Signs.LargestPage) + 1 }},
				{rules.FactOverfull, func() {
					limit, ok := c.Limit.(int)
					if !ok {
						limit = min(c.Count, number.Draw(t, "limit"))
						c.Limit = limit
					}
					c.Signs.LargestPage = limit + 1 + number.Draw(t, "surplus")
				}},
				{rules.FactFile, func() { c.List.File, c.List.Had = "users.ndjson", number.Draw(t, "rows of the file") }},
				{rules.FactMany, func() { c.Total.Items = rapid.SampledFrom([]int{1000, 10_000, 12_345}).Draw(t, "many items") }},
			} {
				require.Zero(t, rules.FactsIn(c)&other.fact)
				if other.fact != rule.Audit.Requires {
					other.add()
					require.NotZero(t, rules.FactsIn(c)&other.fact)
				}
			}
			met, err := e.EvalBool(&language.Machine{}, c)
			require.NoError(t, err, rule.ID)
			require.False(t, met, rule.ID)
		})
	}
}
