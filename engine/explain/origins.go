package explain

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// originInWords returns the origin of an address in brackets, or "" if it has none.
func originInWords(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return fmt.Sprintf(" (%s://%s)", u.Scheme, u.Host)
}

// explainOrigins says how a run treats links and redirects to other origins.
func explainOrigins(cfg *rules.Config) string {
	allowed := cfg.AllowedOrigins
	if slices.ContainsFunc(cfg.Jobs, func(j rules.Job) bool { return j.AllowedOrigins != nil }) {
		allowed = append(slices.Clip(allowed), "an origin of allowedOrigins of its job")
	}
	switch {
	case cfg.Dialect.Switches().FollowAnyOrigin:
		return "A link, endpoint or redirect to another origin than that of api.baseUrl" + originInWords(cfg.BaseURL) + " is followed, " +
			"without credentials and other secrets, but with other headers. " +
			"At a private address, such as one of a local network, it fails the run (" + statusPolicy + "), unless its host is that of " +
			"api.baseUrl, or api.allowedOrigins has the address."
	case len(allowed) > 0:
		return fmt.Sprintf("A link, endpoint or redirect to %s is followed, without credentials and other secrets, but with "+
			"other headers, unless its host name has a private address (api.allowedOrigins; "+statusPolicy+"). "+
			"One to any other origin but that of api.baseUrl%s fails the run (%s).",
			wording.OrList(allowed), originInWords(cfg.BaseURL), statusPolicy)
	}
	return fmt.Sprintf("A link, endpoint or redirect to another origin (scheme, host and port) than that of api.baseUrl%s "+
		"fails the run (%s), and nothing is sent there; api.allowedOrigins allows one.", originInWords(cfg.BaseURL), statusPolicy)
}
