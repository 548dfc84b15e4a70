package rules

import (
	"cmp"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Check completes and checks a Config that was built in Go instead of read by
// [Decode]. The diagnostics have no positions.
func (c *Config) Check() diag.Diagnostics {
	diags := diag.NewCollector(c.Source)
	r := reader{diags: diags}
	c.Dialect = cmp.Or(c.Dialect, Spec)
	c.HTTP.complete(r)
	method, _ := find(jobFields, "method")
	for i := range c.Jobs {
		j := &c.Jobs[i]
		j.Path = cmp.Or(j.Path, diag.Index(diag.Join(c.Path, "config.jobs"), i))
		j.DataType = cmp.Or(j.DataType, j.Endpoint)
		verb := setting{Path: diag.Join(j.Path, "method")}
		r.convert(&verb, cmp.Or(j.Method, "GET"), method)
		j.Method = verb.text()
	}
	if at := diag.Value(diag.Join(c.Path, "api.baseUrl")); c.BaseURL == "" {
		diags.Errorf(at, "baseUrl is missing")
	} else {
		checkBaseURL(diags, at, c.BaseURL)
	}
	c.check(diags)
	return diags.Diagnostics()
}

// complete fills in the defaults of what is zero. Negative retries are none.
func (h *HTTP) complete(r reader) {
	s := settings{}
	r.defaults(s, "", "", rootFields)
	defaults := (&decoder{reader: r}).http(s)
	if h.RetryCodes == nil {
		h.RetryCodes = defaults.RetryCodes
	}
	h.MaxRetries = max(cmp.Or(h.MaxRetries, defaults.MaxRetries), 0)
	h.RetryHeader = cmp.Or(h.RetryHeader, defaults.RetryHeader)
	h.MaxBodyBytes = cmp.Or(h.MaxBodyBytes, defaults.MaxBodyBytes)
	h.MaxDepth, h.MaxItems = cmp.Or(h.MaxDepth, defaults.MaxDepth), cmp.Or(h.MaxItems, defaults.MaxItems)
}
