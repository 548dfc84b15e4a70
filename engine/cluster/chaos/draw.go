//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// A plan is what a round is drawn as: the lists of the API, and how they are extracted.
type plan struct {
	Seed     uint64
	Accounts int // items of the list at the root
	PageSize int // items of a page
	Pad      int // bytes that each item has for nothing
	Methods  []string
	Limit    int    // config.limits.partitions; 0: none
	Parallel int    // requests in flight; 0: any number
	Payload  string // max_payload of the server
	Skip     bool   // onPartitionError
	Denied   int    // of so many lists, one answers with 403; 0: none does
	Poison   bool   // one list ends the process that requests it
	Silent   bool   // the list at the root is not written
	Delay    int    // milliseconds that a response takes at most
}

// draw draws the round of a number.
func draw(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 1))
	one := func(outOf int) bool { return r.IntN(outOf) == 0 }
	p := plan{
		Seed: seed, Accounts: 8 + r.IntN(10), PageSize: 3 + r.IntN(6), Skip: one(3), Silent: one(4), Delay: 5 + r.IntN(30), Payload: "8MB",
	}
	for range jobKinds {
		p.Methods = append(p.Methods, methods[r.IntN(len(methods))])
	}
	if one(2) {
		p.Denied = 15
	}
	p.Poison = one(3)
	if one(4) {
		p.Pad = 20_000 << r.IntN(4)
	}
	if one(3) {
		p.Payload = "64KB"
	}
	if one(5) {
		p.Parallel = 2 + r.IntN(4)
	}
	if one(8) {
		p.Limit, p.Poison = 10+r.IntN(40), false
	}
	return p
}

// The kinds of jobs of each round.
const (
	accounts = "accounts" // the list at the root
	orders   = "orders"   // for each account
	lines    = "lines"    // for some orders
	notes    = "notes"    // for each account, too
	events   = "events"   // of windows that are split
	stats    = "stats"    // of values
	feed     = "feed"     // one list, which begins again in the middle
)

var jobKinds = []string{accounts, orders, lines, notes, events, stats, feed}

var methods = []string{"pages", "links", "tokens", "offsets"}

// config returns the configuration of the round, for an API at an address.
func (p plan) config(address string) []byte {
	job := func(kind, endpoint string, more map[string]any) map[string]any {
		all := map[string]any{"id": kind, "endpoint": endpoint, "dataField": "data", "dataType": kind,
			"scroller": p.Methods[slices.Index(jobKinds, kind)]}
		maps.Copy(all, more)
		return all
	}
	each := func(variable string, source map[string]any) map[string]any { return map[string]any{variable: source} }
	onError := "fail"
	if p.Skip {
		onError = "skip"
	}
	http := map[string]any{"headers": map[string]any{"X-Secret": map[string]any{"env": secretVariable}}}
	if p.Parallel > 0 {
		http["parallel"] = p.Parallel
	}
	config := map[string]any{"jobs": []any{
		job(accounts, "accounts", map[string]any{"emit": !p.Silent}),
		job(orders, "orders/{account.id}", map[string]any{
			"for": each("account", map[string]any{"items": accounts}), "onPartitionError": onError}),
		job(lines, "lines/{order.id}", map[string]any{"for": each("order", map[string]any{"items": orders, "when": "order.open"}),
			"onPartitionError": onError, "fields": map[string]any{"account": "account.id"}}),
		job(notes, "notes/{account.id}", map[string]any{
			"for": each("account", map[string]any{"items": accounts}), "onPartitionError": onError}),
		job(events, "events", map[string]any{
			"for":    each("range", map[string]any{"from": 0, "to": 1024, "step": 256, "splitWhen": "body.total > 20", "smallest": 16}),
			"params": map[string]any{"from": map[string]any{"expr": "range.from"}, "to": map[string]any{"expr": "range.to"}}}),
		job(stats, "stats/{area.name}-{kind}", map[string]any{"for": map[string]any{
			"area": map[string]any{"values": []any{
				map[string]any{"name": "eu", "kinds": []string{"a", "b", "a"}}, map[string]any{"name": "us", "kinds": []string{"c"}}}},
			"kind": map[string]any{"values": "area.kinds"}}, "onPartitionError": onError}),
		job(feed, "feed", map[string]any{"scroller": "expiring"}),
	}}
	if p.Limit > 0 {
		config["limits"] = map[string]any{"partitions": p.Limit}
	}
	text, err := json.MarshalIndent(map[string]any{
		"api": map[string]any{"baseUrl": address, "http": http, "pagination": map[string]any{
			"method": "multiple", "scrollers": map[string]any{
				"pages": map[string]any{"method": "pagenum", "keep": map[string]any{"last": "greatest(items, 'n', kept.last)"}},
				"links": map[string]any{"method": "response.url", "urlKey": "next",
					"keep": map[string]any{"last": "greatest(items, 'n', kept.last)"}},
				"tokens":  map[string]any{"method": "response.param", "responseParam": "token", "queryParam": "token", "includeParams": true},
				"offsets": map[string]any{"method": "offset", "limit": p.PageSize},
				"expiring": map[string]any{"method": "response.param", "responseParam": "token", "queryParam": "token",
					"onError": []any{map[string]any{"when": "status == 410", "do": "restart", "message": "the token has expired"}}},
			}}},
		"config": config,
	}, "", " ")
	if err != nil {
		panic(err) // these are plain values
	}
	return text
}

// An item of the API.
type item struct {
	ID   string `json:"id"`
	N    int    `json:"n"`
	Open bool   `json:"open"`
	Pad  string `json:"pad,omitempty"`
}

// list returns the items of a list: the same whenever it is asked for. Items of different
// lists may be equal, but for accounts and orders, which have lists of their own.
func (p plan) list(kind, key string) []item {
	r := rand.New(rand.NewPCG(p.Seed, hash(kind+"/"+key)))
	var n int
	prefix := ""
	switch kind {
	case accounts:
		n, prefix = p.Accounts, "a"
	case orders:
		n, prefix = r.IntN(3*p.PageSize), key+"o"
	case events:
		n = 150
	case feed:
		n = 5 * p.PageSize
	default:
		n = r.IntN(4 * p.PageSize)
		if r.IntN(4) == 0 {
			n = 0
		}
	}
	items := make([]item, n)
	for i := range items {
		items[i] = item{ID: fmt.Sprintf("%s%d", prefix, i), N: i + 1, Open: r.IntN(3) > 0, Pad: pad(p.Pad)}
		if kind == events {
			items[i].N = r.IntN(1024)
		}
	}
	return items
}
