package airbyte_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A cdk runs streams of a manifest as the CDK for low-code connectors does. It shares no code with the
// reader: it walks the manifest itself, and its templates are rendered by gonja.
type cdk struct {
	t        *testing.T
	root     map[string]any
	settings map[string]any
	api      http.RoundTripper
	requests []string
	state    map[string]time.Time // by stream, the greatest cursor of the run before
}

type object = map[string]any

// newCDK reads a manifest, with its references replaced.
func newCDK(t *testing.T, file importer.File, settings object, api http.RoundTripper) *cdk {
	t.Helper()
	root, err := importer.ParseYAML(file, 1<<20)
	require.NoError(t, err)
	text, err := value.Marshal(root)
	require.NoError(t, err)
	c := &cdk{t: t, settings: settings, api: api}
	require.NoError(t, json.Unmarshal(text, &c.root))
	c.root, _ = c.resolve(c.root).(object)
	return c
}

func (c *cdk) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		return value.Map(v, c.resolve)
	case string:
		if strings.HasPrefix(v, "#/") {
			return c.target(v)
		}
	case object:
		out := object{}
		if ref, ok := v["$ref"].(string); ok {
			for k, e := range c.target(ref).(object) {
				out[k] = e
			}
		}
		for k, e := range v {
			if k != "$ref" {
				out[k] = c.resolve(e)
			}
		}
		return out
	}
	return v
}

func (c *cdk) target(ref string) any {
	at := any(c.root)
	for _, key := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		if list, isList := at.([]any); isList {
			i, _ := strconv.Atoi(key)
			at = list[i]
			continue
		}
		at = at.(object)[key]
	}
	return c.resolve(at)
}

// get returns a member of a component, or the parameter of its name.
func get(component any, key string) any {
	o, _ := component.(object)
	if v := o[key]; v != nil && v != "" {
		return v
	}
	params, _ := o["$parameters"].(object)
	return params[key]
}

// component returns a member with the parameters of the outer component.
func component(outer any, key string) object {
	inner, _ := get(outer, key).(object)
	if inner == nil {
		return nil
	}
	params := object{}
	outerParams, _ := outer.(object)["$parameters"].(object)
	for k, v := range outerParams {
		params[k] = v
	}
	own, _ := inner["$parameters"].(object)
	for k, v := range own {
		params[k] = v
	}
	out := object{"$parameters": params}
	for k, v := range inner {
		if k != "$parameters" {
			out[k] = v
		}
	}
	return out
}

