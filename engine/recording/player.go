package recording

import (
	"cmp"
	"context"
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

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Player is the transport and the clock of a replayed run. It answers requests
// from a recording, without a network. Its time advances by the recorded
// duration of each exchange and by the length of each wait.
type Player struct {
	redactor *redact.Redactor

	mu        sync.Mutex
	now       time.Time
	exchanges []playableExchange
	played    Played

	samples map[string]*jobSamples // by job; nil if no pages are kept
}

// Played describes the requests that a [Player] received.
type Played struct {
	Requests []string `json:"requests"`           // all requests made, in order
	Unplayed []string `json:"unplayed,omitempty"` // recorded requests that were not made, in order of the recording
	Missing  string   `json:"missing,omitempty"`  // the first request that was not recorded; it ended the run
}

// A playableExchange is a recorded exchange and whether it has been played.
type playableExchange struct {
	Exchange
	key    requestKey
	played bool
}

// requestKey identifies a request in two ways: as it is written, and without regard to the
// order of parameters and of the keys of the body.
type requestKey [2]string

// NewPlayer returns a player at the beginning of a recording. The redactor
// of the replayed configuration hides the same secrets in the recording as in the
// requests, so that they compare equal. It may be nil.
func (r *Recording) NewPlayer(redactor *redact.Redactor) *Player {
	p := &Player{redactor: cmp.Or(redactor, redact.New(nil))}
	for _, x := range r.Exchanges {
		p.exchanges = append(p.exchanges, playableExchange{Exchange: x, key: p.key(x.Method, x.URL, x.Body)})
	}
	if p.now = r.Started; p.now.IsZero() && len(r.Exchanges) > 0 {
		p.now = r.Exchanges[0].Started
	}
	p.skipRepeated()
	return p
}

// Play returns an engine whose runs the player answers: they use its time, make no requests for tokens,
// and request every page in its turn.
func (p *Player) Play(e *engine.Engine) *engine.Engine {
	return e.With(engine.WithTransport(p), engine.WithClock(p),
		engine.WithoutTokenRequests(), engine.WithTokenStore(nil), engine.WithPrefetch(0))
}

// skipRepeated leaves out the exchanges on which a run failed, if the run that
// resumed it made their requests again.
func (p *Player) skipRepeated() {
	ofRun, later := map[requestKey]bool{}, map[requestKey]bool{} // requests of one run, and of the runs that resumed it
	for i := range slices.Backward(p.exchanges) {
		x := &p.exchanges[i]
		x.played = later[x.key] && (x.Error != "" || !requests.IsPage(x.Status))
		ofRun[x.key] = true
		if x.Resumed {
			maps.Copy(later, ofRun)
			clear(ofRun)
		}
	}
}

func (p *Player) key(method, address string, body []byte) requestKey {
	address = unescapeHidden(p.redactor.Shown(address))
	text := unescapeHidden(p.redactor.Text(string(body)))
	path, query, _ := strings.Cut(address, "?")
	return requestKey{
		method + " " + address + "\n" + text,
		method + " " + path + "?" + sortParams(query) + "\n" + sortBody(text),
	}
}

// unescapeHidden undoes the escapes of a hidden secret. A token in a recorded response may contain one, and a replay sends
// that token escaped.
func unescapeHidden(text string) string {
	return strings.ReplaceAll(text, url.QueryEscape(redact.Hidden), redact.Hidden)
}

// sortBody sorts the keys of a JSON body or the parameters of another.
func sortBody(text string) string {
	if sorted, err := value.Canonical([]byte(text)); err == nil {
		return string(sorted)
	}
	return sortParams(text)
}

func sortParams(text string) string {
	params := strings.Split(text, "&")
	slices.Sort(params)
	return strings.Join(params, "&")
}

// RoundTrip answers with the first exchange of the same request that was not played before. If there is no
// such exchange, the error names the nearest recorded request and is not transient, so that the run ends.
func (p *Player) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	address, _ := transport.Recorded(req)
	shown := p.show(req.Method, address, body)
	p.played.Requests = append(p.played.Requests, shown)
	x, recorded := p.find(p.key(req.Method, address, body))
	if x == nil {
		p.played.Missing = cmp.Or(p.played.Missing, shown)
		p.sample(req, shown, nil)
		return nil, &failure.Error{
			Class: failure.Response, Op: "replay", Message: missingMessage(recorded), Hint: p.nearest(req),
		}
	}
	x.played = true
	p.now = p.now.Add(x.Took)
	p.sample(req, shown, &x.Exchange)
	if x.Status == 0 {
		return nil, transportError(x.Error)
	}
	return x.response(req), nil
}

