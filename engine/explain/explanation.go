package explain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// ExplanationVersion is the version of the JSON of an [Explanation]. It changes when a key
// is removed or gets another meaning, not when one is added.
const ExplanationVersion = 1

// Explanation describes a compiled configuration: as JSON for programs, by
// [Explanation.String] for people, by [Explanation.Mermaid] as a picture.
// [ExplanationSchema] is the schema of the JSON, and the doc tags describe its keys:
//
//   - A key with omitempty or omitzero is absent if its value is false, zero or empty. Its doc
//     tag says "absent:" if the absence has a meaning of its own.
//   - A duration is a number of seconds. A bound names its unit: pages, items, bytes or seconds.
//   - A status is an HTTP status, except for the status of a rule, which is an exit status.
//   - A source is an expression. The value of says or summary is text for people.
type Explanation struct {
	Version  int                  `json:"version" doc:"version of this form"`
	Config   string               `json:"config,omitempty" doc:"file name of the configuration"`
	Dialect  rules.Dialect        `json:"dialect" doc:"dialect of the configuration"`
	Warnings []WarningExplanation `json:"warnings,omitempty" doc:"probable mistakes, as the command check prints them"`
	Env      *EnvExplanation      `json:"environment,omitempty" doc:"the environment variables that the configuration reads; absent: none"`
	Inputs   []InputExplanation   `json:"inputs,omitempty" doc:"the inputs; absent: there are none"`
	Auth     *AuthExplanation     `json:"credentials,omitempty" doc:"the credentials, without their values; absent: there are none"`
	Retries  RetryExplanation     `json:"retries" doc:"how often a request is made again after a transient error"`
	Pace     *PaceExplanation     `json:"pace,omitempty" doc:"what limits the pace of all requests together; absent: nothing"`
	Trees    []TreeExplanation    `json:"trees,omitempty" doc:"which jobs are for the items of others, or run more than once; absent: none"`
	Jobs     []JobExplanation     `json:"jobs" doc:"the jobs, in the order in which they run"`
	Origins  string               `json:"origins" doc:"what becomes of links and redirects to other origins"`
	Terms    []TermExplanation    `json:"terms,omitempty" doc:"functions and names in the expressions"`

	properties []property
	redact     func(string) string
	serial     bool // whether jobs run one after another, whatever the flags say
	roots      int  // number of the jobs that are no children
}

// WarningExplanation is a warning about the configuration.
type WarningExplanation struct {
	Message string        `json:"message" doc:"what is probably wrong"`
	Hint    string        `json:"hint,omitempty" doc:"how to fix it"`
	Path    string        `json:"path,omitempty" doc:"config path of the place"`
	File    string        `json:"file,omitempty" doc:"file name"`
	At      diag.Position `json:"at,omitzero" doc:"position in the file"`

	text string
}

// EnvExplanation names the environment variables that the configuration reads.
type EnvExplanation struct {
	Names []string            `json:"names" doc:"all of them, in the order of the file"`
	Paths map[string][]string `json:"paths,omitempty" doc:"by their names: the config paths of the values that they give"`
	Unset []string            `json:"unset,omitempty" doc:"those without a value, in whose place the explanation has samples"`
}

// String returns the names in words.
func (e *EnvExplanation) String() string {
	text := "environment: the run reads " + strings.Join(lists.Map(e.Names, func(name string) string {
		return fmt.Sprintf("%s (%s)", name, strings.Join(e.Paths[name], ", "))
	}), ", ")
	text += fmt.Sprintf("; each must be set, and passed with --env (%s otherwise)", statusConfig)
	if i := slices.IndexFunc(e.Names, func(name string) bool { return slices.Equal(e.Paths[name], []string{"api.baseUrl"}) }); i >= 0 {
		text += fmt.Sprintf(", except %s with --base-url", e.Names[i])
	}
	if e.Unset != nil {
		text += ". Sample values stand in this text for those that are not set here: " + strings.Join(e.Unset, ", ")
	}
	return text
}

// InputExplanation describes an input.
type InputExplanation struct {
	Name string `json:"name"`
	Says string `json:"says" doc:"its default, and what else holds of it, in words"`

	optional bool // whether it may be left out, and is nil then
}

