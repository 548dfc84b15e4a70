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
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/times"
)

// finishIncrement decides how the interval is written, after it is known which of its bounds requests
// have: as incremental, as a window, or not at all.
func (t *translation) finishIncrement() error {
	c := t.cursor
	if c == nil {
		return nil
	}
	at := slices.IndexFunc(t.out.For, func(v importer.Variable) bool { return v.Name == "window" })
	sources := strings.Join(t.sources(), "\n")
	uses := strings.Count(sources, "window.")
	if !strings.Contains(sources, "window.to") {
		t.out.For[at].Granularity = ""
	}
	path := t.cursorPath(c)
	if !strings.Contains(t.out.Filter, "#") && !strings.Contains(t.out.Filter, "kept") {
		c.filter = t.out.Filter
	}
	c.kept = keptName(path)
	if c.get("is_data_feed").flag() || c.get("is_client_side_incremental").flag() {
		c.onlyNew = true
		if c.initialKept = c.firstKept(); c.from.Constant && isEarly(fmt.Sprint(c.from.Const)) {
			c.initialKept = ""
		}
	}
	var err error
	switch param, sole := t.soleStart(c, uses); {
	case uses == 0: // no request depends on the interval
		t.out.For = slices.Delete(t.out.For, at, at+1)
		t.unsent(c, path)
	case sole:
		t.out.For = slices.Delete(t.out.For, at, at+1)
		err = t.incremental(c, path, param)
	default:
		t.windowed(c, path, &t.out.For[at])
		target := "for.window"
		if uses == 1 && t.inlineStart(c, t.out.For[at]) {
			t.out.For = slices.Delete(t.out.For, at, at+1)
			target = "pagination"
		}
		if !t.whole {
			t.keptNotes(c, target)
		}
	}
	switch {
	case c.onlyNew:
		t.onlyNew(c, path)
	case uses > 0 && !t.whole && err == nil && c.computed == "" && !strings.Contains(path, "*"):
		t.out.Whole = &importer.Whole{New: c.fresh(path, c.lagSource()), Kept: c.keep(path)}
	}
	return err
}

// sources returns the expressions that may read the interval: those of requests and items, and the endpoint, which has them in
// braces.
func (t *translation) sources() []string {
	sources := []string{t.out.Endpoint, t.out.Filter}
	values := slices.Concat(t.out.Params, t.out.Body, t.out.Headers)
	for _, f := range t.out.Fields {
		sources = append(sources, f.Source)
	}
	if p := t.out.Paging; p != nil {
		sources, values = append(sources, p.Size, p.Source), append(values, p.Keys...)
		for _, stop := range p.Stops {
			sources = append(sources, stop.When)
		}
		for _, next := range p.Next {
			sources = append(sources, next.Source)
		}
	}
	return append(sources, importer.Value{Object: values}.Sources()...)
}

// cursorPath returns the path of the cursor in the items as the API sends them.
func (t *translation) cursorPath(c *cursor) string {
	path := keypath.Join(append(slices.Clone(t.itemPath), strings.Split(c.field, ".")...)...)
	source, changed := t.overlay[keypath.Join(c.field)]
	if !changed {
		return path
	}
	if m := regexp.MustCompile(`^item((?:\.[A-Za-z_]\w*)+)$`).FindStringSubmatch(source); m != nil {
		return m[1][1:]
	}
	c.computed = source
	return keypath.Join(c.field)
}

// identity returns the expression that tells the partitions apart, given the expressions for the members of
// their slices.
func identity(sources []string) string {
	if len(sources) == 1 {
		return sources[0]
	}
	if len(sources) == 0 {
		return ""
	}
	return "[" + strings.Join(sources, ", ") + "]"
}

func keptName(path string) string {
	keys := keypath.Split(path)
	return keys[len(keys)-1]
}

// keep returns what is kept for the next run: the greatest cursor of the items, or of some of them.
func (c *cursor) keep(path string) importer.Kept {
	if c.filter != "" || c.initialKept != "" || c.computed != "" || strings.Contains(path, "*") {
		return importer.Kept{Keep: []importer.Field{{Name: c.kept, Source: c.latest(path)}}}
	}
	i := &importer.Incremental{Cursor: path}
	if !readable(c.itemLayout) && !c.isUnix() {
		i.Format = c.itemLayout
	}
	return importer.Kept{Incremental: i}
}

