package engine

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/credential"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An Option changes how [New] and [Load] read a configuration, or how it runs.
type Option interface{ apply(*optionSet) error }

// A RunOption changes how an engine runs. [Engine.With] accepts it too.
type RunOption interface {
	Option
	applyRun(*runOptionSet)
}

type loadOption func(*optionSet) error

func (o loadOption) apply(s *optionSet) error { return o(s) }

type runOption func(*runOptionSet)

func (o runOption) apply(s *optionSet) error { o(&s.run); return nil }
func (o runOption) applyRun(s *runOptionSet) { o(s) }

// An optionSet holds everything that the options of an engine set.
type optionSet struct {
	decode   rules.Options
	formats  map[string]format
	language *language.Language
	trials   []trial // of the added methods and guards
	run      runOptionSet
}

// A runOptionSet holds everything that the options of a run set.
type runOptionSet struct {
	runtime.Loop   // fields set by options; Inputs are the caller's
	transport      http.RoundTripper
	auth           *credentials // nil for the credentials of the configuration
	tokens         credential.Store
	pace           transport.SharedPace
	offline        bool // whether to use placeholders instead of obtaining tokens
	secretsVersion int  // changes with every option that may add secrets
	userAgent      string
	timeout        time.Duration
	prefetch       int
	parallel       int
	jobs           []string // IDs of the selected jobs; empty for all jobs
	keepGoing      bool
	accept         func(JobResult) bool
	skipped        func(*Page)
}

// selection returns the jobs of [WithJobs] as a set. It is nil for all jobs.
func (s runOptionSet) selection() map[string]bool {
	if len(s.jobs) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, id := range s.jobs {
		set[id] = true
	}
	return set
}

// A format parses the text of a source and marks the positions of its values.
type format = func(*diag.Source) (any, error)

func newOptionSet(options []Option) (optionSet, error) {
	s := optionSet{formats: map[string]format{}, language: language.Builtin(), decode: rules.Options{Catalog: rules.Builtin()}}
	s.run.setPrefetch(1)
	for _, o := range options {
		if o == nil {
			continue
		}
		if err := o.apply(&s); err != nil {
			return s, err
		}
	}
	if err := s.run.check(); err != nil {
		return s, err
	}
	return s, s.try()
}

// check reports values that cannot be used. The options of a run do not report them, because
// [Engine.With] returns no error.
func (s runOptionSet) check() error {
	found := diag.NewCollector(nil)
	for _, o := range []struct {
		option remedy.Name
		want   string
		value  any
		valid  bool
	}{
		{remedy.ParallelJobs, "a number of jobs", s.parallel, s.parallel >= 0},
		{remedy.Prefetch, "a number of pages, or AutoPrefetch", s.prefetch, s.prefetch >= 0 || s.prefetch == AutoPrefetch},
		{remedy.Timeout, "a duration of 0 or more", s.timeout, s.timeout >= 0},
	} {
		if !o.valid {
			found.Errorf(diag.Option(o.option), "want %s, got %v", o.want, o.value)
		}
	}
	return join(s.auth.check(), found.Diagnostics().Err())
}

// refused returns the error of an option that cannot be used.
func refused(option string, err error) error {
	return Diagnostics{{Path: option, Message: err.Error()}}
}

func (s *runOptionSet) setPrefetch(n int) { s.prefetch, s.Ahead = n, ahead.PolicyFor(n) }

// WithFormat parses configurations whose names have the given extension in a format other than
// JSON: WithFormat(".yaml", yaml.Parse), with package rules/yaml. YAML is not built in, so that
// programs without YAML do not link it. The empty extension applies to names without one. [New]
// reads no text and ignores formats.
func WithFormat(ext string, format func(*diag.Source) (any, error)) Option {
	return loadOption(func(s *optionSet) error {
		if ext != "" && ext[0] != '.' {
			return refused("WithFormat", fmt.Errorf("the extension %q does not begin with a dot", ext))
		}
		if format == nil {
			return refused("WithFormat", fmt.Errorf("the format of %q is nil", ext))
		}
		s.formats[strings.ToLower(ext)] = format
		return nil
	})
}

// WithDialect overrides the configuration's dialect: "spec" or "keboola".
func WithDialect(dialect rules.Dialect) Option {
	return loadOption(func(s *optionSet) error { s.decode.Dialect = dialect; return nil })
}

// WithBaseURL overrides the configuration's base address.
func WithBaseURL(address string) Option {
	return loadOption(func(s *optionSet) error { s.decode.BaseURL = address; return nil })
}

