package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// position is all that a job needs to go on behind a page, in another process
// too: what the rules count and remember, and the next request. No credential is
// in it: the request is kept as what the rules laid over the configuration's.
type position struct {
	Done   bool   `json:"done,omitempty"` // the page was the last
	Result Result `json:"result"`

	Page      int                        `json:"page"`
	Total     rules.Total                `json:"total"`
	Elapsed   time.Duration              `json:"elapsed"` // nanoseconds
	Most      int                        `json:"most,omitempty"`
	Restarts  int                        `json:"restarts,omitempty"`
	SameItems int                        `json:"sameItems"`
	State     map[string]json.RawMessage `json:"state,omitempty"`
	Laid      []json.RawMessage          `json:"laid,omitempty"` // the parts of the next request
	Base      string                     `json:"base,omitempty"`
	Current   pastPosition               `json:"current"`
	First     pastPosition               `json:"first"`
	Content   string                     `json:"content"`           // digests of the last response,
	Items     string                     `json:"items,omitempty"`   // and of its items
	Opening   string                     `json:"opening"`           // digest of the first response
	Size      int                        `json:"size,omitempty"`    // of the last response, and its digest, with escapes in one spelling;
	Spelled   string                     `json:"spelled,omitempty"` // empty: there is none
	Exchanges []string                   `json:"exchanges,omitempty"`
	Signs     json.RawMessage            `json:"signs,omitempty"` // of the last response, where an error response may end the list
}

// pastPosition is a page that rules may look back at. What none of them reads is
// left out.
type pastPosition struct {
	Page   int             `json:"page"`
	Count  int             `json:"count"`
	Bytes  int             `json:"bytes"`
	Status int             `json:"status"`
	Total  rules.Total     `json:"total"`
	Body   json.RawMessage `json:"body,omitempty"`
	Items  json.RawMessage `json:"items,omitempty"`
	Sent   json.RawMessage `json:"sent,omitempty"`
}

// mostExchanges bounds what is remembered of exchanges beyond a process: enough
// for every loop but a very long one, which is found one round later.
const mostExchanges = 4096

// checkpoint is the position behind the page that is handed over. There is none
// behind a page on which the run fails: it is asked for again.
func (s *scroll) checkpoint(page *Page) (json.RawMessage, error) {
	if page.Outcome == rules.Failed {
		return nil, nil
	}
	p := &s.page
	out := position{
		Result: s.result, Page: p.Page, Total: p.Total, Elapsed: s.Clock.Now().Sub(s.started), Most: s.most, Restarts: s.restarts, SameItems: p.SameItems,
		Content: s.last.content.String(), Items: s.last.digest.String(), Size: s.last.spelled.size, Opening: s.first.String(),
	}
	if s.last.spelled.raw != nil {
		out.Spelled = s.last.spelled.canonical().String()
	}
	out.Result.Items += page.Items.Len()
	out.Result.Seconds = s.seconds()
	if page.Decision == Stop {
		out.Done = true
		return json.Marshal(out)
	}
	var err error
	if out.State, err = keptValues("state", p.State); err != nil {
		return nil, s.fault(ClassConfig, err)
	}
	for i, v := range s.parts {
		raw, err := encode(v)
		if err != nil {
			return nil, s.fault(ClassConfig, fmt.Errorf("part %d of nextRequest %w", i+1, err))
		}
		out.Laid = append(out.Laid, raw)
	}
	if s.arrived != "" {
		out.Base = withoutQuery(s.arrived)
	}
	if out.Current, err = s.past(past(p), "prev"); err == nil {
		out.First, err = s.past(p.First, "first")
	}
	if err != nil {
		return nil, s.fault(ClassConfig, err)
	}
	if len(s.job.OnErrors) > 0 {
		page := *p
		signs := s.signs(&page)
		if out.Signs, err = encodeList([]any{signs.Total, signs.TotalAt, signs.Next, signs.NextAt, signs.More, signs.MoreAt}); err != nil {
			return nil, s.fault(ClassConfig, err)
		}
	}
	for _, d := range s.order {
		out.Exchanges = append(out.Exchanges, d.String())
	}
	return json.Marshal(out)
}

