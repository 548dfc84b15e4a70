package detecttest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/detect/detecttest"
	"github.com/stopwhen/stopwhen/fixtures"
)

// TestEveryAPI runs detect on every API of the zoo. What it writes obtains exactly the
// items of the case, or it says that it doubts it.
func TestEveryAPI(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	grades := map[detecttest.Grade]int{}
	for _, c := range cases {
		if !strings.HasPrefix(c.Name, detecttest.Folder+"/") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			a, err := detecttest.Try(t.Context(), c)
			require.NoError(t, err)
			grades[a.Grade]++
			if testing.Verbose() {
				t.Log(a.Summary())
				t.Log(a.Pagination())
				for _, d := range a.Result.Findings.Doubts {
					t.Log("DOUBT ", d)
				}
				t.Log(strings.Join(a.Requests, "\n"))
				t.Log("RUN ", a.StoppedByOfRun, a.FindingsOfRun, a.TestsInside)
			}
			require.NotEqual(t, detecttest.Wrong, a.Grade, a.Summary()+"\n"+a.Config)
			require.LessOrEqual(t, len(a.Requests), 3)
			require.False(t, a.Leaked, a.Config)
			require.Zero(t, a.FailedTests)
		})
	}
	t.Log(grades)
}
