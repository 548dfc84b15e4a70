package compile

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

const (
	wide   = 96 // characters of a line of text
	narrow = 70 // of a line next to a column
	column = 26 // where sources begin
)

// String returns the explanation for people.
func (e *Explanation) String() string {
	b := &strings.Builder{}
	for i, job := range e.Jobs {
		if i > 0 {
			b.WriteString("\n")
		}
		job.write(b, e.Dialect)
	}
	return b.String()
}

func (x *JobExplanation) write(b *strings.Builder, dialect string) {
	fmt.Fprintf(b, "job %s   ", x.Job)
	if x.Method == "" {
		b.WriteString("not paged")
	} else {
		b.WriteString("method " + x.Method)
	}
	if x.Scroller != "" {
		fmt.Fprintf(b, "   scroller %s", x.Scroller)
	}
	fmt.Fprintf(b, "   dialect %s\n\n  %s\n", dialect, strings.Join(wrap(x.Summary, wide), "\n  "))
	x.writeFirst(b)
	section(b, "state", x.State, func(r RuleExplanation) string { return "state." + r.rule.Target + " " + r.Says })
	x.writeNext(b)
	section(b, "after each page, in this order; the first that is true is the reason to stop", x.Stops, ruleID)
	section(b, "on an error response", x.OnError, ruleID)
	x.writeAudit(b)
	section(b, "saved for the next run, when the list is complete", x.Keep, func(r RuleExplanation) string { return "kept." + r.rule.Target })
	if len(x.Functions) > 0 {
		b.WriteString("\n  functions of this program\n")
		for _, f := range x.Functions {
			fmt.Fprintf(b, "    %s\n", f.Signature)
		}
	}
}

func ruleID(r RuleExplanation) string { return r.ID }

func (x *JobExplanation) writeFirst(b *strings.Builder) {
	fmt.Fprintf(b, "\n  first request\n    %s %s\n", x.First.Method, x.First.URL)
	if x.First.Body != "" {
		fmt.Fprintf(b, "    body %s\n", x.First.Body)
	}
	if len(x.First.Headers) > 0 {
		fmt.Fprintf(b, "    headers %s\n", strings.Join(x.First.Headers, ", "))
	}
	if x.Limit != nil {
		fmt.Fprintf(b, "\n  limit\n    %s   %s\n", value.Preview(x.Limit), x.LimitFrom)
	}
}

func (x *JobExplanation) writeNext(b *strings.Builder) {
	if len(x.Next) == 0 {
		return
	}
	params := " and params"
	if !x.IncludeParams {
		params = ", without its params"
	}
	fmt.Fprintf(b, "\n  next request: the job's endpoint%s, with\n", params)
	for _, r := range x.Next {
		switch {
		case r.FirstOnly:
			r.Says = "first request only"
		case r.First:
			r.Says = "also in the first request"
		case isAddress(r.rule.Role) && len(r.Reads) > 0:
			r.Says = "replaces the endpoint; the list ends if it is nil or empty"
		default:
			r.Says = ""
		}
		r.write(b, r.rule.PartName())
	}
	if x.Sequential == "" {
		b.WriteString("    can fetch ahead with --prefetch; pages beyond the end may be requested and discarded\n")
	} else {
		fmt.Fprintf(b, "    cannot fetch ahead: each request needs the previous page (%s)\n", x.Sequential)
	}
}

func (x *JobExplanation) writeAudit(b *strings.Builder) {
	if len(x.Audit) == 0 {
		return
	}
	var clauses []string
	for _, r := range x.Audit {
		clauses = append(clauses, fmt.Sprintf("%s (%s)", r.Says, r.ID))
	}
	text := strings.Join(wrap(strings.Join(clauses, "; "), wide), "\n    ")
	fmt.Fprintf(b, "\n  at the end of a complete list, warns (outcome unchanged) if\n    %s\n", text)
}

func section(b *strings.Builder, title string, list []RuleExplanation, name func(RuleExplanation) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n  %s\n", title)
	for _, r := range list {
		r.write(b, name(r))
	}
}

func (r RuleExplanation) write(b *strings.Builder, name string) {
	fmt.Fprintf(b, "    %-*s  %s\n", column-2, name, r.Source)
	indent := strings.Repeat(" ", column+4)
	if sentence := r.sentence(); sentence != "" {
		for _, line := range wrap(sentence, narrow) {
			fmt.Fprintf(b, "%s%s\n", indent, line)
		}
	}
	from := r.Origin.String()
	if len(r.Reads) > 0 {
		from += "; reads " + strings.Join(r.Reads, ", ")
	}
	if r.Bound != nil {
		from += "; limits the run to " + r.Bound.String()
	}
	fmt.Fprintf(b, "%s[%s]\n", indent, from)
}

func (r RuleExplanation) sentence() string {
	says := r.Says
	if says == r.Source {
		says = "this is true"
	}
	switch {
	case r.Do != "":
		return fmt.Sprintf("When %s, %s.", says, r.action())
	case r.Outcome == rules.Failed:
		return fmt.Sprintf("Fails when %s.", says)
	case r.Outcome != "":
		return fmt.Sprintf("Stops when %s: %s.", says, r.Outcome)
	case r.rule.Role == rules.Init, r.rule.Role == rules.Next, r.rule.Role == rules.Keep:
		return ""
	}
	return says
}

// action says what an onError rule does.
func (r RuleExplanation) action() string {
	switch r.Do {
	case "stop":
		return fmt.Sprintf("the list ends: %s", r.Outcome)
	case "retry":
		return "the request is retried"
	case "restart":
		return fmt.Sprintf("the list starts again from the first request, at most %d times; items are written again", MaxRestarts)
	case "fail":
		return "the run fails"
	case "continue":
		return "the error body is read as a page, and paging continues"
	}
	return r.Do
}

// wrap breaks a text into lines at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
