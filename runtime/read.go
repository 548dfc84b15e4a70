package runtime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// read turns a response into a page and into the context that rules see. It does not
// change the state if the response is unacceptable.
func (r *run) read(request rules.Request, f fetched) (*Page, error) {
	r.head = append(r.head[:0], f.head()...) // the reader modifies the body
	size := len(f.Body)
	if err := r.convert(f); err != nil {
		return nil, r.unacceptable(f, size, err)
	}
	reading, err := r.reader.Read(f.document())
	if err != nil {
		return nil, r.unacceptable(f, size, err)
	}
	r.lookup, r.visit, r.names = reading.Lookup, reading.Visit, reading.Names
	r.Hints.Value, r.hinted = nil, nil
	record := r.record(request, f)
	c := &r.Context.Value
	c.Page++
	c.Body, c.Count, c.Bytes = reading.Body, reading.Items.Len(), reading.Bytes
	c.Items, c.Values = reading.Decoded, nil
	if reading.Values != nil && reading.Decoded == nil {
		c.Values = reading.Values
	}
	c.Status, c.Header, c.Link = f.Status, f.HeaderValue, f.Link
	at := f.sent // of f, the closure keeps nothing else
	c.Now = func() time.Time { return at }
	c.Total.Pages++
	c.Total.Items += c.Count
	c.Total.Bytes += c.Bytes
	c.Total.Seconds = r.elapsed()
	c.Sent = r.sentFacts(request, record.Request)
	c.Prev = r.Last.Value
	sent := digestOf(record.Request)
	c.Polled = request.After > 0 && c.Prev != nil && sent == r.Request
	repeats := r.compare(reading, sent)
	r.notice(reading, sent, record.Request)
	r.Last.Value = r.past("prev")
	if c.First == nil && r.job.Reads("first") == r.job.Reads("prev") {
		c.First = r.Last.Value
	} else if c.First == nil {
		c.First = r.past("first")
	}
	r.LargestPage = max(r.LargestPage, c.Count)
	r.Result.Pages++
	r.Result.Bytes += c.Bytes
	r.reportOddities()
	record.Page, record.Count, record.Bytes, record.Repeats = c.Page, c.Count, c.Bytes, repeats
	r.restarted = nil
	return &Page{Items: reading.Items, Lists: r.typed(reading.Lists), Record: record, members: reading.Members}, nil
}

// typed sets the type of the items of each list.
func (r *run) typed(lists []document.List) []document.List {
	for i := range lists {
		lists[i].DataType = cmp.Or(lists[i].DataType, r.job.Set.Job.DataType)
	}
	return lists
}

// record returns the beginning of a page's trace.
func (r *run) record(request rules.Request, f fetched) Record {
	return Record{
		Job: r.Result.Job, Partition: r.shownBinding(), Request: r.shownCall(request, f.call),
		Status: f.Status, Decision: Continue, StoppedBy: []string{}, Attempts: f.Attempts,
		At: f.sent.Sub(r.started).Milliseconds(), Millis: r.Clock.Now().Sub(f.sent).Milliseconds(),
		Version: RecordVersion, Waits: r.waitsOf(f.waits), Restarts: r.restarted,
	}
}

// shownBinding returns a copy of the values of the variables without secrets; nil if there are
// none.
func (r *run) shownBinding() map[string]any {
	if len(r.partition.Binding) == 0 {
		return nil
	}
	shown, _ := r.published(r.partition.Binding).(map[string]any)
	return shown
}

// convert replaces a body of another format by JSON.
func (r *run) convert(f fetched) error {
	if r.converter == nil {
		return nil
	}
	r.converted[0], r.converted[1] = r.converted[1], r.converted[0]
	into := r.converted[0]
	done, err := r.converter.Convert(bodyOf(f.Response, f.Body), into)
	if err != nil || !done {
		return err
	}
	if f.Body, f.Window, err = into.Body(); err == nil {
		r.buffers[0].Release() // a retry or the next page uses it again
	}
	return err
}

// bodyOf returns a body for conversion, with the data of a response or the beginning of it.
func bodyOf(response *transport.Response, data []byte) format.Body {
	return format.Body{
		Status: response.Status, ContentType: response.Header.Get("Content-Type"), Data: data, Window: response.Window,
	}
}

