package dlt

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
)

// increments reads the increment of an endpoint. One among the parameters is read with them.
func (t *translation) increments(endpoint node) {
	if n := endpoint.get("incremental"); n.given() {
		t.increment = &increment{node: n, param: n.get("start_param").text()}
	}
}

// isTime matches a date, or a time as ISO 8601 writes it.
var isTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)

// cursor returns the path of the cursor in an item, and the name under which its value is kept.
func (t *translation) cursor() (string, string, error) {
	p, err := path(t.increment.get("cursor_path"))
	if err != nil {
		return "", "", err
	}
	if strings.Contains(p, "*") {
		return "", "", fmt.Errorf("%s: the cursor is in a list, which is not translated", t.increment.get("cursor_path").path)
	}
	keys := rules.SplitPath(p)
	return p, importer.InputName(keys[len(keys)-1]), nil
}

// keptStart returns the expression for the start of the interval, where it is a part of a text.
func (t *translation) keptStart() (string, error) {
	p, name, err := t.cursor()
	if err != nil {
		return "", err
	}
	kept := rules.FormatPath("kept", []string{name})
	if len(t.out.Keep) == 0 {
		t.out.Keep = append(t.out.Keep, importer.Field{Name: name, Source: fmt.Sprintf("latestOf(items, %q, %s)", p, kept)})
	}
	if lag := t.increment.get("lag"); lag.given() {
		t.note(importer.Approximate, lag, "pagination", "the lag is left out, as the start is a part of a text")
	}
	initial := t.increment.get("initial_value")
	if !initial.given() {
		return kept, nil
	}
	return kept + " ?? " + literal(initial.v), nil
}

// finishIncrement writes the increment: as incremental, or as a filter if no request depends on it.
func (t *translation) finishIncrement() error {
	if t.increment == nil {
		return nil
	}
	n := t.increment.node
	t.known(n, "incremental")
	p, name, err := t.cursor()
	if err != nil {
		return err
	}
	if f := n.get("last_value_func").text(); f != "" && f != "max" {
		return fmt.Errorf("%s: only the greatest value is kept, and not %s", n.get("last_value_func").path, f)
	}
	if convert := n.get("convert"); convert.given() {
		t.note(importer.Approximate, convert, "incremental",
			"a function of Python converts the value there; write format, or the parameter by hand")
	}
	if param, end := n.get("end_param").text(), n.get("end_value"); param != "" && end.given() {
		t.splitQuery()
		t.out.Params = append(t.out.Params, importer.Member{Name: param, Value: importer.Constant(end.v)})
	}
	initial := n.get("initial_value")
	if len(t.out.Keep) > 0 { // the start is a part of a text
		return nil
	}
	if t.increment.param == "" {
		kept := rules.FormatPath("kept", []string{name})
		t.out.Keep = append(t.out.Keep, importer.Field{Name: name, Source: fmt.Sprintf("latestOf(items, %q, %s)", p, kept)})
		start := kept + " == nil or " + rules.FormatPath("item", rules.SplitPath(p)) + " >= " + kept
		if initial.given() {
			start = fmt.Sprintf("%s >= (%s ?? %s)", rules.FormatPath("item", rules.SplitPath(p)), kept, literal(initial.v))
		}
		t.out.Filter = start
		return nil
	}
	param := t.increment.param
	if !t.increment.inBody {
		t.splitQuery()
	} else if t.out.Body != nil {
		param = "body:" + rules.PathOf(param)
	}
	t.out.Incremental = &importer.Incremental{Cursor: p, Param: param, From: initial.v, Lag: t.lag(n.get("lag"), initial)}
	return nil
}

// lag returns the lag: seconds of times, days of dates, and a number of ids.
func (t *translation) lag(n, initial node) string {
	if !n.given() || n.v == 0 {
		return ""
	}
	switch first := initial.text(); {
	case isTime.MatchString(first) && len(first) == len("2006-01-02"):
		return fmt.Sprintf("%vd", n.v)
	case first != "" || !initial.given():
		return fmt.Sprintf("%vs", n.v)
	}
	return fmt.Sprint(n.v)
}