// Ended tells whether a position is that behind the last page of a job.
func Ended(token json.RawMessage) bool {
	var p struct{ Done bool }
	return json.Unmarshal(token, &p) == nil && p.Done
}

// withoutQuery is an address without query and user: what relative addresses are
// resolved against.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// past keeps what rules read of an earlier page.
func (s *scroll) past(p *rules.Past, root string) (pastPosition, error) {
	out := pastPosition{Page: p.Page, Count: p.Count, Bytes: p.Bytes, Status: p.Status, Total: p.Total}
	if !s.job.Reads(root) {
		return out, nil
	}
	var err error
	keep := func(what string, v any) (raw json.RawMessage) {
		if err == nil {
			if raw, err = encode(v); err != nil {
				err = fmt.Errorf("%s.%s %w", root, what, err)
			}
		}
		return raw
	}
	out.Body, out.Items = keep("body", p.Body), keep("items", p.Items)
	out.Sent = keep("sent", []any{p.Sent.Method, p.Sent.URL, p.Sent.Params, p.Sent.Headers, p.Sent.Body})
	return out, err
}

func (p pastPosition) restore() (*rules.Past, error) {
	out := &rules.Past{Page: p.Page, Count: p.Count, Bytes: p.Bytes, Status: p.Status, Total: p.Total}
	if p.Body == nil {
		return out, nil
	}
	var err error
	if out.Body, err = decode(p.Body); err != nil {
		return nil, err
	}
	items, err := decode(p.Items)
	if err != nil {
		return nil, err
	}
	out.Items, _ = items.([]any)
	sent, err := decode(p.Sent)
	if err != nil {
		return nil, err
	}
	if list, ok := sent.([]any); ok && len(list) == 5 {
		out.Sent.Method, _ = list[0].(string)
		out.Sent.URL, _ = list[1].(string)
		out.Sent.Params, out.Sent.Headers, out.Sent.Body = list[2], list[3], list[4]
	}
	return out, nil
}

// resume takes up a job behind a page. It reports false for a job that has ended.
func (s *scroll) resume(token json.RawMessage) (rules.Request, bool, error) {
	var p position
	dec := json.NewDecoder(bytes.NewReader(token))
	dec.UseNumber() // what is kept keeps its digits
	if err := dec.Decode(&p); err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	s.result = p.Result
	if p.Done {
		return rules.Request{}, false, nil
	}
	current, err := p.Current.restore()
	if err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	first, err := p.First.restore()
	if err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	state, err := restoredValues(p.State)
	if err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	s.started = s.Clock.Now().Add(-p.Elapsed)
	s.most, s.restarts, s.arrived = p.Most, p.Restarts, p.Base
	c := &s.page
	c.Page, c.Total, c.SameItems, c.State, c.First = p.Page, p.Total, p.SameItems, state, first
	c.Body, c.Items, c.Count, c.Bytes, c.Status = current.Body, current.Items, current.Count, current.Bytes, current.Status
	c.Sent = current.Sent
	c.Header, c.Link = func(string) any { return nil }, func(string, ...string) any { return nil }
	if s.kept, err = restoredSigns(p.Signs); err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	if s.last.content, err = parseDigest(p.Content); err == nil {
		s.last.digest, err = parseDigest(p.Items)
	}
	if err == nil {
		s.first, err = parseDigest(p.Opening)
	}
	s.last.spelled = spelling{size: p.Size}
	if p.Spelled != "" && err == nil {
		s.last.spelled.respelt = true // it may have been
		s.last.spelled.digest, err = parseDigest(p.Spelled)
	}
	for _, text := range p.Exchanges {
		d, failed := parseDigest(text)
		if failed != nil {
			err = failed
		}
		s.remembered(d)
	}
	if err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	s.parts = make(compile.Parts, len(p.Laid))
	for i, raw := range p.Laid {
		if s.parts[i], err = decode(raw); err != nil {
			return rules.Request{}, false, s.unusable(err)
		}
	}
	request, err := s.job.Apply(s.parts, s.arrived)
	if err != nil {
		return rules.Request{}, false, s.unusable(err)
	}
	return request, true, nil
}

