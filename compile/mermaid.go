package compile

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
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
		c.job(job)
		b.WriteString("  end\n")
	}
	return b.String()
}

// chart writes the nodes and arrows of one job.
type chart struct {
	*strings.Builder
	id string // prefix of the names of its nodes
}

func (c chart) line(format string, args ...any) {
	fmt.Fprintf(c, "    "+format+"\n", args...)
}

func (c chart) job(x JobExplanation) {
	c.line("%s_first[%s] --> %s_page([page])", c.id, quoted("first request", x.First.Method+" "+x.First.URL), c.id)
	for i, r := range x.OnError {
		c.line("%s_page -- %s --> %s_x%d[/%s/]", c.id, quoted(r.Source), c.id, i, quoted(r.action()))
	}
	if x.Method == "" {
		c.line("%s_page --> %s_end([%s])", c.id, c.id, quoted("one request, no paging"))
		return
	}
	from := c.id + "_page"
	arrow := "-->"
	for i, r := range x.Stops {
		node := fmt.Sprintf("%s_s%d", c.id, i)
		label := quoted(r.ID, r.Source)
		if r.ID == r.Source {
			label = quoted(r.ID)
		}
		c.line("%s %s %s{{%s}}", from, arrow, node, label)
		c.line("%s -- yes --> %s_%s([%s])", node, c.id, r.Outcome, quoted("stop: "+string(r.Outcome)))
		from, arrow = node, "-- no -->"
	}
	var state []string
	for _, r := range x.State {
		if r.rule.Role == rules.Next {
			state = append(state, "state."+r.rule.Target+" = "+r.Source)
		}
	}
	if state != nil {
		c.line("%s %s %s_state[%s]", from, arrow, c.id, quoted(state...))
		from, arrow = c.id+"_state", "-->"
	}
	next := []string{"next request"}
	for _, r := range x.Next {
		if !r.FirstOnly {
			next = append(next, r.rule.PartName()+" = "+r.Source)
		}
	}
	c.line("%s %s %s_next[%s] --> %s_page", from, arrow, c.id, quoted(next...), c.id)
}

// escaper writes as entities what Mermaid or HTML would read as syntax.
var escaper = strings.NewReplacer(
	"#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "\n", " ", "`", "#96;", "\\", "#92;", "{", "#123;", "}", "#125;",
)

// quoted returns a label of several lines.
func quoted(lines ...string) string {
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escaper.Replace(line)
	}
	return `"` + strings.Join(escaped, "<br/>") + `"`
}
