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

// A response may lead to another origin, where that is allowed, but not to an
// address inside: it would have this program ask what the API itself cannot. So
// requests to other origins are guarded: the address is looked at when the
// connection is made, after names were resolved, however they are spelt.

type guardKey struct{}

// guarded marks a request whose address a response gave.
func guarded(ctx context.Context) context.Context { return context.WithValue(ctx, guardKey{}, true) }

// guardDial refuses connections of guarded requests to addresses inside.
func guardDial(ctx context.Context, _, address string, _ syscall.RawConn) error {
	if ctx.Value(guardKey{}) == nil {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || inside(at.Addr()) {
		return refusedInside(address)
	}
	return nil
}

func refusedInside(address string) error {
	return &failure.Error{Class: failure.Policy, Op: "request", Message: fmt.Sprintf("a response leads to %s, an address that is not public", address),
		Hint: "only the host of baseUrl may be inside; an address that is written in api.allowedOrigins may be too"}
}

// notPublic are the ranges that the predicates of net/netip do not know.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/32"), netip.MustParsePrefix("2002::/16"),
}

// inside tells whether an address is not one of the public Internet.
func inside(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return true
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// guard marks a request to another origin, unless its host is the configured one
// or stands in api.allowedOrigins as an address. Through a proxy, which connects
// itself, names are resolved here first.
func (c *Client) guard(ctx context.Context, address string) (context.Context, error) {
	u, err := url.Parse(address)
	if err != nil || c.options.Origin != nil && hostname(u) == hostname(c.options.Origin) {
		return ctx, nil
	}
	_, literal := netip.ParseAddr(hostname(u))
	if (literal == nil || hostname(u) == "localhost") && c.allowed(u) {
		return ctx, nil
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	if err != nil || proxy == nil {
		return guarded(ctx), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return ctx, err
	}
	for _, a := range found {
		if inside(a) {
			return ctx, refusedInside(a.String())
		}
	}
	return ctx, nil
}