// find returns the first unplayed exchange of a request, or nil, and how often the
// request was recorded.
func (p *Player) find(key requestKey) (found *playableExchange, recorded int) {
	for i := range key {
		recorded = 0
		for n := range p.exchanges {
			x := &p.exchanges[n]
			if x.key[i] != key[i] {
				continue
			}
			recorded++
			if !x.played {
				return x, recorded
			}
		}
	}
	return nil, recorded
}

func missingMessage(recorded int) string {
	switch recorded {
	case 0:
		return "the recording does not have this request"
	case 1:
		return "the recording has this request only once"
	}
	return fmt.Sprintf("the recording has this request only %s", wording.Counted(recorded, "time"))
}

// nearest describes how the most similar recorded request differs. It returns "" if no request is similar.
func (p *Player) nearest(req *http.Request) string {
	const tooMany = 4
	hint, fewest := "", tooMany
	for _, x := range p.exchanges {
		if found := differences(x.Exchange, req); len(found) > 0 && len(found) < fewest {
			hint = fmt.Sprintf("the nearest recorded request is %s, where %s",
				p.show(x.Method, x.URL, nil), p.redactor.Text(strings.Join(found, " and ")))
			fewest = len(found)
		}
	}
	return hint
}

// differences lists how a recorded exchange differs from a request.
func differences(x Exchange, req *http.Request) []string {
	address, err := url.Parse(x.URL)
	if err != nil {
		return nil
	}
	var out []string
	if x.Method != req.Method {
		out = append(out, "the method is "+x.Method)
	}
	if address.Host != req.URL.Host || address.Scheme != req.URL.Scheme {
		out = append(out, fmt.Sprintf("the origin is %s://%s (the base URL of the run is another one)", address.Scheme, address.Host))
	}
	if address.Path != req.URL.Path {
		out = append(out, "the path is "+address.Path)
	}
	recorded, requested := address.Query(), req.URL.Query()
	names := maps.Clone(recorded)
	maps.Copy(names, requested)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch {
		case slices.Equal(recorded[name], requested[name]):
		case !recorded.Has(name):
			out = append(out, name+" is missing")
		default:
			out = append(out, name+" is "+strings.Join(recorded[name], ","))
		}
	}
	return out
}

// show writes a request for people, without its secrets.
func (p *Player) show(method, address string, body []byte) string {
	text := method + " " + p.redactor.Shown(address)
	if len(body) > 0 {
		text += " " + p.redactor.Text(string(body))
	}
	return text
}

// response returns the recorded response as the answer to a request.
func (x *playableExchange) response(req *http.Request) *http.Response {
	response := transport.NewResponse(req, x.Status, x.ResponseHeader.Clone(), x.ResponseBody)
	if x.Error != "" {
		broken := brokenReader{errors.New(x.Error)}
		if x.BodyMissing { // not transient, so that the run ends
			broken.err = &failure.Error{Class: failure.Response, Op: "replay", Status: x.Status, Message: x.Error, Hint: hintBodyMissing}
		}
		response.Body, response.ContentLength = io.NopCloser(io.MultiReader(response.Body, broken)), -1
	}
	if x.Unframed {
		response.ContentLength = -1
	}
	return response
}

var hintBodyMissing = "browsers save only the bodies that they still have, and stopwhen those of up to " + wording.Size(MaxBodyBytes)

// brokenReader is the point at which a response body breaks off.
type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// transportError is the error of an exchange without a response. An unknown host
// keeps its type, since such a request is not retried.
func transportError(text string) error {
	if strings.Contains(text, "no such host") {
		return &net.DNSError{Err: text, IsNotFound: true}
	}
	return errors.New(text)
}

// Now returns the time in the recording.
func (p *Player) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Sleep advances the time and returns immediately.
func (p *Player) Sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(max(d, 0))
	return ctx.Err()
}

// Played returns the requests so far.
func (p *Player) Played() Played {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.played
	out.Requests = slices.Clone(out.Requests)
	for _, x := range p.exchanges {
		if !x.played {
			out.Unplayed = append(out.Unplayed, p.show(x.Method, x.URL, x.Body))
		}
	}
	return out
}

// Unplayed returns the recorded exchanges that were not played, in the order of [Played.Unplayed].
func (p *Player) Unplayed() []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Exchange
	for _, x := range p.exchanges {
		if !x.played {
			out = append(out, x.Exchange)
		}
	}
	return out
}