// AuthExplanation describes the credentials.
type AuthExplanation struct {
	Type    string            `json:"type" doc:"type of api.authentication"`
	Says    string            `json:"says" doc:"what requests are sent with, and when that is renewed"`
	Request string            `json:"request,omitempty" doc:"the request that obtains them, with what it sends except secrets"`
	Errors  string            `json:"errors,omitempty" doc:"what happens if this request fails, in words"`
	Rules   []RuleExplanation `json:"rules,omitempty" doc:"expressions that give credentials, in the order in which they are evaluated"`

	path string   // config path
	sent []string // the headers with the credentials, without their values
}

// RetryExplanation says how often a request is made again.
type RetryExplanation struct {
	Max      int    `json:"max" doc:"number of retries of one request; then the run fails"`
	Statuses []int  `json:"statuses,omitempty" doc:"the statuses that are retried"`
	Limited  []int  `json:"limited,omitempty" doc:"the statuses that are retried if the response says that a rate limit is exceeded"`
	Header   string `json:"header,omitempty" doc:"header of the response that says when to retry"`
	Renewed  bool   `json:"renewed,omitempty" doc:"after status 401, the credentials are renewed and the request is made again, once"`

	limit   transport.RateLimit // the configured headers of the rate limit
	wait    Waits
	timeout time.Duration // the configured timeout; 0 means no timeout

	otherMethods bool // whether requests have another method than GET
}

// PaceExplanation says what limits the pace of the requests of a run.
type PaceExplanation struct {
	Says      string  `json:"says" doc:"the limits in words"`
	Timeout   float64 `json:"timeout,omitempty" doc:"how long a request may take, in seconds"`
	PerSecond float64 `json:"requestsPerSecond,omitempty" doc:"requests per second"`
	Burst     int     `json:"burst,omitempty" doc:"requests that may follow each other at once, after a rest"`
	Parallel  int     `json:"parallel,omitempty" doc:"requests at the same time"`
	Remaining string  `json:"remaining,omitempty" doc:"header with the number of requests that are left"`
	Reset     string  `json:"reset,omitempty" doc:"header that says when there are more"`
}

// JobExplanation describes how one job is paged.
type JobExplanation struct {
	Job           string                 `json:"job" doc:"id of the job"`
	Method        string                 `json:"method,omitempty" doc:"method of paging; absent: the job is not paged"`
	Scroller      string                 `json:"scroller,omitempty" doc:"with method multiple: name of the scroller"`
	Summary       string                 `json:"summary" doc:"what the job does, in a few sentences"`
	First         RequestExplanation     `json:"firstRequest" doc:"the first request"`
	FirstKept     *RequestExplanation    `json:"firstRequestAfterKept,omitempty" doc:"the first request, if it reads unknown kept values"`
	Second        *RequestExplanation    `json:"secondRequest,omitempty" doc:"the request after the first page; absent: there is none"`
	Partitions    *PartitionsExplanation `json:"partitions,omitempty" doc:"what the job is repeated for; absent: it is run once"`
	Items         ItemsExplanation       `json:"items" doc:"where the items of a response are"`
	Shape         []RuleExplanation      `json:"shape,omitempty" doc:"filter and fields, which are evaluated for each item"`
	Ignore        []string               `json:"ignore,omitempty" doc:"paths that the same-page check ignores (guards.ignore)"`
	Limit         any                    `json:"limit,omitempty" doc:"page size in effect"`
	LimitFrom     *rules.Origin          `json:"limitFrom,omitempty" doc:"where the page size was set"`
	Computed      []RuleExplanation      `json:"computed,omitempty" doc:"values of requests, computed before the first of each partition"`
	State         []RuleExplanation      `json:"state,omitempty" doc:"variables, before the first request and after each page"`
	Next          []RuleExplanation      `json:"nextRequest,omitempty" doc:"parts of the requests, which override the job's own"`
	IncludeParams bool                   `json:"includeParams" doc:"the job's parameters are sent with every request"`
	Sequential    string                 `json:"sequential,omitempty" doc:"why pages cannot be requested ahead; absent: they can"`
	Bounds        BoundsExplanation      `json:"bounds" doc:"what limits the number of requests"`
	Stops         []RuleExplanation      `json:"stops,omitempty" doc:"rules that stop paging; the first one met is the reason"`
	NoNext        *RuleExplanation       `json:"noNextRequest,omitempty" doc:"the end because there is no next request"`
	Enough        *RuleExplanation       `json:"partitionLimit,omitempty" doc:"the end because the limit on partitions has left one out"`
	OnError       []RuleExplanation      `json:"onError,omitempty" doc:"rules for error responses; the first that is true decides"`
	Needs         []NeedExplanation      `json:"needs,omitempty" doc:"values that every item must have; the run fails if one lacks it"`
	Keep          []RuleExplanation      `json:"keep,omitempty" doc:"values that are saved for the next run"`
	KeepSays      string                 `json:"keeps,omitempty" doc:"when they are saved, and which of several"`
	Audit         []RuleExplanation      `json:"audit,omitempty" doc:"rules about the end of a list; evidence fails the run, a hint warns"`
	Unused        []rules.Unused         `json:"unused,omitempty" doc:"rules that are not in force"`
	Functions     []FunctionExplanation  `json:"functions,omitempty" doc:"functions of the embedding program that the rules call"`

	windows       []string // the windows of each variable that has some, as far as they are known
	endpoint      string   // endpoint as written in the configuration
	path          string   // config path of the job
	paging        string   // config path of its pagination; empty if it has no pagination
	signs         []string // places of responses by which rules decide how the list goes on
	signsInHeader bool     // whether such a place may have another page after a page that came again

	whyNotAhead string // why the next page is not requested ahead by default, for the text; empty if it is
	onlyOne     bool   // whether its list has one page, whatever the response
	passesEmpty bool   // whether no rule ends the list because a page is empty

	paramsInBody bool // whether the requests after the first have the params in their body
	ownBody      bool // whether the body of its requests is one of its own, which the params are no part of
	properties   []property
}

