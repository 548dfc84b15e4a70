package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// TestCancellingEndsARuleAndThePageIsRequestedAgain cancels a run during a rule that
// would run for a second, and then fail.
func TestCancellingEndsARuleAndThePageIsRequestedAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.AfterFunc(100*time.Millisecond, cancel)
		_, _ = w.Write([]byte("[" + strings.Repeat("1, ", 3000) + "2]"))
	}))
	defer server.Close()
	e, err := engine.Load("config.json", []byte(`{"api": {"baseUrl": "`+server.URL+`", "pagination": {"method": "pagenum", "stopRules": [
		"all(1..400000, items == body)"]}}, "config": {"jobs": [{"endpoint": "x"}]}}`))
	require.NoError(t, err)
	pages := 0
	_, err = e.Run(ctx, func(context.Context, *engine.Page) error {
		pages++
		return nil
	})
	require.ErrorIs(t, err, engine.ErrCancelled)
	require.Zero(t, pages, "the page was not judged, so a resumed run requests it again")
}
