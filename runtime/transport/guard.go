package transport

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A response may point to another origin, where that is allowed, but not to a
// private address, which this program might reach where the API cannot. So
// requests to other origins are guarded: the address is checked when the
// connection is made, after the name was resolved.

// guardKey is the context key that marks a guarded request.
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
		Class: failure.Policy, Op: "request", Message: fmt.Sprintf("refused: a response points to %s, which is not a public address", address),
		Hint: "only the host of baseUrl, or an IP address listed in api.allowedOrigins, may be private",
	}
}

// specialPurpose are the ranges that the predicates of net/netip miss.
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
	for _, p := range specialPurpose {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// guard marks a request to another origin as guarded, unless its host is the
// configured one, or an IP address or localhost that [Options.AllowedOrigins]
// lists. A proxy makes the connection itself, so for one the name is resolved and
// checked here.
func (c *Client) guard(ctx context.Context, address string) (context.Context, error) {
	u, err := url.Parse(address)
	if err != nil {
		return ctx, err
	}
	if c.options.Origin != nil && hostname(u) == hostname(c.options.Origin) {
		return ctx, nil
	}
	_, notAddress := netip.ParseAddr(hostname(u))
	if (notAddress == nil || hostname(u) == "localhost") && c.allowed(u) {
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