// RequestExplanation is one request. A value that only a response can tell is a phrase in braces.
type RequestExplanation struct {
	Method  string   `json:"method" doc:"HTTP method"`
	URL     string   `json:"url" doc:"address; what only a response can tell is in braces"`
	Headers []string `json:"headers,omitempty" doc:"names of the headers that the configuration sets"`
	Body    string   `json:"body,omitempty" doc:"what only a response can tell is in braces, in JSON in quotes, which only a text has"`

	sent      []string // the headers that a run sends although the configuration does not set them
	headers   []string // the headers with their values, unless they may be secrets
	form      bool     // the body is a URL-encoded form
	foreign   bool     // the address is known, and has another origin than api.baseUrl, where no credentials are sent
	fails     string   // the end of a sentence that says that the run fails before the request, and why; otherwise empty
	keptInAll bool     // with kept values, the requests after the first have them, too
	keptOnce  []string // the params and headers with kept values that these requests do not have
	typed     bool     // a value of the body, which is JSON, is a phrase in braces, and might not be text
}

// ItemsExplanation says where the items of a response are.
type ItemsExplanation struct {
	Format rules.Format `json:"format,omitempty" doc:"the format of the responses, if it is not json"`

	Path  string       `json:"path,omitempty" doc:"dataField; absent: the response itself if it is a list, otherwise its only list"`
	Where string       `json:"where" doc:"the same in words"`
	From  rules.Origin `json:"origin" doc:"who says so"`

	Otherwise string `json:"otherwise,omitempty" doc:"what a value there means that is not a list"`

	Key   []string `json:"key,omitempty" doc:"paths of what identifies an item as it is written"`
	Files []string `json:"files,omitempty" doc:"names of their files, without the ending of the format; absent: they are not written"`
	Added bool     `json:"added,omitempty" doc:"the rows are added to the file; absent: they replace it"`

	objects                  bool     // whether all of them are objects
	ordered                  bool     // whether they are in the order of several paths
	mayGrow                  bool     // whether a page that is not known to be full is saved with the next one: see [engine.Page.MayGrow]
	keepsSeveral             bool     // whether a job keeps several values, not all of which may decide this
	keepers                  []string // ids of the jobs whose kept values decide this, if they are not those of the job alone
	parents                  []string // ids of the job and its ancestors, as far as other jobs are for their items
	beside, published, added string   // conditions under which the files are replaced, and under which rows are added
	ofEvidence               string   // what the next run also does for a list with evidence; empty if evidence only warns
}

