package airbyte_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// A call is a request before it is sent.
type call struct {
	method, path string
	params       url.Values
	headers      http.Header
	form         bool
	body         object
}

func (q *call) inject(o object, v any) {
	name := str(o["field_name"])
	switch str(o["inject_into"]) {
	case "request_parameter":
		q.params.Set(name, str(v))
	case "body_json", "body_data":
		q.body[name] = v
	case "header":
		q.headers.Set(name, str(v))
	}
}

// pages returns the records of all pages of a slice.
func (c *cdk) pages(s, slice object) []object {
	retriever := component(s, "retriever")
	requester := component(retriever, "requester")
	paginator := component(retriever, "paginator")
	strategy := component(paginator, "pagination_strategy")
	c.once = retriever["ignore_stream_slicer_parameters_on_paginated_requests"] == true
	var token, lastToken any
	kind := str(strategy["type"])
	start, _ := strategy["start_from_page"].(float64)
	if strategy["inject_on_first_request"] == true {
		token = int(start)
		lastToken = token
	}
	var out []object
	for {
		status, header, body, text := c.send(requester, paginator, strategy, slice, token)
		if status >= 300 {
			return out // ignored
		}
		records, extracted := c.select_(s, retriever, body, slice)
		var last any
		if len(records) > 0 {
			last = records[len(records)-1]
		}
		if cursor := component(s, "incremental_sync"); get(cursor, "is_data_feed") == true {
			synced := func(r object) bool { return c.synced(partitionOf(slice), cursor, r) }
			if last != nil && !synced(last.(object)) {
				kind = ""
			}
			for _, r := range records {
				if synced(r) {
					out = append(out, r)
				}
			}
		} else {
			out = append(out, records...)
		}
		size, sized := c.size(strategy)
		count := len(records)
		switch kind {
		case "":
			return out
		case "PageIncrement", "OffsetIncrement":
			if kind == "OffsetIncrement" {
				count = extracted
			}
			if count == 0 || sized && count < size {
				return out
			}
			step, from := 1, int(start)
			if kind == "OffsetIncrement" {
				step, from = count, 0
			}
			if n, isInt := lastToken.(int); isInt {
				from = n
			}
			token = from + step
		default:
			names := object{"response": body, "headers": header, "last_record": last, "last_page_size": count}
			if condition, has := strategy["stop_condition"]; has && c.holds(condition, names) {
				return out
			}
			token = c.render(strategy["cursor_value"], names)
			if token == nil || token == "" || token == 0 || token == false {
				return out
			}
		}
		lastToken = token
		require.Less(c.t, len(c.requests), 2000, text)
	}
}

// size returns the size of a page, if the strategy has one.
func (c *cdk) size(strategy object) (int, bool) {
	switch v := c.render(strategy["page_size"], nil).(type) {
	case int:
		return v, true
	case float64:
		return int(v), true
	}
	return 0, false
}

// send makes a request and returns its response.
func (c *cdk) send(requester, paginator, strategy, slice object, token any) (int, object, any, string) {
	var page any
	if token != nil {
		page = object{"next_page_token": token}
	}
	names := object{"stream_slice": slice, "stream_partition": slice, "stream_interval": slice, "next_page_token": page,
		"parameters": requester["$parameters"]}
	base := strings.TrimRight(str(c.render(get(requester, "url_base"), names)), "/") + "/"
	q := &call{method: strings.ToUpper(str(get(requester, "http_method"))), params: url.Values{}, body: object{}, headers: http.Header{}}
	if q.method == "" {
		q.method = http.MethodGet
	}
	q.path = base + strings.TrimLeft(str(c.render(get(requester, "path"), names)), "/")
	params, _ := get(requester, "request_parameters").(object)
	for k, v := range params {
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		for _, e := range list {
			for _, text := range c.texts(e, names) {
				q.params.Add(k, text)
			}
		}
	}
	body, _ := get(requester, "request_body_json").(object)
	for k, v := range body {
		if rendered := c.nested(v, names); rendered != nil {
			q.body[k] = rendered
		}
	}
	if form, isForm := get(requester, "request_body_data").(object); isForm {
		q.form = true
		for k, v := range form {
			q.body[k] = c.render(v, names)
		}
	}
	options, _ := slice["#options"].([]any)
	if c.once && token != nil {
		options = nil
	}
	for _, o := range options {
		pair := o.([]any)
		q.inject(pair[0].(object), pair[1])
	}
	if o, has := paginator["page_size_option"].(object); has && strategy["page_size"] != nil {
		size, _ := c.size(strategy)
		q.inject(o, size)
	}
	if o, has := paginator["page_token_option"].(object); has && token != nil {
		if o["type"] == "RequestPath" {
			u, err := url.Parse(str(token))
			require.NoError(c.t, err)
			for k, v := range u.Query() {
				if q.params.Get(k) == v[0] {
					q.params.Del(k)
				}
			}
			q.path = str(token)
		} else {
			q.inject(o, token)
		}
	}
	return c.exchange(q)
}

