package airbyte

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A cursor is the incremental_sync of a stream.
type cursor struct {
	node
	field       string // path in the items
	kept        string // the name of the kept value
	computed    string // expression over item for the cursor, if it is not a member
	sentLayout  string // layout of the times that are sent
	itemLayout  string // layout of the times in the items
	filter      string // condition that selects the items for the kept value; empty for all
	lag         string
	step        string
	granule     string
	from        jinja.Expr // as text, a constant or a time
	until       string     // the end, as an expression for a time; empty for the present
	onlyNew     bool       // items from before the interval are left out
	initialKept string     // with onlyNew: the kept value in the first run; empty if no item is older than the start
	started     bool       // a request option sends the start
	ended       bool
}

// increment reads the incremental_sync.
func (t *translation) increment(n node) error {
	switch kind := n.kind(); {
	case !n.given():
		return nil
	case kind == "Custom":
		return custom("cursor", n)
	case kind == "IncrementingCountCursor":
		return t.countCursor(n)
	case kind != "DatetimeBasedCursor":
		return fmt.Errorf("%s: the incremental_sync %s is not known", n.path, kind)
	}
	c := &cursor{node: n}
	t.cursor = c
	field, err := t.one(n.get("cursor_field"))
	if err != nil {
		return err
	}
	c.field = fmt.Sprint(field.Const)
	format, err := c.readLayouts()
	if err != nil {
		return err
	}
	if clamping := n.get("clamping"); clamping.given() {
		t.note(importer.Approximate, clamping, "", "the bounds of the interval are not moved to whole days, weeks or months")
	}
	n.mark("is_data_feed", "is_client_side_incremental", "global_substream_cursor", "cursor_datetime_formats",
		"partition_field_start", "partition_field_end", "cursor_granularity", "step", "lookback_window", "is_compare_strictly")
	for _, l := range []struct {
		key  string
		into *string
	}{{"lookback_window", &c.lag}, {"step", &c.step}, {"cursor_granularity", &c.granule}} {
		if *l.into, err = t.length(n.get(l.key)); err != nil {
			return err
		}
	}
	if isComputed(c.granule) {
		return fmt.Errorf("%s: a computed granularity is not translated", n.get("cursor_granularity").path)
	}
	if c.from, err = t.moment(n.get("start_datetime"), format); err != nil {
		return err
	}
	to := jinja.Name("now()", jinja.Time)
	if end := n.get("end_datetime"); end.given() {
		if to, err = t.moment(end, format); err != nil {
			return err
		}
		if to.Source != "now()" {
			c.until = timeSource(to)
		}
	}
	return t.window(c, to, format)
}

// readLayouts sets the layouts of times, and returns the format of the times that are sent.
func (c *cursor) readLayouts() (format string, err error) {
	format = c.get("datetime_format").text()
	if format == "" {
		format = "%Y-%m-%dT%H:%M:%S.%f%z"
	}
	var ok bool
	if c.sentLayout, ok = jinja.Layout(format); !ok {
		return "", fmt.Errorf("%s: the format %s of times is not translated", c.get("datetime_format").path, format)
	}
	c.itemLayout = c.sentLayout
	if formats := c.get("cursor_datetime_formats").list(); len(formats) > 0 {
		if layout, ok := jinja.Layout(formats[0].text()); ok {
			c.itemLayout = layout
		}
	}
	return format, nil
}

