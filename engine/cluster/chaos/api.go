//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}

func pad(n int) string { return strings.Repeat("x", n) }

// An api serves the lists of a plan.
type api struct {
	plan plan
	base string // its address
	hard bool   // responses take time, and some lists fail until the API is repaired

	mu       sync.Mutex
	repaired bool
	expired  bool            // the first list of the feed has ended
	asked    map[string]int  // how often, by address
	wrong    []string        // requests that should not have been made
	failing  map[string]bool // lists that have failed
	flight   int
	most     int // requests at the same time
}

func newAPI(p plan, base string, hard bool) *api {
	return &api{plan: p, base: base, hard: hard, repaired: !hard, asked: map[string]int{}, failing: map[string]bool{}}
}

// repair lets the lists work that have failed, unless they are skipped.
func (a *api) repair() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.repaired = true
}

// What the API tells the workers of the harness.
const (
	workerHeader = "X-Worker"
	secretHeader = "X-Secret"
	dieHeader    = "X-Die" // of a response: end the process
)

// ServeHTTP implements [http.Handler]. The path begins with that of the base.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.begin(r)
	defer a.end()
	kind, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, a.path()), "/")
	if a.hard {
		time.Sleep(time.Duration(rand.IntN(a.plan.Delay)) * time.Millisecond)
	}
	switch {
	case a.denies(kind, key):
		w.WriteHeader(http.StatusForbidden)
	case a.kills(kind, key):
		w.Header().Set(dieHeader, "1")
	case kind == feed && a.expires(r.URL.Query().Get("token")):
		w.WriteHeader(http.StatusGone)
		_, _ = w.Write([]byte("{}"))
	default:
		a.serve(w, r, kind, key)
	}
}

func (a *api) path() string { return "/" + strings.SplitN(a.base, "/", 4)[3] }

func (a *api) begin(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[r.URL.String()]++
	a.flight++
	a.most = max(a.most, a.flight)
	if r.Header.Get(secretHeader) != secretOf(r.Header.Get(workerHeader)) {
		a.wrong = append(a.wrong, fmt.Sprintf("%s came from %q with the secret %q",
			r.URL, r.Header.Get(workerHeader), r.Header.Get(secretHeader)))
	}
}

func (a *api) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flight--
}

// chosen reports whether a list is one of those that fail: one of n, at random.
func (a *api) chosen(what, kind, key string, n uint64) bool {
	return n > 0 && (kind == orders || kind == lines || kind == stats) && hash(fmt.Sprint(a.plan.Seed, what, kind, key))%n == 0
}

// denies reports whether a list answers with 403: forever if it may be skipped.
func (a *api) denies(kind, key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.chosen("denied", kind, key, uint64(a.plan.Denied)) || a.repaired && !a.plan.Skip {
		return false
	}
	if !a.plan.Skip {
		a.failing[kind+"/"+key] = true
	}
	return true
}

// kills reports whether a list ends the process that requests it.
func (a *api) kills(kind, key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	const oneOf = 60
	if !a.plan.Poison || !a.chosen("poison", kind, key, oneOf) || a.repaired {
		return false
	}
	a.failing[kind+"/"+key] = true
	return true
}

// expires reports whether a token of the feed has expired: those of the first list do after
// some pages.
func (a *api) expires(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	const lastPage = 3
	generation, offset, _ := strings.Cut(token, ".")
	at, _ := strconv.Atoi(offset)
	if generation != "first" || at < lastPage*a.plan.PageSize {
		return false
	}
	a.expired = true
	return true
}

// serve answers with a page.
func (a *api) serve(w http.ResponseWriter, r *http.Request, kind, key string) {
	q := r.URL.Query()
	items := a.plan.list(kind, key)
	if from, err := strconv.Atoi(q.Get("from")); err == nil {
		to, _ := strconv.Atoi(q.Get("to"))
		items = within(items, from, to)
	}
	at := a.offset(q.Get("page"), q.Get("offset"), q.Get("token"))
	end := min(at+a.plan.PageSize, len(items))
	page := map[string]any{"data": items[min(at, end):end], "total": len(items)}
	if end < len(items) {
		next := fmt.Sprintf("%s.%d", a.generation(kind, q.Get("token")), end)
		page["token"] = next
		q.Set("token", next)
		page["next"] = "?" + q.Encode()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(page)
}

// generation returns which list the tokens of a page belong to. The second list of the feed
// begins with the first request after a token of the first one has expired. The request after a
// page may be made before the page is stored, so a page of the first list remains one.
func (a *api) generation(kind, token string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch of, _, ok := strings.Cut(token, "."); {
	case kind != feed:
		return "only"
	case ok:
		return of
	case a.expired:
		return "second"
	}
	return "first"
}

// offset returns where a page begins.
func (a *api) offset(page, offset, token string) int {
	if n, err := strconv.Atoi(page); err == nil {
		return (n - 1) * a.plan.PageSize
	}
	if _, at, ok := strings.Cut(token, "."); ok {
		offset = at
	}
	n, _ := strconv.Atoi(offset)
	return n
}

func within(items []item, from, to int) []item {
	in := []item{}
	for _, one := range items {
		if one.N >= from && one.N < to {
			in = append(in, one)
		}
	}
	return in
}

// summary returns how many requests were made, and how many of them were repeated.
func (a *api) summary() (made, repeated int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.asked {
		made, repeated = made+n, repeated+n-1
	}
	return made, repeated
}
