package airbyte

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules"
)

// A cursor is the incremental_sync of a stream.
type cursor struct {
	node
	field    string // path in the items
	kept     string // the name of the kept value
	computed string // the expression over item that gives it, if it is no member of the items
	layout   string // of the times that are sent
	items    string // of the times in the items
	lag      string
	step     string
	granule  string
	from     jinja.Expr // as text, a constant or a time
	started  bool       // a request option sends the start
	ended    bool
}

// increment reads the incremental_sync.
func (b *builder) increment(n node) error {
	switch kind := n.kind(); {
	case !n.given():
		return nil
	case kind == "Custom":
		return custom("cursor", n)
	case kind == "IncrementingCountCursor":
		return b.countCursor(n)
	case kind != "DatetimeBasedCursor":
		return fmt.Errorf("%s: the incremental_sync %s is not known", n.path, kind)
	}
	c := &cursor{node: n}
	b.cursor = c
	field, err := b.one(n.get("cursor_field"))
	if err != nil {
		return err
	}
	c.field = fmt.Sprint(field.Const)
	format := n.get("datetime_format").text()
	if format == "" {
		format = "%Y-%m-%dT%H:%M:%S.%f%z"
	}
	var ok bool
	if c.layout, ok = jinja.Layout(format); !ok {
		return fmt.Errorf("%s: the format %s of times is not translated", n.get("datetime_format").path, format)
	}
	c.items = c.layout
	if formats := n.get("cursor_datetime_formats").list(); len(formats) > 0 {
		if layout, ok := jinja.Layout(formats[0].text()); ok {
			c.items = layout
		}
	}
	if clamping := n.get("clamping"); clamping.given() {
		b.note(importer.Approximate, clamping, "", "the bounds of the interval are not moved to whole days, weeks or months")
	}
	n.mark("is_data_feed", "is_client_side_incremental", "global_substream_cursor", "cursor_datetime_formats",
		"partition_field_start", "partition_field_end", "cursor_granularity", "step", "lookback_window", "is_compare_strictly")
	for key, into := range map[string]*string{"lookback_window": &c.lag, "step": &c.step, "cursor_granularity": &c.granule} {
		if *into, err = b.length(n.get(key)); err != nil {
			return err
		}
	}
	if c.from, err = b.moment(n.get("start_datetime"), format); err != nil {
		return err
	}
	to := jinja.Name("now()", jinja.Time)
	if end := n.get("end_datetime"); end.given() {
		if to, err = b.moment(end, format); err != nil {
			return err
		}
	}
	return b.window(c, to, format)
}

// window adds the variable window, and the names by which templates read its bounds.
func (b *builder) window(c *cursor, to jinja.Expr, format string) error {
	end := to.Source
	if to.Known {
		end = fmt.Sprint(to.Const)
	}
	window := importer.Variable{Name: "window", To: end, Step: c.step}
	if c.step != "" {
		window.Granularity = c.granule
	}
	b.out.For = append(b.out.For, window)
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
		b.interval[name] = f.e
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
		if err := b.inject(n, option.e); err != nil {
			return err
		}
	}
	return nil
}

// length returns a duration as a length. If a setting gives it, the default of the setting is taken.
func (b *builder) length(n node) (string, error) {
	if !n.given() {
		return "", nil
	}
	e, err := jinja.Translate(n.text(), b.scope(n, jinja.Literal(nil)))
	if err == nil && e.Known {
		text, ok := jinja.Length(fmt.Sprint(e.Const))
		if ok || e.Const == nil || e.Const == "" {
			return text, nil
		}
	}
	scope := b.scope(n, jinja.Literal(nil)).With("config", jinja.Members("config", func(keys []string) (jinja.Expr, error) {
		schema, _ := b.schemaOf(keys)
		v, _ := schema.Get("default")
		return literal(v), nil
	}))
	if e, err = jinja.Translate(n.text(), scope); err != nil || !e.Known {
		return "", fmt.Errorf("%s: a computed duration is not translated: %s", n.path, n.text())
	}
	length, ok := jinja.Length(fmt.Sprint(e.Const))
	if !ok {
		if e.Const == nil || e.Const == "" {
			b.note(importer.Approximate, n, "", "a setting gives it; it is left out, as without the setting")
			return "", nil
		}
		return "", fmt.Errorf("%s: the duration %v is not translated", n.path, e.Const)
	}
	b.note(importer.Approximate, n, "", "a setting gives it there; here it is %s, the default of the setting: change it in the configuration",
		cmp.Or(length, "none"))
	return length, nil
}

