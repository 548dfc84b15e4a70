package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A trial is a run of a candidate, with the pages that it obtained.
type trial struct {
	candidate
	replay           // replay as the run left it
	engine.JobResult // result of the run
	pages            []trialPage
	ended            bool // whether a rule of the configuration ended the run
	err              error

	transient bool // the API limits requests, is unavailable, or has cut its response off
	flag      *flag
	proof     proof
	why       string // reason in words
	beyond    string // why the page after the last one does not show the end
}

type trialPage struct {
	items    []string
	again    bool // it is the same as the page before it
	exchange *exchange
}

// A proof says how far a trial has proved its candidate.
type proof int

const (
	rejected  proof = iota
	untried         // the second page could not be requested
	onlyPage        // the first page is the last one, by the candidate's own rules
	emptyPage       // the second page has no items
	proven
)

// run lets the engine run a candidate for a number of pages.
func (d *detection) run(ctx context.Context, c candidate, pages int) *trial {
	t := &trial{candidate: c}
	text, err := value.Marshal(d.config(c))
	if err != nil {
		t.err = err
		return t
	}
	e, err := engine.Load("detect.json", text, d.options(engine.WithMaxPages(pages))...)
	if err != nil {
		t.err = fmt.Errorf("the configuration is invalid: %w", err)
		return t
	}
	d.session.replay = replay{extra: c.moved, served: map[*exchange]bool{}}
	result, err := e.Run(ctx, func(_ context.Context, p *engine.Page) error {
		page := trialPage{exchange: d.session.last, again: p.Dropped}
		for item := range p.Items.All() {
			page.items = append(page.items, string(item))
		}
		t.pages = append(t.pages, page)
		return nil
	})
	t.err, t.replay = err, d.session.replay
	if len(result.Jobs) > 0 {
		t.JobResult = result.Jobs[0]
		t.ended = err == nil && t.Outcome == rules.Complete
	}
	return t
}

// vary runs a proved candidate again with a change, which may be nil.
func (d *detection) vary(ctx context.Context, t *trial, pages int, change func(*candidate)) *trial {
	c := t.candidate
	c.values = maps.Clone(c.values)
	if change != nil {
		change(&c)
	}
	with := d.run(ctx, c, pages)
	with.proof, with.flag = t.proof, t.flag
	return with
}

// options returns the options of a run of the engine: the common options, and more.
func (d *detection) options(more ...engine.Option) []engine.Option {
	inputs := map[string]any{}
	for name, text := range d.call.values {
		inputs[name] = text
	}
	return append([]engine.Option{
		engine.WithTransport(d.session), engine.WithPrefetch(0), engine.WithInputs(inputs), engine.WithLogger(slog.New(slog.DiscardHandler)),
		engine.WithAccept(engine.JobResult.Ended),
		engine.WithUserAgent(d.userAgent), engine.WithEnv(func(name string) (string, bool) { text, ok := d.call.env[name]; return text, ok }),
	}, more...)
}

// judge sets the proof of a trial, and the reason in words.
func (d *detection) judge(t *trial) {
	switch {
	case t.differs:
		t.proof, t.why = rejected, "its first request would not be that of the address"
	case len(t.pages) == 0:
		t.proof, t.why = rejected, fmt.Sprint(t.err)
	case len(t.pages) == 1 && t.ended:
		t.proof, t.why = onlyPage, "its rules say that the first page is the last"
	case len(t.pages) == 1 && (errors.Is(t.err, engine.ErrTransient) || isCut(t.err)):
		t.proof, t.why, t.transient = untried, failureOf("second", t.err), true
	case len(t.pages) == 1 && t.refused:
		t.proof, t.why = untried, "no request was left to try it"
		if d.recorded {
			t.why = "the recording does not have the second page"
		}
	case len(t.pages) == 1:
		t.proof, t.why = rejected, failureOf("second", t.err)
	default:
		d.compare(t)
	}
}

// isCut reports whether an error says that a response ends within a value: in its last line, if it has lines.
func isCut(err error) bool {
	syntax, ok := errors.AsType[*scan.SyntaxError](err)
	return ok && syntax.Cut
}

// failureOf describes why a page, such as the second one, was not obtained.
func failureOf(page string, err error) string {
	if failed, ok := errors.AsType[*engine.Error](err); ok && failed.Status >= 300 {
		return fmt.Sprintf("the request for the %s page failed with status %d", page, failed.Status)
	}
	if err == nil {
		return "it makes no " + page + " request"
	}
	if isCut(err) {
		return "the response with the " + page + " page is cut off"
	}
	return "the " + page + " page cannot be read: " + err.Error()
}

// compare compares the second page with the first.
func (d *detection) compare(t *trial) {
	first, second := t.pages[0].items, t.pages[1].items
	repeated := overlap(first, second)
	switch {
	case t.pages[1].again:
		t.proof, t.why = rejected, "it brought the first page again"
	case len(second) == 0 && t.pages[1].exchange.Status != http.StatusNoContent && !d.hasList(t.pages[1]):
		t.proof, t.why = rejected, "the second response has no list at "+d.items.String()
	case len(second) == 0:
		t.proof, t.why = emptyPage, "the second page is empty"
	case repeated == len(second):
		t.proof, t.why = rejected, "it brought the items of the first page again"
	case repeated > 0:
		t.proof, t.why = rejected, fmt.Sprintf("%d of %d items of the second page are those of the first", repeated, len(second))
	case !similar(first, second):
		t.proof, t.why = rejected, "the items of the second page have other members"
	default:
		t.proof = proven
	}
}

// hasList reports whether a response has the list of items, or lacks it because the list has
// ended according to the rules.
func (d *detection) hasList(p trialPage) bool {
	read, err := readPage(p.exchange)
	return err == nil && read.list(d.items.path) != nil
}

// overlap counts the items of a page that another page has. It compares items by their identifiers, or
// whole items without identifiers.
func overlap(first, second []string) int {
	seen := map[string]bool{}
	for _, item := range first {
		seen[identity(item)] = true
	}
	n := 0
	for _, item := range second {
		if seen[identity(item)] {
			n++
		}
	}
	return n
}

func identity(item string) string {
	if id := document.Identity([]byte(item)); id != nil {
		return "id " + string(id)
	}
	return item
}

// similar reports whether the items of two pages are of one kind: if they are objects,
// some have a key in common.
func similar(first, second []string) bool {
	if len(first) == 0 {
		return true
	}
	if first[0][0] != second[0][0] {
		return false
	}
	if first[0][0] != '{' {
		return true
	}
	keys := map[string]bool{}
	for _, item := range first {
		for _, key := range document.Names([]byte(item), nil) {
			keys[key] = true
		}
	}
	return slices.ContainsFunc(second, func(item string) bool {
		return slices.ContainsFunc(document.Names([]byte(item), nil), func(key string) bool { return keys[key] })
	})
}

// obtained returns the number of items of all pages.
func (t *trial) obtained() int {
	n := 0
	for _, p := range t.pages {
		n += len(p.items)
	}
	return n
}

// decoded reads the pages of a trial.
func (t *trial) decoded() []*page {
	var out []*page
	for _, p := range t.pages {
		if read, err := readPage(p.exchange); err == nil {
			out = append(out, read)
		}
	}
	return out
}

// isHTML reports whether a body is a web page.
func isHTML(x *exchange) bool {
	head := bytes.ToLower(bytes.TrimSpace(x.ResponseBody[:min(len(x.ResponseBody), 1024)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}