// unacceptable returns the error for a response of size bytes that is not a page.
func (r *run) unacceptable(f fetched, size int, err error) error {
	e := &failure.Error{
		Class: failure.Response, Job: r.Result.Job, Page: r.Context.Value.Page + 1, Op: "read",
		URL: r.Redactor.URL(f.URL), Status: f.Status, Err: err,
	}
	if known, ok := errors.AsType[*failure.Error](err); ok { // of a temporary file
		e.Class, e.Message, e.Hint = known.Class, known.Message, known.Hint
		return e
	}
	if r.converter == nil {
		e.Hint = format.Hint(bodyOf(f.Response, r.head))
	}
	if own, ok := errors.AsType[*failure.Error](err); ok {
		return own
	}
	if errors.As(err, new(*document.DepthError)) {
		e.Class, e.Hint = failure.Policy, "if the API really nests that deeply, raise api.http.maxDepth"
	}
	if errors.As(err, new(*document.ItemsError)) {
		e.Class, e.Hint = failure.Policy, "if the API really has such pages, raise api.http.maxItemsPerPage, or request smaller ones"
	}
	if size, ok := errors.AsType[*document.SizeError](err); ok {
		e.Class, e.Hint = failure.Policy, size.Hint
	}
	e.Message = fmt.Sprintf("%v; the response (%s) begins with %s", err, f.ContentType(), r.Redactor.Excerpt(r.head, size))
	if size == 0 {
		e.Message = fmt.Sprintf("the response body is empty (%s)", f.ContentType())
	}
	return e
}

// shown returns a request without its secrets.
func (r *run) shown(request rules.Request) Sent {
	call, _, err := r.encode(request)
	if err != nil {
		return Sent{Method: request.Verb(), URL: r.Redactor.URL(request.Endpoint)}
	}
	return r.shownCall(request, call)
}

// shownCall is shown for a request that was encoded.
func (r *run) shownCall(request rules.Request, call transport.Call) Sent {
	out := Sent{Method: call.Method, URL: r.Redactor.String(call.URL)}
	switch {
	case call.Body == nil:
	case request.Method == "FORM":
		out.Body, _ = json.Marshal(r.Redactor.String(string(call.Body))) // a string can always be encoded
	default:
		out.Body = json.RawMessage(r.Redactor.JSON(string(call.Body)))
	}
	return out
}

// sentFacts returns the request as expressions see it: without the secrets of the
// configuration, but with the tokens of the API.
func (r *run) sentFacts(request rules.Request, shown Sent) rules.Sent {
	facts := rules.Sent{Method: shown.Method, URL: shown.URL, Params: r.public(request.Params), Headers: r.public(request.Headers)}
	if shown.Body != nil && request.Method != "FORM" {
		facts.Body, _ = document.Decode(shown.Body)
	}
	return facts
}

// public returns a value without secrets, at any depth: the value itself if it has none.
func (r *run) public(v any) any {
	if r.isPublic(v) {
		return v
	}
	return r.published(v)
}

// isPublic reports whether rules may see a value as it is.
func (r *run) isPublic(v any) bool {
	switch v := v.(type) {
	case string:
		return r.Redactor.String(v) == v
	case json.Number:
		return false
	case rules.Object:
		return v != nil && !slices.ContainsFunc(v, func(m rules.Member) bool { return !r.isPublic(m.Value) })
	case map[string]any:
		for _, e := range v {
			if !r.isPublic(e) {
				return false
			}
		}
		return v != nil
	case []any:
		return v != nil && !slices.ContainsFunc(v, func(e any) bool { return !r.isPublic(e) })
	}
	return true
}

