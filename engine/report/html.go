package report

import (
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
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

// page is parsed when a report is asked for: most runs of the command are for none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"style":    func() template.CSS { return template.CSS(style) },
		"counted":  value.Counted,
		"size":     value.Size,
		"duration": duration,
		"because":  func(p engine.Record) []engine.Verdict { return p.Met() },
		"notes":    notes,
		"capital":  func(text string) string { return strings.ToUpper(text[:1]) + text[1:] },
	}).Parse(pageText))
})

// HTML writes a run as one HTML page. Everything is in it: it loads nothing, runs
// no script, and its content security policy sees to both.
func (r *Run) HTML(w io.Writer) error {
	sum := sha256.Sum256([]byte(style))
	view := struct {
		*Run
		Policy string
		Jobs   []jobView
	}{Run: r, Policy: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))}
	for i, j := range r.Jobs {
		view.Jobs = append(view.Jobs, newJobView(i, j))
	}
	return page().Execute(w, view)
}

// jobView is a job as the page shows it.
type jobView struct {
	*Job
	Anchor   string
	Outcome  string
	Timeline timeline
	Rows     []row
	LeftOut  int // pages whose verdicts are not in the page
}

// row is a page's line in the table.
type row struct {
	engine.Record
	Target  string
	Stops   bool
	Details bool // its verdicts are in the page
}

// detailed is how many pages of a long run show their verdicts at its beginning
// and at its end; so do those on which something happened.
const detailed = 100

func newJobView(n int, j *Job) jobView {
	v := jobView{Job: j, Anchor: fmt.Sprintf("job-%d", n+1), Outcome: "unfinished", Timeline: newTimeline(j)}
	if j.Ended() {
		v.Outcome = string(j.Last().Outcome)
	}
	turned := map[int]bool{}
	for _, r := range j.Rules {
		for _, page := range r.Turned {
			turned[page] = true
		}
	}
	for i, p := range j.Pages {
		r := row{Record: p, Target: j.target(p), Stops: p.Decision == runtime.Stop}
		r.Details = i < detailed || i >= len(j.Pages)-detailed || turned[p.Page] || len(notes(p)) > 0
		if !r.Details {
			v.LeftOut++
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// Turns says where the rule was met, for the page.
func (r Rule) Turns() string { return r.turns() }

// Values are the rule's values on the last page, for the page.
func (r Rule) Values() string { return r.values() }

// timeline is a job's pages on an axis, in the units of its drawing.
type timeline struct {
	Axis   string // what the axis is
	Each   int    // pages that one column stands for
	Strips []strip
	Ticks  []tick
	Marks  []mark

	Retried bool // some requests were repeated
}

// strip is one measure of the pages.
type strip struct {
	Name, Most string
	Top        int
	Columns    []column
}

type column struct {
	X, Width, Y, Height float64
	Kind                string // "", "retried" or "stop"
	Title               string
}

type tick struct {
	X    float64
	Text string
}

// mark says where a rule turned.
type mark struct {
	X     float64
	Y     int
	Rule  string
	Page  int
	Right bool // the name stands left of the mark, for there is no room right of it
}

// The drawing's units.
const (
	plotWidth   = 1000.0
	stripHeight = 56
	stripGap    = 18
	mostColumns = 400
)

func newTimeline(j *Job) timeline {
	each := (len(j.Pages) + mostColumns - 1) / mostColumns
	end := j.Took().Milliseconds()
	byTime := end >= 2*int64(len(j.Pages)) // else the milliseconds tell nothing
	t := timeline{Axis: "page", Each: each, Retried: j.Attempts() > len(j.Pages)}
	if byTime {
		t.Axis = "time"
	}
	place := func(first, last int) (from, to float64) { // of the pages first to last
		if !byTime {
			n := float64(len(j.Pages))
			return plotWidth * float64(first) / n, plotWidth * float64(last+1) / n
		}
		a, b := j.Pages[first], j.Pages[last]
		return plotWidth * float64(a.At) / float64(end), plotWidth * float64(b.At+b.Millis) / float64(end)
	}
	for i, m := range []struct {
		name  string
		of    func(engine.Record) int
		shown func(int) string
	}{
		{"time a page", func(p engine.Record) int { return int(p.Millis) }, func(n int) string { return duration(int64(n)) }},
		{"items a page", func(p engine.Record) int { return p.Count }, func(n int) string { return value.Counted(n, "item") }},
		{"size a page", func(p engine.Record) int { return p.Bytes }, value.Size},
	} {
		t.Strips = append(t.Strips, newStrip(j, m.name, i*(stripHeight+stripGap)+14, each, m.of, m.shown, place))
	}
	t.Ticks = ticks(j, byTime, end)
	for _, r := range j.Rules {
		for _, n := range r.Turned[:min(len(r.Turned), 3)] {
			at := slices.IndexFunc(j.Pages, func(p engine.Record) bool { return p.Page == n })
			_, x := place(at, at)
			t.Marks = append(t.Marks, mark{X: x, Rule: r.ID, Page: n, Right: x > plotWidth*0.6})
		}
	}
	for i := range t.Marks {
		t.Marks[i].Y = len(t.Strips)*(stripHeight+stripGap) + 34 + 18*i
	}
	return t
}

func newStrip(j *Job, name string, top, each int, of func(engine.Record) int, shown func(int) string, place func(first, last int) (float64, float64)) strip {
	most := 1
	for _, p := range j.Pages {
		most = max(most, of(p))
	}
	s := strip{Name: name, Most: shown(most), Top: top}
	for first := 0; first < len(j.Pages); first += each {
		last := min(first+each, len(j.Pages)) - 1
		largest, kind := j.Pages[first], ""
		for _, p := range j.Pages[first : last+1] {
			if of(p) > of(largest) {
				largest = p
			}
			switch {
			case p.Decision == runtime.Stop:
				kind = "stop"
			case p.Attempts > 1:
				kind = "retried"
			}
		}
		from, to := place(first, last)
		gap := min(1, (to-from)*0.2)
		height := float64(stripHeight) * float64(of(largest)) / float64(most)
		s.Columns = append(s.Columns, column{
			X: round(from), Width: round(max(to-from-gap, 0.8)), Y: round(float64(top+stripHeight) - height), Height: round(height), Kind: kind,
			Title: fmt.Sprintf("page %d: %s", largest.Page, shown(of(largest))),
		})
	}
	return s
}

// ticks are up to six places on the axis.
func ticks(j *Job, byTime bool, end int64) []tick {
	var out []tick
	const parts = 5
	for i := range parts + 1 {
		x := plotWidth * float64(i) / parts
		if byTime {
			out = append(out, tick{x, duration(end * int64(i) / parts)})
			continue
		}
		n := len(j.Pages) * i / parts
		if text := fmt.Sprintf("page %d", j.Pages[min(n, len(j.Pages)-1)].Page); i == 0 || i == parts || len(j.Pages) >= 2*parts {
			out = append(out, tick{x, text})
		}
	}
	return out
}

func round(f float64) float64 { return float64(int(f*100+0.5)) / 100 }

// Height is the drawing's.
func (t timeline) Height() int { return len(t.Strips)*(stripHeight+stripGap) + 30 + 18*len(t.Marks) }

// Bottom is where the strips end.
func (t timeline) Bottom() int { return len(t.Strips) * (stripHeight + stripGap) }
