package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// HTTP holds the settings that all requests have in common. [Decode] fills in the defaults.
type HTTP struct {
	Headers       Object   // sent in this order
	Params        Object   // parameters of all requests; a request's own parameters override them
	SecretHeaders []string // names of headers whose values are secret
	MaxRetries    int      // retries of one request
	RetryCodes    []int    // statuses that are retried
	LimitCodes    []int    // statuses that are retried if the response says that a rate limit is exceeded
	RetryHeader   string   // says when to retry
	RateRemaining string   // header with the number of requests that are left; may be empty
	RateReset     string   // header that says when there will be more
	Pace          Pace
	IgnoreErrors  []int // statuses whose response is read as a page
	MaxBodyBytes  int   // the size of a response, decompressed
	MaxDepth      int   // nesting of a response
	MaxItems      int   // the items of a response
	MaxValueBytes int   // memory for the values of a response that rules read
}

// Pace limits the requests of a run, whichever job makes them.
type Pace struct {
	Timeout   time.Duration // time limit of a request; 0 if not configured
	PerSecond float64       // requests per second; 0 means no limit
	Burst     int           // requests at once after a rest
	Parallel  int           // requests in flight; 0 means no limit
}

var maxRetriesField = Field{Name: "maxRetries", Kind: KindInteger, Default: 4,
	Doc: "how many times a request is retried after a transient error"}

var retryCodesField = Field{Name: "codes", Kind: KindList, Each: &Field{Kind: KindStatus},
	Default: []any{408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529},
	Doc:     "the statuses that are retried"}

var limitCodesField = Field{Name: "limitCodes", Kind: KindList, Each: &Field{Kind: KindStatus}, Default: []any{403},
	Doc: "the statuses that are retried, too, if the response says that a rate limit is exceeded: it has the `retryHeader`, " +
		"or the header `rateLimit.remaining` is 0 (without `rateLimit`: `X-RateLimit-Remaining`, " +
		"`X-Rate-Limit-Remaining` or `RateLimit-Remaining`)"}

var retryHeaderField = Field{Name: "retryHeader", Kind: KindText, Default: "Retry-After", Doc: "the header that says when to retry"}

var httpFields = []Field{
	{Name: "headers", Kind: KindMap, Doc: "headers of all requests; a `#` before a name makes its value a secret"},
	{Name: "defaultOptions", Kind: KindBlock, Doc: "what all requests have in common; their own values override it", Fields: []Field{
		{Name: "params", Kind: KindMap, Doc: "parameters of all requests"},
		{Name: "headers", Kind: KindMap, Doc: "headers of all requests"},
	}},
	maxRetriesField,
	retryCodesField,
	limitCodesField,
	retryHeaderField,
	{Name: "rateLimit", Kind: KindBlock,
		Doc: "headers that say how many requests are left; when none are, the next one waits", Fields: []Field{
			{Name: "remaining", Kind: KindText, Heading: "rate limit",
				Doc: "header with the number of requests that are left: `X-RateLimit-Remaining`; " +
					"without it the next request waits after every response with `reset`"},
			{Name: "reset", Kind: KindText, Heading: "rate limit", Required: true,
				Doc: "header that says when there are more: `X-RateLimit-Reset`, " +
					"in seconds from now or as a time in seconds or milliseconds since 1970"},
		}},
	{Name: "timeout", Kind: KindSeconds, Doc: "how long a request may take, from sending it to the last byte of its response; " +
		"after that it is retried. " +
		"Without it a response must begin within a minute and be complete within ten"},
	{Name: "requestsPerSecond", Kind: KindPerSecond, Doc: "maximum number of requests per second, of all jobs together, retries included; " +
		"`0.2` is one request every five seconds"},
	{Name: "burst", Kind: KindCount, Default: 1, DefaultWith: "requestsPerSecond",
		Doc: "how many requests may follow each other at once, after a rest, in spite of `requestsPerSecond`"},
	{Name: "parallel", Kind: KindCount, Doc: "maximum number of requests at the same time, of all jobs together"},
	{Name: "ignoreErrors", Kind: KindList, Each: &Field{Kind: KindStatus}, Doc: "statuses whose response is read as a page"},
	{Name: "maxBodyBytes", Kind: KindCount, Heading: "limits", Default: 1 << 30, Doc: "maximum size of a response, decompressed, in bytes"},
	{Name: "maxItemsPerPage", Kind: KindCount, Heading: "limits", Default: 1_000_000, Doc: "maximum number of items in a response"},
	{Name: "maxValueBytes", Kind: KindCount, Heading: "limits", Default: 256 << 20,
		Doc: "maximum memory for the values of a response that rules read, in bytes; items that no rule reads need none"},
	{Name: "maxDepth", Kind: KindCount, Heading: "limits", Default: 512, Doc: "maximum nesting of a response"},
	{Name: "requiredHeaders", Kind: KindList, Each: &Field{Kind: KindText}, Support: OnlyKeboola,
		Doc: "names of headers that `config.http.headers` must have"},
}

