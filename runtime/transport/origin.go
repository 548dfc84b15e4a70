package transport

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// maxURL is the longest address, in bytes.
const maxURL = 8 << 10

// trust decides where a request may go, for configured addresses, next URLs and
// redirects alike: to the configured origin with the credentials, to an allowed
// one without them, to no other.
func (c *Client) trust(method, address string) (bool, error) {
	refuse := func(message, hint string) (bool, error) {
		return false, &failure.Error{Class: failure.Policy, Op: "request", Method: method, URL: c.show(address), Message: message, Hint: hint}
	}
	if len(address) > maxURL {
		address = address[:80]
		return refuse(fmt.Sprintf("an address of more than %d bytes", maxURL), "")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return refuse("not an address", "")
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse(fmt.Sprintf("scheme %q is not allowed, only http and https", u.Scheme), "")
	case u.Host == "":
		return refuse("an address without a host", "")
	case c.options.Origin == nil || sameOrigin(c.options.Origin, u):
		return true, nil
	case u.User != nil:
		return refuse("an address with a user name in it", "")
	case c.options.AnyOrigin || c.allowed(u):
		return false, nil
	}
	return refuse(fmt.Sprintf("leads away from %s", originOf(c.options.Origin)), fmt.Sprintf("if that is right, add %q to api.allowedOrigins; credentials are not sent there", originOf(u)))
}

func (c *Client) allowed(u *url.URL) bool {
	for _, text := range c.options.AllowedOrigins {
		if origin, err := url.Parse(text); err == nil && sameOrigin(origin, u) {
			return true
		}
	}
	return false
}

// sameOrigin compares scheme, host and port. An address may be safer than the
// origin: https for http, on the default ports.
func sameOrigin(origin, u *url.URL) bool {
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
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// redirected is the call that a redirect leads to. A POST that would become a
// GET without its body would ask another question, so only 303 does that.
func (c *Client) redirected(call Call, r *Response, location string) (Call, error) {
	base, err := url.Parse(call.URL)
	if err != nil {
		return call, err
	}
	to, err := base.Parse(location)
	if err != nil {
		return call, &failure.Error{Class: failure.API, Op: "request", Method: call.Method, URL: c.show(call.URL), Status: r.Status, Message: fmt.Sprintf("status %d leads to something that is no address", r.Status)}
	}
	to.Fragment = ""
	switch r.Status {
	case http.StatusSeeOther:
		call.Method, call.Body = http.MethodGet, nil
		call.Header = call.Header.Clone()
		call.Header.Del("Content-Type")
	case http.StatusMovedPermanently, http.StatusFound:
		if call.Method != http.MethodGet {
			return call, &failure.Error{Class: failure.API, Op: "request", Method: call.Method, URL: c.show(call.URL), Status: r.Status,
				Message: fmt.Sprintf("status %d for a POST leads to %s, where it would be asked without its body", r.Status, c.show(to.String())), Hint: "configure the address it leads to"}
		}
	}
	call.URL = to.String()
	c.options.Log.Debug("redirect", "event", "redirect", "from", c.show(base.String()), "to", c.show(call.URL))
	return call, nil
}