// window adds the variable window, and the names by which templates read its bounds.
func (t *translation) window(c *cursor, to jinja.Expr, format string) error {
	end := to.Source
	if to.Constant {
		end = fmt.Sprint(to.Const)
	}
	window := importer.Variable{Name: "window", To: end, Step: c.step}
	if c.step != "" {
		window.Granularity = c.granule
	}
	t.out.For = append(t.out.For, window)
	from := jinja.Name("window.from", jinja.Time)
	start, err := jinja.Formatted(from, format)
	if err != nil {
		return err
	}
	stop, err := jinja.Formatted(jinja.Name("window.to", jinja.Time), format)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		key, usual string
		e          jinja.Expr
	}{{"partition_field_start", "start_time", start}, {"partition_field_end", "end_time", stop}} {
		name := c.get(f.key).text()
		if name == "" || jinja.IsTemplate(name) {
			name = f.usual
		}
		t.interval[name] = f.e
	}
	for _, option := range []struct {
		key string
		e   jinja.Expr
		has *bool
	}{{"start_time_option", start, &c.started}, {"end_time_option", stop, &c.ended}} {
		n := c.get(option.key)
		if !n.given() {
			continue
		}
		*option.has = true
		if err := t.inject(n, option.e); err != nil {
			return err
		}
	}
	return nil
}

// length returns a duration as a length, or as an expression for a duration of ISO 8601.
func (t *translation) length(n node) (string, error) {
	if !n.given() {
		return "", nil
	}
	e, err := t.one(n)
	switch {
	case err != nil:
		return "", err
	case !e.Constant:
		return lengthSource(e.Source), nil
	case e.Const == nil || e.Const == "":
		return "", nil
	}
	length, ok := jinja.Length(fmt.Sprint(e.Const))
	if !ok {
		return "", fmt.Errorf("%s: the duration %v is not translated", n.path, e.Const)
	}
	return length, nil
}

// isoDays matches the expression for a number of days, or of a part of a day, in the form of ISO 8601.
var isoDays = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^'P(T?)' \+ (text\([a-z_.A-Z0-9]+\)) \+ '([DHMS])'$`)
})

// lengthSource returns the expression for a length, without the form of ISO 8601 if that is not needed: text(input.days) + 'd'.
func lengthSource(source string) string {
	if m := isoDays().FindStringSubmatch(source); m != nil && (m[1] == "T") != (m[3] == "D") {
		return m[2] + " + '" + strings.ToLower(m[3]) + "'"
	}
	return source
}

// isComputed reports whether a length is an expression.
func isComputed(length string) bool { return length != "" && (length[0] < '0' || length[0] > '9') }

// lagSource returns the source of the lag in an expression, or "".
func (c *cursor) lagSource() string {
	if c.lag == "" || isComputed(c.lag) {
		return c.lag
	}
	return "'" + c.lag + "'"
}

// moment returns a bound of the interval: a constant text, or an expression for a time or a text that
// can be read as one.
func (t *translation) moment(n node, format string) (jinja.Expr, error) {
	if _, isObject := value.Members(n.v); !isObject { // a text, or a number such as 20260131
		return t.momentText(n, format)
	}
	own := n.get("datetime_format").text()
	if own == "" {
		own = format
	}
	e, err := t.momentText(n.get("datetime"), own)
	if err != nil {
		return e, err
	}
	for _, bound := range []struct{ key, function string }{{"min_datetime", "max"}, {"max_datetime", "min"}} {
		inner := n.get(bound.key)
		if !inner.given() {
			continue
		}
		other, err := t.momentText(inner, own)
		if err != nil {
			return e, err
		}
		if e.Constant && other.Constant {
			continue
		}
		e = jinja.Name(fmt.Sprintf("%s(%s, %s)", bound.function, timeSource(e), timeSource(other)), jinja.Time)
	}
	return e, nil
}

// timeSource returns the source of a moment as a time.
func timeSource(e jinja.Expr) string {
	if e.Kind == jinja.Time {
		return e.Source
	}
	return "date(" + e.Source + ")"
}

// formatCall matches the format of a time with the precision of a second.
var formatCall = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*)\.Format\('2006-01-02[T ]15:04:05[^']*'\)$`) })

// unformatted returns the time of an expression that writes one in the format in which it is read again, so that no other
// part of the time matters.
func unformatted(source, format string) (string, bool) {
	layout, _ := jinja.Layout(format)
	at, is := strings.CutSuffix(source, ".Format('"+layout+"')")
	const today = "now().Truncate(duration('24h'))"
	hasDay := strings.Contains(layout, "2006") && strings.Contains(layout, "01") && strings.Contains(layout, "02")
	return at, is && (at == "now()" || at == today && hasDay || importer.Argument("date", at) != "")
}