func str(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// stream returns the stream of a name.
func (c *cdk) stream(name string) object {
	for _, s := range c.root["streams"].([]any) {
		if str(get(s, "name")) == name {
			return s.(object)
		}
	}
	require.Fail(c.t, "no stream "+name)
	return nil
}

// render renders a template, and reads the result as a literal of Python. Nothing is nil.
func (c *cdk) render(text any, names object) any {
	source, isText := text.(string)
	if !isText {
		return text
	}
	all := object{"config": c.settings}
	for k, v := range names {
		all[k] = v
	}
	functions := exec.NewContext(object{
		"format_datetime": func(_ *exec.Evaluator, p *exec.VarArgs) *exec.Value {
			at, _ := time.Parse(time.RFC3339, p.Args[0].String())
			return exec.AsValue(strftime(at, p.Args[1].String()))
		},
		"timestamp": func(_ *exec.Evaluator, p *exec.VarArgs) *exec.Value {
			at, _ := time.Parse(time.RFC3339, p.Args[0].String())
			return exec.AsValue(int(at.Unix()))
		},
	})
	env := &exec.Environment{Context: exec.EmptyContext().Update(builtins.GlobalFunctions).Update(functions), Filters: builtins.Filters,
		Tests: builtins.Tests, ControlStructures: builtins.ControlStructures, Methods: builtins.Methods}
	loader := loaders.MustNewMemoryLoader(map[string]string{"/t": source})
	tpl, err := exec.NewTemplate("/t", config.New(), loader, env)
	require.NoError(c.t, err, source)
	out, err := tpl.ExecuteToString(exec.NewContext(all))
	if err != nil || out == "" {
		return nil // undefined
	}
	return python(out)
}

// python reads a text as a literal of Python.
func python(text string) any {
	switch {
	case text == "True":
		return true
	case text == "False":
		return false
	case text == "None":
		return nil
	case regexp.MustCompile(`^-?(0|[1-9]\d*)$`).MatchString(text):
		n, _ := strconv.Atoi(text)
		return n
	}
	return text
}

// holds reports whether a condition is true for the CDK.
func (c *cdk) holds(condition any, names object) bool {
	v := c.render(condition, names)
	return v != nil && v != false && v != "" && v != 0 && v != "false" && v != "{}" && v != "[]"
}

var directives = strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%z", "-0700")

func strftime(at time.Time, format string) string {
	if format == "%s" {
		return strconv.FormatInt(at.Unix(), 10)
	}
	return at.UTC().Format(directives.Replace(format))
}

// read returns the records of a stream.
func (c *cdk) read(s object) []object {
	var out []object
	for _, slice := range c.slices(s) {
		out = append(out, c.pages(s, slice)...)
	}
	return out
}

// slices returns the slices of a stream, with the values that request options send under "#options".
func (c *cdk) slices(s object) []object {
	slices := []object{{}}
	retriever := component(s, "retriever")
	router := component(retriever, "partition_router")
	switch str(router["type"]) {
	case "SubstreamPartitionRouter":
		slices = nil
		for _, p := range router["parent_stream_configs"].([]any) {
			parent := p.(object)["stream"].(object)
			for _, one := range c.slices(parent) {
				for _, record := range c.pages(parent, one) {
					slices = append(slices, object{str(get(p, "partition_field")): record[str(get(p, "parent_key"))], "parent_slice": one})
				}
			}
		}
	case "ListPartitionRouter":
		slices = nil
		for _, v := range router["values"].([]any) {
			slices = append(slices, object{str(router["cursor_field"]): v})
		}
	}
	cursor := component(s, "incremental_sync")
	if cursor == nil {
		return slices
	}
	var out []object
	for _, one := range slices {
		for _, w := range c.windows(str(get(s, "name")), cursor) {
			both := object{}
			for k, v := range one {
				both[k] = v
			}
			for k, v := range w {
				both[k] = v
			}
			out = append(out, both)
		}
	}
	return out
}

var isoDays = regexp.MustCompile(`^P(\d+)([DM])$`)

// remember sets the state of a stream to the greatest cursor of its records.
func (c *cdk) remember(s object, records []object) {
	field := str(get(component(s, "incremental_sync"), "cursor_field"))
	var greatest time.Time
	for _, r := range records {
		var at time.Time
		switch v := r[field].(type) {
		case int:
			at = time.Unix(int64(v), 0)
		case string:
			at, _ = time.Parse(time.RFC3339, v)
		}
		if at.After(greatest) {
			greatest = at
		}
	}
	if !greatest.IsZero() {
		c.state = map[string]time.Time{str(get(s, "name")): greatest}
	}
}

// windows returns the slices of a DatetimeBasedCursor.
func (c *cdk) windows(stream string, cursor object) []object {
	bound := func(v any) time.Time {
		format := str(get(cursor, "datetime_format"))
		if o, isObject := v.(object); isObject {
			if own := str(o["datetime_format"]); own != "" {
				format = own
			}
			v = o["datetime"]
		}
		text := str(c.render(v, nil))
		if format == "%s" {
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(c.t, err)
			return time.Unix(n, 0)
		}
		at, err := time.Parse(directives.Replace(strings.ReplaceAll(format, "%z", "Z07:00")), text)
		require.NoError(c.t, err)
		return at
	}
	start, end := bound(cursor["start_datetime"]), time.Now().UTC()
	if state, has := c.state[stream]; has && state.After(start) {
		start = state
	}
	if text := fmt.Sprint(cursor["end_datetime"]); strings.Contains(text, "today") {
		end = end.Truncate(24 * time.Hour)
	}
	step := func(at time.Time) time.Time {
		m := isoDays.FindStringSubmatch(str(c.render(cursor["step"], nil)))
		if m == nil {
			return end
		}
		n, _ := strconv.Atoi(m[1])
		if m[2] == "M" {
			return at.AddDate(0, n, 0)
		}
		return at.AddDate(0, 0, n)
	}
	granularity := map[string]time.Duration{"P1D": 24 * time.Hour, "PT1S": time.Second}[str(cursor["cursor_granularity"])]
	format := str(get(cursor, "datetime_format"))
	var out []object
	for start.Before(end) {
		next := step(start)
		last := next.Add(-granularity)
		if !next.Before(end) {
			next, last = end, end
		}
		w := object{"start_time": strftime(start, format), "end_time": strftime(last, format)}
		options := []any{}
		for option, key := range map[string]string{"start_time_option": "start_time", "end_time_option": "end_time"} {
			if o, ok := cursor[option].(object); ok {
				options = append(options, []any{o, w[key]})
			}
		}
		w["#options"] = options
		out = append(out, w)
		start = next
	}
	return out
}

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
		records, last := c.select_(s, retriever, body, slice)
		out = append(out, records...)
		size, sized := strategy["page_size"].(float64)
		count := len(records)
		switch kind {
		case "":
			return out
		case "PageIncrement", "OffsetIncrement":
			if count == 0 || sized && count < int(size) {
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
			if flag, isBool := e.(bool); isBool {
				e = map[bool]string{true: "True", false: "False"}[flag]
			}
			if rendered := c.render(e, names); rendered != nil {
				if flag, isBool := rendered.(bool); isBool {
					rendered = map[bool]string{true: "True", false: "False"}[flag]
				}
				q.params.Add(k, str(rendered))
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
	for _, o := range options {
		pair := o.([]any)
		q.inject(pair[0].(object), pair[1])
	}
	if o, has := paginator["page_size_option"].(object); has && strategy["page_size"] != nil {
		q.inject(o, strategy["page_size"])
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
		return value.Map(v, func(e any) any { return c.nested(e, names) })
	}
	return c.render(v, names)
}

func (c *cdk) exchange(q *call) (int, object, any, string) {
	var reader io.Reader
	if q.method == http.MethodPost {
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
		return value.Map(v, whole)
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
	if r.Body != nil && r.Method == http.MethodPost {
		text, _ := io.ReadAll(r.Body)
		var body any
		if json.Unmarshal(text, &body) == nil {
			text, _ = json.Marshal(body)
		} else if form, err := url.ParseQuery(string(text)); err == nil {
			text = []byte(form.Encode())
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		line += " " + string(text)
	}
	return line
}

// select_ returns the records of a response, and the last one.
func (c *cdk) select_(s, retriever object, body any, slice object) (records []object, last any) {
	selector := component(retriever, "record_selector")
	extractor := component(selector, "extractor")
	at := body
	path, _ := extractor["field_path"].([]any)
	for _, key := range path {
		o, _ := at.(object)
		at = o[str(key)]
	}
	list, isList := at.([]any)
	if o, isObject := at.(object); isObject && !isList {
		list = []any{o}
	}
	filter, _ := selector["record_filter"].(object)
	transformations, _ := s["transformations"].([]any)
	for _, e := range list {
		record := e.(object)
		names := object{"record": record, "stream_slice": slice, "stream_partition": slice}
		if filter != nil && !c.holds(filter["condition"], names) {
			continue
		}
		for _, t := range transformations {
			c.transform(t.(object), record, names)
		}
		records = append(records, record)
		last = record
	}
	return records, last
}

func (c *cdk) transform(t, record, names object) {
	switch t["type"] {
	case "AddFields":
		for _, f := range t["fields"].([]any) {
			field := f.(object)
			record[str(field["path"].([]any)[0])] = c.render(field["value"], names)
		}
	case "RemoveFields":
		for _, p := range t["field_pointers"].([]any) {
			delete(record, str(p.([]any)[0]))
		}
	}
}

// sortedTexts returns records as sorted texts.
func sortedTexts(records []object) []string {
	out := value.Map(records, func(o object) string {
		text, _ := json.Marshal(o)
		return string(text)
	})
	slices.Sort(out)
	return out
}
