package report

import (
	_ "embed" // the templates
	"fmt"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
)

//go:embed status.html
var statusHTML string

//go:embed status.txt
var statusTXT string

var statusFuncs = template.FuncMap{
	"size":    func(n int64) string { return wording.Size(int(n)) },
	"rate":    rateText,
	"class":   endClass,
	"phase":   phaseClass,
	"time":    timeText,
	"ago":     ago,
	"percent": percent,
	"others":  othersText,
	"ending":  endText,
	"left":    leftText,
}

var statusPage = page(statusHTML, statusFuncs)

// StatusHTML writes how far a run on many machines is as a self-contained HTML page. Like the page
// of [Run.HTML], it loads nothing and runs no script. Its size does not depend on the number of
// partitions.
func StatusHTML(w io.Writer, s *status.Run) error { return statusPage().Execute(w, s) }

// StatusText writes how far a run on many machines is, for people. Lines have at most width
// columns where texts can be wrapped; if width is 0, they are not wrapped.
func StatusText(w io.Writer, s *status.Run, width int) error {
	return statusLines(width).write(w, "text", s)
}

// OverviewText writes a table of all runs, for people. The width is as for [StatusText].
func OverviewText(w io.Writer, o *status.Overview, width int) error {
	return statusLines(width).write(w, "overview", o)
}

// PartitionText returns the line of a partition in a list, for people.
func PartitionText(p status.Partition) string {
	line, _ := partitionLine().render("line", p) // the template is complete
	return line
}

// partitionLine is parsed once, since there may be many partitions.
var partitionLine = sync.OnceValue(func() textTemplate { return statusLines(0) })

func statusLines(width int) textTemplate { return newTextTemplate(statusTXT, width, statusFuncs) }

// rateText writes a rate with two digits or more: "0.42", "4.2", "42".
func rateText(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%.0f", perSecond)
	case perSecond >= 1:
		return fmt.Sprintf("%.1f", perSecond)
	case perSecond >= 0.005:
		return fmt.Sprintf("%.2f", perSecond)
	case perSecond > 0:
		return "< 0.01"
	}
	return "0"
}

// leftText returns how long the rest of a run will take, or "" if that cannot be estimated.
func leftText(s *status.Run) string {
	if s.Rates.SecondsLeft == nil {
		return ""
	}
	left := time.Duration(*s.Rates.SecondsLeft * float64(time.Second))
	switch {
	case left < time.Minute:
		return "less than a minute"
	case left < 2*time.Hour:
		return "about " + wording.Counted(int(left.Round(time.Minute).Minutes()), "minute")
	case left < 48*time.Hour:
		return "about " + wording.Counted(int(left.Round(time.Hour).Hours()), "hour")
	}
	return "about " + wording.Counted(int(left.Hours()/24+0.5), "day")
}

// endClass returns the CSS class of how partitions ended.
func endClass(e status.End) string {
	switch {
	case e.Outcome == string(skipped):
		return string(rules.Failed)
	case e.Outcome == string(rules.Complete) && e.Suspect > 0:
		return classSuspect
	}
	return e.Outcome
}

func phaseClass(p status.Phase) string {
	switch p {
	case status.Running:
		return string(rules.Limited)
	case status.Cancelled:
		return string(unfinished)
	}
	return string(p)
}

// timeText writes a time for people, in UTC.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// percent returns a part of a whole in percent, rounded down.
func percent(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return 100 * part / whole
}

// ago returns the time between a given time and the status of a run.
func ago(s *status.Run, t time.Time) string {
	d := s.At.Sub(t)
	if d < time.Second {
		return "just now"
	}
	return d.Round(time.Second).String() + " ago"
}

// endText returns how partitions ended, and how many of them may be incomplete nevertheless.
func endText(e status.End) string {
	switch e.Suspect {
	case 0:
		return e.Outcome
	case e.Partitions:
		return e.Outcome + ", may be incomplete"
	}
	return fmt.Sprintf("%s, %d may be incomplete", e.Outcome, e.Suspect)
}

// othersText returns how many other partitions have a finding.
func othersText(f status.Finding) string {
	if f.Partitions < 2 {
		return ""
	}
	return " and " + wording.Counted(f.Partitions-1, "other partition")
}
