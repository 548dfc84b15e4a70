package rules

import (
	"crypto/tls"
	"errors"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Config describes an API, how it pages and what to extract (specification,
// section 2). [Decode] reads it.
type Config struct {
	BaseURL        string
	User           *url.Userinfo // taken out of BaseURL; may be nil
	Dialect        Dialect       // [Spec] or [Keboola]
	HTTP           HTTP
	Auth           *Auth       // nil without credentials
	TLS            *tls.Config // certificates for the origin of BaseURL; nil for the system's
	Certificates   string      // the texts that TLS was made from, which are secret
	AllowedOrigins []string    // with expressions in braces: other origins that links and redirects may point to, without credentials
	Jobs           []Job
	Debug          bool
	MaxPartitions  int // limit of partitions in a run; 0 means no limit
	Inputs         []Input
	Tests          []Test

	Properties []Property
	Source     *diag.Source // the text; nil when built in Go
	Secrets    []string     // values that must never be printed
	Identities []string     // secrets that are not credentials but select a list, such as the name of a tenant
	Env        []string     // names of the environment variables that {"env": "NAME"} names
	UnsetEnv   []string     // those without a value, in whose place the configuration has placeholders

	EnvPaths map[string][]string // by their names: the config paths of the values that they give

	pages       int             // Options.Pages
	pagination  *pagination     // nil for one request per job
	pagingDiags *diag.Collector // collects the mistakes in the pagination, which [Config.Lower] reports
	catalog     *Catalog        // the methods and guards
	base        requests.Base   // BaseURL, parsed
	baseSource  Computed        // computes BaseURL; may be zero
	path        string          // config path of the object that holds api and config
}

// Path returns the config path of a key such as api.baseUrl, with that of the object that
// holds api and config.
func (c *Config) Path(key string) string { return diag.Join(c.path, key) }

// Options override or complete a configuration.
type Options struct {
	Dialect Dialect                     // overrides the configuration's dialect unless it is empty
	BaseURL string                      // overrides the configuration's base URL unless it is empty
	Pages   int                         // maximum number of pages of each job, in addition to forceStop; 0 means no limit
	Env     func(string) (string, bool) // looks up values for {"env": "NAME"}; nil if no variable has a value

	// Placeholders says that a variable without a value has a placeholder, which the
	// setting accepts, instead of being an error.
	Placeholders bool

	Catalog *Catalog // methods and guards; nil for [Builtin]
}

// sharedPrefix begins the names of keys of the root that have no effect.
const sharedPrefix = "x-"

var rootFields = []Field{
	{Name: "$schema", Kind: KindText, Doc: "the JSON Schema that editors use to check this file"},
	{Name: "api", Kind: KindBlock, Fields: apiFields, Required: true, Doc: "the address of the API and how it pages"},
	{Name: "config", Kind: KindBlock, Fields: configFields, Required: true, KeboolaKeys: true, Doc: "what to extract"},
	{Name: "inputs", Kind: KindMap, Each: &Field{Kind: KindBlock, Fields: inputFields},
		Doc: "values that each run sets (`--set NAME=VALUE`), by name; expressions read them as `input.NAME`"},
	{Name: "aws", Kind: KindAny, Support: OnlyKeboola, Doc: "credentials of AWS, as the reference implementation configures them"},
	{Name: "iterations", Kind: KindList, Support: OnlyKeboola, Doc: "objects whose values override `config`: its jobs run once for each"},
	{Name: "x-*", Prefix: sharedPrefix, Kind: KindAny, Doc: "anything, without an effect: what several parts of a file share " +
		"can stand here under an anchor of YAML, or notes for people and other programs"},
	{Name: "tests", Kind: KindBlocks, Fields: testFields, Doc: "tests of the configuration: responses, and the expected result. " +
		"Only `stopwhen test` reads them. Each begins at 2026-01-01 00:00 UTC, which is its `now()`"},
}

var apiFields = []Field{
	{Name: "baseUrl", Kind: KindText, Required: true, Env: true, Sources: BraceSource, KeboolaForms: true,
		Doc: "base address; endpoints are resolved against it (RFC 3986), so it should end in a slash; " +
			"it may hold inputs in braces: `https://{input.tenant}.example.com/`, or `{+input.url}` for a whole address"},
	{Name: "pagination", Kind: KindNested, Doc: "how the API pages; without it each job makes one request"},
	{Name: "dialect", Kind: KindText, Default: string(Spec), Values: DialectNames(),
		Doc: "`spec` follows the specification to the letter, `keboola` its reference implementation"},
	{Name: "http", Kind: KindBlock, Fields: httpFields, Doc: "headers, retries and limits of all requests"},
	{Name: "response", Kind: KindBlock, Fields: responseFields, Doc: "the format of the responses of all jobs"},
	{Name: "authentication", Kind: KindBlock, Fields: authenticationFields, KeboolaForms: true,
		Doc: "credentials, sent only to the origin of `baseUrl`"},
	{Name: "allowedOrigins", Kind: KindList, Sources: BraceSource, Heading: "base address", Each: &Field{Kind: KindText},
		Doc: "other origins (`https://host:port`) that next URLs and redirects may point to; they get no credentials. " +
			"Inputs may stand in braces: `https://{input.region}.example.com`"},
	{Name: "name", Kind: KindText, Support: Ignored, Doc: "a name for the API"},
	{Name: "retryConfig", Kind: KindBlock, Fields: retryFields, QuietDefault: true,
		Doc: "retries, as the reference implementation configures them"},
	{Name: "caCertificate", Kind: KindText, Doc: "certificates in PEM of the authorities that certify the server of `baseUrl`, " +
		"instead of the authorities that the system trusts"},
	{Name: "#clientCertificate", Kind: KindSecret, Doc: "a certificate and its private key in PEM, " +
		"which identify the client to the server of `baseUrl`"},
	{Name: "clientCertificate", Kind: KindSecret, Doc: "prefer `#clientCertificate`"},
}

var configFields = []Field{
	{Name: "jobs", Kind: KindBlocks, Fields: jobFields, Required: true, Doc: "what to extract, in this order"},
	{Name: "limits", Kind: KindBlock, Doc: "limits of the run as a whole", Fields: limitsFields},
	{Name: "outputBucket", Kind: KindText, Support: Ignored,
		Doc: "the reference's output bucket; items are written to standard output or to `--out`"},
	{Name: "debug", Kind: KindFlag, Heading: "detailed log", Default: false, Doc: "log in detail"},
	{Name: "http", Kind: KindBlock, Doc: "more headers", Fields: []Field{
		{Name: "headers", Kind: KindMap, Doc: "headers of all requests; they override `api.http.headers`"},
	}},
	{Name: "username", Kind: KindSecret, Doc: "for `api.authentication` of type `basic`, which the reference implementation reads here"},
	{Name: "#password", Kind: KindSecret, Doc: "for `api.authentication` of type `basic`, which the reference implementation reads here"},
	{Name: "password", Kind: KindSecret, Doc: "for `api.authentication` of type `basic`; prefer `#password`"},
	{Name: "id", Kind: KindAny, Support: Ignored},
	{Name: "mappings", Kind: KindAny, Support: Ignored},
	{Name: "incrementalOutput", Kind: KindAny, Support: Ignored},
	{Name: "compatLevel", Kind: KindAny, Support: Ignored},
	{Name: "userData", Kind: KindAny, Support: OnlyKeboola, Doc: "members that are added to every item, which functions may compute"},
}

// finish sets what depends on several values: the ids and data types of jobs, and the jobs of tests. It
// reports mistakes that involve several values.
func (c *Config) finish(diags *diag.Collector) {
	if len(c.Jobs) == 0 {
		diags.Errorf(diag.Value(diag.Join(c.path, "config.jobs")), "want at least one job").WithHint(`a job is at least {"endpoint": "users"}`)
	}
	c.finishJobs(diags)
	c.completeTests(diags)
}

// checkBaseURL returns an error that describes an invalid base address.
func checkBaseURL(address string) error {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return errors.New("not an http or https address")
	}
	return nil
}

// CheckOrigin returns an error that describes an invalid address of an origin, or an invalid base address that an
// expression computes. Such an address must have no user and password, since logs do not mask them.
func CheckOrigin(address string) error {
	if base, err := url.Parse(address); err == nil && base.User != nil {
		return errors.New("an address with a user name or a password, which belong under api.authentication")
	}
	return checkBaseURL(address)
}

// checkBasePath warns of the parts of baseUrl that requests do not have: the text after
// the last slash of its path, and its query (RFC 3986).
func (c *Config) checkBasePath(diags *diag.Collector, place diag.Place) {
	base, err := url.Parse(sampleBase(c.BaseURL))
	if err != nil {
		return // reported
	}
	last := base.Path[strings.LastIndexByte(base.Path, '/')+1:]
	for _, j := range c.Jobs {
		if last != "" && relative(sampleAddress(j.Endpoint)) && !strings.HasPrefix(j.Endpoint, last+"/") {
			diags.Warnf(place, "requests do not have the last part of the path, %q, because no slash follows it: %s is added to %q",
				last, value.Preview(j.Endpoint), strings.TrimSuffix(base.Path, last)).WithHint("end the path with a slash: " + last + "/")
			break
		}
	}
	if base.RawQuery != "" {
		diags.Warnf(place, "requests do not have the query of this address").
			WithHint("write its parameters under api.http.defaultOptions.params")
	}
}

// FirstRequest returns the job's own request: endpoint, method, params, headers.
func (c *Config) FirstRequest(job Job) requests.Request {
	r := requests.Request{
		Method: job.Method, Base: c.base, Endpoint: job.Endpoint, Params: job.Params, Headers: c.HTTP.Headers,
		Encoding: c.Dialect.Switches().Encoding, Lists: job.Lists,
	}
	if job.Body != nil {
		r.Body, r.OwnBody = job.Body, true
	}
	if len(job.Headers) > 0 {
		r.Headers = r.Headers.Merge(job.Headers)
	}
	return r
}

// relative reports whether an endpoint is resolved against the path of baseUrl.
func relative(endpoint string) bool {
	to, err := url.Parse(endpoint)
	return err == nil && to.Scheme == "" && to.Host == "" && to.Path != "" && to.Path[0] != '/'
}