// moment returns a bound of the interval: a constant text, or an expression for a time or a text that
// can be read as one.
func (b *builder) moment(n node, format string) (jinja.Expr, error) {
	if _, isText := n.v.(string); isText {
		return b.momentText(n, format)
	}
	own := n.get("datetime_format").text()
	if own == "" {
		own = format
	}
	e, err := b.momentText(n.get("datetime"), own)
	if err != nil {
		return e, err
	}
	for _, bound := range []struct{ key, function string }{{"min_datetime", "max"}, {"max_datetime", "min"}} {
		inner := n.get(bound.key)
		if !inner.given() {
			continue
		}
		other, err := b.momentText(inner, own)
		if err != nil {
			return e, err
		}
		if e.Known && other.Known {
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
var formatCall = regexp.MustCompile(`^(.*)\.Format\('2006-01-02[T ]15:04:05[^']*'\)$`)

// momentText translates the template of a bound.
func (b *builder) momentText(n node, format string) (jinja.Expr, error) {
	e, err := b.one(n)
	if err != nil {
		return e, err
	}
	if m := formatCall.FindStringSubmatch(e.Source); m != nil && strings.Count(e.Source, ".Format(") == 1 && !strings.Contains(e.Source, "?") {
		return jinja.Name(m[1], jinja.Time), nil
	}
	layout, ok := jinja.Layout(format)
	if !ok {
		return e, fmt.Errorf("%s: the format %s of times is not translated", n.path, format)
	}
	if unix, ok := strings.CutSuffix(e.Source, ".Unix()"); ok && !strings.ContainsAny(unix, "?+ ") {
		return jinja.Name(unix, jinja.Time), nil
	}
	if layout == rules.UnixSeconds && e.Known {
		if seconds, isInt := literalOf(fmt.Sprint(e.Const)).(int); isInt {
			return jinja.Literal(time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)), nil
		}
	}
	switch {
	case e.Known && e.Const == nil:
		return e, fmt.Errorf("%s: the time is a setting that the specification does not have", n.path)
	case e.Known:
		text := fmt.Sprint(e.Const)
		if readable(layout) {
			return jinja.Literal(text), nil
		}
		return jinja.Name(fmt.Sprintf("date(%s, '%s')", jinja.Literal(text).Source, layout), jinja.Time), nil
	case e.Kind == jinja.Time || readable(layout) || layout == rules.UnixSeconds || layout == rules.UnixMillis:
		return e, nil
	}
	return jinja.Name(fmt.Sprintf("date(%s, '%s')", e.Source, layout), jinja.Time), nil
}

// readable reports whether times of a layout are read without it.
func readable(layout string) bool {
	text := strings.NewReplacer("2006", "2024", "-0700", "Z", ".000000", "", ".000", "").Replace(layout)
	if strings.HasSuffix(layout, "Z07:00") {
		text = strings.TrimSuffix(text, "07:00")
	}
	_, err := rules.ParseTime(text)
	return err == nil
}

// finishIncrement decides how the interval is written, after it is known which of its bounds requests
// have: as incremental, as a window, or not at all.
func (b *builder) finishIncrement() error {
	c := b.cursor
	if c == nil {
		return nil
	}
	at := slices.IndexFunc(b.out.For, func(v importer.Variable) bool { return v.Name == "window" })
	text := fmt.Sprint(b.out.Endpoint, b.out.Params, b.out.Headers, b.out.Fields, b.out.Filter, b.out.Paging)
	uses := strings.Count(text, "window.")
	if !strings.Contains(text, "window.to") {
		b.out.For[at].Granularity = ""
	}
	path := b.cursorPath(c)
	c.kept = keptName(path)
	if uses == 0 { // no request depends on the interval
		b.out.For = slices.Delete(b.out.For, at, at+1)
		return b.unsent(c, path)
	}
	if uses == 1 && c.step == "" && !b.whole {
		if param, ok := b.soleStart(c); ok {
			b.out.For = slices.Delete(b.out.For, at, at+1)
			return b.incremental(c, path, param)
		}
	}
	return b.windowed(c, path, &b.out.For[at])
}

// cursorPath returns the path of the cursor in the items as the API sends them.
func (b *builder) cursorPath(c *cursor) string {
	path := rules.PathOf(append(slices.Clone(b.itemPath), strings.Split(c.field, ".")...)...)
	source, changed := b.overlay[rules.PathOf(c.field)]
	if !changed {
		return path
	}
	if m := regexp.MustCompile(`^item((?:\.[A-Za-z_]\w*)+)$`).FindStringSubmatch(source); m != nil {
		return m[1][1:]
	}
	c.computed = source
	return rules.PathOf(c.field)
}

func keptName(path string) string {
	keys := rules.SplitPath(path)
	return keys[len(keys)-1]
}

// latest returns the expression for what is kept.
func (c *cursor) latest(path string) string {
	kept := rules.FormatPath("kept", []string{c.kept})
	items, layout := "items", ""
	if !readable(c.items) && c.items != rules.UnixSeconds && c.items != rules.UnixMillis {
		layout = ", '" + c.items + "'"
	}
	switch {
	case c.computed != "" && !itemName.MatchString(c.computed):
		return c.computed
	case c.computed != "":
		items, path = "map(items, {\"at\": "+itemName.ReplaceAllString(c.computed, "#")+"})", "at"
	}
	return fmt.Sprintf("latestOf(%s, %q, %s%s)", items, path, kept, layout)
}

// soleStart returns the parameter whose value is the start of the interval, and removes it.
func (b *builder) soleStart(c *cursor) (string, bool) {
	start, err := jinja.Formatted(jinja.Name("window.from", jinja.Time), formatOf(c))
	if err != nil {
		return "", false
	}
	for _, where := range []struct {
		list   *[]importer.Member
		prefix string
	}{{&b.out.Params, ""}, {&b.out.Headers, "header:"}} {
		for i, m := range *where.list {
			if m.Value.Source == start.Source {
				*where.list = slices.Delete(slices.Clone(*where.list), i, i+1)
				return where.prefix + m.Name, true
			}
		}
	}
	return "", false
}

func formatOf(c *cursor) string {
	if f := c.get("datetime_format").text(); f != "" {
		return f
	}
	return "%Y-%m-%dT%H:%M:%S.%f%z"
}

// incremental writes the interval as the key incremental.
func (b *builder) incremental(c *cursor, path, param string) error {
	if strings.ContainsAny(path, "*") {
		return fmt.Errorf("%s: the cursor %s is no member of the items", c.path, c.field)
	}
	if c.computed != "" {
		return b.computedIncrement(c, path, param)
	}
	i := &importer.Incremental{Cursor: path, Param: param, Lag: c.lag, Format: c.layout}
	switch {
	case c.from.Known:
		i.From = c.from.Const
	default:
		i.From = c.from.Source
	}
	b.out.Incremental = i
	b.keptNotes(c, "incremental")
	return nil
}

// computedIncrement writes an increment whose cursor is no member of the items: what is kept, and the
// parameter.
func (b *builder) computedIncrement(c *cursor, path, param string) error {
	kept := rules.FormatPath("kept", []string{c.kept})
	lag := "nil"
	if c.lag != "" {
		lag = "'" + c.lag + "'"
	}
	first := fmt.Sprintf("earlier(%s, nil, '%s')", c.from.Source, c.layout)
	v := importer.Computed(fmt.Sprintf("earlier(%s, %s, '%s') ?? %s", kept, lag, c.layout, first))
	if name, isHeader := strings.CutPrefix(param, "header:"); isHeader {
		b.out.Headers = append(b.out.Headers, importer.Member{Name: name, Value: v})
	} else {
		b.out.Params = append(b.out.Params, importer.Member{Name: param, Value: v})
	}
	b.out.Keep = append(b.out.Keep, importer.Field{Name: c.kept, Source: c.latest(path)})
	b.keptNotes(c, "pagination")
	return nil
}

func (b *builder) keptNotes(c *cursor, target string) {
	b.note(importer.Check, c.get("start_datetime"), target, "the first run begins where the source does; look whether that is what you want")
	if slices.ContainsFunc(b.out.For, func(v importer.Variable) bool { return v.Name != "window" }) &&
		!c.get("global_substream_cursor").flag() {
		b.note(importer.Approximate, c.node, target, "one time is kept for all partitions; there, each has its own")
	}
}

// windowed writes the interval as a variable.
func (b *builder) windowed(c *cursor, path string, v *importer.Variable) error {
	from := c.from.Source
	kept := rules.FormatPath("kept", []string{c.kept})
	if b.whole {
		v.From = from
		if c.from.Known {
			v.From = fmt.Sprint(c.from.Const)
		}
		return nil
	}
	var since string
	latest := c.latest(path)
	switch {
	case c.items == rules.UnixSeconds || c.items == rules.UnixMillis:
		unit := map[string]string{rules.UnixSeconds: "s", rules.UnixMillis: "ms"}[c.items]
		since = fmt.Sprintf("date('1970-01-01') + duration(text(%s) + '%s')", kept, unit)
		if c.lag != "" {
			since = fmt.Sprintf("earlier(%s, '%s')", since, c.lag)
		}
		v.From = fmt.Sprintf("%s == nil ? %s : %s", kept, timeSource(c.from), since)
	case !readable(c.items):
		since = fmt.Sprintf("date(%s, '%s')", kept, c.items)
		if c.lag != "" {
			since = fmt.Sprintf("earlier(%s, '%s')", since, c.lag)
		}
		v.From = fmt.Sprintf("%s == nil ? %s : %s", kept, timeSource(c.from), since)
	case c.lag != "":
		v.From = fmt.Sprintf("earlier(%s, '%s') ?? %s", kept, c.lag, operand(from))
	default:
		v.From = kept + " ?? " + operand(from)
	}
	b.out.Keep = append(b.out.Keep, importer.Field{Name: c.kept, Source: latest})
	b.keptNotes(c, "for.window")
	return nil
}

func operand(source string) string {
	if strings.ContainsAny(source, "?:") && !strings.HasPrefix(source, "'") {
		return "(" + source + ")"
	}
	return source
}

// unsent handles an interval that no request has: the items are filtered, or the pages end with it.
func (b *builder) unsent(c *cursor, path string) error {
	if b.whole {
		return nil
	}
	kept := rules.FormatPath("kept", []string{c.kept})
	item := rules.FormatPath("item", rules.SplitPath(path))
	since := kept
	if c.lag != "" {
		since = fmt.Sprintf("earlier(%s, '%s')", kept, c.lag)
	}
	feed, client := c.get("is_data_feed").flag(), c.get("is_client_side_incremental").flag()
	if !feed && !client && strings.Contains(b.out.Filter, kept) { // the filter reads it
		b.out.Keep = append(b.out.Keep, importer.Field{Name: c.kept, Source: c.latest(path)})
		b.keptNotes(c, "filter")
		return nil
	}
	if !feed && !client {
		b.note(importer.Check, c.node, "", "no request has the time of the last run, so every run reads the complete list, as it does there")
		return nil
	}
	b.out.Keep = append(b.out.Keep, importer.Field{Name: c.kept, Source: c.latest(path)})
	if feed {
		last := rules.FormatPath("items[-1]", rules.SplitPath(path))
		if b.out.Paging != nil {
			b.out.Paging.Stops = append(b.out.Paging.Stops, importer.Stop{Name: "known", When: last + " < " + since})
		}
		if !client {
			b.keptNotes(c, "pagination")
			return nil
		}
	}
	condition := fmt.Sprintf("(%s == nil or %s >= %s)", kept, item, since)
	if b.out.Filter != "" {
		condition = "(" + b.out.Filter + ") and " + condition
	} else {
		condition = strings.TrimSuffix(strings.TrimPrefix(condition, "("), ")")
	}
	b.out.Filter = condition
	b.keptNotes(c, "filter")
	return nil
}

// countCursor reads an IncrementingCountCursor.
func (b *builder) countCursor(n node) error {
	field, err := b.one(n.get("cursor_field"))
	if err != nil {
		return err
	}
	option := n.get("start_value_option")
	from, err := b.one(n.get("start_value"))
	if err != nil {
		return err
	}
	if !option.given() || b.whole {
		return nil
	}
	target, _, err := b.option(option)
	if err != nil {
		return err
	}
	i := &importer.Incremental{Cursor: fmt.Sprint(field.Const), Param: target.Name}
	if target.In == importer.InHeader {
		i.Param = "header:" + target.Name
	}
	if from.Known {
		i.From = literalOf(fmt.Sprint(from.Const))
	} else {
		i.From = from.Source
	}
	b.out.Incremental = i
	return nil
}
