package transport

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// trust decides where a request may go. It is the only place that does, for
// configured addresses, next URLs and redirects alike: it reports true for the
// configured origin, which receives the credentials, false for another allowed
// origin, and an error for any other.
func (c *Client) trust(call Call) (bool, error) {
	refuse := func(message string, hint ...string) (bool, error) {
		return false, c.fault(failure.Policy, call, 0, message, hint...)
	}
	if err := requests.CheckURLLength(call.URL); err != nil {
		e := c.fault(failure.Policy, call, 0, err.Error())
		e.URL = value.Clip(e.URL, 80)
		return false, e
	}
	u, err := c.parse(call.URL)
	switch {
	case err != nil:
		return refuse("the URL is invalid")
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse(fmt.Sprintf("scheme %q is not allowed, only http and https", u.Scheme))
	case u.Host == "":
		return refuse("the URL has no host")
	case c.isOrigin(u):
		return true, nil
	case u.User != nil:
		return refuse("the URL contains a user name")
	case c.options.AnyOrigin || c.allowed(u):
		return false, nil
	}
	return refuse("refused: points to an origin other than "+OriginOf(c.options.Origin),
		fmt.Sprintf("to allow it, add %q to api.allowedOrigins; credentials are not sent there", OriginOf(u)))
}

// A parsedAddress is an address that was parsed. Its URL is not changed.
type parsedAddress struct {
	text string
	url  *url.URL
}

// parse parses an address, which the caller must not change. Every address is needed several
// times in a row, so the last one is kept.
func (c *Client) parse(address string) (*url.URL, error) {
	if last := c.parsed.Load(); last != nil && last.text == address {
		return last.url, nil
	}
	u, err := url.Parse(address)
	if err == nil {
		c.parsed.Store(&parsedAddress{address, u})
	}
	return u, err
}

// Trusts reports whether an address is within the configured origin, which receives
// the credentials.
func (c *Client) Trusts(address string) bool {
	u, err := c.parse(address)
	return err == nil && c.isOrigin(u)
}

func (c *Client) isOrigin(u *url.URL) bool {
	return c.options.Origin == nil || SameOrigin(c.options.Origin, u)
}

// allowed reports whether an address is listed in [Options.AllowedOrigins].
func (c *Client) allowed(u *url.URL) bool {
	for _, text := range c.options.AllowedOrigins {
		if origin, err := url.Parse(text); err == nil && SameOrigin(origin, u) {
			return true
		}
	}
	return false
}

// SameOrigin compares scheme, host and port. An address may be safer than the
// origin: https instead of http, both on the default port.
func SameOrigin(origin, u *url.URL) bool {
	if origin.User == nil && u.User != nil {
		return false
	}
	if hostname(origin) != hostname(u) {
		return false
	}
	if origin.Scheme == u.Scheme {
		return port(origin) == port(u)
	}
	return origin.Scheme == "http" && u.Scheme == "https" && port(origin) == "80" && port(u) == "443"
}

func hostname(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "http":
		return "80"
	case u.Scheme == "https":
		return "443"
	}
	return ""
}

// OriginOf returns scheme, host and port of an address, without a port that is the default of the
// scheme.
func OriginOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Port() == port(&url.URL{Scheme: u.Scheme}) {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return u.Scheme + "://" + host
}
