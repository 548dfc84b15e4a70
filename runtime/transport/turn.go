package transport

import (
	"context"
	"net/http"
)

// A prepared request may be made now. It lacks only its signature.
type prepared struct {
	request *http.Request
	lease   *Lease // that it is sent with; nil: none
	trusted bool   // its address may receive the credentials
	ended   func() // has to be called when it has ended
}

// prepare waits until the API wants a request and the pace allows it.
func (c *Client) prepare(ctx context.Context, call Call, trusted bool) (*prepared, error) {
	h := c.holds.of(call.URL)
	for {
		if err := c.waitForQuota(ctx, call); err != nil {
			return nil, err
		}
		if err := c.waitForHold(ctx, call, h); err != nil {
			return nil, err
		}
		p, err := c.takeTurn(ctx, call, h, trusted)
		if p != nil || err != nil {
			return p, err
		}
	}
}

// takeTurn waits until the pace allows a request. It returns nil if the API wants none by
// then: the request has to wait for that first, and take another turn.
//
// A token that the request needs is obtained in its turn, before it waits for the rate:
// both requests count, and they are not in flight at the same time.
func (c *Client) takeTurn(ctx context.Context, call Call, h *hold, trusted bool) (*prepared, error) {
	left := func() {}
	if pacer := c.options.Pacer; !pacer.unlimited() {
		err := pacer.line.enter(ctx, call.Turn.number)
		if err != nil {
			return nil, err
		}
		defer pacer.line.leave()
		if left, err = pacer.enter(ctx); err != nil {
			return nil, err
		}
	}
	clock := c.options.Clock
	first, ok := h.enter(clock.Now())
	if !ok || !first && c.quota.exhausted(clock.Now()) {
		left()
		return nil, nil
	}
	p := &prepared{trusted: trusted, ended: func() {
		if first {
			h.leave()
		}
		left()
	}}
	err := c.complete(ctx, call, p)
	if err == nil {
		held := func() bool { now := clock.Now(); return !first && (c.quota.exhausted(now) || h.holds(now)) }
		ok, err = c.waitForRate(ctx, call, held)
	}
	if err != nil || !ok {
		p.ended()
		return nil, err
	}
	return p, nil
}

// complete makes the HTTP request, with its credentials.
func (c *Client) complete(ctx context.Context, call Call, p *prepared) (err error) {
	if p.trusted {
		if p.lease, err = c.lease(ctx, call); err != nil {
			return err
		}
	}
	p.request, err = c.newRequest(ctx, call, p.trusted, p.lease)
	return err
}
