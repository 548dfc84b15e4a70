package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Player answers requests with what was recorded, and is the clock of the run
// that makes them: time passes by as much as the exchanges took, and by waiting,
// which takes no time. It reaches no network.
type Player struct {
	redactor *redact.Redactor

	mu      sync.Mutex
	now     time.Time
	tracks  []track
	asked   []string // every request, in order, as it is shown
	missing string   // the first request that was not recorded; empty: none
}

// track is one recorded exchange on its way.
type track struct {
	Exchange
	exact, loose string // the request as it is compared
	played       bool
}

// NewPlayer plays a recording from its beginning. The redactor is that of the
// configuration that asks: what it hides is hidden in the recording too.
func (r *Recording) NewPlayer(redactor *redact.Redactor) *Player {
	if redactor == nil {
		redactor = redact.New(nil)
	}
	p := &Player{redactor: redactor}
	for _, x := range r.Exchanges {
		t := track{Exchange: x}
		t.exact, t.loose = p.keys(x.Method, x.URL, x.Body)
		p.tracks = append(p.tracks, t)
	}
	if len(r.Exchanges) > 0 {
		p.now = r.Exchanges[0].Started
	}
	return p
}

// keys are two ways to compare a request: as it is written, and with the order
// of its parameters and of the keys of its body left aside.
func (p *Player) keys(method, address string, body []byte) (exact, loose string) {
	address = p.redactor.URL(address)
	text := p.redactor.String(string(body))
	exact = method + " " + address + "\n" + text
	base, query, _ := strings.Cut(address, "?")
	parts := strings.Split(query, "&")
	slices.Sort(parts)
	return exact, method + " " + base + "?" + strings.Join(parts, "&") + "\n" + sortedBody(text)
}

// sortedBody is a body with its keys, or its urlencoded parameters, in order.
func sortedBody(text string) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		if sorted, err := json.Marshal(v); err == nil {
			return string(sorted)
		}
	}
	parts := strings.Split(text, "&")
	slices.Sort(parts)
	return strings.Join(parts, "&")
}

// RoundTrip answers with the first exchange of the same request that was not
// played yet. A request that was not recorded is an error that ends the run, and
// names what is nearest.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := p.show(req.Method, req.URL.String(), body)
	p.asked = append(p.asked, shown)
	exact, loose := p.keys(req.Method, req.URL.String(), body)
	at, times := p.find(exact, loose)
	if at < 0 {
		if p.missing == "" {
			p.missing = shown
		}
		return nil, &failure.Error{Class: failure.Response, Op: "replay", Message: p.lacks(req, times), Hint: p.nearest(req)}
	}
	t := &p.tracks[at]
	t.played = true
	p.now = p.now.Add(t.Took)
	if t.Status == 0 {
		return nil, fault(t.Fault)
	}
	return t.response(req), nil
}

// find is the first track of a request that was not played, and how often the
// request was recorded.
func (p *Player) find(exact, loose string) (at, times int) {
	at = -1
	for _, same := range []func(track) bool{
		func(t track) bool { return t.exact == exact },
		func(t track) bool { return t.loose == loose },
	} {
		times = 0
		for i, t := range p.tracks {
			if !same(t) {
				continue
			}
			if times++; !t.played {
				return i, times
			}
		}
	}
	return -1, times
}

func (p *Player) lacks(req *http.Request, times int) string {
	if times > 0 {
		return fmt.Sprintf("the recording has this request %s, and it is made once more", often(times))
	}
	return "the recording does not have this request"
}

// nearest says how the most similar recorded request differs.
func (p *Player) nearest(req *http.Request) string {
	best, fewest := "", 4
	for _, t := range p.tracks {
		if differs := differences(t.Exchange, req); len(differs) > 0 && len(differs) < fewest {
			best, fewest = fmt.Sprintf("nearest in it is %s, where %s", p.show(t.Method, t.URL, nil), p.redactor.String(strings.Join(differs, " and "))), len(differs)
		}
	}
	return best
}

// differences lists what two requests differ in.
func differences(x Exchange, req *http.Request) []string {
	to, err := url.Parse(x.URL)
	if err != nil {
		return nil
	}
	var out []string
	if x.Method != req.Method {
		out = append(out, "the method is "+x.Method)
	}
	if to.Host != req.URL.Host || to.Scheme != req.URL.Scheme {
		out = append(out, fmt.Sprintf("the origin is %s://%s (see --base-url)", to.Scheme, to.Host))
	}
	if to.Path != req.URL.Path {
		out = append(out, "the path is "+to.Path)
	}
	theirs, ours := to.Query(), req.URL.Query()
	names := maps.Clone(theirs)
	maps.Copy(names, ours)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case slices.Equal(theirs[name], ours[name]):
		case !theirs.Has(name):
			out = append(out, "there is no "+name)
		default:
			out = append(out, name+" is "+strings.Join(theirs[name], ","))
		}
	}
	return out
}

// show writes a request for people, secrets hidden.
func (p *Player) show(method, address string, body []byte) string {
	text := method + " " + p.redactor.URL(address)
	if len(body) > 0 {
		text += " " + p.redactor.String(string(body))
	}
	return text
}

func (t *track) response(req *http.Request) *http.Response {
	var body io.Reader = bytes.NewReader(t.ResponseBody)
	length := int64(len(t.ResponseBody))
	if t.Fault != "" {
		body, length = io.MultiReader(body, broken{errors.New(t.Fault)}), -1
	}
	return &http.Response{
		StatusCode: t.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: t.ResponseHeader.Clone(), Body: io.NopCloser(body), ContentLength: length,
	}
}

// broken is a body that breaks off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// fault is what was recorded of an exchange without response.
func fault(text string) error {
	if strings.Contains(text, "no such host") {
		return &net.DNSError{Err: text, IsNotFound: true}
	}
	return errors.New(text)
}

// Now is the time in the recording.
func (p *Player) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Sleep moves the time on and returns at once.
func (p *Player) Sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(max(d, 0))
	return ctx.Err()
}

// Missing is the first request that was asked for and that the recording does
// not have; empty: none.
func (p *Player) Missing() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.missing
}

// Asked lists every request that was made, in order.
func (p *Player) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Unplayed lists the recorded requests that nobody asked for, in order.
func (p *Player) Unplayed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, t := range p.tracks {
		if !t.played {
			out = append(out, p.show(t.Method, t.URL, t.Body))
		}
	}
	return out
}

func often(n int) string {
	if n == 1 {
		return "once"
	}
	return value.Counted(n, "time")
}
