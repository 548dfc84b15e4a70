package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

func TestMessagesHoldExpressions(t *testing.T) {
	page := &rules.Context{Count: 7, Job: rules.JobFacts{ID: "users"}}
	for _, c := range []struct{ name, message, want string }{
		{"expressions give their values", `Job '{job.id}' has {count} items`, "Job 'users' has 7 items"},
		{"braces without an expression are text", `no {nonsense here} and {`, "no {nonsense here} and {"},
		{"a text stays as it is", `plain`, "plain"},
		{"what only the audit sees is text in other rules", `{hints.total}`, "{hints.total}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := (&compilation{shared: newShared(nil), set: &rules.Ruleset{}}).message(rules.Rule{Role: rules.RoleStop, Message: c.message})
			require.Equal(t, c.want, m.Text(&language.Machine{}, page))
		})
	}
}
