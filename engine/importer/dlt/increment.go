package dlt

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/times"
)

// A cursor describes the items that the next run leaves out.
type cursor struct {
	node
	keys    []string // of the path in the items
	name    string   // of the kept value
	from    any      // the first value
	to      any      // the end of a range; nil without an end
	lag     string
	target  importer.Target // where the value goes
	placed  bool            // target counts
	written bool            // the value is a part of texts, too
}

var cursorKeys = []string{
	"cursor_path", "initial_value", "end_value", "start_param", "end_param", "convert", "transform", "lag", "last_value_func", "primary_key",
	"row_order", "allow_external_schedulers", "on_cursor_value_missing", "range_start", "range_end", "type",
}

// increment reads the parameter of type incremental, or incremental of the endpoint.
func (t *translation) increment() error {
	n := t.in(t.res, "incremental")
	c := &cursor{}
	for _, p := range t.merged(t.res, "params") {
		if p.get("type").text() != "incremental" {
			continue
		}
		if c.placed {
			return fmt.Errorf("%s: dlt allows one parameter of type incremental", p.path)
		}
		n, c.target, c.placed = p, importer.Target{In: importer.InParam, Name: p.name}, true
	}
	if !n.given() {
		return nil
	}
	c.node = n
	path := n.get("cursor_path")
	keys, err := pathKeys(path.text())
	if err != nil || len(keys) == 0 || slices.Contains(keys, "*") {
		return fmt.Errorf("%s: want the path of a member of the items instead of %q", path.path, path.text())
	}
	c.keys, c.name = keys, keys[len(keys)-1]
	if start := n.get("start_param").text(); start != "" && !c.placed {
		c.target, c.placed = importer.Target{In: importer.InParam, Name: start}, true
	}
	if c.from, err = t.bound(n.get("initial_value")); err != nil {
		return err
	}
	if c.to, err = t.bound(n.get("end_value")); err != nil {
		return err
	}
	if c.to != nil && c.from == nil {
		return fmt.Errorf("%s: dlt wants an initial_value with an end_value", n.get("end_value").path)
	}
	t.cursor = c
	return t.cursorNotes(c)
}

// bound returns a bound: a constant, or an expression for an input.
func (t *translation) bound(n node) (any, error) {
	if !n.given() {
		return nil, nil
	}
	text, isScalar := n.scalar()
	if !isScalar {
		return nil, fmt.Errorf("%s: want a text or a number", n.path)
	}
	parts, _, err := t.parts(n, text)
	if err != nil {
		return nil, err
	}
	if v := joined(parts); v.Source != "" {
		return importer.Computed(v.Source), nil
	}
	return n.v, nil
}

// source returns a bound as an expression.
func source(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case importer.Value:
		return v.Source
	case string:
		return importer.Quote(v)
	}
	return fmt.Sprint(v)
}

