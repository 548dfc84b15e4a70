package compile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// maxPartBytes limits a part of a request: its value may come from a response.
const maxPartBytes = 1 << 20

// evaluateParts returns the values of a request's parts, with a state other than that of the
// page. After a page, an address that is empty ends the list, and the parts after it are not
// evaluated.
func evaluateParts(
	parts []*language.Expression, m *language.Machine, c *rules.Context, state map[string]any,
) (values PartValues, more bool, err error) {
	defer func(before map[string]any) { c.State = before }(c.State)
	c.State = state
	values = make(PartValues, 0, len(parts))
	for _, e := range parts {
		v, err := e.Value(m, c, maxPartBytes)
		if err != nil {
			return nil, false, err
		}
		values = append(values, v)
		if c.Page > 0 && e.Rule.Role.Addresses() && language.IsNoAddress(v) {
			return values, false, nil
		}
	}
	return values, true, nil
}

func (j *Job) applyPart(rule rules.Rule, v any, to *requests.Request) (err error) {
	switch rule.Role {
	case rules.RoleURL, rules.RoleEndpoint:
		if v == nil || v == "" { // the first request keeps the job's own address
			return nil
		}
		address, err := addressOf(v)
		if err != nil {
			return err
		}
		to.Endpoint = address
		if rule.Role == rules.RoleURL && !j.Ruleset.IncludeParams {
			to.Params = nil
		}
	case rules.RoleVerb:
		to.Method, err = verbOf(v)
	case rules.RoleParam:
		to.Params, err = merge(to.Params, rule.Target, v)
	case rules.RoleHeader:
		to.Headers, err = mergeHeaders(to.Headers, rule.Target, v)
	case rules.RoleBody:
		to.Body, err = mergeBody(to.Body, rule.Target, v)
	case rules.RoleAfter:
		to.After, err = waitOf(v)
	}
	return err
}

// addressOf converts the value of an expression to an address.
func addressOf(v any) (string, error) {
	text, ok := v.(string)
	if !ok || text == "" {
		return "", fmt.Errorf("want an address, got %s", language.Described(v))
	}
	return text, requests.CheckURLLength(text)
}

func verbOf(v any) (string, error) {
	text, _ := v.(string)
	if text = strings.ToUpper(text); slices.Contains(rules.Verbs(), text) {
		return text, nil
	}
	return "", fmt.Errorf("want %s, got %s", wording.OrList(rules.Verbs()), value.Preview(v))
}

// merge sets one name to a value or, if the name is empty, every name of an object to
// its value. A value that is nil removes the name.
func merge(to rules.Object, name string, v any) (rules.Object, error) {
	if name != "" {
		if v == nil {
			return to.Without(name), nil
		}
		return to.With(name, v), nil
	}
	if v == nil {
		return to, nil
	}
	object, ok := value.Members(v)
	if !ok {
		return to, fmt.Errorf("want an object, got %s", language.Described(v))
	}
	return mergeMembers(to, object), nil
}

// mergeMembers sets every name of an object to its value, and removes the names whose value is nil. The
// object may come from a response, so the time is linear.
func mergeMembers(base, changes rules.Object) rules.Object {
	removed := map[string]bool{}
	var set rules.Object
	for _, m := range changes {
		if m.Value == nil {
			removed[m.Name] = true
			continue
		}
		set = append(set, m)
	}
	kept := slices.DeleteFunc(slices.Clone(base), func(m rules.Member) bool { return removed[m.Name] })
	return kept.Merge(set)
}

// mergeHeaders is merge for headers, whose values are sent as text.
func mergeHeaders(to rules.Object, name string, v any) (rules.Object, error) {
	if v == nil {
		return merge(to, name, nil)
	}
	if name != "" {
		text, err := headerText(name, v)
		if err != nil {
			return to, err
		}
		return merge(to, name, text)
	}
	members, ok := value.Members(v)
	if !ok {
		return merge(to, "", v)
	}
	headers := slices.Clone(members) // they may be a part of the response
	for i, m := range headers {
		if m.Value == nil {
			continue
		}
		text, err := headerText(m.Name, m.Value)
		if err != nil {
			return to, err
		}
		headers[i].Value = text
	}
	return merge(to, "", headers)
}

// headerText returns the value of a header as text.
func headerText(name string, v any) (string, error) {
	text, ok := value.Text(v)
	if !ok || strings.ContainsAny(text, "\r\n") {
		return "", fmt.Errorf("want a header value for %s, got %s", name, value.Preview(v))
	}
	return text, nil
}

// mergeBody is merge for a body, in which the name is a path. A value that is nil
// changes nothing.
func mergeBody(to any, path string, v any) (any, error) {
	if v == nil {
		return to, nil
	}
	object, _ := to.(rules.Object)
	if path == "" {
		return merge(object, "", v)
	}
	return object.WithPath(keypath.Split(path), v), nil
}

// MaxWait is the longest wait before a request. A longer wait is probably a number of
// another unit.
const MaxWait = 24 * time.Hour

// waitOf reads how long to wait before a request: a duration, or a number of seconds.
// Either may be text, as headers have it. Nil means no wait.
func waitOf(v any) (time.Duration, error) {
	if v == nil {
		return 0, nil
	}
	seconds, ok := secondsOf(v)
	if d, isDuration := v.(time.Duration); isDuration {
		v = d.String()
	}
	switch {
	case !ok:
		return 0, fmt.Errorf("want a duration, or a number of seconds, got %s", language.Described(v))
	case seconds < 0:
		return 0, fmt.Errorf("want a wait of 0 or more, got %s", value.Preview(v))
	case seconds > MaxWait.Seconds():
		return 0, fmt.Errorf("want a wait of at most %s, got %s", MaxWait, value.Preview(v))
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// secondsOf returns a duration in seconds. It reports false for any other value.
func secondsOf(v any) (seconds float64, ok bool) {
	if d, isDuration := v.(time.Duration); isDuration {
		return d.Seconds(), true
	}
	text, ok := value.Text(v)
	if _, isFlag := v.(bool); !ok || isFlag {
		return 0, false
	}
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	seconds, err := strconv.ParseFloat(text, 64)
	return seconds, err == nil && !math.IsNaN(seconds)
}
