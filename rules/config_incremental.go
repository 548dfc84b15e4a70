package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The forms of times that are numbers, in the place of a layout of Go.
const (
	UnixSeconds = "unix"
	UnixMillis  = "unixms"
	AnyTime     = "time" // any usual form
)

var incrementalFields = []Field{
	{Name: "cursor", Kind: KindPath, Required: true, Doc: "path in the items of what orders them: the time of the last change, or a number " +
		"that rises; the greatest value of a complete list is kept"},
	{Name: "param", Kind: KindText, Doc: "the parameter that has the kept value in the next run; " +
		"`header:NAME` is a header, and `body:PATH` a path in the JSON body; without it the value is only kept, for expressions " +
		"such as those of `filter` and `for`"},
	{Name: "lag", Kind: KindLag, Doc: "how much earlier the next run begins: a length such as `1h` or `7d`, a number if " +
		"the cursor is one, or an expression for one, such as `input.lag`"},
	{Name: "from", Kind: KindMomentOrSource, Doc: "the value in the first run: a date, a number or an expression; " +
		"without it the first run does not send the parameter"},
	{Name: "format", Kind: KindText, Doc: "the form of the times that are sent, as a layout of Go (`2006-01-02`), `unix` or `unixms`; " +
		"default: that of the items"},
}

// An increment is the value that a job keeps for the next run, which sends it.
type increment struct {
	name   string // of the kept value
	keep   string // the expression for it
	path   string // config path of incremental
	cursor string // config path of the cursor
}

// readIncremental reads the increment of a job, and adds the kept value to the request of the job.
func (d *decoder) readIncremental(s settings, j *Job) {
	given, ok := s.get("incremental").settings()
	if !ok {
		return
	}
	path := given.get("cursor")
	keys := keypath.Split(path.text())
	if path.given() && !path.Invalid && len(keys) == 0 {
		d.diags.Errorf(diag.Value(path.path()), "the cursor must be a member of the items, such as updated_at")
	}
	format, lag := given.get("format"), given.get("lag")
	if text := format.text(); text != "" {
		if err := checkTimeForm(text); err != nil {
			d.diags.Errorf(diag.Value(format.path()), "%v", err).
				WithHint("write how the time 2006-01-02T15:04:05Z would look, such as 02.01.2006, or unix or unixms")
		}
		if lag.Value != nil && !spanOf(lag.Value).IsTime() {
			d.diags.Errorf(diag.Value(lag.path()), "format is for times, and a lag of %v is for numbers", lag.Value).
				WithHint("write a length such as 1h, or remove format")
		}
	}
	if len(keys) == 0 {
		return // reported
	}
	name := keys[len(keys)-1]
	kept := keypath.Format(ContextKept, []string{name})
	newest := fmt.Sprintf("latestOf(items, %s, %s", strconv.Quote(path.text()), kept)
	if format.text() != "" {
		newest += ", " + strconv.Quote(format.text())
	} else if lag.Value != nil && spanOf(lag.Value).IsTime() { // a text that is not a time could not be sent
		newest += ", " + strconv.Quote(AnyTime)
	}
	j.increment = &increment{name: name, keep: newest + ")", path: given.path, cursor: path.path()}
	if given.get("param").given() {
		cursor := &Cursor{Keys: keys, Format: format.text(), Kept: name, Lags: lag.Value != nil, First: given.get("from").Value}
		d.addSent(given, j, cursor, sentSource(given, kept))
		return
	}
	for _, name := range []string{"lag", "from"} {
		if of := given.get(name); of.Value != nil {
			d.diags.Errorf(diag.Value(of.path()), "%s needs param, which sends the value", name).
				WithHint("add param, or remove " + name + " and write it where " + kept + " is read")
		}
	}
}

