package airbyte

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// errorHandler reads the error handler of a requester.
func (t *translation) errorHandler(n node) error {
	if !n.given() {
		return nil
	}
	switch kind := n.kind(); kind {
	case "", "DefaultErrorHandler":
		if n.get("error_handlers").given() {
			break
		}
		return t.defaultHandler(n)
	case "CompositeErrorHandler":
	case "Custom":
		t.note(importer.Approximate, n, "",
			"a custom error handler (%s) is Python and is left out, except for its response_filters: "+
				"other transient errors are retried, and other errors end the run", n.class())
		for _, m := range n.members() {
			n.mark(m.name)
		}
		return t.defaultHandler(n)
	default:
		return fmt.Errorf("%s: the error handler %s is not known", n.path, kind)
	}
	for _, h := range n.get("error_handlers").list() {
		if err := t.errorHandler(h); err != nil {
			return err
		}
	}
	return nil
}

// defaultHandler reads the filters and the backoff of one handler.
func (t *translation) defaultHandler(n node) error {
	for _, f := range n.get("response_filters").list() {
		if f.kind() == "Custom" {
			t.note(importer.Approximate, f, "", "a custom response filter (%s) is Python and is left out", f.class())
			continue
		}
		if err := t.responseFilter(f); err != nil {
			return err
		}
	}
	if retries := n.get("max_retries"); retries.given() {
		e, err := t.one(retries)
		if err != nil {
			return err
		}
		times := e.Const
		if text, isText := times.(string); isText {
			times = literalOf(text)
		}
		if count, isInt := times.(int); isInt && count != 4 {
			t.common("maxRetries", count)
		}
	}
	for _, s := range n.get("backoff_strategies").list() {
		t.backoff(s)
	}
	return nil
}

// budget reads how many requests the API allows: the lowest rate for all requests, and the headers that say how many are left.
func (t *translation) budget(n node) {
	rate := 0.0
	for _, policy := range n.get("policies").list() {
		rates := policy.get("rates").list()
		if policy.get("period").given() {
			rates = append(rates, policy)
		}
		for _, r := range rates {
			limit, isNumber := literalOf(r.get("limit").text() + r.get("call_limit").text()).(int)
			span, isLength := times.ParseISODuration(r.get("interval").text() + r.get("period").text())
			if seconds := span.Duration.Seconds(); isNumber && isLength && seconds > 0 && len(policy.get("matchers").list()) == 0 {
				if perSecond := math.Floor(float64(limit)/seconds*100) / 100; rate == 0 || perSecond < rate {
					rate = perSecond
				}
			}
		}
	}
	if rate > 0 {
		t.common("requestsPerSecond", rate)
	}
	remaining, reset := n.get("ratelimit_remaining_header").text(), n.get("ratelimit_reset_header").text()
	if remaining != "" && reset != "" {
		t.common("rateLimit", value.ObjectOf("remaining", remaining, "reset", reset))
	}
}

// common sets a key of api.http, unless it is set.
func (t *translation) common(key string, v any) {
	if !slices.ContainsFunc(t.out.Common, func(m importer.Member) bool { return m.Name == key }) {
		t.out.Common = append(t.out.Common, importer.Member{Name: key, Value: importer.Constant(v)})
	}
}

// backoff reads a backoff strategy.
func (t *translation) backoff(n node) {
	switch kind := n.kind(); kind {
	case "WaitTimeFromHeader", "WaitUntilTimeFromHeader":
		n.mark("regex", "max_waiting_time_in_seconds", "min_wait")
		header := t.plain(n.get("header"))
		if n.get("regex").given() {
			t.note(importer.Check, n, "", "the time to wait is a part of the header %s there; the usual waits are made", header)
			return
		}
		if header != "" && !strings.EqualFold(header, "Retry-After") {
			t.common("retryHeader", header)
		}
	case "Custom":
		t.note(importer.Check, n, "", "a custom backoff strategy (%s) is left out: the usual waits are made", n.class())
		for _, m := range n.members() {
			n.mark(m.name)
		}
	default:
		n.mark("factor", "backoff_time_in_seconds", "jitter_range_in_seconds")
		t.note(importer.Check, n, "", "the times to wait between retries are the usual ones, which grow, and not those of the source (%s)", kind)
	}
}

// usual are the statuses that are retried without a rule.
var usual = []int{408, 429, 500, 502, 503, 504}

