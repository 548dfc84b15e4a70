package transport

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A trust says whether the address of a request may receive the credentials.
type trust bool

const (
	trusted trust = true  // the configured origin
	foreign trust = false // another allowed origin
)

// trustOf decides whether a request may go to its address. It is the only place for that decision,
// for configured addresses, next URLs and redirects alike. It returns an error for an origin that is
// neither configured nor allowed.
func (c *Client) trustOf(call Call) (trust, error) {
	refuse := func(message string) (trust, error) {
		return foreign, c.fault(call, failure.Error{Class: failure.Policy, Message: message})
	}
	if err := requests.CheckURLLength(call.URL); err != nil {
		e := c.fault(call, failure.Error{Class: failure.Policy, Message: err.Error()})
		e.URL = wording.Clip(e.URL, 80)
		return foreign, e
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
		return trusted, nil
	case u.User != nil:
		return refuse("the URL contains a user name")
	case c.options.AnyOrigin || allows(c.options.AllowedOrigins, u) || allows(call.Origins, u):
		return foreign, nil
	}
	return foreign, c.fault(call, failure.Error{
		Class:   failure.Policy,
		Message: "refused: points to an origin other than " + c.ownOrigin(),
		Hint:    hintOrigin(u),
	})
}

// A parsedAddress is an address with its parsed form, which is immutable.
type parsedAddress struct {
	text string
	url  *url.URL
}

// parse parses an address. The caller must not change the result. Each address is needed several
// times in a row, so parse caches the last one.
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
	return u.Host != "" && SameOrigin(c.options.Origin, u)
}

// ownOrigin describes the configured origin in a message.
func (c *Client) ownOrigin() string {
	if c.options.Origin.Host == "" {
		return "the allowed origins"
	}
	return c.origin
}

// originOf is [OriginOf], for the addresses that are requested: most have the configured origin, as it is written.
func (c *Client) originOf(u *url.URL) string {
	if own := c.options.Origin; u.Scheme == own.Scheme && u.Host == own.Host {
		return c.origin
	}
	return OriginOf(u)
}

// allows reports whether the origin of an address is among others.
func allows(origins []string, u *url.URL) bool {
	return slices.ContainsFunc(origins, func(text string) bool {
		origin, err := url.Parse(text)
		return err == nil && SameOrigin(origin, u)
	})
}

// SameOrigin reports whether an address has the scheme, host and port of an origin. The address may
// also be safer: https instead of http, both on the default port.
func SameOrigin(origin, u *url.URL) bool {
	if origin.User == nil && u.User != nil {
		return false
	}
	if origin.Scheme == u.Scheme && origin.Host == u.Host {
		return true
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

// defaultPorts has the port of a scheme that an address need not name.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

func port(u *url.URL) string { return cmp.Or(u.Port(), defaultPorts[u.Scheme]) }

// OriginOf returns the scheme, host and port of an address. It omits the default port of the
// scheme.
func OriginOf(u *url.URL) string {
	return u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), ":"+defaultPorts[u.Scheme])
}

// guardKey is the context key that marks a guarded request. A response may point to another origin, where
// that is allowed, but not to a private address, which this program might reach and the API could not.
// Requests to other origins are therefore guarded: the address is checked when the connection is made,
// after name resolution.
type guardKey struct{}

// guarded marks the request of a context as guarded.
func guarded(ctx context.Context) context.Context { return context.WithValue(ctx, guardKey{}, true) }

// guardDial refuses to connect guarded requests to addresses that are not public.
// It is a [net.Dialer.ControlContext].
func guardDial(ctx context.Context, _, address string, _ syscall.RawConn) error {
	if ctx.Value(guardKey{}) == nil {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(at.Addr()) {
		return notPublic(address)
	}
	return nil
}

// notPublic returns the error for a guarded request to an address.
func notPublic(address string) error {
	return &failure.Error{
		Class: failure.Policy, Op: failure.OpRequest,
		Message: fmt.Sprintf("refused: the request goes to %s, which is not a public address", address),
		Hint:    hintPrivate,
	}
}

// specialPurpose lists the ranges that the predicates of net/netip do not cover.
var specialPurpose = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),  // discarded
	netip.MustParsePrefix("2001::/32"), // Teredo
	netip.MustParsePrefix("2002::/16"), // 6to4
}

// isPublic reports whether an address belongs to the public Internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(specialPurpose, func(p netip.Prefix) bool { return p.Contains(a) })
}

// guard marks a request to another origin as guarded, unless its host is the configured host, or an
// IP address or localhost that [Options.AllowedOrigins] lists. Behind a proxy, which makes the
// connection itself, guard resolves and checks the name here.
func (c *Client) guard(ctx context.Context, address string) (context.Context, error) {
	u, _ := c.parse(address) // [Client.trust] has refused invalid addresses
	if hostname(u) == hostname(c.options.Origin) {
		return ctx, nil
	}
	_, notAddress := netip.ParseAddr(hostname(u))
	if (notAddress == nil || hostname(u) == "localhost") && allows(c.options.AllowedOrigins, u) {
		return ctx, nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil {
		return ctx, err
	}
	if proxy == nil {
		return guarded(ctx), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return ctx, err
	}
	for _, a := range found {
		if !isPublic(a) {
			return ctx, notPublic(a.String())
		}
	}
	return ctx, nil
}