// published returns a copy of a value without secrets.
func (r *run) published(v any) any {
	switch v := v.(type) {
	case string:
		return r.Redactor.String(v)
	case rules.Object:
		out := make(rules.Object, len(v))
		for i, m := range v {
			out[i] = rules.Member{Name: m.Name, Value: r.published(m.Value)}
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = r.published(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.published(e)
		}
		return out
	case json.Number: // 1.50 is sent as it is spelled, but rules compute with 1.5
		if n, err := value.Number(v); err == nil {
			return n
		}
	}
	return v
}

// compare compares this response and its items with earlier ones. It returns the number
// of an earlier page with the same request and response, or 0.
func (r *run) compare(reading document.Reading, request document.Digest) (repeats int) {
	c := &r.Context.Value
	c.SamePage = c.Prev != nil && (reading.Content == r.Content || reading.Spelling.Same(r.Spelling))
	c.EmptyWindow = c.SamePage && c.Count == 0 && request != r.Request && r.job.Ends() && r.moves(request)
	exchange := request.With(reading.Content)
	repeats, c.RepeatedExchange = r.Exchanges.find(exchange)
	r.Exchanges.add(exchange, c.Page)
	switch {
	case c.Count == 0:
		c.SameItems = 0
	case c.Prev != nil && reading.List == r.List:
		c.SameItems++
		if !c.SamePage && !c.Polled && !r.switches.QuietSameItems {
			r.warn(fmt.Sprintf("same_items.%d", c.Page), fmt.Sprintf("page %d has the same items as the page before it", c.Page))
		}
	default:
		c.SameItems = 1
	}
	if c.Page == 1 {
		r.FirstContent = reading.Content
	} else if c.Page > 2 && reading.Content == r.FirstContent && c.Count > 0 && !c.SamePage && !c.Polled {
		r.warn("page_equals_first", fmt.Sprintf("page %d equals the first one; the API may start again after its last page", c.Page))
	}
	r.Content, r.List, r.Spelling = reading.Content, reading.List, reading.Spelling
	return repeats
}

// digestOf returns the digest of a request.
func digestOf(sent Sent) document.Digest {
	return document.DigestOf(sent.Body, document.DigestOf([]byte(sent.Method+" "+sent.URL), document.Digest{}))
}

// moves reports whether the next request will differ from the one that was sent.
func (r *run) moves(sent document.Digest) bool {
	c := r.Context.Value
	_, parts, more, err := r.job.Advance(&r.machine, &c)
	if err != nil || !more {
		return false
	}
	next, err := r.binding.Apply(parts, r.Base)
	return err == nil && digestOf(r.shown(next)) != sent
}

// reportOddities logs oddities of a page that concern its rules.
func (r *run) reportOddities() {
	c := &r.Context.Value
	if c.Page == 1 && r.names != nil {
		r.reportMissing()
	}
	for _, stop := range r.job.Stops {
		r.reportTextFlags(stop)
	}
	if limit, ok := c.Limit.(int); ok && limit > 0 && c.Count > limit {
		r.warn("limit_ignored",
			fmt.Sprintf("page %d has %d items, more than the limit of %d; the API seems to ignore the limit", c.Page, c.Count, limit))
	}
}

// reportTextFlags names a flag that is the text "false": as a boolean it is true
// (specification 2.2), which is seldom what an API means.
func (r *run) reportTextFlags(stop *compile.Condition) {
	for _, flag := range stop.Flags {
		if flag.Has || !flag.OfBody() {
			continue
		}
		if v, _ := flag.Lookup(&r.Context.Value); v == "false" || v == "False" {
			means := v // the value of the flag on the last page
			if met, err := stop.EvalBool(&r.machine, &r.Context.Value); err == nil && met {
				means = trueAs[v]
			}
			rule := fmt.Sprintf("%s == %q", flag, means)
			r.warn("flag_text_false."+stop.Rule.ID,
				fmt.Sprintf("%s reads %s, which is the text %q and therefore true; if it means false, write a rule: \"stopRules\": [%q]",
					stop.Rule.ID, flag, v, rule))
		}
	}
}

// trueAs has the text of true in the spelling of a text of false.
var trueAs = map[any]string{"false": "true", "False": "True"}

// reportMissing logs the paths that rules read and the first response does not have:
// they may be misspelt. A single page may lack a link to the next one.
func (r *run) reportMissing() {
	for _, stop := range r.job.Stops {
		r.reportMisspelt(stop.Expression)
	}
	for _, e := range slices.Concat(r.job.Next, r.job.Parts) {
		r.reportMisspelt(e)
	}
	for _, watch := range r.watches {
		if slices.Contains(r.Noticed.Had, watch.String()) {
			continue
		}
		if hint := r.suggest(watch.Path); r.misspelt(watch.Path) || !watch.Link && !watch.Optional {
			r.warn("missing "+watch.String(), fmt.Sprintf("%s reads %s, which the response does not have%s", watch.Rule.ID, watch, hint))
		}
	}
}

// reportMisspelt logs the headers and the paths of items that an expression reads, and
// that the first page does not have. A rule that is about an absent value is silent.
func (r *run) reportMisspelt(e *compile.Expression) {
	if e.Rule.Outcome == rules.Failed {
		return
	}
	for _, missing := range e.Misspelt(&r.Context.Value) {
		text := fmt.Sprintf("%s reads %s, which is missing", e.Rule.ID, missing.Path)
		if missing.Hint != "" {
			text += "; " + missing.Hint
		}
		r.warn("missing "+missing.Path, text)
	}
}

// reportOverridden warns of a link whose parameters the job's own override.
func (r *run) reportOverridden(next rules.Request) {
	if !r.job.Set.IncludeParams {
		return
	}
	for _, m := range rules.ParseQuery(next.Endpoint) {
		own, sent := next.Params.Get(m.Name)
		if _, ofJob := r.job.Set.Job.Params.Get(m.Name); !sent || !ofJob {
			continue
		}
		if text, ok := value.Text(own); ok && text != m.Value {
			r.warn("overridden "+m.Name,
				fmt.Sprintf("the link to the next page has %s=%v, but the job's own %s=%s overrides it (includeParams)",
					m.Name, m.Value, m.Name, text))
		}
	}
}
