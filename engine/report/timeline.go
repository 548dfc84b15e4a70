package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// timeline is a drawing of the pages of a partition. Its methods and fields are in the
// units of the drawing.
type timeline struct {
	Axis    axis
	Each    int // pages per column
	Strips  []strip
	Ticks   []tick
	Marks   []mark
	Retried bool // some requests were retried
}

// strip draws one measure of the pages.
type strip struct {
	Name, Most string
	Top        int
	Columns    []column
}

// column draws one page, or the largest of several.
type column struct {
	X, Width, Y, Height float64
	Kind                columnKind
	Title               string
}

// columnKind is the CSS class of a column.
type columnKind string

const (
	ordinary columnKind = ""
	retried  columnKind = "retried"
	stopping columnKind = "stop"
)

type tick struct {
	X    float64
	Text string
}

// mark marks the page on which a rule became true.
type mark struct {
	X      float64
	Y      int
	Rule   string
	Page   int
	ToLeft bool // the text is to the left of the mark, for lack of room on the right
}

// The units of the drawing.
const (
	plotWidth   = 1000.0
	stripHeight = 56
	stripGap    = 30
	headHeight  = 26 // of the name of a strip
	markHeight  = 28
	axisHeight  = 44
	maxColumns  = 400
	maxMarks    = 3 // per rule
)

// axis places pages on the horizontal axis: by time or, if the pages are too fast
// for milliseconds to be meaningful, by number.
type axis struct {
	ByTime bool
	pages  []engine.Record
	end    int64 // milliseconds
}

func newAxis(p *Partition) axis {
	end := p.Took.Milliseconds()
	return axis{ByTime: end >= 2*int64(len(p.Pages)), pages: p.Pages, end: end}
}

// span returns the place of the pages with indexes from first to last.
func (a axis) span(first, last int) (from, to float64) {
	if !a.ByTime {
		n := float64(len(a.pages))
		return plotWidth * float64(first) / n, plotWidth * float64(last+1) / n
	}
	f, l := a.pages[first], a.pages[last]
	return plotWidth * float64(f.At) / float64(a.end), plotWidth * float64(l.At+l.Millis) / float64(a.end)
}

// ticks returns at most six labels.
func (a axis) ticks() []tick {
	parts := 5
	if a.ByTime {
		parts = min(parts, max(1, int(a.end))) // a millisecond has one label
	}
	var out []tick
	for i := range parts + 1 {
		x := plotWidth * float64(i) / float64(parts)
		switch {
		case a.ByTime:
			out = append(out, tick{x, duration(a.end * int64(i) / int64(parts))})
		case i == 0 || i == parts || len(a.pages) >= 2*parts:
			n := min(len(a.pages)*i/parts, len(a.pages)-1)
			out = append(out, tick{x, fmt.Sprintf("page %d", a.pages[n].Page)})
		}
	}
	return out
}

// measure is a number that every page has.
type measure struct {
	name   string
	of     func(engine.Record) int
	format func(int) string
}

var measures = []measure{
	{"time per page", func(p engine.Record) int { return int(p.Millis) }, func(n int) string { return duration(int64(n)) }},
	{"items per page", func(p engine.Record) int { return p.Count }, func(n int) string { return wording.Counted(n, "item") }},
	{"size per page", func(p engine.Record) int { return p.Bytes }, wording.Size},
}

func newTimeline(p *Partition) timeline {
	t := timeline{
		Axis: newAxis(p), Each: (len(p.Pages) + maxColumns - 1) / maxColumns,
		Retried: p.Requests > len(p.Pages),
	}
	for i, m := range measures {
		t.Strips = append(t.Strips, t.newStrip(m, i*(stripHeight+stripGap)+headHeight))
	}
	t.Ticks = t.Axis.ticks()
	for _, r := range p.Rules {
		for _, place := range r.places[:min(len(r.places), maxMarks)] {
			t.mark(r.ID, place)
		}
	}
	return t
}

func (t *timeline) newStrip(m measure, top int) strip {
	pages := t.Axis.pages
	highest := 1
	for _, p := range pages {
		highest = max(highest, m.of(p))
	}
	s := strip{Name: m.name, Most: m.format(highest), Top: top}
	for first := 0; first < len(pages); first += t.Each {
		last := min(first+t.Each, len(pages)) - 1
		largest := slices.MaxFunc(pages[first:last+1], func(a, b engine.Record) int { return cmp.Compare(m.of(a), m.of(b)) })
		from, to := t.Axis.span(first, last)
		gap := min(1, (to-from)*0.2)
		height := float64(stripHeight) * float64(m.of(largest)) / float64(highest)
		s.Columns = append(s.Columns, column{
			X: round(from), Width: round(max(to-from-gap, 0.8)), Y: round(float64(top+stripHeight) - height), Height: round(height),
			Kind: kindOf(pages[first : last+1]), Title: fmt.Sprintf("page %d: %s", largest.Page, m.format(m.of(largest))),
		})
	}
	return s
}

// kindOf returns the kind of the last page that is not ordinary.
func kindOf(pages []engine.Record) columnKind {
	for _, p := range slices.Backward(pages) {
		switch {
		case p.Decision == trace.Stop:
			return stopping
		case p.Attempts > 1:
			return retried
		}
	}
	return ordinary
}

func (t *timeline) mark(rule string, place int) {
	_, x := t.Axis.span(place, place)
	t.Marks = append(t.Marks, mark{
		X: x, Y: t.Bottom() + axisHeight + markHeight*len(t.Marks), Rule: rule, Page: t.Axis.pages[place].Page, ToLeft: x > plotWidth*0.6,
	})
}

func round(f float64) float64 { return float64(int(f*100+0.5)) / 100 }

// Height returns the height of the drawing.
func (t timeline) Height() int { return t.Bottom() + 30 + markHeight*len(t.Marks) }

// Bottom returns where the strips end.
func (t timeline) Bottom() int { return len(t.Strips) * (stripHeight + stripGap) }
