package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
)

// The types of a run; package runtime documents them.
type (
	Page      = runtime.Page    // one page, and what was decided about it
	Record    = runtime.Record  // what the trace keeps of a page
	Verdict   = runtime.Verdict // what one rule says of one page
	Items     = document.Items  // the items of a page, as raw JSON
	JobResult = runtime.Result  // how one job ended
	Error     = failure.Error   // why a run failed
	Clock     = transport.Clock // the time, and waiting
)

// Result is how a run ended, job by job, in the order in which they ran.
type Result struct {
	Jobs []JobResult `json:"jobs"`
}

// Sink takes pages in order, one at a time. Its error ends the run.
type Sink func(ctx context.Context, page *Page) error

// Option changes one thing about an [Engine].
type Option func(*settings)

type settings struct {
	decode    rules.Options
	formats   map[string]Format
	transport http.RoundTripper
	clock     transport.Clock
	log       *slog.Logger
	userAgent string
	verdicts  bool
	kept      map[string]map[string]any
	resume    map[string]json.RawMessage
	prefetch  int
	parallel  int
	jitter    func(time.Duration) time.Duration
}

func newSettings(options []Option) settings {
	s := settings{formats: map[string]Format{}, userAgent: "stopwhen"}
	for _, o := range options {
		o(&s)
	}
	return s
}

// Format reads the text of a source and marks where its values stand.
type Format func(*diag.Source) (any, error)

// WithFormat reads configurations whose names end so (".yaml") by another
// format than JSON. YAML is rules/yaml.Parse; it is not built in, so that
// programs that do not read YAML do not carry it.
func WithFormat(ending string, format Format) Option {
	return func(s *settings) { s.formats[ending] = format }
}

// WithDialect takes the place of the configuration's dialect: "spec" or "keboola".
func WithDialect(dialect string) Option { return func(s *settings) { s.decode.Dialect = dialect } }

// WithBaseURL takes the place of the configuration's base address.
func WithBaseURL(address string) Option { return func(s *settings) { s.decode.BaseURL = address } }

// WithEnv passes environment variables to configurations that name them with
// {"env": "NAME"}. By default none is passed: a configuration may come from
// somebody who should not read the environment.
func WithEnv(lookup func(name string) (string, bool)) Option {
	return func(s *settings) { s.decode.Env = lookup }
}

// WithTransport makes the requests through another transport than
// [transport.NewTransport]. Timeouts, retries, redirects and the rules for other
// origins stay the engine's.
func WithTransport(transport http.RoundTripper) Option {
	return func(s *settings) { s.transport = transport }
}

// WithClock takes the time from another clock than the system's.
func WithClock(clock Clock) Option { return func(s *settings) { s.clock = clock } }

// WithLogger logs to a logger; by default a run is silent.
func WithLogger(log *slog.Logger) Option { return func(s *settings) { s.log = log } }

// WithUserAgent takes the place of "stopwhen" in the User-Agent header.
func WithUserAgent(agent string) Option { return func(s *settings) { s.userAgent = agent } }

// WithKept tells a run what the run before it kept, by job and name: the Kept of
// its [JobResult]s, which may have gone through JSON, numbers as json.Number.
func WithKept(kept map[string]map[string]any) Option {
	return func(s *settings) { s.kept = kept }
}

// WithResume goes on where an earlier run of the same configuration was: by job,
// what [Page.Checkpoint] gave for the last page that was kept. A job that had
// ended is not run again; a job that is not named begins anew.
func WithResume(positions map[string]json.RawMessage) Option {
	return func(s *settings) { s.resume = positions }
}

// AutoPrefetch lets a run pick how many pages are under way at a time.
const AutoPrefetch = runtime.AutoPrefetch

// WithPrefetch has so many pages under way at a time, or [AutoPrefetch], in jobs
// whose requests do not depend on responses; [Engine.Explain] tells which do.
// Pages come in their order all the same. What was asked for beyond the last page
// is thrown away, and counted nowhere: at most pages - 1 requests.
func WithPrefetch(pages int) Option { return func(s *settings) { s.prefetch = pages } }

// WithParallelJobs runs so many jobs at once. The pages of a job come in their
// order; the sink is called for one page at a time, and pages of different jobs
// come as they are ready.
func WithParallelJobs(jobs int) Option { return func(s *settings) { s.parallel = jobs } }

// WithVerdicts gives every verdict the values that decided it, not those of the
// rules that were met alone. A trace wants them; they cost some microseconds a
// page.
func WithVerdicts() Option { return func(s *settings) { s.verdicts = true } }