// RuleExplanation describes one rule.
type RuleExplanation struct {
	ID           string        `json:"id" doc:"id in the trace and the result"`
	Source       string        `json:"source" doc:"expression"`
	ValueInWords string        `json:"value,omitempty" doc:"the value of the expression in words"`
	Reads        []string      `json:"reads,omitempty" doc:"what it reads"`
	Outcome      rules.Outcome `json:"outcome,omitempty" doc:"what the end means for the list"`
	Status       int           `json:"status,omitempty" doc:"exit status of a run that fails because of the rule; absent: it fails no run"`
	Do           string        `json:"do,omitempty" doc:"of an onError rule: what it does"`
	On           string        `json:"on,omitempty" doc:"of an onError rule: the responses that it judges: error, success or any"`
	Drop         bool          `json:"drop,omitempty" doc:"the page's items are not emitted"`
	Clause       string        `json:"says" doc:"the rule in words"`
	Message      string        `json:"message,omitempty" doc:"for the log; expressions in braces are evaluated"`
	Origin       rules.Origin  `json:"origin"`

	Settings []rules.Use `json:"settings,omitempty" doc:"the settings that a rule of a method depends on"`

	First     bool       `json:"first,omitempty" doc:"of a part of a request: the first request has it, too"`
	FirstOnly bool       `json:"firstOnly,omitempty" doc:"of a part of a request: only the first request has it"`
	FirstBy   *rules.Use `json:"firstBy,omitempty" doc:"of a part of a request: the setting that says whether the first request has it"`
	Guard     bool       `json:"guard,omitempty" doc:"it is a guard against an API that makes no progress"`

	MaxRestarts int             `json:"maxRestarts,omitempty" doc:"how often the rule restarts the list at most; items are written again"`
	Bound       *language.Bound `json:"bound,omitempty" doc:"of a stop: when it is true at the latest; absent: the responses decide"`
	Evidence    string          `json:"evidence,omitempty" doc:"when a finding of the audit is evidence, which fails a run; absent: never"`
	Never       string          `json:"never,omitempty" doc:"why the rule can never be the reason to stop; absent: it can"`

	rule         rules.Rule
	again        bool          // whether a finding of the audit is evidence only if samePage ended the list
	clause       string        // the Clause of a guard without what its other fields say
	exceptions   []string      // of a guard, besides polls
	dialect      rules.Dialect // of a guard
	later        bool          // ValueInWords is only that of requests after the first
	own          bool          // the job has a param of that name
	leftOut      bool          // it is a part of the request that is left out, since no page size is set
	runsChildren bool          // jobs are for the items of its list
	readsWhole   bool          // the whole response is an item unless it is a list
	perPartition bool          // it is evaluated before the first request, so its value does not depend on a page
	base         string        // of an address: where a relative one is resolved
	lists        string        // of an object of params: how lists and objects in it are written
	alone        bool          // of an object of params: the request has no params of the job
	lacks        []string      // kept values, and variables that begin with one, whose lack fails the rule if it decides
	calls        []string      // names of the functions that it calls
}

// FunctionExplanation describes a function of the embedding program.
type FunctionExplanation struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

// RunDetails are the values that an explanation has of a run besides its configuration.
type RunDetails struct {
	Inputs   map[string]any            // inputs by name
	Kept     map[string]map[string]any // values that the previous run saved, by job and name
	Warnings diag.Diagnostics
	Auth     *compile.Credentials // nil if there are no credentials
	Waits    Waits                // if they are zero, the explanation does not mention them
	Redact   func(string) string

	sorts bool // the credentials sort the parameters of the query
}

// Explain describes compiled jobs. It redacts all text.
func Explain(cfg *rules.Config, jobs []*compile.Job, run RunDetails) *Explanation {
	e := &Explanation{
		Version: ExplanationVersion, Dialect: cfg.Dialect,
		Retries: RetryExplanation{
			Max: cfg.HTTP.MaxRetries, Statuses: cfg.HTTP.RetryCodes, Limited: cfg.HTTP.LimitCodes, Header: cfg.HTTP.RetryHeader,
			limit: transport.RateLimit{Remaining: cfg.HTTP.RateRemaining, Reset: cfg.HTTP.RateReset}, Renewed: cfg.Auth.Renews(),
			wait: run.Waits, timeout: cfg.HTTP.Pace.Timeout,
		},
		Pace: explainPace(&cfg.HTTP, run.Waits.Asked), Origins: run.Redact(explainOrigins(cfg)), redact: run.Redact,
		serial: cfg.MaxPartitions > 0,
	}
	for _, j := range jobs {
		if j.Parent == nil {
			e.roots++
		}
	}
	run.sorts = cfg.Auth != nil && cfg.Auth.Type == rules.AuthAWS4
	e.Trees = trees(jobs, run.Redact)
	if cfg.Env != nil {
		e.Env = &EnvExplanation{Names: cfg.Env, Paths: cfg.EnvPaths, Unset: cfg.UnsetEnv}
	}
	for _, in := range cfg.Inputs {
		e.Inputs = append(e.Inputs, InputExplanation{in.Name, run.Redact(inputInWords(in)), in.Optional && in.Default == nil})
	}
	e.Auth = explainAuth(run.Auth, cfg, run.Redact)
	e.Retries.otherMethods = e.Auth != nil && strings.HasPrefix(e.Auth.Request, "POST ") || slices.ContainsFunc(jobs, hasOtherMethods)
	if cfg.Source != nil {
		e.Config = cfg.Source.Name
	}
	for _, w := range run.Warnings {
		e.Warnings = append(e.Warnings, WarningExplanation{
			Message: run.Redact(w.Message), Hint: run.Redact(w.Hint), Path: w.Path, File: w.File, At: w.Pos, text: run.Redact(w.Error()),
		})
	}
	for _, job := range jobs {
		e.Jobs = append(e.Jobs, newExplainer(job, run.Redact).explain(cfg, run))
	}
	e.Terms = e.terms()
	e.properties = propertiesOf(cfg, e, run.Redact)
	return e
}

