package airbyte_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
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
	"github.com/stopwhen/stopwhen/rules/lists"
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
	once     bool                 // only the first request has the parameters of the slice
	raw      bool                 // rendered texts are not read as literals
	found    map[string][]object  // by partition, the records of the run
	state    map[string]time.Time // by partition, the greatest cursor of the run before
	starts   map[string]time.Time // by partition, the start of the run, or the state
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
		return lists.Map(v, c.resolve)
	case string:
		if strings.HasPrefix(v, "#/") {
			return c.target(v)
		}
	case object:
		out := object{}
		if ref, ok := v["$ref"].(string); ok {
			maps.Copy(out, c.target(ref).(object))
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
	ref = strings.TrimPrefix(ref, "#/")
	for rest := ref; rest != ""; {
		o, _ := at.(object)
		if whole, ok := o[rest]; ok {
			return c.resolve(whole)
		}
		var key string
		key, rest, _ = strings.Cut(rest, "/")
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
	maps.Copy(params, outerParams)
	own, _ := inner["$parameters"].(object)
	maps.Copy(params, own)
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
	maps.Copy(all, names)
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
	if c.raw {
		return out
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
	case text == "None", text == "{}": // both end a list
		return nil
	case regexp.MustCompile(`^-?(0|[1-9]\d*)$`).MatchString(text):
		n, _ := strconv.Atoi(text)
		return n
	case regexp.MustCompile(`^["\[{]`).MatchString(text) && !regexp.MustCompile(`\b(true|false|null)\b`).MatchString(text):
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			return whole(v)
		}
	}
	return text
}

// holds reports whether a condition is true for the CDK.
func (c *cdk) holds(condition any, names object) bool {
	v := c.render(condition, names)
	return v != nil && v != false && v != "" && v != 0 && v != "false" && v != "{}" && v != "[]"
}

var directives = strings.NewReplacer("%Y", "2006", "%m", "01", "%d", "02", "%H", "15", "%M", "04", "%S", "05", "%z", "-0700", "%f", "000000")

func strftime(at time.Time, format string) string {
	if format == "%s" {
		return strconv.FormatInt(at.Unix(), 10)
	}
	return at.UTC().Format(directives.Replace(format))
}

// read returns the records of a stream.
func (c *cdk) read(s object) []object {
	var out []object
	c.found, c.starts = map[string][]object{}, map[string]time.Time{}
	for _, slice := range c.slices(s) {
		records := c.pages(s, slice)
		key := partitionOf(slice)
		c.found[key] = append(c.found[key], records...)
		out = append(out, records...)
	}
	return out
}

// partitionOf returns the members of a slice that are not its interval.
func partitionOf(slice object) string {
	partition := maps.Clone(slice)
	for _, name := range []string{"start_time", "end_time", "extra_fields", "#options"} {
		delete(partition, name)
	}
	return fmt.Sprint(partition)
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
					if child := childSlice(p.(object), record, one); child != nil {
						slices = append(slices, child)
					}
				}
			}
		}
	case "ListPartitionRouter":
		slices = nil
		for _, v := range router["values"].([]any) {
			slice := object{str(router["cursor_field"]): v}
			if option, ok := router["request_option"].(object); ok {
				slice["#options"] = []any{[]any{option, v}}
			}
			slices = append(slices, slice)
		}
	}
	cursor := component(s, "incremental_sync")
	if cursor == nil {
		return slices
	}
	var out []object
	for _, one := range slices {
		for _, w := range c.windows(partitionOf(one), cursor) {
			both := object{}
			maps.Copy(both, one)
			maps.Copy(both, w)
			before, _ := one["#options"].([]any)
			both["#options"] = append(slicesOf(before), w["#options"].([]any)...)
			out = append(out, both)
		}
	}
	return out
}

func slicesOf(list []any) []any { return append([]any{}, list...) }

