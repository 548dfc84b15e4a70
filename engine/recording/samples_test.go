package recording_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/stress"
)

// TestAModelResemblesARecording records an API with a total that no rule reads. With it, the
// audit sees what the model of the rules alone cannot show.
func TestAModelResemblesARecording(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") == "0" {
			_, _ = w.Write([]byte(`{"data": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "meta": {"total": 3}}`))
			return
		}
		_, _ = w.Write([]byte(`{"data": [{"id": 3, "name": "c"}], "meta": {"total": 3}}`))
	}))
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2}, Jobs: []config.Job{{ID: "users", Endpoint: "users", DataField: "data"}},
	})
	require.NoError(t, err)
	var tape bytes.Buffer
	recorder := recording.NewRecorder(&tape, recording.Options{Redactor: e.Redactor()})
	_, err = e.With(engine.WithTransport(recorder)).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	require.NoError(t, recorder.Close())
	played, err := recording.Read(&tape)
	require.NoError(t, err)

	samples := recording.Samples(t.Context(), e, played)
	require.JSONEq(t, `{"data": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "meta": {"total": 3}}`, string(samples["users"][0].Body))
	require.Len(t, samples["users"], 2)

	verdict := func(like map[string][]stress.Sample) stress.Verdict {
		report, err := e.Stress(t.Context(), stress.Options{Like: like})
		require.NoError(t, err)
		for _, r := range report.Jobs[0].Rows {
			if r.Behaviour == "emptyPageInTheMiddle" {
				return r.Verdict
			}
		}
		return ""
	}
	require.Equal(t, stress.Silent, verdict(nil))
	require.Equal(t, stress.Reported, verdict(samples), "the total exceeds the items that were read")
}