func restoredSigns(raw json.RawMessage) (*rules.Hints, error) {
	if raw == nil {
		return nil, nil
	}
	v, err := decode(raw)
	list, ok := v.([]any)
	if err != nil || !ok || len(list) != 6 {
		return nil, fmt.Errorf("not the signs of a page: %s", value.Clip(string(raw), 40))
	}
	out := &rules.Hints{Total: list[0], Next: list[2], More: list[4]}
	out.TotalAt, _ = list[1].(string)
	out.NextAt, _ = list[3].(string)
	out.MoreAt, _ = list[5].(string)
	return out, nil
}

func (s *scroll) unusable(err error) error {
	return &Error{Class: ClassState, Job: s.result.Job, Op: "resume", Message: "the position cannot be used: " + err.Error(), Err: err}
}

// String is the digest as it is written down.
func (d digest) String() string { return fmt.Sprintf("%016x%016x", d.a, d.b) }

func parseDigest(text string) (digest, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return digest{}, fmt.Errorf("not a digest: %s", value.Clip(text, 40))
	}
	return digest{binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:])}, nil
}

func keptValues(what string, values map[string]any) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(values))
	for name, v := range values {
		raw, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("%s.%s %w", what, name, err)
		}
		out[name] = raw
	}
	return out, nil
}

func restoredValues(raw map[string]json.RawMessage) (map[string]any, error) {
	out := make(map[string]any, len(raw))
	for name, text := range raw {
		v, err := decode(text)
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// ordered is the key under which an object whose order counts is written down, as
// a list of pairs.
const ordered = "$ordered"

// encode writes a value of an expression as JSON, so that decode gives the same:
// numbers keep their digits and their kind, objects their order where they have
// one.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil, bool, string, int, int64, json.Number:
		return value.Marshal(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("is %v, which cannot be kept", v)
		}
		return json.RawMessage(text), nil
	case time.Time:
		return tagged(timeTag, v.Format(time.RFC3339Nano))
	case time.Duration:
		return tagged(durationTag, v.String())
	case []any:
		return encodeList(v)
	case rules.Object:
		pairs := make([]any, 0, 2*len(v))
		for _, m := range v {
			pairs = append(pairs, m.Name, m.Value)
		}
		list, err := encodeList(pairs)
		return json.RawMessage(`{"` + ordered + `":` + string(list) + `}`), err
	case map[string]any:
		inner, err := keptValues("", v)
		if err != nil {
			return nil, err
		}
		return json.Marshal(inner)
	}
	return nil, fmt.Errorf("holds a value that cannot be kept for a later run (%T): make it a text or a number", v)
}

// timeTag and durationTag are the keys under which times and durations are
// written down.
const timeTag, durationTag = "$time", "$duration"

func tagged(tag, text string) (json.RawMessage, error) {
	return json.Marshal(map[string]string{tag: text})
}

// untagged is the time or duration that an object holds.
func untagged(v map[string]any) (any, bool) {
	if text, ok := v[timeTag].(string); ok && len(v) == 1 {
		t, err := time.Parse(time.RFC3339Nano, text)
		return t, err == nil
	}
	if text, ok := v[durationTag].(string); ok && len(v) == 1 {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	return nil, false
}

func encodeList(list []any) (json.RawMessage, error) {
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		var err error
		if out[i], err = encode(v); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

func decode(raw json.RawMessage) (any, error) {
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return reordered(v), nil
}

// reordered puts objects whose order counts in the place of what encode wrote.
func reordered(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = reordered(v[i])
		}
	case map[string]any:
		if time, is := untagged(v); is {
			return time
		}
		pairs, is := v[ordered].([]any)
		if !is || len(v) != 1 || len(pairs)%2 != 0 {
			for name := range v {
				v[name] = reordered(v[name])
			}
			return v
		}
		object := make(rules.Object, 0, len(pairs)/2)
		for i := 0; i < len(pairs); i += 2 {
			name, _ := pairs[i].(string)
			object = append(object, rules.Member{Name: name, Value: reordered(pairs[i+1])})
		}
		return object
	}
	return v
}