// childSlice returns the slice for a record of a parent. It is nil if the record has no value at the key.
func childSlice(parent, record, slice object) object {
	at := func(keys ...string) (v any) {
		v = record
		for _, key := range keys {
			o, _ := v.(object)
			v = o[key]
		}
		return v
	}
	v := at(strings.Split(str(get(parent, "parent_key")), "/")...)
	if v == nil {
		return nil
	}
	above := maps.Clone(slice)
	delete(above, "#options")
	out := object{str(get(parent, "partition_field")): v, "parent_slice": above}
	extra := object{}
	fields, _ := parent["extra_fields"].([]any)
	for _, path := range fields {
		keys := lists.Map(path.([]any), str)
		extra[strings.Join(keys, ".")] = at(keys...)
	}
	out["extra_fields"] = extra
	if option, ok := parent["request_option"].(object); ok {
		out["#options"] = []any{[]any{option, v}}
	}
	return out
}

var isoDays = regexp.MustCompile(`^P(\d+)([DM])$`)

// remember sets the state of each partition of a stream to the greatest cursor of its records.
func (c *cdk) remember(s object) {
	field := str(get(component(s, "incremental_sync"), "cursor_field"))
	c.state = map[string]time.Time{}
	for partition, records := range c.found {
		for _, r := range records {
			if at := cursorOf(r, field); at.After(c.state[partition]) {
				c.state[partition] = at
			}
		}
	}
}

// cursorOf returns the cursor of a record. It is zero if the record has none.
func cursorOf(record object, field string) (at time.Time) {
	switch v := record[field].(type) {
	case int:
		at = time.Unix(int64(v), 0)
	case string:
		for _, layout := range []string{time.RFC3339, time.DateOnly, "02/01/2006"} {
			if read, err := time.Parse(layout, v); err == nil {
				at = read
			}
		}
	}
	return at
}

// synced reports whether a record belongs to the interval of the run in a partition.
func (c *cdk) synced(partition string, cursor, record object) bool {
	at := cursorOf(record, str(get(cursor, "cursor_field")))
	return at.IsZero() || !at.Before(c.starts[partition]) && !at.After(time.Now())
}

// windows returns the slices of a DatetimeBasedCursor in a partition.
func (c *cdk) windows(partition string, cursor object) []object {
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
	first := start
	if state, has := c.state[partition]; has && state.After(start) {
		start = state
	}
	if c.starts != nil {
		c.starts[partition] = start
	}
	if m := isoDays.FindStringSubmatch(str(cursor["lookback_window"])); m != nil {
		days, _ := strconv.Atoi(m[1])
		if start = start.AddDate(0, 0, -days); start.Before(first) {
			start = first
		}
	}
	if text := fmt.Sprint(cursor["end_datetime"]); strings.Contains(text, "today") {
		end = end.Truncate(24 * time.Hour)
	} else if o, isObject := cursor["end_datetime"].(object); isObject && !strings.Contains(text, "now") {
		end = bound(o)
	}
	step := func(at time.Time) time.Time {
		m := isoDays.FindStringSubmatch(str(c.render(cursor["step"], nil)))
		if m == nil {
			return end
		}
		n, _ := strconv.Atoi(m[1])
		if m[2] == "M" { // the day is cut to the length of the month
			first := time.Date(at.Year(), at.Month()+time.Month(n), 1, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
			return first.AddDate(0, 0, min(at.Day(), first.AddDate(0, 1, -1).Day())-1)
		}
		return at.AddDate(0, 0, n)
	}
	granularity := map[string]time.Duration{"P1D": 24 * time.Hour, "PT1S": time.Second, "PT0.000001S": time.Microsecond}[str(cursor["cursor_granularity"])]
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

// select_ returns the records of a response, and how many there are before filters.
func (c *cdk) select_(s, retriever object, body any, slice object) (records []object, count int) {
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
	cursor := component(s, "incremental_sync")
	clientSide := get(cursor, "is_client_side_incremental") == true && get(cursor, "is_data_feed") != true
	for _, e := range list {
		record := e.(object)
		names := object{"record": record, "stream_slice": slice, "stream_partition": slice}
		transform := func() {
			for _, t := range transformations {
				c.transform(t.(object), record, names)
			}
		}
		if clientSide {
			transform()
			if !c.synced(partitionOf(slice), cursor, record) {
				continue
			}
		}
		if filter != nil && !c.holds(filter["condition"], names) {
			continue
		}
		if !clientSide {
			transform()
		}
		records = append(records, record)
	}
	return records, len(list)
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
	out := lists.Map(records, func(o object) string {
		text, _ := json.Marshal(o)
		return string(text)
	})
	slices.Sort(out)
	return out
}