// texts returns a rendered value as parameters have it: of literals only texts and lists are read.
func (c *cdk) texts(v any, names object) []string {
	if flag, isBool := v.(bool); isBool {
		return []string{map[bool]string{true: "True", false: "False"}[flag]}
	}
	c.raw = true
	rendered := c.render(v, names)
	c.raw = false
	text, isText := rendered.(string)
	switch {
	case rendered == nil:
		return nil
	case !isText:
		return []string{str(rendered)}
	case len(text) > 1 && text[0] == '\'' && text[len(text)-1] == '\'':
		return []string{text[1 : len(text)-1]}
	case text != "" && text[0] == '[' && text[len(text)-1] == ']':
		var list []string
		for e := range strings.SplitSeq(text[1:len(text)-1], ",") {
			list = append(list, strings.Trim(e, " '"))
		}
		return list
	}
	return []string{text}
}

func (c *cdk) nested(v any, names object) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for k, e := range v {
			if inner := c.nested(e, names); inner != nil {
				out[k] = inner
			}
		}
		return out
	case []any:
		return lists.Map(v, func(e any) any { return c.nested(e, names) })
	}
	return c.render(v, names)
}

func (c *cdk) exchange(q *call) (int, object, any, string) {
	var reader io.Reader
	if len(q.body) > 0 { // also of GET; an empty object is not sent
		text, _ := json.Marshal(q.body)
		if q.form {
			form := url.Values{}
			for k, v := range q.body {
				form.Set(k, str(v))
			}
			text = []byte(form.Encode())
		}
		reader = strings.NewReader(string(text))
	}
	address := q.path
	if len(q.params) > 0 {
		glue := "?"
		if strings.Contains(address, "?") {
			glue = "&"
		}
		address += glue + q.params.Encode()
	}
	r, err := http.NewRequest(q.method, address, reader)
	require.NoError(c.t, err)
	r.Header = q.headers
	c.requests = append(c.requests, requestText(r))
	response, err := c.api.RoundTrip(r)
	require.NoError(c.t, err)
	text, _ := io.ReadAll(response.Body)
	var body any
	_ = json.Unmarshal(text, &body)
	body = whole(body)
	header := object{}
	for k := range response.Header {
		header[k] = response.Header.Get(k)
	}
	links := object{}
	if m := regexp.MustCompile(`<([^>]*)>; rel="next"`).FindStringSubmatch(response.Header.Get("Link")); m != nil {
		links["next"] = object{"url": m[1]}
	}
	header["link"] = links
	return response.StatusCode, header, body, string(text)
}

// whole writes whole numbers as integers, as Python does.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
	case []any:
		return lists.Map(v, whole)
	case object:
		for k, e := range v {
			v[k] = whole(e)
		}
	}
	return v
}

// requestText returns a request as a line that does not depend on the order of parameters.
func requestText(r *http.Request) string {
	var pairs []string
	for k, list := range r.URL.Query() {
		for _, v := range list {
			pairs = append(pairs, k+"="+v)
		}
	}
	sort.Strings(pairs)
	if next := r.Header.Get("X-Next"); next != "" {
		pairs = append(pairs, "X-Next="+next)
	}
	line := r.Method + " " + r.URL.Host + r.URL.Path + "?" + strings.Join(pairs, "&")
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		var body any
		if json.Unmarshal(text, &body) == nil {
			text, _ = json.Marshal(body)
		} else if form, err := url.ParseQuery(string(text)); err == nil {
			text = []byte(form.Encode())
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		line = strings.TrimSpace(line + " " + string(text))
	}
	return line
}
