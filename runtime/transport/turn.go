package transport

import (
	"context"
	"net/http"
	"sync"
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
	h := c.holdOn(call.URL)
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
// The turn lasts until the request has its time. For a rate that is shared, it lasts until
// the request has asked for its time, since the answer comes from another machine: requests
// that wait together ask together.
func (c *Client) takeTurn(ctx context.Context, call Call, h Hold, trusted bool) (*prepared, error) {
	pacer, left, passed := c.options.Pacer, func() {}, func() {}
	if !pacer.unlimited() {
		err := pacer.line.enter(ctx, call.Turn.number)
		if err != nil {
			return nil, err
		}
		passed = sync.OnceFunc(pacer.line.leave)
		defer passed()
		if left, err = pacer.enter(ctx); err != nil {
			return nil, err
		}
	}
	first, ok, err := h.Enter(ctx)
	if !ok || err != nil {
		left()
		return nil, err
	}
	p := &prepared{trusted: trusted, ended: func() {
		if first {
			h.Leave()
		}
		left()
	}}
	held := func() bool { return !first && (c.quota.exhausted(c.options.Clock.Now()) || isOn(h)) }
	ok, err = c.waitInTurn(ctx, call, p, passed, held)
	if err != nil || !ok {
		p.ended()
		return nil, err
	}
	return p, nil
}

// waitInTurn completes a request and waits for its time. It reports false if the request
// must not be made, because held reports that the API wants none. passed ends the turn.
//
// A token that the request needs is obtained before it waits for the rate: both requests
// count, and they are not in flight at the same time.
func (c *Client) waitInTurn(ctx context.Context, call Call, p *prepared, passed func(), held func() bool) (bool, error) {
	if held() {
		return false, nil
	}
	if err := c.complete(ctx, call, p); err != nil {
		return false, err
	}
	switch pacer := c.options.Pacer; {
	case pacer.limiter == nil:
		return true, nil
	case pacer.shared == nil:
		return c.waitForRate(ctx, call, held)
	default:
		reservation := pacer.shared.Reserve(pacer.pace)
		passed()
		return c.waitForShared(ctx, call, reservation, held)
	}
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