// sentSource returns the expression for the value that a run sends.
func sentSource(given settings, kept string) string {
	from, lag, format := given.get("from"), given.get("lag"), given.get("format").text()
	source := kept
	earlier := func(v, lag string) string {
		if format != "" {
			return fmt.Sprintf("earlier(%s, %s, %s)", v, lag, strconv.Quote(format))
		}
		return fmt.Sprintf("earlier(%s, %s)", v, lag)
	}
	switch {
	case lag.Value != nil && spanOf(lag.Value) == (times.Span{}): // an expression
		source = earlier(kept, lag.text())
	case lag.Value != nil && !spanOf(lag.Value).IsTime():
		source = earlier(kept, spanOf(lag.Value).String())
	case lag.Value != nil:
		source = earlier(kept, strconv.Quote(spanOf(lag.Value).String()))
	case format != "":
		source = earlier(kept, "nil")
	}
	if from.Value == nil {
		return source
	}
	first := literal(from.Value)
	if text, isText := from.Value.(string); isText {
		if _, err := times.Parse(text); err != nil {
			first = "(" + text + ")"
		}
	}
	if format != "" {
		first = earlier(first, "nil")
	}
	if source == kept {
		return kept + " ?? " + first
	}
	return kept + " == nil ? " + first + " : " + source
}

// addSent adds a computed value to the request of a job: a parameter, a header, or a path in the body.
func (d *decoder) addSent(given settings, j *Job, cursor *Cursor, source string) {
	param := given.get("param")
	place := diag.Value(param.path())
	computed := Computed{Source: source, Path: param.path(), since: cursor}
	if lag := given.get("lag"); lag.Value != nil && spanOf(lag.Value) == (times.Span{}) { // a mistake in it is one of the source
		computed.Path = lag.path()
	}
	kind, name, _ := strings.Cut(param.text(), ":")
	contains := func(o Object, name string) bool {
		return slices.ContainsFunc(o, func(m Member) bool { return m.Name == name || kind == "header" && strings.EqualFold(m.Name, name) })
	}
	refuse := func(what, key string) {
		d.diags.Errorf(place, "the job has the %s %q already, and incremental would replace it", what, name).
			WithHint("remove it from " + key + "; the value in the first run is from")
	}
	switch {
	case kind == "header" && name == "", kind == "body" && len(keypath.Split(name)) == 0:
		d.diags.Errorf(place, "%s names no %s", value.Preview(param.text()), kind).WithHint("write header:If-Modified-Since or body:filter.since")
	case kind == "header" && contains(j.Headers, name):
		refuse("header", "headers")
	case kind == "header":
		j.Headers = append(slices.Clip(j.Headers), Member{Name: name, Value: computed})
	case kind == "body" && j.Method != "POST" && j.Body == nil:
		d.diags.Errorf(place, "a request with method %s has no JSON body", j.Method).
			WithHint(`set "method": "POST", or write the name of the parameter alone: ` + keypath.Split(name)[0])
	case kind == "body":
		d.sendInBody(j, keypath.Split(name), computed, func() { refuse("value in its body", "params") })
	default:
		if name = param.text(); contains(j.Params, name) {
			refuse("parameter", "params")
			return
		}
		j.Params = append(slices.Clip(j.Params), Member{Name: name, Value: computed})
	}
}

// sendInBody adds a computed value at a path of the body. While it is nil, the body is without it.
func (d *decoder) sendInBody(j *Job, keys []string, computed Computed, refuse func()) {
	body := &j.Params
	if j.Body != nil {
		body = &j.Body
	}
	if _, exists := value.At(*body, keys); exists {
		refuse()
		return
	}
	if len(keys) > 1 {
		outer, _ := body.Get(keys[0])
		if _, isObject := value.Members(outer); outer != nil && !isObject {
			refuse()
			return
		}
		object, _ := value.Members(outer)
		source := sourceOfValue(object.WithPath(keys[1:], computed))
		otherwise := "nil"
		if outer != nil {
			otherwise = sourceOfValue(outer)
		}
		computed.ofCompleteList, computed.since.Within = outer, keys[1:]
		computed.Source = fmt.Sprintf("(%s) == nil ? %s : %s", computed.Source, otherwise, source)
	}
	*body = slices.Clone(*body).With(keys[0], computed)
}

// checkTimeForm returns an error for a text that is not a time layout.
func checkTimeForm(form string) error {
	if form == UnixSeconds || form == UnixMillis {
		return nil
	}
	text := time.Date(2031, 11, 27, 21, 48, 56, 0, time.UTC).Format(form)
	if read, err := time.Parse(form, text); err != nil || read.Year() != 2031 {
		return fmt.Errorf("%s is not a time layout", value.Preview(form))
	}
	return nil
}
