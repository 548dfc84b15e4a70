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
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

//go:embed report.html
var runHTML string

//go:embed report.css
var style string

// page returns a template that is parsed on first use: most commands do not need it.
func page(text string, funcs template.FuncMap) func() *template.Template {
	return sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(common).Funcs(funcs).Parse(text))
	})
}

// common are the functions of all templates.
var common = template.FuncMap{
	"style":   func() template.CSS { return template.CSS(style) },
	"policy":  policy,
	"counted": wording.Counted,
	"join":    func(words []string) string { return strings.Join(words, ", ") },
}

var runFuncs = template.FuncMap{
	"size":      wording.Size,
	"duration":  duration,
	"met":       func(p engine.Record) []engine.Verdict { return p.Met() },
	"word":      word,
	"fault":     errorText,
	"status":    statusText,
	"remarks":   remarks,
	"values":    func(v engine.Verdict) string { return Rule{Because: v.Because, Missing: v.Missing}.Values() },
	"trim":      strings.TrimSpace,
	"capital":   wording.Capital,
	"truncated": func() string { return truncatedText },
}

var runPage = page(runHTML, runFuncs)

// HTML writes the run as a self-contained HTML page. The page loads nothing and
// runs no script, and its content security policy forbids both.
func (r *Run) HTML(w io.Writer) error { return runPage().Execute(w, r.view()) }

// runView is a run as both templates show it.
type runView struct {
	*Run
	Jobs []jobView
}

func (r *Run) view() runView {
	view := runView{Run: r}
	for i, j := range r.Jobs {
		view.Jobs = append(view.Jobs, newJobView(anchor(i), j, r.Name))
	}
	return view
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
	Anchor  string
	Class   string // CSS class: the outcome, or "suspect" if the list may be incomplete
	List    *listView
	Rows    []partitionRow
	Omitted string // says which partitions have no row
	Undrawn string // says which rows do not show their pages
}

// partitionRow is a row in the table of the partitions of a job.
type partitionRow struct {
	*Partition
	Class   string
	Summary string
	List    *listView // nil if its pages are not shown
}

// listView shows the pages of a partition.
type listView struct {
	*Partition
	Anchor  string
	Nested  bool // whether the job has several lists
	Rows    []row
	Omitted int // number of pages whose verdicts are not in the HTML
}

// Timeline returns the drawing of the pages.
func (v *listView) Timeline() timeline { return newTimeline(v.Partition) }

// row is a page in the table.
type row struct {
	engine.Record
	Target   string
	Stops    bool
	Missing  bool // whether there is no page
	Detailed bool // whether its verdicts are in the HTML
}

// detailed is how many pages show their verdicts at the beginning and at the end
// of a long run. Pages on which something happened show them everywhere.
const detailed = 100

func newJobView(anchor string, j *Job, traceName string) jobView {
	v := jobView{Job: j, Anchor: anchor, Class: j.Outcome()}
	if j.suspect() && v.Class != string(rules.Failed) {
		v.Class = classSuspect
	}
	if !j.Partitioned() {
		v.List = newListView(anchor, j.Partitions[0])
		return v
	}
	v.Omitted, v.Undrawn = j.omitted(traceName), j.undrawn(traceName)
	for i, p := range j.Partitions {
		r := partitionRow{Partition: p, Class: p.class(), Summary: p.summary()}
		if p.Pages != nil {
			r.List = newListView(fmt.Sprintf("%s-%d", anchor, i+1), p)
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// classSuspect is the class of lists that may be incomplete.
const classSuspect = "suspect"

// class returns the CSS class of how the partition ended.
func (p *Partition) class() string {
	switch e := partitionStatus(p.Status()); e {
	case suspect:
		return classSuspect
	case skipped:
		return string(rules.Failed)
	default:
		return string(e)
	}
}

func newListView(anchor string, p *Partition) *listView {
	v := &listView{Partition: p, Anchor: anchor, Nested: p.Values != nil}
	ruleChanged := map[int]bool{}
	for _, r := range p.Rules {
		for _, place := range r.places {
			ruleChanged[place] = true
		}
	}
	for i, page := range p.Pages {
		target := strings.TrimPrefix(page.Request.URL, origin(p.Pages[0].Request.URL))
		r := row{Record: page, Target: target, Stops: page.Decision == trace.Stop, Missing: missing(page)}
		r.Detailed = i < detailed || i >= len(p.Pages)-detailed || ruleChanged[i] || len(remarks(page)) > 0
		if !r.Detailed {
			v.Omitted++
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}