// latest returns the expression for the kept value.
func (c *cursor) latest(path string) string {
	kept := keypath.Format("kept", []string{c.kept})
	if c.initialKept != "" {
		kept += " ?? " + operand(c.initialKept)
	}
	items, layout := "items", ""
	if c.filter != "" {
		items = "filter(items, " + renamedItem(c.filter, "#") + ")"
	}
	if !readable(c.itemLayout) && !c.isUnix() {
		layout = ", '" + c.itemLayout + "'"
	}
	switch {
	case c.computed != "" && !itemName().MatchString(c.computed):
		return c.computed
	case c.computed != "":
		items, path = "map("+items+", ({at: "+itemName().ReplaceAllString(c.computed, "#")+"}))", "at"
	}
	return fmt.Sprintf("latestOf(%s, %s, %s%s)", items, importer.Quote(path), kept, layout)
}

// soleStart returns the parameter whose value is the start of the interval, and removes it, if requests have
// nothing else of the interval.
func (t *translation) soleStart(c *cursor, uses int) (string, bool) {
	if uses != 1 || c.step != "" || t.whole {
		return "", false
	}
	start, err := jinja.Formatted(jinja.Name("window.from", jinja.Time), formatOf(c))
	if err != nil {
		return "", false
	}
	for _, where := range []struct {
		list   *[]importer.Member
		prefix string
	}{{&t.out.Params, ""}, {&t.out.Body, "body:"}, {&t.out.Headers, "header:"}} {
		for i, m := range *where.list {
			if m.Value.Source == start.Source {
				*where.list = slices.Delete(slices.Clone(*where.list), i, i+1)
				name := m.Name
				if where.prefix == "body:" {
					name = keypath.Join(name)
				}
				return where.prefix + name, true
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
func (t *translation) incremental(c *cursor, path, param string) error {
	if strings.ContainsAny(path, "*") {
		return fmt.Errorf("%s: the cursor %s is not a member of the items", c.path, c.field)
	}
	if c.computed != "" || c.filter != "" || c.onlyNew {
		return t.computedIncrement(c, path, param)
	}
	i := &importer.Incremental{Cursor: path, Param: param, Lag: c.lag}
	if !c.sentAsRead() {
		i.Format = c.sentLayout
	}
	switch {
	case c.from.Constant && i.Format != "":
		i.From = shortTime(fmt.Sprint(c.from.Const))
	case c.from.Constant:
		i.From = c.from.Const
	default:
		i.From = boundSource(c.from.Source)
		if i.Format != "" {
			i.From = unwritten(boundSource(c.from.Source), i.Format)
		}
	}
	t.out.Incremental = i
	t.keptNotes(c, "incremental")
	return nil
}

// sentAsRead reports whether the times that are sent have the form of those in the items and of the start.
func (c *cursor) sentAsRead() bool { return c.itemLayout == c.sentLayout && c.startsAsSent() }

// startsAsSent reports whether the times that are sent have the form of the start.
func (c *cursor) startsAsSent() bool {
	start := c.get("start_datetime").get("datetime_format").text()
	return readable(c.sentLayout) && !strings.ContainsAny(c.sentLayout, ".") && !strings.Contains(c.sentLayout, "07") &&
		c.from.Kind != jinja.Time && (start == "" || start == formatOf(c))
}

// computedIncrement writes an increment whose cursor is not a member of the items: the kept value, and the
// parameter.
func (t *translation) computedIncrement(c *cursor, path, param string) error {
	kept := keypath.Format("kept", []string{c.kept})
	lag := "nil"
	if c.lag != "" {
		lag = c.lagSource()
	}
	from := c.from.Source
	if c.from.Constant {
		from = importer.Quote(shortTime(fmt.Sprint(c.from.Const)))
	}
	source := fmt.Sprintf("earlier(%s, %s, '%s') ?? earlier(%s, nil, '%s')", kept, lag, c.sentLayout, from, c.sentLayout)
	if c.lag == "" && c.from.Kind != jinja.Time && !strings.HasPrefix(c.sentLayout, "unix") {
		source = fmt.Sprintf("date(%s ?? %s).Format('%s')", kept, operand(from), c.sentLayout)
	}
	switch {
	case c.sentAsRead() && c.lag == "":
		source = kept + " ?? " + operand(c.from.Source)
	case c.sentAsRead():
		source = fmt.Sprintf("earlier(%s, %s) ?? %s", kept, lag, operand(c.from.Source))
	}
	v := importer.Computed(source)
	if name, isHeader := strings.CutPrefix(param, "header:"); isHeader {
		t.out.Headers = append(t.out.Headers, importer.Member{Name: name, Value: v})
	} else if path, isBody := strings.CutPrefix(param, "body:"); isBody {
		t.out.Body = setBody(t.out.Body, keypath.Split(path), v)
	} else {
		t.out.Params = append(t.out.Params, importer.Member{Name: param, Value: v})
	}
	t.out.Kept = c.keep(path)
	t.keptNotes(c, "pagination")
	return nil
}

func (t *translation) keptNotes(c *cursor, target string) {
	if target == "pagination" && t.out.Incremental != nil {
		target = "incremental"
	}
	t.note(importer.Check, c.get("start_datetime"), target, "the first run begins where the source does; look whether that is what you want")
	if !c.get("global_substream_cursor").flag() {
		t.out.KeepFor = identity(t.partition)
	}
}

// windowed writes the interval as a variable.
func (t *translation) windowed(c *cursor, path string, v *importer.Variable) {
	from, kept := boundSource(c.from.Source), keypath.Format("kept", []string{c.kept})
	if c.from.Constant {
		from = importer.Quote(shortTime(fmt.Sprint(c.from.Const)))
	}
	if t.whole {
		v.From = from
		if c.from.Constant {
			v.From = shortTime(fmt.Sprint(c.from.Const))
		}
		return
	}
	switch {
	case c.lag != "":
		kept = fmt.Sprintf("earlier(%s, %s)", kept, c.lagSource())
	case c.isUnix():
		kept = "date(" + kept + ")"
	}
	v.From = kept + " ?? " + operand(from)
	t.out.Kept = c.keep(path)
}

// boundSource returns the source of a bound of an interval, which need not be read as a time: it is when it is used.
func boundSource(source string) string {
	if text := importer.Argument("date", source); text != "" {
		return boundSource(text)
	}
	if first, second, is := strings.Cut(source, " ?? "); is && inputOnly().MatchString(first) {
		return first + " ?? " + boundSource(second)
	}
	return source
}

// unwritten returns the source of a bound without the form in which incremental writes it.
func unwritten(source, form string) string {
	if first, second, is := strings.Cut(source, " ?? "); is && !strings.Contains(second, " ?? ") {
		return unwritten(first, form) + " ?? " + unwritten(second, form)
	}
	if at, is := strings.CutSuffix(source, ".Unix()"); is && form == rules.UnixSeconds {
		return boundSource(at)
	}
	if at, is := strings.CutSuffix(source, ", '"+form+"')"); is && strings.HasPrefix(at, "earlier(now(), ") {
		return at + ")"
	}
	return source
}

// inlineStart writes the start of a window where a request has it, and reports whether it did: an interval without
// steps whose end no request has needs no variable.
func (t *translation) inlineStart(c *cursor, window importer.Variable) bool {
	if c.step != "" {
		return false
	}
	from := window.From
	if t.whole && c.from.Constant {
		from = importer.Quote(from)
	}
	for _, list := range []*[]importer.Member{&t.out.Params, &t.out.Body, &t.out.Headers} {
		for i, m := range *list {
			if !strings.Contains(m.Value.Source, "window.from") {
				continue
			}
			*list = slices.Clone(*list)
			sent := strings.Replace(m.Value.Source, "window.from", "date("+from+")", 1)
			if t.whole && !c.from.Constant && c.startsAsSent() && sent == "date("+from+").Format('"+c.sentLayout+"')" {
				sent = from
			}
			(*list)[i].Value.Source = sent
			if m := constantTime().FindStringSubmatch(sent); m != nil {
				if at, err := times.Parse(m[1]); err == nil {
					(*list)[i].Value = importer.Constant(at.UTC().Format(m[2]))
				}
			}
			return true
		}
	}
	return false
}

// constantTime matches the expression that writes a constant time.
var constantTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^date\('([^']*)'\)\.Format\('([^']*)'\)$`) })

// isEarly reports whether a start is so early that no item is older.
func isEarly(text string) bool {
	at, err := times.Parse(text)
	return err == nil && at.Year() <= 1970
}

// shortTime returns a time without a time of day if that is midnight.
func shortTime(text string) string {
	at, err := times.Parse(text)
	if err != nil || !at.Equal(at.UTC().Truncate(24*time.Hour)) {
		return text
	}
	return at.UTC().Format("2006-01-02")
}

func operand(source string) string {
	if strings.Contains(source, "?") && !strings.HasPrefix(source, "'") {
		return "(" + source + ")"
	}
	return source
}

// unsent handles an interval that no request has: every run reads the whole list.
func (t *translation) unsent(c *cursor, path string) {
	switch reads := strings.Contains(t.out.Filter, keypath.Format("kept", []string{c.kept})); {
	case t.whole:
	case !reads && !c.onlyNew:
		t.note(importer.Check, c.node, "", "no request has the time of the last run, so every run reads the complete list, as it does there")
	default:
		t.out.Kept = c.keep(path)
		t.keptNotes(c, "filter")
	}
}

// onlyNew leaves out the items from before the interval. A list that is sorted by the cursor ends with the first
// page that has such an item at its end.
func (t *translation) onlyNew(c *cursor, path string) {
	feed := c.get("is_data_feed").flag()
	if feed && t.out.Paging != nil && !(t.whole && c.initialKept == "") {
		t.out.Paging.Stops = append(t.out.Paging.Stops, importer.Stop{Name: "known", When: c.compare("<", "items[-1]", path, c.since(t.whole))})
	}
	switch {
	case c.initialKept != "":
		since := c.since(t.whole)
		passes := c.compare(">=", "item", path, since)
		if t.isUnset(c.initialKept) {
			passes = operand(since) + " == nil or " + passes
		}
		t.out.Filter = importer.Both(t.out.Filter, passes)
	case !t.whole:
		t.out.Filter = importer.Both(t.out.Filter, c.fresh(path, ""))
	}
	if to := c.until; to != "" && !c.isUnix() {
		t.out.Filter = importer.Both(t.out.Filter, fmt.Sprintf("%s <= %s", c.timeOf("item", path), to))
	}
	t.note(importer.Check, c.get("cursor_field"), "filter", "an item without %s is left out; there, it is written; "+
		"items with exactly the last value come again, as they do there: merge the rows by their key", c.field)
}

// isUnset reports whether an expression reads an input that a run need not set.
func (t *translation) isUnset(source string) bool {
	return slices.ContainsFunc(t.inputs, func(in importer.Input) bool {
		return in.Optional && regexp.MustCompile(`\binput\.`+regexp.QuoteMeta(in.Name)+`\b`).MatchString(source)
	})
}

// since returns the expression for the start of the interval, in the form of kept values.
func (c *cursor) since(whole bool) string {
	if whole {
		return c.initialKept
	}
	kept := keypath.Format("kept", []string{c.kept})
	if c.initialKept == "" {
		return kept
	}
	return kept + " ?? " + operand(c.initialKept)
}

// compare returns the comparison of the cursor of an item with a kept value.
func (c *cursor) compare(operator, item, path, with string) string {
	if c.isUnix() {
		return c.timeOf(item, path) + " " + operator + " " + operand(with)
	}
	return c.timeOf(item, path) + " " + operator + " date(" + with + ")"
}

// fresh returns the condition that an item is one of those that requests with the time of the last run have, and that
// each item meets in the first run. lag is the source of a length, or "".
func (c *cursor) fresh(path, lag string) string {
	kept := keypath.Format("kept", []string{c.kept})
	since := kept
	if lag != "" {
		since = fmt.Sprintf("earlier(%s, %s)", kept, lag)
	}
	return kept + " == nil or " + c.compare(">=", "item", path, since)
}

// timeOf returns the expression for the cursor of an item: a number, or a time.
func (c *cursor) timeOf(item, path string) string {
	source := keypath.Format(item, keypath.Split(path))
	if c.computed != "" {
		source = renamedItem(c.computed, item)
	}
	switch {
	case c.isUnix():
		return source
	case readable(c.itemLayout):
		return "date(" + source + ")"
	}
	return fmt.Sprintf("date(%s, '%s')", source, c.itemLayout)
}

// firstKept returns the expression for the start of the interval in the form of kept values.
func (c *cursor) firstKept() string {
	switch {
	case c.itemLayout == rules.UnixSeconds:
		return timeSource(c.from) + ".Unix()"
	case c.itemLayout == rules.UnixMillis:
		return timeSource(c.from) + ".UnixMilli()"
	case c.from.Kind == jinja.Time:
		return c.from.Operand() + ".Format('2006-01-02T15:04:05Z07:00')"
	}
	return c.from.Source
}

// isUnix reports whether the times in the items are numbers.
func (c *cursor) isUnix() bool {
	return c.itemLayout == rules.UnixSeconds || c.itemLayout == rules.UnixMillis
}

// countCursor reads an IncrementingCountCursor.
func (t *translation) countCursor(n node) error {
	field, err := t.one(n.get("cursor_field"))
	if err != nil {
		return err
	}
	option := n.get("start_value_option")
	from, err := t.one(n.get("start_value"))
	if err != nil {
		return err
	}
	if !option.given() || t.whole {
		return nil
	}
	target, _, err := t.option(option)
	if err != nil {
		return err
	}
	i := &importer.Incremental{Cursor: fmt.Sprint(field.Const), Param: target.Name}
	if target.In == importer.InHeader {
		i.Param = "header:" + target.Name
	}
	if from.Constant {
		i.From = literalOf(fmt.Sprint(from.Const))
	} else {
		i.From = from.Source
	}
	t.out.Incremental = i
	return nil
}
