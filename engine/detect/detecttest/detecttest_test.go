package detecttest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/detect/detecttest"
	"github.com/stopwhen/stopwhen/fixtures"
)

// TestEveryAPI runs detect on every API of the zoo. What it writes obtains exactly the
// items of the case, or it says that it doubts it.
func TestEveryAPI(t *testing.T) {
	grades := tryAll(t, detecttest.Try)
	require.Greater(t, grades[detecttest.Recognized], 50)
}

// TestEveryRecording runs detect on recordings of the hand-written configurations.
func TestEveryRecording(t *testing.T) {
	grades := tryAll(t, func(ctx context.Context, c *fixtures.Case) (*detecttest.Attempt, error) {
		a, err := detecttest.Record(ctx, c)
		if err == nil {
			require.Empty(t, a.Requests)
		}
		return a, err
	})
	require.Greater(t, grades[detecttest.Recognized], 40)
}

func tryAll(t *testing.T, try func(context.Context, *fixtures.Case) (*detecttest.Attempt, error)) map[detecttest.Grade]int {
	t.Helper()
	cases, err := fixtures.All()
	require.NoError(t, err)
	grades := map[detecttest.Grade]int{}
	for _, c := range cases {
		if !strings.HasPrefix(c.Name, detecttest.Folder+"/") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			a, err := try(t.Context(), c)
			require.NoError(t, err)
			grades[a.Grade]++
			t.Log(a.Summary())
			t.Log(a.Pagination())
			t.Log(strings.Join(a.Requests, "\n"))
			t.Log(strings.Join(a.Result.Findings.Doubts, "\n"))
			require.NotEqual(t, detecttest.Wrong, a.Grade, a.Config)
			require.LessOrEqual(t, len(a.Requests), detect.MaxRequests)
			require.False(t, a.Leaked, a.Config)
			require.Zero(t, a.FailedTests, a.Config)
		})
	}
	t.Log(grades)
	return grades
}