// isWritten reports whether an expression is an input whose times are all in a format, as its pattern says.
func (t *translation) isWritten(source, format string) bool {
	at := slices.IndexFunc(t.inputs, func(in importer.Input) bool { return source == "input."+in.Name })
	layout, _ := jinja.Layout(format)
	if at < 0 {
		return false
	}
	schema, _ := t.schemaOf(strings.Split(strings.TrimPrefix(t.inputs[at].Place, settingsPlace), "."))
	given, _ := schema.Get("pattern")
	pattern, err := regexp.Compile("^(?:" + fmt.Sprint(given) + ")$")
	if given == nil || err != nil {
		return false
	}
	sample := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	others := []string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339, "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05-07:00"}
	isOther := func(other string) bool {
		return sample.Format(other) != sample.Format(layout) && pattern.MatchString(sample.Format(other))
	}
	return pattern.MatchString(sample.Format(layout)) && !slices.ContainsFunc(others, isOther)
}

// momentText translates the template of a bound.
func (t *translation) momentText(n node, format string) (jinja.Expr, error) {
	e, err := t.one(n)
	if err != nil {
		return e, err
	}
	if at, ok := unformatted(e.Source, format); ok {
		if input := importer.Argument("date", at); t.isWritten(input, format) {
			return jinja.Name(input, jinja.Text), nil
		}
		return jinja.Name(at, jinja.Time), nil
	}
	m := formatCall().FindStringSubmatch(e.Source)
	if m != nil && strings.Count(e.Source, ".Format(") == 1 && !strings.Contains(e.Source, "?") {
		return jinja.Name(m[1], jinja.Time), nil
	}
	layout, ok := jinja.Layout(format)
	if !ok {
		return e, fmt.Errorf("%s: the format %s of times is not translated", n.path, format)
	}
	if unix, ok := strings.CutSuffix(e.Source, ".Unix()"); ok && !strings.ContainsAny(unix, "?+ ") {
		return jinja.Name(unix, jinja.Time), nil
	}
	if layout == rules.UnixSeconds && e.Constant {
		if seconds, isInt := literalOf(fmt.Sprint(e.Const)).(int); isInt {
			return jinja.Literal(time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)), nil
		}
	}
	switch {
	case e.Constant && e.Const == nil:
		return e, fmt.Errorf("%s: the time is a setting that the specification does not have", n.path)
	case e.Constant:
		text := fmt.Sprint(e.Const)
		if readable(layout) {
			return jinja.Literal(text), nil
		}
		if at, err := time.Parse(layout, text); err == nil {
			return jinja.Literal(strings.TrimSuffix(at.Format(time.RFC3339), "T00:00:00Z")), nil
		}
		return jinja.Name(fmt.Sprintf("date(%s, '%s')", jinja.Literal(text).Source, layout), jinja.Time), nil
	case e.Kind == jinja.Time || readable(layout) || layout == rules.UnixSeconds || layout == rules.UnixMillis:
		return e, nil
	}
	t.sample(e.Source, layout)
	return jinja.Name(fmt.Sprintf("date(%s, '%s')", e.Source, layout), jinja.Time), nil
}

// sample gives an input with a time of a layout a value for the tests of the configuration.
func (t *translation) sample(source, layout string) {
	for i, in := range t.inputs {
		if source == "input."+in.Name && in.Sample == nil {
			t.inputs[i].Sample = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Format(layout)
		}
	}
}

// readable reports whether times of a layout are read without it.
func readable(layout string) bool {
	text := strings.NewReplacer("2006", "2024", "-0700", "Z", ".000000", "", ".000", "").Replace(layout)
	if strings.HasSuffix(layout, "Z07:00") {
		text = strings.TrimSuffix(text, "07:00")
	}
	_, err := times.Parse(text)
	return err == nil
}
