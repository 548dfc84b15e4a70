package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// read turns a response into a page and puts it into the context that the
// rules see. Nothing of the context changes when the response is unacceptable.
func (s *scroll) read(request rules.Request, r *Response, began time.Time) (*Page, error) {
	s.head = append(s.head[:0], r.Body[:min(len(r.Body), excerptBytes)]...) // the reader takes the body over
	reading, err := s.reader.read(r)
	if err != nil {
		return nil, s.unacceptable(r, err)
	}
	s.remember()
	p := &s.page
	p.Page++
	p.Body, p.Items, p.Count, p.Bytes = reading.body, reading.decoded, reading.items.Len(), reading.bytes
	p.Status, p.Header, p.Link = r.Status, headerOf(r), linkOf(r)
	p.Now = func() time.Time { return began }
	s.most, s.look = max(s.most, p.Count), reading.look
	p.Total.Pages++
	p.Total.Items += p.Count
	p.Total.Bytes += p.Bytes
	p.Total.Seconds = s.elapsed()
	sent := s.sent(request)
	p.Sent = s.sentFacts(request, sent)
	s.compare(reading, sent)
	if p.First == nil {
		p.First = past(p)
	}
	s.result.Pages, s.result.Bytes = s.result.Pages+1, s.result.Bytes+p.Bytes
	s.reportMissing(reading.names)
	s.reportFlags()
	if limit, ok := p.Limit.(int); ok && limit > 0 && p.Count > limit {
		s.warn("limit_ignored", fmt.Sprintf("page %d has %d items, more than the limit of %d: does the API heed it?", p.Page, p.Count, limit))
	}
	return &Page{Items: reading.items, Record: Record{
		Job: s.result.Job, Page: p.Page, Request: sent, Status: r.Status, Count: p.Count, Bytes: p.Bytes,
		Decision: Continue, StoppedBy: []string{}, Attempts: r.Attempts,
		At: began.Sub(s.started).Milliseconds(), Millis: s.Clock.Now().Sub(began).Milliseconds(),
	}}, nil
}

// unacceptable is the error for a response that is no page.
func (s *scroll) unacceptable(r *Response, err error) error {
	e := &Error{Class: ClassResponse, Job: s.result.Job, Page: s.page.Page + 1, Op: "read", URL: s.Redactor.URL(r.URL), Status: r.Status, Err: err}
	if deep := (*DepthError)(nil); errors.As(err, &deep) {
		e.Class, e.Hint = ClassPolicy, "if the API really nests that deeply, raise api.http.maxDepth"
	}
	if many := (*ItemsError)(nil); errors.As(err, &many) {
		e.Class, e.Hint = ClassPolicy, "if the API really has such pages, raise api.http.maxItemsPerPage, or ask for smaller ones"
	}
	e.Message = fmt.Sprintf("%v; the response (%s) begins with %s", err, contentType(r), excerpt(s.Redactor, s.head, len(r.Body)))
	return e
}

func contentType(r *Response) string {
	if t := r.Header.Get("Content-Type"); t != "" {
		return t
	}
	return "no content type"
}

// excerptBytes are enough of a body to show a part of it: a secret that stands
// in it is there whole.
const excerptBytes = 1024

// excerpt shows the first 80 characters of a body of so many bytes, whose first
// ones are head, as a quoted string.
func excerpt(redactor *Redactor, head []byte, size int) string {
	if size == 0 {
		return "nothing: it is empty"
	}
	for n := range min(utf8.UTFMax, len(head)) { // the last character may be cut
		if size > len(head) && utf8.Valid(head[:len(head)-n]) {
			head = head[:len(head)-n]
			break
		}
	}
	return fmt.Sprintf("%q", value.Clip(redactor.String(string(head)), 80))
}

// remember moves the page in the context to prev, and first.
func (s *scroll) remember() {
	if s.page.Page > 0 {
		s.page.Prev = past(&s.page)
	}
}

func past(p *rules.Context) *rules.Past {
	return &rules.Past{Page: p.Page, Body: p.Body, Items: p.Items, Count: p.Count, Bytes: p.Bytes, Status: p.Status, Total: p.Total, Sent: p.Sent}
}

// sent is the request as it may be shown.
func (s *scroll) sent(request rules.Request) Sent {
	call, err := s.call(request)
	if err != nil {
		return Sent{Method: request.Verb(), URL: request.Endpoint}
	}
	out := Sent{Method: call.Method, URL: s.Redactor.String(call.URL)}
	switch {
	case call.Body == nil:
	case request.Method == "FORM":
		out.Body, _ = json.Marshal(s.Redactor.String(string(call.Body)))
	default:
		out.Body = json.RawMessage(s.Redactor.String(string(call.Body)))
	}
	return out
}

