package detect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// MaxRequests is how many requests [Detect] makes at most, redirects included.
const MaxRequests = 3

// Options change how [Detect] works. The zero Options are usable.
type Options struct {
	Transport http.RoundTripper // makes the requests; nil for the engine's transport
	UserAgent string            // User-Agent header; empty for the engine's
}

// A Result is the configuration that was written, with the reasons for it.
type Result struct {
	YAML     []byte // configuration, with the findings as comments; nil if there is nothing to write
	JSON     []byte // the same without comments
	Findings Findings
	Requests int  // requests that were made
	Paged    bool // a second page proved the pagination

	Name   string       // name of the list, such as users
	Config value.Object // the configuration
	Env    []string     // environment variables that it reads
	Inputs []string     // inputs that a run has to set

	unpaged bool // the configuration requests one page only
}

// Findings are the reasons for a configuration.
type Findings struct {
	Evidence []string // observed facts
	Doubts   []string // unproved assumptions
	Advice   []string // suggestions to the user
}

// A detection is one call of [Detect] or [FromRecording].
type detection struct {
	call      *call
	session   *session
	userAgent string
	recorded  bool // whether requests are impossible, because the exchange is recorded
	partial   bool // whether pages have status 206
	redactor  *redact.Redactor

	page  *page // the first page
	items list
	size  size
	flag  *flag  // flag of the first page, or nil
	more  []fact // facts saying that the list has more items than the page

	Findings
}

// Detect makes one to [MaxRequests] requests and writes a configuration. The error is a
// [*RequestError] if the request is invalid, and an [*engine.Error] if the API has no
// usable page; its class says why. With an empty list there are a result and an error.
func Detect(ctx context.Context, r Request, o Options) (*Result, error) {
	c, err := newCall(r)
	if err != nil {
		return nil, err
	}
	base := o.Transport
	if base == nil {
		base = transport.Default()
		defer (&http.Client{Transport: base}).CloseIdleConnections()
	}
	d := &detection{call: c, session: &session{base: transport.Decompressed(base), left: MaxRequests},
		userAgent: o.UserAgent, redactor: redact.New(c.secrets())}
	return d.detect(ctx)
}

// detect fetches the first page, determines how its list is paged, and writes the configuration.
func (d *detection) detect(ctx context.Context) (*Result, error) {
	err := d.fetch(ctx)
	if err == nil {
		err = d.findItems()
	}
	var best *trial
	if err == nil {
		best = d.search(ctx)
		if ctx.Err() != nil {
			err = &engine.Error{Class: failure.Cancelled, Op: "detect", Err: ctx.Err()}
		}
	}
	if err != nil {
		return &Result{Requests: d.session.made, Findings: d.Findings}, err
	}
	if len(d.items.items) == 0 {
		d.doubt("The list is empty, so neither its items nor its pagination are known.")
	}
	result, err := d.write(ctx, best)
	if err == nil && len(d.items.items) == 0 {
		message := "the list at " + d.items.String() + " is empty, so nothing else can be recognized"
		err = fault(failure.Response, message, "give an address whose list has items")
	}
	return result, err
}

// fault is an error of a detection.
func fault(class failure.Class, message, hint string) *engine.Error {
	return &engine.Error{Class: class, Op: "detect", Message: message, Hint: hint}
}

// fetch obtains the first page.
func (d *detection) fetch(ctx context.Context) error {
	t := d.run(ctx, candidate{}, 1)
	if last := d.session.last; last != nil && last.Status == http.StatusPartialContent {
		_, d.partial = last.rangeOfItems()
	}
	if d.partial {
		t = d.run(ctx, candidate{}, 1)
	}
	if d.session.last == nil {
		return d.diagnose(t.err)
	}
	var err error
	d.page, err = readPage(d.session.last)
	// The items of XML are found only with dataField.
	if t.err != nil && (err != nil || d.page.format != rules.FormatXML || d.page.Status != http.StatusOK) {
		d.page = nil
		return d.diagnose(t.err)
	}
	if err != nil {
		return d.diagnose(fault(failure.Response, err.Error(), ""))
	}
	if first := d.session.known[0]; d.call.typed == nil || pathOf(d.call.typed) != pathOf(first.address) ||
		!sameParams(d.call.typed.Query(), first.address.Query(), []string{d.session.buster}) {
		d.doubt("The request that was made is not exactly the address: it was %s.", d.hide(first.address.RequestURI()))
	}
	if d.session.redirects() {
		to := d.session.last.address
		d.doubt("The address redirects to %s. Use that address: every request pays for the redirect.",
			d.hide(to.Scheme+"://"+to.Host+to.Path))
	}
	format := strings.ToUpper(string(d.page.format))
	if d.page.gzip {
		format += ", compressed with gzip"
	}
	d.saw("The response is %s.", format)
	if d.partial {
		d.saw("The API answers with status 206 for a part of the list. A run reads such a response as a page because of api.http.ignoreErrors.")
	}
	for _, name := range d.call.guessed {
		d.doubt("A part of the path looks like a key, so it is the input %s, which is a secret. "+
			"If it is not a key, write it into the address.", name)
	}
	return nil
}