// isTime matches the beginning of a date.
var isTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`) })

// cursorNotes reads the keys that change how the cursor works.
func (t *translation) cursorNotes(c *cursor) error {
	for _, m := range c.members() {
		if !slices.Contains(cursorKeys, m.name) {
			t.out.Note(unknownKey(m))
		}
		if !m.given() {
			continue
		}
		text, _ := m.scalar()
		switch m.name {
		case "convert", "transform":
			t.note(importer.Approximate, m, "incremental",
				"%s is Python, and was left out: the value is sent as the items have it; format says how times are sent", m.name)
		case "last_value_func":
			if text != "max" {
				return fmt.Errorf("%s: only the greatest value is kept, and not %s", m.path, text)
			}
		case "row_order":
			t.note(importer.Approximate, m, "", "all pages are read; dlt stops at a row outside of the range")
		case "primary_key", "allow_external_schedulers":
			t.note(importer.Left, m, "", "%s has no effect here", m.name)
		case "on_cursor_value_missing":
			if text == "exclude" {
				t.filter(keypath.Format("item", c.keys) + " != nil")
			} else {
				t.note(importer.Left, m, "", "a row without the value is written, and the value is not kept")
			}
		case "range_start":
			if text == "open" && c.to == nil {
				t.note(importer.Approximate, m, "", "rows that have exactly the last value come again")
			}
		case "end_param":
			if c.to == nil {
				t.note(importer.Left, m, "", "without end_value, dlt does not send it")
				break
			}
			t.out.Params = append(t.out.Params, importer.Member{Name: text, Value: constantOf(c.to)})
		case "lag":
			if err := t.lag(c, m, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func constantOf(v any) importer.Value {
	if computed, is := v.(importer.Value); is {
		return computed
	}
	return importer.Constant(v)
}

// lag reads a lag: of a number, of days if the first value is a date, or of seconds.
func (t *translation) lag(c *cursor, n node, text string) error {
	length, err := strconv.ParseFloat(text, 64)
	if err != nil || length < 0 {
		return fmt.Errorf("%s: want a number", n.path)
	}
	first, isText := c.from.(string)
	switch {
	case length == 0:
	case c.from != nil && !isText && !isValue(c.from):
		c.lag = text
	case isText && isTime().MatchString(first) && len(first) == len("2006-01-02"):
		c.lag = text + "d"
	default:
		c.lag = seconds(length)
	}
	return nil
}

// seconds returns a number of seconds in the largest unit that has a whole number of them: 1h for 3600.
func seconds(length float64) string {
	for _, unit := range []string{"h", "m"} {
		size, _ := time.ParseDuration("1" + unit)
		if n := length / size.Seconds(); n == math.Trunc(n) {
			return strconv.FormatFloat(n, 'f', -1, 64) + unit
		}
	}
	return strconv.FormatFloat(length, 'f', -1, 64) + "s"
}

func isValue(v any) bool {
	_, is := v.(importer.Value)
	return is
}

// filter adds a condition on items.
func (t *translation) filter(condition string) {
	if t.out.Filter != "" {
		condition = t.out.Filter + " and " + condition
	}
	t.out.Filter = condition
}

// fills reports whether a text is the start of the cursor and nothing else. The place of the first such text
// becomes the parameter of the cursor.
func (c *cursor) fills(text string, target importer.Target) bool {
	if c == nil || c.placed || c.to != nil || target.In == importer.Nowhere || !slices.Contains(startNames, text) {
		return false
	}
	c.target, c.placed = target, true
	return true
}

var startNames = []string{"{incremental.start_value}", "{incremental.last_value}"}

// atCursor reports whether the value of the cursor goes to a place.
func (t *translation) atCursor(in importer.Place, name string) bool {
	return t.cursor != nil && t.cursor.placed && t.cursor.target == importer.Target{In: in, Name: name}
}

// start returns the expression for the start.
func (c *cursor) start() string {
	if c.to != nil {
		return source(c.from)
	}
	kept := keypath.Format("kept", []string{c.name})
	if c.lag != "" {
		lag := c.lag
		if _, err := strconv.ParseFloat(lag, 64); err != nil {
			lag = importer.Quote(lag)
		}
		kept = fmt.Sprintf("earlier(%s, %s)", kept, lag)
	}
	if c.from == nil {
		return kept
	}
	return kept + " ?? " + source(c.from)
}

// cursorValue returns the value of a placeholder of the cursor.
func (t *translation) cursorValue(n node, name string) (part, error) {
	c := t.cursor
	if c == nil {
		return part{}, fmt.Errorf("%s: there is no incremental for {incremental.%s}", n.path, name)
	}
	v := c.from
	switch name {
	case "start_value", "last_value":
		if c.to == nil {
			c.written = true
			return part{source: c.start()}, nil
		}
	case "initial_value":
	case "end_value":
		v = c.to
	default:
		return part{}, fmt.Errorf("%s: {incremental.%s} is not known", n.path, name)
	}
	if v == nil {
		return part{}, fmt.Errorf("%s: {incremental.%s} has no value", n.path, name)
	}
	if isValue(v) {
		return part{source: source(v)}, nil
	}
	return part{text: fmt.Sprint(v)}, nil
}

// kept writes the cursor: the key incremental where it does the same, and otherwise a kept value.
func (t *translation) kept() error {
	c := t.cursor
	if c == nil {
		return nil
	}
	item := keypath.Format("item", c.keys)
	if c.to != nil {
		t.rangeOf(c, item)
		return nil
	}
	if c.placed && !c.written {
		t.out.Incremental = &importer.Incremental{Cursor: keypath.Join(c.keys...), Param: param(c.target), Lag: c.lag, From: c.first()}
	} else {
		t.out.Incremental = &importer.Incremental{Cursor: keypath.Join(c.keys...)}
		switch {
		case c.placed:
			t.place(c, importer.Computed(c.start()))
		case !c.written:
			t.filter(fmt.Sprintf("%s >= (%s)", item, c.always(item)))
		}
	}
	t.note(importer.Approximate, c.node, "incremental",
		"rows that have exactly the last value, and those of a lag, come again in the next run; dlt leaves out "+
			"those that it has seen: merge the rows by key")
	return nil
}

// always returns the start as an expression that has a value for each item.
func (c *cursor) always(item string) string {
	if c.from == nil {
		return c.start() + " ?? " + item
	}
	return c.start()
}

// rangeOf reads the rows of a range, and keeps nothing.
func (t *translation) rangeOf(c *cursor, item string) {
	if c.placed {
		t.place(c, constantOf(c.from))
	}
	low, high := ">=", "<"
	if c.get("range_start").text() == "open" {
		low = ">"
	}
	if c.get("range_end").text() == "closed" {
		high = "<="
	}
	t.filter(fmt.Sprintf("%s %s %s and %s %s %s", item, low, source(c.from), item, high, source(c.to)))
}

// place puts a value where the cursor goes.
func (t *translation) place(c *cursor, v importer.Value) {
	member := importer.Member{Name: c.target.Name, Value: v}
	switch c.target.In {
	case importer.InHeader:
		t.out.Headers = append(t.out.Headers, member)
	case importer.InBody:
		t.out.Body = withMember(t.out.Body, keypath.Split(c.target.Name), v)
	default:
		t.out.Params = append(t.out.Params, member)
	}
}

// first returns the first value as the key from has it: a date, a number or an expression.
func (c *cursor) first() any {
	text, isText := c.from.(string)
	switch {
	case isValue(c.from):
		return source(c.from)
	case !isText:
		return c.from
	}
	if _, err := times.Parse(text); err == nil {
		return text
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return importer.Quote(text)
}

func param(t importer.Target) string {
	switch t.In {
	case importer.InHeader:
		return "header:" + t.Name
	case importer.InBody:
		return "body:" + t.Name
	}
	return t.Name
}
