package workbench_test

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// allCases returns the built-in cases of dialect spec, with their configurations.
func allCases(t *testing.T) map[*fixtures.Case]string {
	t.Helper()
	cases, err := fixtures.All()
	require.NoError(t, err)
	texts := map[*fixtures.Case]string{}
	for _, c := range cases {
		texts[c] = string(fixtures.Play(c).ConfigText())
	}
	return texts
}

// open opens the configuration of a case.
func open(c *fixtures.Case, text string) *workbench.Document {
	return workbench.New().Open(c.ConfigName, text)
}

// limitsOf returns the limits of a run of a case.
func limitsOf(t *testing.T, c *fixtures.Case) (limits workbench.Limits) {
	t.Helper()
	if text := fixtures.Play(c).Kept(); text != nil {
		kept, err := checkpoint.ParseKept(text)
		require.NoError(t, err)
		limits.Kept = kept.Values
	}
	return limits
}

func TestARunOfACaseShowsItsItemsAndVerdicts(t *testing.T) {
	fixtures.SkipUnderRace(t, "package engine plays all cases under it")
	compared := 0
	for c, text := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			run, err := open(c, text).Run(context.Background(), workbench.FromCase(c), limitsOf(t, c))
			if err != nil {
				require.NotZero(t, c.Exit, "%v", err)
				return
			}
			for i, p := range run.Pages {
				require.Equal(t, i+1, p.Number)
				require.NotEmpty(t, p.Why)
				if r := run.Response(p.Number); r != nil {
					requireSpans(t, r)
					require.NotContains(t, r.Body+r.RequestBody+r.URL, "secret-of-")
				}
			}
			if c.Items == nil || strings.Contains(*c.Items, "dataType") || c.Exit != 0 {
				return
			}
			got := 0
			for _, p := range run.Pages {
				got += len(p.Items)
			}
			require.Equal(t, strings.Count(*c.Items, "\n"), got, run.Error)
			compared++
		})
	}
	require.Greater(t, compared, 200)
}

// requireSpans requires spans to be parts of the body.
func requireSpans(t *testing.T, r *workbench.Response) {
	t.Helper()
	body := utf16(r.Body)
	before := 0
	for _, s := range r.Spans {
		require.True(t, before <= s.Start && s.Start < s.End && s.End <= len(body), "%+v", s)
		require.NotContains(t, " ,:", string(rune(body[s.Start])))
		before = s.Start
	}
}

func utf16(text string) (units []uint16) {
	for _, c := range text {
		if c > 0xffff {
			units = append(units, 0xd800)
		}
		units = append(units, uint16(c))
	}
	return units
}

func TestAResponseMarksWhatRulesRead(t *testing.T) {
	text := `{"api": {"baseUrl": "http://127.0.0.1:8080/v1/", "pagination": {"method": "cursor", "idKey": "id", "param": "after",
	  "stopRules": ["body.meta.last"]}}, "config": {"jobs": [{"id": "users", "endpoint": "users", "dataField": "data"}]}}`
	c, err := fixtures.Parse("demo/marks", []byte("Marks.\n-- config.json --\n"+text+`
-- api --
> GET /v1/users
{"meta": {"last": true, "password": "hunter22"}, "title": "💡", "data": [{"id": 7}, {"id": 8}]}
`))
	require.NoError(t, err)
	run, err := workbench.New().Open("marks.json", text).Run(context.Background(), workbench.FromCase(c), workbench.Limits{})
	require.NoError(t, err)
	require.Len(t, run.Pages, 1)
	require.Contains(t, run.Pages[0].Why, "The list ends: stopRules[0]: body.meta.last")
	r := run.Response(1)
	require.NotContains(t, r.Body, "hunter22")
	units := []rune(strings.ReplaceAll(r.Body, "💡", "💡\x00")) // two units for the character
	marked := map[string]string{}
	for _, s := range r.Spans {
		marked[s.Path] = string(units[s.Start:s.End])
	}
	require.Equal(t, "true", marked["body.meta.last"])
	require.Equal(t, "8", marked["items[*].id"]) // the last of them
	require.True(t, strings.HasPrefix(marked["body.data"], "["))
}

func TestALiveRunIsBoundedAndReplaysTheSame(t *testing.T) {
	c, err := fixtures.Find("demo/orders")
	require.NoError(t, err)
	server := fixtures.Play(c)
	d := workbench.New(engine.WithClock(server.Clock())).Open("orders.json", string(server.ConfigText()))
	live, err := d.Run(context.Background(), workbench.FromTransport(server), workbench.Limits{Pages: 2})
	require.NoError(t, err)
	require.Len(t, live.Pages, 2)
	require.True(t, live.More)
	require.Empty(t, live.Error)
	tape, err := recording.Read(bytes.NewReader(live.Recording))
	require.NoError(t, err)
	require.Len(t, tape.Exchanges, 2)

	d = d.WithRecording(tape)
	again, err := d.Run(context.Background(), workbench.FromRecording(), workbench.Limits{})
	require.NoError(t, err)
	require.Len(t, again.Pages, 3) // the third is missing
	require.Equal(t, live.Pages[1].Verdicts, again.Pages[1].Verdicts)
	require.Equal(t, live.Pages[1].Items, again.Pages[1].Items)
	require.Contains(t, again.Error, "the recording does not have this request")
	require.Contains(t, again.Played.Missing, "offset=20")

	edited := d.With(strings.Replace(d.Text, `"forceStop": {"pages": 20}`, `"forceStop": {"pages": 1}`, 1))
	less, err := edited.Run(context.Background(), workbench.FromRecording(), workbench.Limits{})
	require.NoError(t, err)
	require.Len(t, less.Pages, 1)
	require.Equal(t, trace.Decision("stop"), less.Pages[0].Decision)
	require.Contains(t, less.Pages[0].Why, "forceStop.pages")
}

func TestAModelShowsThePagesOfABehaviour(t *testing.T) {
	c, err := fixtures.Find("demo/orders")
	require.NoError(t, err)
	d := workbench.New().Open("orders.json", string(fixtures.Play(c).ConfigText()))
	run, err := d.Run(context.Background(), workbench.FromModel("orders", "cappedPages"), workbench.Limits{})
	require.NoError(t, err)
	require.NotEmpty(t, run.Model)
	require.NotNil(t, run.Row)
	require.Len(t, run.Pages, run.Row.Requests)
	require.Contains(t, run.Response(1).Body, `"orders"`)
	require.NotEmpty(t, run.Pages[0].Items)
}

// dead is a transport of an API that does not answer.
type dead struct{}

func (dead) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrHandlerTimeout }

func TestADeadAPIIsAMessage(t *testing.T) {
	text := `{"api": {"baseUrl": "https://api.example.com/", "http": {"maxRetries": 0}}, "config": {"jobs": [{"endpoint": "users"}]}}`
	run, err := workbench.New().Open("users.json", text).Run(context.Background(), workbench.FromTransport(dead{}), workbench.Limits{})
	require.NoError(t, err)
	require.Contains(t, run.Error, "Handler timeout")
	require.Len(t, run.Pages, 1)
	require.Contains(t, run.Response(1).Error, "Handler timeout")
}
