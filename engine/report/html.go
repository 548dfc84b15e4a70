package report

import (
	"crypto/sha256"
	_ "embed" // the template and its style sheet
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

//go:embed report.html
var pageText string

//go:embed report.css
var style string

// page parses the template on first use: most commands do not need it.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"style":     func() template.CSS { return template.CSS(style) },
		"counted":   value.Counted,
		"size":      value.Size,
		"duration":  duration,
		"met":       func(p engine.Record) []engine.Verdict { return p.Met() },
		"word":      word,
		"fault":     errorText,
		"status":    statusText,
		"remarks":   remarks,
		"capital":   func(text string) string { return strings.ToUpper(text[:1]) + text[1:] },
		"truncated": func() string { return truncatedText },
	}).Parse(pageText))
})

// HTML writes the run as a self-contained HTML page. The page loads nothing and
// runs no script, and its content security policy forbids both.
func (r *Run) HTML(w io.Writer) error {
	view := struct {
		*Run
		Policy string
		Jobs   []jobView
	}{Run: r, Policy: policy()}
	for i, j := range r.Jobs {
		view.Jobs = append(view.Jobs, newJobView(i, j))
	}
	return page().Execute(w, view)
}

// policy is the content security policy of a page: it has the style sheet and nothing else.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'",
		base64.StdEncoding.EncodeToString(sum[:]))
}

// anchor is the fragment of the address of a job, by its place.
func anchor(n int) string { return fmt.Sprintf("job-%d", n+1) }

// jobView is a job as the template shows it.
type jobView struct {
	*Job
	Anchor   string
	Outcome  string // "unfinished" if the trace does not have it
	Class    string // of CSS: the outcome, or "suspect" if the list may be incomplete
	Timeline timeline
	Rows     []row
	Omitted  int // pages whose verdicts are not in the HTML
}

// row is a page in the table.
type row struct {
	engine.Record
	Target   string
	Stops    bool
	Missing  bool // there is no page
	Detailed bool // its verdicts are in the HTML
}

// detailed is how many pages show their verdicts at the beginning and at the end
// of a long run. Pages on which something happened show them everywhere.
const detailed = 100

func newJobView(n int, j *Job) jobView {
	v := jobView{Job: j, Anchor: anchor(n), Outcome: "unfinished", Timeline: newTimeline(j)}
	if j.Ended() {
		v.Outcome = string(j.Last().Outcome)
	}
	v.Class = v.Outcome
	if len(j.Last().Findings) > 0 {
		v.Class = "suspect"
	}
	ruleChanged := map[int]bool{}
	for _, r := range j.Rules {
		for _, place := range r.places {
			ruleChanged[place] = true
		}
	}
	for i, p := range j.Pages {
		r := row{Record: p, Target: j.target(p), Stops: p.Decision == runtime.Stop, Missing: missing(p)}
		r.Detailed = i < detailed || i >= len(j.Pages)-detailed || ruleChanged[i] || len(remarks(p)) > 0
		if !r.Detailed {
			v.Omitted++
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}