// responseFilter reads one HttpResponseFilter.
func (t *translation) responseFilter(n node) error {
	action := strings.ToUpper(n.get("action").text())
	message := n.get("error_message").text()
	var codes []int
	for _, c := range n.get("http_codes").list() {
		code, err := strconv.Atoi(c.text())
		if err != nil {
			return fmt.Errorf("%s: want an HTTP status, got %s", c.path, c.text())
		}
		codes = append(codes, code)
	}
	body, err := t.bodyCondition(n)
	if err != nil {
		return err
	}
	do := map[string]string{"IGNORE": "stop", "SUCCESS": "stop", "RETRY": "retry", "RATE_LIMITED": "retry", "FAIL": "fail",
		"REFRESH_TOKEN_THEN_RETRY": "retry", "RESET_PAGINATION": "restart"}[action]
	switch {
	case action == "" && len(codes) == 0 && body == "":
		return nil
	case do == "":
		return fmt.Errorf("%s: the action %s is not known", n.path, action)
	}
	t.okBody(n, do, body, codes, message)
	t.errorRule(do, body, codes, message)
	return nil
}

// errorRule adds the rule for responses of other statuses than 200.
func (t *translation) errorRule(action, body string, codes []int, message string) {
	errors := slices.DeleteFunc(slices.Clone(codes), func(c int) bool { return c < 300 })
	if len(codes) > 0 && len(errors) == 0 {
		return
	}
	covered := func(list []int) bool {
		return !slices.ContainsFunc(list, func(c int) bool { return !slices.Contains(usual, c) })
	}
	switch {
	case body != "" && len(codes) == 0 && action == "fail" && message == "":
		return // errors end the run in any case
	case body != "" || len(errors) == 0:
	case action == "retry" && covered(errors):
		return // they are retried in any case
	case action == "fail" && message == "" && !slices.ContainsFunc(errors, func(c int) bool { return slices.Contains(usual, c) }):
		return // they end the run in any case
	}
	condition := statusIs(errors)
	if body != "" {
		condition = jinjaAnd(condition, body)
	}
	if condition == "" {
		return
	}
	if action != "fail" || jinja.IsTemplate(message) {
		message = ""
	}
	t.addErrorRule(importer.ErrorRule{When: condition, Do: action, Message: escapeBraces(message)})
}

// statusRule matches a condition on the status alone.
var statusRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^status (?:== (\d+)|in \[([\d, ]+)\])$`) })

// addErrorRule adds a rule, unless an earlier rule decides about the same responses. It becomes a part of the
// rule before it if that does the same for other statuses, or for responses of success.
func (t *translation) addErrorRule(rule importer.ErrorRule) {
	if n := len(t.out.Errors); n > 0 {
		last := &t.out.Errors[n-1]
		before, after := statusRule().FindStringSubmatch(last.When), statusRule().FindStringSubmatch(rule.When)
		if before != nil && after != nil && last.On == rule.On && last.Do == rule.Do && last.Message == rule.Message && last.When != rule.When {
			last.When = "status in [" + before[1] + before[2] + ", " + after[1] + after[2] + "]"
			return
		}
		if last.On == "success" && rule.On == "" && last.When == rule.When && last.Do == rule.Do && last.Message == rule.Message {
			last.On = "any"
			return
		}
	}
	if !slices.ContainsFunc(t.out.Errors, func(r importer.ErrorRule) bool { return r.On == rule.On && r.When == rule.When }) {
		t.out.Errors = append(t.out.Errors, rule)
	}
}

func jinjaAnd(a, b string) string {
	if a == "" {
		return b
	}
	if strings.Contains(b, " or ") || strings.Contains(b, "?") {
		b = "(" + b + ")"
	}
	return a + " and " + b
}

// statusIs returns the condition that the status is among the codes.
func statusIs(codes []int) string {
	switch len(codes) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("status == %d", codes[0])
	}
	var texts []string
	for _, c := range codes {
		texts = append(texts, strconv.Itoa(c))
	}
	return "status in [" + strings.Join(texts, ", ") + "]"
}

// bodyCondition returns the condition on the body: the predicate, or a text in the message.
func (t *translation) bodyCondition(n node) (string, error) {
	var out string
	if p := n.get("predicate"); p.text() != "" {
		scope := t.pageScope(p)
		e, err := jinja.Translate(p.text(), scope)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.path, err)
		}
		if truth := e.True(); !truth.Constant {
			out = truth.Source
		}
	}
	if text := n.get("error_message_contains").text(); text != "" {
		condition := "toJSON(body) contains " + jinja.Literal(text).Source
		if out == "" {
			return condition, nil
		}
		return out + " or " + condition, nil
	}
	return out, nil
}

// okBody handles a condition on the body of responses with status 200, which are pages.
func (t *translation) okBody(n node, action, body string, codes []int, message string) {
	if body == "" || len(codes) > 0 && !slices.Contains(codes, 200) || n.get("error_message_contains").given() && !n.get("predicate").given() {
		return
	}
	switch action {
	case "fail":
		t.addErrorRule(importer.ErrorRule{On: "success", When: body, Do: action, Message: escapeBraces(plainMessage(message))})
	case "retry", "restart":
		t.addErrorRule(importer.ErrorRule{On: "success", When: body, Do: action})
	}
}

func plainMessage(message string) string {
	if jinja.IsTemplate(message) {
		return ""
	}
	return message
}
