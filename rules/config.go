package rules

import (
	"net/url"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Config describes an API, how it pages and what to extract (specification,
// section 2). [Decode] reads it.
type Config struct {
	BaseURL        string
	Dialect        string // [Spec] or [Keboola]
	Pagination     any    // the pagination object: an [Object] or a map; nil: one request per job
	HTTP           HTTP
	Auth           *Auth    // nil: none
	AllowedOrigins []string // other origins that links and redirects may point to, without credentials
	Jobs           []Job
	Debug          bool
	Tests          []Test

	Catalog *Catalog     // the methods and guards; nil: [Builtin]
	Source  *diag.Source // the text; nil when built in Go
	Path    string       // config path of the object that holds api and config
	Secrets []string     // values that must never be printed
}

// Options override or complete a configuration.
type Options struct {
	Dialect string                      // overrides the configuration's; empty: does not
	BaseURL string                      // overrides the configuration's; empty: does not
	Env     func(string) (string, bool) // values for {"env": "NAME"}; nil: none
	Catalog *Catalog                    // the methods and guards; nil: [Builtin]
}

var rootFields = []Field{
	{Name: "$schema", Kind: Text, Doc: "the JSON Schema that an editor checks this file with"},
	{Name: "api", Kind: Block, Fields: apiFields, Required: true, Doc: "where the API is and how it pages"},
	{Name: "config", Kind: Block, Fields: configFields, Required: true, Doc: "what to extract"},
	{Name: "tests", Kind: Blocks, Fields: testFields, Doc: "what must come of what the API answers; `stopwhen test` runs them, everything else leaves them alone"},
}

var apiFields = []Field{
	{Name: "baseUrl", Kind: Text, Required: true, Doc: "base address; endpoints are resolved against it (RFC 3986), so a path that is to be kept ends in a slash"},
	{Name: "pagination", Kind: Nested, Doc: "how the API pages; without it each job makes one request"},
	{Name: "dialect", Kind: Text, Default: Spec, Values: dialects, Doc: "`spec` follows the specification to the letter, `keboola` its reference implementation"},
	{Name: "http", Kind: Block, Fields: httpFields, Doc: "headers, retries and limits of every request"},
	{Name: "authentication", Kind: Block, Fields: authenticationFields, Doc: "credentials, sent to the origin of `baseUrl` alone"},
	{Name: "allowedOrigins", Kind: List, Each: &Field{Kind: Text}, Doc: "other origins (`https://host:port`) that next URLs and redirects may lead to, without credentials"},
	{Name: "name", Kind: Text, Unsupported: OnOutput, Doc: "a name for the API"},
	{Name: "retryConfig", Kind: Block, Fields: retryFields, Doc: "retries, as the reference writes them"},
	{Name: "caCertificate", Kind: Text, Unsupported: OnRequest},
	{Name: "clientCertificate", Kind: Text, Unsupported: OnRequest},
	{Name: "#clientCertificate", Kind: Text, Unsupported: OnRequest},
}

var configFields = []Field{
	{Name: "jobs", Kind: Blocks, Fields: jobFields, Required: true, Doc: "what to extract, in this order"},
	{Name: "outputBucket", Kind: Text, Unsupported: OnOutput, Doc: "the reference's output bucket; items go to standard output or to `--out`"},
	{Name: "debug", Kind: Flag, Default: false, Doc: "log what happens in detail"},
	{Name: "http", Kind: Block, Doc: "more headers", Fields: []Field{
		{Name: "headers", Kind: Map, Doc: "headers of every request; they take the place of `api.http.headers` of the same name"},
	}},
	{Name: "username", Kind: Secret, Doc: "of `api.authentication` `basic`, where the reference keeps it"},
	{Name: "#password", Kind: Secret, Doc: "of `api.authentication` `basic`, where the reference keeps it"},
	{Name: "password", Kind: Secret, Doc: "of `api.authentication` `basic`; better written `#password`"},
	{Name: "id", Kind: Any, Unsupported: OnOutput},
	{Name: "mappings", Kind: Any, Unsupported: OnOutput},
	{Name: "incrementalOutput", Kind: Any, Unsupported: OnOutput},
	{Name: "compatLevel", Kind: Any, Unsupported: OnOutput},
	{Name: "userData", Kind: Any, Unsupported: OnOutput},
	{Name: "iterations", Kind: Any, Unsupported: OnRequest},
}

// check reports what is wrong with values that are valid each by itself, and
// fills in what follows from others: job ids and the jobs of tests.
func (c *Config) check(faults *diag.Collector) {
	if len(c.Jobs) == 0 {
		faults.Errorf(diag.Value(diag.Join(c.Path, "config.jobs")), "there is no job").WithHint(`a job is at least {"endpoint": "users"}`)
	}
	c.nameJobs(faults)
	c.checkTests(faults)
}

func checkBaseURL(faults *diag.Collector, at diag.Place, address string) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		faults.Errorf(at, "not an http or https address").WithHint("write it like https://api.example.com/v1/")
	}
}
