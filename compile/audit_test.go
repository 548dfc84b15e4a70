package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// The rules of the audit are compiled only when a list has ended, so a mistake in their
// table would not be found before. They are evaluated without what other rules need of
// the responses.
func TestEveryRuleOfTheAuditIsCompiled(t *testing.T) {
	j := job(t, `{"method": "pagenum"}`, nil)
	var want []string
	for _, rule := range j.Set.Rules {
		if rule.Role == rules.Audit {
			want = append(want, rule.ID)
		}
	}
	require.Contains(t, want, "audit.shift")
	var got []string
	for _, c := range j.Audit() {
		got = append(got, c.Rule.ID)
		require.Len(t, c.Message.holes, strings.Count(c.Rule.Message, "{"), "%s: an expression of the message is text", c.Rule.ID)
		for _, e := range append([]*Expression{c.Expression}, c.Message.holes...) {
			for _, read := range e.Reads {
				require.NotContains(t, []string{"body", "items", "prev", "first"}, read.Root, c.Rule.ID)
			}
		}
	}
	require.Equal(t, want, got)
	require.Same(t, j.Audit()[0], job(t, `{"method": "offset", "limit": 5}`, nil).Audit()[0])
}