// retryFields are the keys of retries in the form of the reference.
var retryFields = []Field{
	maxRetriesField,
	retryCodesField,
	{Name: "http", Kind: KindBlock, Doc: "retryHeader and codes, where the reference implementation has them",
		Fields: []Field{retryHeaderField, retryCodesField}},
	{Name: "curl", Kind: KindAny, Support: Refused},
}

// http reads api.http, api.retryConfig, which overrides it, and config.http.
func (d *decoder) http(s settings) HTTP {
	h := HTTP{
		MaxRetries:   max(s.firstGiven("api.retryConfig.maxRetries", "api.http.maxRetries").number(), 0),
		RetryCodes:   s.firstGiven("api.retryConfig.http.codes", "api.retryConfig.codes", "api.http.codes").numbers(),
		LimitCodes:   s.get("api.http.limitCodes").numbers(),
		RetryHeader:  s.firstGiven("api.retryConfig.http.retryHeader", "api.http.retryHeader").text(),
		IgnoreErrors: s.get("api.http.ignoreErrors").numbers(),
		MaxBodyBytes: s.get("api.http.maxBodyBytes").number(),
		MaxDepth:     s.get("api.http.maxDepth").number(),
		MaxItems:     s.get("api.http.maxItemsPerPage").number(),

		MaxValueBytes: s.get("api.http.maxValueBytes").number(),

		RateRemaining: s.get("api.http.rateLimit.remaining").text(),
		RateReset:     s.get("api.http.rateLimit.reset").text(),
		Params:        d.params(s.get(commonParams)),
		Pace:          d.pace(s),
	}
	for _, name := range []string{"api.http.headers", "api.http.defaultOptions.headers", "config.http.headers"} {
		if !d.keboola.iterates() { // each iteration has its own
			d.readHeaders(d.keboola.evaluated(s.get(name), nil), &h.Headers, &h.SecretHeaders)
		}
	}
	d.checkRequiredHeaders(s)
	return h
}

// pace reads the limits of the pace of all requests.
func (d *decoder) pace(s settings) Pace {
	perSecond, _ := s.get("api.http.requestsPerSecond").Value.(float64)
	if burst := s.get("api.http.burst"); perSecond == 0 && burst.given() {
		d.diags.Warnf(diag.Key(burst.path()), "burst has no effect without requestsPerSecond")
	}
	return Pace{
		Timeout: durationOf(s.get("api.http.timeout").Value), PerSecond: perSecond,
		Burst: s.get("api.http.burst").number(), Parallel: s.get("api.http.parallel").number(),
	}
}

// checkRequiredHeaders reports headers that config should have.
func (d *decoder) checkRequiredHeaders(s settings) {
	headers := s.get("config.http.headers").object()
	if d.keboola.iterates() {
		for _, over := range d.keboola.iterations {
			headers = headers.Merge(value.ObjectAt(over, "http", "headers"))
		}
	}
	for _, header := range s.get("api.http.requiredHeaders").list() {
		name, _ := header.Value.(string)
		if headers.Value(name) == nil && headers.Value("#"+name) == nil {
			d.diags.Errorf(diag.Value(header.path()), "config.http.headers does not have %s", name)
		}
	}
}

// readHeaders adds header values, which are scalars. A header replaces an
// earlier header of the same name.
func (d *decoder) readHeaders(s setting, headers *Object, secret *[]string) {
	var object Object
	for _, m := range s.object() {
		name, hidden := strings.CutPrefix(m.Name, "#")
		v, ok := d.header(diag.Join(s.path(), m.Name), name, m.Value, hidden)
		if !ok {
			continue
		}
		if hidden {
			*secret = append(*secret, name)
		}
		object = append(object, Member{Name: name, Value: v})
	}
	if len(object) > 0 {
		*headers = headers.Merge(object)
	}
}

// header reads the value of a header: text, or a computed value.
func (d *decoder) header(path, name string, v any, hidden bool) (any, bool) {
	if c, ok := computed(path, v); ok {
		return d.computedSecret(path, name, c, hidden), true
	}
	if !hidden {
		d.hidePlainSecret(path, name, v)
	}
	d.warnOfTemplate(path, v, true)
	if text, ok := v.(string); ok && strings.EqualFold(name, "Accept-Encoding") {
		d.warnOfEncodings(path, text)
	}
	return d.secret(path, v, hidden)
}

// warnOfEncodings finds an encoding in the value of Accept-Encoding that no response can be decoded from.
func (d *decoder) warnOfEncodings(path, text string) {
	for encoding := range strings.SplitSeq(text, ",") {
		name, quality, weighed := strings.Cut(strings.ToLower(strings.ReplaceAll(encoding, " ", "")), ";q=")
		never := weighed && strings.Trim(quality, "0.") == ""
		if never || slices.Contains([]string{"", "gzip", "x-gzip", "zstd", "identity"}, name) {
			continue
		}
		d.diags.Warnf(diag.Value(path), "a response in another encoding than gzip or zstd, such as %s, cannot be read: it fails the run", name).
			WithHint("leave the header out: zstd and gzip are requested then")
		return
	}
}