// passwordField matches the password field of a login page.
var passwordField = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\btype\s*=\s*["']?password\b`) })

const needsCredentials = "add credentials, as with %s 'Authorization: Bearer TOKEN'"

// diagnose adds a hint to an error.
func (d *detection) diagnose(err error) error {
	failed, ok := errors.AsType[*engine.Error](err)
	if d.session.differs {
		return fault(failure.Response, "the request of the recording cannot be written in a configuration",
			"give the address of the API itself, without the recording")
	}
	if !ok && err != nil {
		return invalid("", "the request cannot be written in a configuration: %v", err)
	}
	if !ok {
		return fault(failure.Response, "there is no response", "give the address of a list")
	}
	if d.session.refused {
		failed = fault(failure.API, "the address redirects too often", "give the address that it redirects to")
	}
	last := d.session.last
	dns, unresolved := errors.AsType[*net.DNSError](failed)
	switch {
	case last == nil && unresolved && dns.IsNotFound:
		failed = failed.WithHint("check the host of the address") // there is no configuration yet
	case last == nil:
	case isHTML(last) && passwordField().Match(last.ResponseBody):
		failed = failed.With(func(e *engine.Error) { e.Message = "the address answers with a login page" }).
			WithRemedy(needsCredentials, remedy.Header)
	case isHTML(last):
		failed = failed.With(func(e *engine.Error) { e.Message = "the address answers with a web page" }).
			WithRemedy("give the address of the API: the developer tools of a browser show it, and can save a HAR file for %s", remedy.Recording)
	case isCut(failed):
		failed = failed.WithHint("the response is cut off: try again and, if that does not help, give an address with a smaller page")
	case last.Status == http.StatusTooManyRequests, limits.Retries(last.Status, last.ResponseHeader):
		failed = failed.WithHint(d.session.later())
	case last.Status == http.StatusUnauthorized || last.Status == http.StatusForbidden:
		failed = failed.WithRemedy(needsCredentials, remedy.Header)
	case last.Status == http.StatusPartialContent:
		failed = failed.WithHint("if this is a page of the list, write a configuration by hand and set api.http.ignoreErrors to [206]")
	case last.Status == http.StatusNotFound:
		failed = failed.WithHint("check the path of the address")
	case last.Status == http.StatusMethodNotAllowed:
		failed = failed.WithRemedy("the address may want %s POST with %s", remedy.Method, remedy.Body)
	}
	return failed.With(func(e *engine.Error) { e.Job, e.Page = "", 0 })
}

// findItems chooses the list of the items.
func (d *detection) findItems() error {
	found := d.page.lists
	if len(found) == 0 {
		names := "it is " + value.KindOf(d.page.root)
		if object, ok := d.page.root.(value.Object); ok {
			names = "its keys are " + strings.Join(object.Names()[:min(len(object), 12)], ", ")
		}
		return fault(failure.Response, "the response has no list of items: "+d.hide(names), "give the address of a list")
	}
	d.items = found[0]
	place := "at " + d.items.String()
	if len(d.items.path) == 0 {
		place = "the response itself"
	}
	d.saw("The list of items is %s. The page has %s.", place, wording.Counted(len(d.items.items), "item"))
	var others []string
	for _, l := range found[1:] {
		if isRival(d.items, l) {
			others = append(others, l.String())
		}
	}
	if len(others) > 0 {
		d.doubt("The response has other lists: %s. If one of them has items that you need, name it in dataField.", strings.Join(others, ", "))
	}
	d.size = sizeOf(d.call, len(d.items.items))
	return nil
}

// isRival reports whether another list may have items, too.
func isRival(chosen, other list) bool {
	const margin = 25
	siblings := len(other.path) > 0 && len(chosen.path) == len(other.path) && slices.Equal(chosen.parent(), other.parent())
	_, objects := other.first().(value.Object)
	if apinames.Key(other.name()).ListKind() == apinames.UnlikelyList {
		return false
	}
	return siblings && (objects || len(other.items) == 0) || objects && chosen.score-other.score < margin
}

func (d *detection) saw(format string, args ...any) {
	d.Evidence = append(d.Evidence, fmt.Sprintf(format, args...))
}

func (d *detection) doubt(format string, args ...any) {
	d.Doubts = lists.AppendNew(d.Doubts, fmt.Sprintf(format, args...))
}

func (d *detection) advise(format string, args ...any) {
	d.Advice = append(d.Advice, fmt.Sprintf(format, args...))
}

// hide returns a text without secrets, and without bytes that are not text. Parameters of addresses in
// the text are hidden by their names, and tokens of well-known services by their form.
func (d *detection) hide(text string) string {
	return secret.ReplaceIssued(d.redactor.Shown(strings.ToValidUTF8(text, "\uFFFD")), hiddenText)
}
