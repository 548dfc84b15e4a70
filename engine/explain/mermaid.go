package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// Mermaid returns the explanation as a Mermaid flowchart, which GitHub, GitLab and
// many editors show as a picture: a page passes the rules in their order, up to
// an end or to the next request.
func (e *Explanation) Mermaid() string {
	b := &strings.Builder{}
	b.WriteString("flowchart TD\n")
	for i, job := range e.Jobs {
		c := chart{b, fmt.Sprintf("j%d", i)}
		title := "job " + job.Job
		if job.Method != "" {
			title += ", method " + job.Method
		}
		fmt.Fprintf(b, "  subgraph %s [%s]\n", c.id, quoted(title))
		c.writeJob(job)
		b.WriteString("  end\n")
	}
	return b.String()
}

// chart writes the nodes and arrows of one job.
type chart struct {
	*strings.Builder
	id string // prefix of the names of its nodes
}

func (c chart) writeLine(format string, args ...any) {
	fmt.Fprintf(c, "    "+format+"\n", args...)
}

func (c chart) writeJob(x JobExplanation) {
	c.writeLine("%s_first[%s] --> %s_page([page])", c.id, quoted("first request", x.First.Method+" "+x.First.URL), c.id)
	c.writePartitions(x)
	c.writeShape(x)
	if x.Method == "" {
		c.writeLine("%s_page --> %s_complete([%s])", c.id, c.id, quoted("stop: complete", x.NoNext.ID, "one request, no paging"))
		c.writeErrors(x, c.id+"_complete")
		c.writeKeep(x, c.id+"_complete")
		return
	}
	from, arrow := c.writeStops(x)
	from, arrow = c.writeState(x, from, arrow)
	c.writeNext(x, from, arrow)
	read := c.id + "_next"
	if len(x.Stops) > 0 {
		read = c.id + "_s0"
	}
	c.writeErrors(x, read)
	c.writeKeep(x, fmt.Sprintf("%s_complete([%s])", c.id, quoted("stop: complete")))
}

// writePartitions writes the variables of the partitions, with the rules of their values.
func (c chart) writePartitions(x JobExplanation) {
	if x.Partitions == nil {
		return
	}
	label := []string{"once for each"}
	for _, v := range x.Partitions.Variables {
		label = append(label, v.Name+": "+v.Says)
		label = append(label, assignments(v.Rules)...)
	}
	c.writeLine("%s_for[[%s]] --> %s_first", c.id, quoted(label...), c.id)
}

// writeStops writes the rules that stop paging, and returns where the last of them leads.
func (c chart) writeStops(x JobExplanation) (from, arrow string) {
	from, arrow = c.id+"_page", "-->"
	for i, r := range x.Stops {
		node := fmt.Sprintf("%s_s%d", c.id, i)
		label := []string{r.ID}
		if r.ID != r.Source {
			label = append(label, r.Source)
		}
		if r.Never != "" {
			label = append(label, "never: "+r.Never)
		}
		c.writeLine("%s %s %s{{%s}}", from, arrow, node, quoted(label...))
		c.writeLine("%s -- yes --> %s_%s([%s])", node, c.id, r.Outcome, quoted("stop: "+string(r.Outcome)))
		from, arrow = node, "-- no -->"
	}
	return from, arrow
}

// writeState writes the variables that change after a page.
func (c chart) writeState(x JobExplanation, from, arrow string) (string, string) {
	isInit := func(r RuleExplanation) bool { return r.rule.Role == rules.RoleInit }
	state := assignments(slices.DeleteFunc(slices.Clone(x.State), isInit))
	if state == nil {
		return from, arrow
	}
	c.writeLine("%s %s %s_state[%s]", from, arrow, c.id, quoted(state...))
	return c.id + "_state", "-->"
}

// writeNext writes the next request, and the end of a list without one.
func (c chart) writeNext(x JobExplanation, from, arrow string) {
	later := slices.DeleteFunc(slices.Clone(x.Next), func(r RuleExplanation) bool { return r.FirstOnly })
	next := append([]string{"next request"}, assignments(later)...)
	c.writeLine("%s %s %s_next[%s] --> %s_page", from, arrow, c.id, quoted(next...), c.id)
	if x.NoNext != nil {
		c.writeLine("%s_next -- %s --> %s_complete([%s])", c.id, quoted(x.NoNext.ID+": no address"), c.id, quoted("stop: complete"))
	}
}

// writeErrors writes the consequences of error responses. read is the node at which a response that is
// read as a page continues.
func (c chart) writeErrors(x JobExplanation, read string) {
	for i, r := range x.OnError {
		node := fmt.Sprintf("%s_x%d", c.id, i)
		c.writeLine("%s_page -- %s --> %s[/%s/]", c.id, quoted(r.ID, r.Source), node, quoted(r.action()))
		switch rules.ErrorAction(r.Do) {
		case rules.ErrorStop:
			c.writeLine("%s --> %s_%s([%s])", node, c.id, r.Outcome, quoted("stop: "+string(r.Outcome)))
		case rules.ErrorRestart:
			c.writeLine("%s --> %s_first", node, c.id)
		case rules.ErrorRetry:
			c.writeLine("%s --> %s_page", node, c.id)
		case rules.ErrorFail:
			c.writeLine("%s --> %s_failed([%s])", node, c.id, quoted("stop: failed"))
		case rules.ErrorContinue:
			c.writeLine("%s --> %s", node, read)
		}
	}
}

// writeShape writes the rules that are evaluated for each item.
func (c chart) writeShape(x JobExplanation) {
	if shape := assignments(x.Shape); shape != nil {
		c.writeLine("%s_page -. %s .-> %s_items[%s]", c.id, quoted("each item"), c.id, quoted(shape...))
	}
}

// writeKeep writes the values that a complete list saves. complete is the node of the end of such a list.
func (c chart) writeKeep(x JobExplanation, complete string) {
	if kept := assignments(x.Keep); kept != nil {
		c.writeLine("%s --> %s_keep[%s]", complete, c.id, quoted(kept...))
	}
}

// assignments returns rules as "id = expression", one text for each.
func assignments(list []RuleExplanation) []string {
	var texts []string
	for _, r := range list {
		text := r.ID + " = " + r.Source
		if r.rule.Role == rules.RoleRemove {
			text = r.ID + " " + r.Clause
		}
		texts = append(texts, text)
	}
	return texts
}

// escaper writes the characters of the syntax of Mermaid and HTML as entities.
var escaper = strings.NewReplacer(
	"#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "\n", " ", "\r", " ",
	"`", "#96;", "\\", "#92;", "{", "#123;", "}", "#125;",
)

// quoted returns a label of several lines.
func quoted(lines ...string) string {
	return `"` + strings.Join(lists.Map(lines, escaper.Replace), "<br/>") + `"`
}
