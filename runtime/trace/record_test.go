package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

func TestAFaultDescribesAnErrorWithoutItsSecrets(t *testing.T) {
	secrets := redact.New([]string{"s3cret"})
	known := &failure.Error{Class: failure.API, Job: "users", Page: 2, Message: "no s3cret", Hint: "change s3cret"}
	for _, c := range []struct {
		name string
		err  error
		want *Fault
	}{
		{"none", nil, nil},
		{"of a sink", errors.New("disk s3cret"), &Fault{Message: "disk ***"}},
		{"of a run", known, &Fault{Class: "api", Message: "job users, page 2: no ***", Hint: "change ***"}},
		{"wrapped", fmt.Errorf("run: %w", known), &Fault{Class: "api", Message: "job users, page 2: no ***", Hint: "change ***"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, FaultOf(c.err, secrets)) })
	}
	require.Equal(t, "change s3cret", known.Hint, "the error itself stays as it is")
}

func TestWaitsHaveTheAttemptThatFailed(t *testing.T) {
	secrets := redact.New([]string{"s3cret"})
	require.Nil(t, WaitsOf(nil, secrets))
	require.Equal(t, []Wait{
		{For: "retry", Attempt: 1, Millis: 1500, Source: "backoff", Status: 503, Cause: "busy ***"},
		{For: "wait", Millis: 20, Source: "requestsPerSecond"},
	}, WaitsOf([]transport.Event{
		{Kind: transport.EventRetry, Attempt: 1, Duration: 1500 * time.Millisecond, Source: "backoff", Status: 503, Err: &failure.Error{Message: "busy s3cret"}},
		{Kind: transport.EventWait, Attempt: 1, Duration: 20 * time.Millisecond, Source: "requestsPerSecond", Status: 200},
	}, secrets))
}

func TestMetVerdictsAreThoseOfTheRulesThatWereMet(t *testing.T) {
	r := Record{Verdicts: []Verdict{{Rule: "a"}, {Rule: "b", Met: true}, {Rule: "c", Met: true}}}
	require.Equal(t, []Verdict{{Rule: "b", Met: true}, {Rule: "c", Met: true}}, r.Met())
	require.Empty(t, (&Record{}).Met())
}

// Programs read the lines of a trace, so their keys stay.
func TestARecordIsOneLineOfATrace(t *testing.T) {
	line, err := json.Marshal(Record{
		Job: "users", Page: 1, Request: Request{Method: "GET", URL: "https://api.test/users"}, Status: 200, Count: 2, Bytes: 9,
		Verdicts: []Verdict{{Rule: "a"}}, Decision: Continue, StoppedBy: []string{}, Attempts: 1, Version: RecordVersion,
	})
	require.NoError(t, err)
	require.Equal(t, `{"job":"users","page":1,"request":{"method":"GET","url":"https://api.test/users"},"status":200,"count":2,"bytes":9,`+
		`"verdicts":[{"rule":"a","met":false}],"decision":"continue","stoppedBy":[],"attempts":1,"at":0,"ms":0,"version":1}`, string(line))
}