// WithEnv provides environment variables to configurations that name them with {"env": "NAME"}. By
// default no variable is provided, because the author of a configuration may not be allowed to
// read the environment.
func WithEnv(lookup func(name string) (string, bool)) Option {
	return loadOption(func(s *optionSet) error { s.decode.Env = lookup; return nil })
}

// WithPlaceholders substitutes a placeholder for every environment variable that [WithEnv] does
// not provide, so that a configuration can be checked, explained and tested without its secrets. A
// run with placeholders sends them to the API.
func WithPlaceholders() Option {
	return loadOption(func(s *optionSet) error { s.decode.Placeholders = true; return nil })
}

// WithMaxPages limits every job to n pages, in addition to the limits of the configuration. A
// longer job ends with outcome "limited", by the rule option.maxPages. Zero means no limit; n must
// not be negative. Jobs without pagination make one request in any case. The limit is a rule of the
// compiled jobs, so [Engine.With] cannot change it.
func WithMaxPages(n int) Option {
	return loadOption(func(s *optionSet) error {
		if n < 0 {
			return refused("WithMaxPages", fmt.Errorf("want a number of pages, got %d", n))
		}
		s.decode.Pages = n
		return nil
	})
}

// WithTransport makes the requests with another transport. The default transport has keep-alive,
// HTTP/2, zstd, gzip and the proxy from the environment. The engine still handles timeouts,
// retries, redirects and the rules about other origins, and decompresses responses that the
// transport leaves compressed; [transport.Negotiated] also requests compression.
func WithTransport(t http.RoundTripper) RunOption {
	return runOption(func(s *runOptionSet) { s.transport = t })
}

// WithClock replaces the system's clock. If the clock has a method Started, the run starts at the time that it returns,
// which is now() in the expressions of variables (for).
func WithClock(clock transport.Clock) RunOption {
	return runOption(func(s *runOptionSet) { s.Clock = clock })
}

// WithLogger sets the logger. By default a run logs nothing.
func WithLogger(log *slog.Logger) RunOption { return runOption(func(s *runOptionSet) { s.Log = log }) }

// WithObserver passes the events of the given kinds to an observer; without kinds, it passes all
// events. Events without an observer cost nothing.
func WithObserver(o Observer, kinds ...EventKind) RunOption {
	kinds = append([]EventKind(nil), kinds...) // nil if there are no kinds
	return runOption(func(s *runOptionSet) { s.Observer, s.Observed = o, kinds })
}

// WithLargeResponse calls f when a response begins to arrive that is too large for memory. Such a
// response is read by one goroutine while it is received by another. f may be called concurrently.
func WithLargeResponse(f func()) RunOption {
	return runOption(func(s *runOptionSet) { s.Arriving = f })
}

// WithAuth overrides the configuration's credentials with credentials of type basic, bearer,
// header or query, or with a [config.TokenFunc]. Nil means no credentials.
func WithAuth(a config.Auth) RunOption {
	return runOption(func(s *runOptionSet) { s.auth = newCredentials(a); s.secretsVersion++ })
}

// WithTokenStore stores the refresh tokens that an API issues to replace the configuration's token
// (authentication of type oauth2, grant refresh_token). Without a store, a new token is lost when
// the run ends, and a warning says so.
func WithTokenStore(store credential.Store) RunOption {
	return runOption(func(s *runOptionSet) { s.tokens = store })
}

// WithSharedPace shares the request rate of the configuration with other processes. Together they
// make api.http.requestsPerSecond requests per second, including requests for tokens, and while
// the API has told one of them to wait, all of them wait. Limits on the number of requests in
// flight still apply to each run. Requests wait while the shared pace cannot be reached. Nil, the
// default, shares nothing.
//
// The workers of package engine/cluster share their pace over NATS JetStream.
func WithSharedPace(shared transport.SharedPace) RunOption {
	return runOption(func(s *runOptionSet) { s.pace = shared })
}

// WithoutTokenRequests makes no requests for tokens: the requests of the run contain placeholders
// instead. It is for a transport that replays a recording.
func WithoutTokenRequests() RunOption { return runOption(func(s *runOptionSet) { s.offline = true }) }

// WithUserAgent overrides the User-Agent header, which is "stopwhen".
func WithUserAgent(agent string) RunOption {
	return runOption(func(s *runOptionSet) { s.userAgent = agent })
}

// WithTimeout ends a run that takes longer than d with an error of class "policy". Pages before
// the timeout are complete. Zero means no limit; d must not be negative.
func WithTimeout(d time.Duration) RunOption {
	return runOption(func(s *runOptionSet) { s.timeout = d })
}