// hasOtherMethods reports whether requests of a job have another method than GET.
func hasOtherMethods(j *compile.Job) bool {
	return j.Request.Verb() != "GET" || slices.ContainsFunc(j.Parts, setsMethod)
}

// setsMethod reports whether an expression gives the method of a request.
func setsMethod(e *language.Expression) bool { return e.Rule.Role == rules.RoleVerb }

// explainAuth describes the credentials, which may have no expressions.
func explainAuth(c *compile.Credentials, cfg *rules.Config, redact func(string) string) *AuthExplanation {
	auth := cfg.Auth
	if auth == nil {
		return nil
	}
	x := &AuthExplanation{path: auth.Path, Type: auth.Type, Says: redact(cfg.CredentialSummary()), Request: redact(cfg.CredentialRequest())}
	x.sent = auth.Places()
	switch auth.Type {
	case rules.AuthOAuth2:
		x.Errors = fmt.Sprintf("its errors are those of any request, as below, except that status 400 or 401, "+
			"or a response without access_token, such as HTML, an empty one or one that is no JSON, fails the run (%s)", statusAPI)
	case rules.AuthLogin:
		x.Errors = fmt.Sprintf("its errors are those of any request, as below, with two exceptions. Any other status that is not a page, "+
			"also 401, fails the run at once (%s). A response that is HTML or empty is retried as below, and then used if it has the values "+
			"that are read of it; one without such a value fails the run, too (%s)",
			statusAPI, statusResponse)
	}
	if auth.Values["grant"] == rules.GrantRefresh {
		x.Says += "; if the API replaces the refresh token, the new one is saved in the file of --tokens, or with --state FILE in " +
			"FILE.tokens, and the next run uses it; without these flags, it is lost when the run ends"
	}
	if c != nil {
		for _, e := range c.Expressions() {
			r := explainer{redact: redact}.rule(e)
			r.perPartition = true
			x.Rules = append(x.Rules, r)
		}
	}
	return x
}

// rules returns the expressions of credentials, which may be nil.
func (x *AuthExplanation) rules() []RuleExplanation {
	if x == nil {
		return nil
	}
	return x.Rules
}

// ExplanationSchema returns the JSON Schema of an [Explanation].
func ExplanationSchema() rules.Object {
	return rules.TypeSchema("stopwhen explanation", reflect.TypeFor[Explanation]())
}

// A sharing collects values, such as notes, of several jobs, so that a value that they have in common is
// printed once. It keeps the order in which values were added.
type sharing[T comparable] struct {
	values []T
	jobs   map[T][]int
}

// add adds a value of a job. Jobs are added one after another.
func (s *sharing[T]) add(value T, job int) {
	known := s.jobs[value]
	switch {
	case s.jobs == nil:
		s.jobs = map[T][]int{}
	case known != nil && known[len(known)-1] == job:
		return
	}
	if known == nil {
		s.values = append(s.values, value)
	}
	s.jobs[value] = append(known, job)
}

// jobIDs returns the ids of the jobs at some positions.
func (e *Explanation) jobIDs(positions []int) []string {
	return lists.Map(positions, func(at int) string { return e.Jobs[at].Job })
}

// jobsInWords names jobs: "jobs users, orders". Of a long list it names only the first jobs.
func jobsInWords(names []string) string {
	const most = 20
	switch n := len(names); {
	case n == 1:
		return "job " + names[0]
	case n > most:
		return fmt.Sprintf("jobs %s and %d others", strings.Join(names[:most], ", "), n-most)
	}
	return "jobs " + strings.Join(names, ", ")
}
