package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Config says where an API is, how it pages, and what to extract (specification
// section 2). It is read by [Decode], or built in Go; [Config.Check] finds what
// is wrong with one built in Go.
type Config struct {
	BaseURL        string
	Dialect        string // "spec" or "keboola"; empty is "spec"
	Pagination     any    // the pagination object: an [Object] or a map; nil: one request a job
	HTTP           HTTP
	Auth           *Auth    // nil: none
	AllowedOrigins []string // may be led to by a response, without credentials
	Jobs           []Job
	Debug          bool
	Tests          []Test

	Source   *diag.Source     // the text; nil when built in Go
	Path     string           // config path of the object that holds api and config
	Secrets  []string         // values that must never be printed
	Warnings diag.Diagnostics // what is odd, but used nevertheless

	unused []*Ruleset
}

// HTTP is what every request shares.
type HTTP struct {
	Headers       Object   // in this order
	Params        Object   // parameters under those of each request
	SecretHeaders []string // names of headers whose values are secret
	MaxRetries    int      // repeats of one request; below 0: none, 0: the default of 4
	RetryCodes    []int    // statuses that are repeated; nil: the usual ones
	RetryHeader   string   // empty: Retry-After
	RateRemaining string   // header with the requests that are left; empty: not looked at
	RateReset     string   // header that says when there are more
	IgnoreErrors  []int    // statuses whose response counts as a page
	MaxBodyBytes  int      // decompressed; 0: 1 GiB
	MaxDepth      int      // nesting of a response; 0: 512
	MaxItems      int      // of a response; 0: a million
}

// Auth is one plain kind of authentication.
type Auth struct {
	Type     string // "basic", "bearer", "header" or "query"
	Username string // basic
	Name     string // header and query: the name that carries the key
	Secret   string // password, token or key
}

// Job is one list to extract.
type Job struct {
	ID            string
	Endpoint      string
	Method        string // "GET" (also when empty), "POST" or "FORM"
	Params        Object
	Headers       Object
	SecretHeaders []string
	DataField     *DataField // nil: found by itself
	DataType      string
	Scroller      string // with method multiple
	Path          string // config path of the job
}

// DataField is where in a response the items stand.
type DataField struct {
	Keys []string // none: the whole response
	Text string   // as written
}

// Options are what a configuration cannot say of itself.
type Options struct {
	Dialect string                      // takes the place of the configuration's
	BaseURL string                      // takes the place of the configuration's
	Env     func(string) (string, bool) // values for {"env": "NAME"}; nil: none is passed
}

// Unused are the rulesets of scrollers that no job names, once [Config.Lower] has
// made them. Nothing runs them; they are compiled to be checked.
func (c *Config) Unused() []*Ruleset { return c.unused }

// Check finds what is wrong with a Config built in Go and fills in what may be
// left out: job ids, paths. The errors are [diag.Diagnostics] without positions.
func (c *Config) Check() error {
	faults := diag.NewCollector(c.Source)
	for i := range c.Jobs {
		if c.Jobs[i].Path == "" {
			c.Jobs[i].Path = diag.Index(diag.Join(c.Path, "config.jobs"), i)
		}
	}
	c.check(faults)
	return faults.Diagnostics().Errors().Err()
}

// check is what must hold however the configuration came to be.
func (c *Config) check(f *diag.Collector) {
	api := diag.Join(c.Path, "api")
	base, err := url.Parse(c.BaseURL)
	if c.BaseURL == "" {
		f.Errorf(diag.Value(api+".baseUrl"), "baseUrl is missing").WithHint("write it like https://api.example.com/v1/")
	} else if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		f.Errorf(diag.Value(api+".baseUrl"), "not an http or https address").WithHint("write it like https://api.example.com/v1/")
	}
	if c.Dialect == "" {
		c.Dialect = Spec
	}
	if !slices.Contains(Dialects, c.Dialect) {
		f.Errorf(diag.Value(api+".dialect"), "no dialect %q; there are %s", c.Dialect, strings.Join(Dialects, " and ")).
			WithHint(diag.DidYouMean(c.Dialect, Dialects))
	}
	if len(c.Jobs) == 0 {
		f.Errorf(diag.Value(diag.Join(c.Path, "config.jobs")), "there is no job").WithHint(`a job is at least {"endpoint": "users"}`)
	}
	c.nameJobs(f)
	for i := range c.Jobs {
		c.Jobs[i].check(f)
	}
	c.checkTests(f)
}

func (j *Job) check(f *diag.Collector) {
	if j.Endpoint == "" {
		f.Errorf(diag.Value(diag.Join(j.Path, "endpoint")), "endpoint is missing: the path of the resource, relative to baseUrl")
	}
	j.Method = strings.ToUpper(j.Method)
	if j.Method == "" {
		j.Method = "GET"
	}
	checkMethod(f, diag.Join(j.Path, "method"), j.Method)
	if j.DataType == "" {
		j.DataType = j.Endpoint
	}
}

// HTTPMethods are the methods a job may have; FORM is a POST with an urlencoded body.
var HTTPMethods = []string{"GET", "POST", "FORM"}

func checkMethod(f *diag.Collector, path, method string) {
	if !slices.Contains(HTTPMethods, method) {
		f.Errorf(diag.Value(path), "no method %q; there are %s", method, strings.Join(HTTPMethods, ", ")).
			WithHint(diag.DidYouMean(method, HTTPMethods))
	}
}

// nameJobs gives every job an id: its endpoint, with its position where two
// jobs would share it. Ids that were written must differ.
func (c *Config) nameJobs(f *diag.Collector) {
	count := map[string]int{}
	for _, j := range c.Jobs {
		if j.ID == "" {
			count[j.Endpoint]++
		}
	}
	seen := map[string]bool{}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if j.ID == "" {
			j.ID = j.Endpoint
			if count[j.Endpoint] > 1 {
				j.ID = fmt.Sprintf("%s#%d", j.Endpoint, i+1)
			}
		}
		if seen[j.ID] {
			f.Errorf(diag.Value(diag.Join(j.Path, "id")), "a second job with the id %q", j.ID).
				WithHint("ids name jobs in logs and results, so they must differ")
		}
		seen[j.ID] = true
	}
}