// WithInputs sets declared inputs of the configuration by name. Values are text, numbers and
// booleans. One compiled engine can serve any number of tenants at the same time, each with its
// own inputs.
func WithInputs(values map[string]any) RunOption {
	return runOption(func(s *runOptionSet) { s.Inputs = values; s.secretsVersion++ })
}

// WithKept passes the values saved by the previous run, by job and name: Kept of its [JobResult]s.
// They may have been encoded as JSON and decoded with json.Number. With nil, the default, the log does not say why a tree of jobs
// gives no new values; a program that keeps values, and has none yet, passes an empty map.
func WithKept(kept map[string]map[string]any) RunOption {
	return runOption(func(s *runOptionSet) { s.KeptBefore = kept })
}

// WithResume continues an earlier run of the same configuration. checkpoints maps the Root of each tree of
// jobs to the [Page.Checkpoint] of the last page that was saved. A job that has already ended does not run
// again; a job without a checkpoint starts from the beginning. [Engine.Check] reports an ID that is not that
// of a root.
func WithResume(checkpoints map[string]json.RawMessage) RunOption {
	return runOption(func(s *runOptionSet) { s.Resume = checkpoints })
}

// WithPrefetch sets the number of pages in flight. With 1, the default, the next page is requested
// while a large one (64 KiB or more) is delivered or, if no request of the job depends on
// responses, as soon as its response has arrived. With n > 1, or [AutoPrefetch] to let the run
// choose the number, jobs whose requests do not depend on responses have up to n requests in
// flight; [Engine.Explain] lists these jobs. With 0, a page is requested after the previous page
// has been delivered. Other negative numbers than AutoPrefetch are refused.
//
// Pages are always delivered in order. At most max(n-1, 1) pages beyond the end of a list are
// requested, or no page if the first page states the number of items; they are discarded and not
// counted, and an error or a panic of the transport in one of them is ignored. With 1, only GET
// requests are made ahead, and parent jobs make no request ahead, because the requests of their
// children come first.
func WithPrefetch(n int) RunOption {
	return runOption(func(s *runOptionSet) { s.setPrefetch(n) })
}

// WithParallelJobs runs up to n jobs, and partitions of jobs, at once. The pages of each
// job are delivered in order, one page of all jobs at a time. Zero means one; n must not be negative.
func WithParallelJobs(n int) RunOption { return runOption(func(s *runOptionSet) { s.parallel = n }) }

// WithJobs runs only the jobs with the given IDs, in the order of the configuration. Without IDs
// all jobs run. [Engine.Check] reports an ID that matches no job.
func WithJobs(ids ...string) RunOption {
	return runOption(func(s *runOptionSet) { s.jobs = slices.Clone(ids) })
}

// WithKeepGoing lets the other jobs run to their ends when a job fails. The error of the run then
// joins the errors of the failed jobs, in the order of the jobs. An error of the sink, a timeout
// or a cancelled context still ends the run.
func WithKeepGoing() RunOption { return runOption(func(s *runOptionSet) { s.keepGoing = true }) }

// WithAccept sets which endings of jobs the run accepts. A job that a rule ended and that accept
// refuses has [JobResult] field Refused: its items are not committed, its kept values do not move
// on, and the error of the run is of class suspect. The other jobs run to their ends. If accept is
// nil, which is the default, a run refuses lists with evidence that they are incomplete (see
// [JobResult.Evidence]), except in dialect keboola. Pass JobResult.Ended to accept every ending.
func WithAccept(accept func(JobResult) bool) RunOption {
	return runOption(func(s *runOptionSet) { s.accept = accept })
}

// WithSkippedPages passes f the pages on which skipped partitions failed and which the sink does
// not receive, because the request failed or the response could not be read as a page. Such a page
// has no items and no checkpoint, but a trace records it. Calls of f and of the sink never
// overlap, and follow the order of the pages.
func WithSkippedPages(f func(*Page)) RunOption {
	return runOption(func(s *runOptionSet) { s.skipped = f })
}

// WithPagingValues adds the values that describe the list to every page: see Page.PagingValues. A contract
// compares them.
func WithPagingValues() RunOption { return runOption(func(s *runOptionSet) { s.PagingValues = true }) }

// WithVerdictValues adds to every verdict the values that decided it. By default only verdicts of met
// rules have them. A trace needs all of them. The cost is some microseconds per page.
func WithVerdictValues() RunOption {
	return runOption(func(s *runOptionSet) { s.VerdictValues = true })
}