// sentFacts is the request as expressions see it. What is secret in it is not
// there to be seen; tokens that the API itself gave are.
func (s *scroll) sentFacts(request rules.Request, sent Sent) rules.Sent {
	facts := rules.Sent{Method: sent.Method, URL: sent.URL, Params: s.public(request.Params), Headers: s.public(request.Headers)}
	if sent.Body != nil && request.Method != "FORM" {
		facts.Body, _ = Decode(sent.Body)
	}
	return facts
}

// public is a value without secrets, at any depth.
func (s *scroll) public(v any) any {
	switch v := v.(type) {
	case string:
		return s.Redactor.String(v)
	case rules.Object:
		out := make(rules.Object, len(v))
		for i, m := range v {
			out[i] = rules.Member{Name: m.Name, Value: s.public(m.Value)}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.public(e)
		}
		return out
	}
	return v
}

// compare finds out whether this response was there before.
func (s *scroll) compare(reading reading, sent Sent) {
	p := &s.page
	content := reading.content
	p.SamePage = p.Prev != nil && (content == s.last.content || reading.spelled.same(s.last.spelled))
	exchange := digestOf(sent.Body, digestOf([]byte(sent.Method+" "+sent.URL), content))
	p.RepeatedExchange = s.exchanges[exchange]
	s.remembered(exchange)
	switch {
	case p.Count == 0:
		p.SameItems = 0
	case p.Prev != nil && reading.digest == s.last.digest:
		p.SameItems++
		if !p.SamePage && !s.switches.QuietSameItems {
			s.warn(fmt.Sprintf("same_items.%d", p.Page), fmt.Sprintf("page %d has the same items as the page before it", p.Page))
		}
	default:
		p.SameItems = 1
	}
	if p.Page == 1 {
		s.first = content
	} else if p.Page > 2 && content == s.first && p.Count > 0 && !p.SamePage {
		s.warn("page_equals_first", fmt.Sprintf("page %d equals the first one: does the API begin anew beyond its last page?", p.Page))
	}
	s.last = reading
}

// reportFlags names flags that are the text "false": as booleans they are true
// (specification 2.2), which is seldom what an API means.
func (s *scroll) reportFlags() {
	for _, f := range s.flags {
		if v, _ := f.read.Lookup(&s.page); v == "false" || v == "False" {
			s.warn("flag_text_false."+f.rule, fmt.Sprintf("%s reads %s, which is the text %q: as a boolean it is true; write a rule if it means false: \"stopRules\": [%q]", f.rule, f.read, v, fmt.Sprintf("%s == %q", f.read, v)))
		}
	}
}

// flag is a value of the body that a rule takes for a boolean.
type flag struct {
	rule string
	read compile.Read
}

func flagsOf(job *compile.Job) []flag {
	var out []flag
	for _, stop := range job.Stops {
		for _, r := range stop.Flags {
			if r.OfBody() && !r.Has {
				out = append(out, flag{stop.Rule.ID, r})
			}
		}
	}
	return out
}

// remembered notes an exchange.
func (s *scroll) remembered(exchange digest) {
	if s.exchanges[exchange] {
		return
	}
	s.exchanges[exchange] = true
	if len(s.order) >= 2*mostExchanges {
		s.order = slices.Clone(s.order[mostExchanges:])
	}
	s.order = append(s.order, exchange)
}

// reportMissing names, after the first page, what the rules read of the
// response that it does not have: a misspelt path would go unnoticed else.
func (s *scroll) reportMissing(names func([]string) []string) {
	if s.page.Page != 1 || names == nil {
		return
	}
	var expressions []*compile.Expression
	for _, stop := range s.job.Stops {
		expressions = append(expressions, stop.Expression)
	}
	expressions = append(append(expressions, s.job.Next...), s.job.Parts...)
	for _, e := range expressions {
		for _, r := range e.Reads {
			if !r.OfBody() || len(r.Path) == 0 || r.Has {
				continue
			}
			if _, present := r.Lookup(&s.page); present {
				continue
			}
			hint := nearest(names, r.Path)
			guarded := e.Rule.Outcome == rules.Failed || slices.ContainsFunc(e.Reads, func(other compile.Read) bool { return other.Has && slices.Equal(other.Path, r.Path) })
			if guarded && hint == "" {
				continue // the rule itself asks whether it is there, or for an error that is not
			}
			s.warn("missing "+r.String(), fmt.Sprintf("%s reads %s, which the response does not have%s", e.Rule.ID, r, hint))
		}
	}
}
