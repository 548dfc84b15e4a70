package report

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Partition is a list of pages that a job fetched: the list of one combination of values of its
// variables, or the only list of a job without variables.
type Partition struct {
	Values map[string]any  // values of the variables by their names; nil for a job without variables
	Label  string          // the values as text
	Last   engine.Record   // the last page; it has no verdicts if Pages is nil
	Pages  []engine.Record // all pages, also a page on which the partition failed; nil if the report does not show them
	Rules  []Rule          // history of the rules, in the order in which they are evaluated; nil without Pages
	Totals

	failed string // ID of the job with which the run failed; "" if the trace does not end with a failed page
}

// Totals are sums over pages.
type Totals struct {
	Fetched  int           // number of pages
	Requests int           // number of requests, including retries and requests before a restart
	Items    int           // number of items that were written
	Bytes    int           // size of all pages as minified JSON
	Took     time.Duration // from the first request to the end of the last page, for each partition
}

func (t *Totals) add(p engine.Record) {
	if !missing(p) {
		t.Fetched++
	}
	t.Requests += max(p.Attempts, 1)
	for _, r := range p.Restarts {
		t.Requests += max(r.Attempts, 1)
	}
	switch {
	case p.Dropped:
	case p.Written != nil:
		t.Items += *p.Written
	default:
		t.Items += p.Count
	}
	t.Bytes += p.Bytes
	t.Took = max(t.Took, time.Duration(p.At+p.Millis)*time.Millisecond)
}

func (t *Totals) merge(other Totals) {
	t.Fetched, t.Requests, t.Items, t.Bytes = t.Fetched+other.Fetched, t.Requests+other.Requests, t.Items+other.Items, t.Bytes+other.Bytes
	t.Took += other.Took
}

func (p *Partition) add(page engine.Record) {
	p.Pages, p.Last = append(p.Pages, page), page
	p.Totals.add(page)
}

// has reports whether a page continues the partition. After a page that failed, a run that was resumed
// has a record with the same number.
func (p *Partition) has(page engine.Record) bool {
	if len(p.Values) == 0 && len(page.Partition) == 0 {
		return true
	}
	continues := page.Page > 1 || p.Last.Error != nil && !p.Last.Skipped || !p.HasEnd()
	return continues && reflect.DeepEqual(p.Values, page.Partition)
}

// A partitionStatus says how a partition ended.
type partitionStatus string

// The statuses that are not outcomes.
const (
	skipped    partitionStatus = "skipped"
	unfinished partitionStatus = "unfinished"
	suspect    partitionStatus = "may be incomplete" // it is complete according to its rules, but the audit has a finding
)

// statuses are in the order of a report: those that need attention come first.
var statuses = []partitionStatus{
	partitionStatus(rules.Failed), unfinished, skipped, partitionStatus(rules.Guarded), partitionStatus(rules.Limited), suspect,
	partitionStatus(rules.Complete),
}

// Status returns how the partition ended: its outcome, or that it was skipped, is unfinished, or may
// be incomplete.
func (p *Partition) Status() string {
	switch {
	case !p.HasEnd():
		return string(unfinished)
	case p.Last.Skipped:
		return string(skipped)
	case p.Last.Error != nil:
		return string(rules.Failed)
	case p.Last.Outcome == rules.Complete && len(p.Last.Findings) > 0:
		return string(suspect)
	}
	if outcome := partitionStatus(cmp.Or(p.Last.Outcome, rules.Complete)); slices.Contains(statuses, outcome) {
		return string(outcome)
	}
	return string(unfinished) // the trace has another version
}

// Fine reports whether the partition needs no attention.
func (p *Partition) Fine() bool { return p.Status() == string(rules.Complete) }

// Outcome returns the outcome, or "unfinished" if the trace does not have it.
func (p *Partition) Outcome() string {
	if !p.HasEnd() {
		return string(unfinished)
	}
	return string(p.Last.Outcome)
}

// label names a partition by its values. The names of variables are in the order of rank,
// in which the variables of a parent precede the variables of its children.
func label(values map[string]any, rank func(name string) int) string {
	names := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	shown := make(map[string]any, len(values))
	for name, v := range values {
		shown[name] = windowOf(v)
	}
	return runtime.Label(names, shown)
}

// windowOf returns a window with its bounds as times, and any other value as it is.
func windowOf(v any) any {
	members, isObject := v.(map[string]any)
	if !isObject || len(members) != 2 {
		return v
	}
	from, ok := timeOf(members["from"])
	to, both := timeOf(members["to"])
	if !ok || !both {
		return v
	}
	return map[string]any{"from": from, "to": to}
}

func timeOf(v any) (time.Time, bool) {
	text, _ := v.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

// followRules derives the history of every rule from the verdicts.
func (p *Partition) followRules() {
	index := map[string]int{}
	met := map[string]bool{}
	for place, page := range p.Pages {
		for _, v := range page.Verdicts {
			i, known := index[v.Rule]
			if !known {
				i = len(p.Rules)
				index[v.Rule] = i
				p.Rules = append(p.Rules, Rule{ID: v.Rule})
			}
			rule := &p.Rules[i]
			if v.Met && !met[v.Rule] {
				rule.BecameTrue, rule.places = append(rule.BecameTrue, page.Page), append(rule.places, place)
			}
			met[v.Rule] = v.Met
			if v.Because != "" {
				rule.Because, rule.Missing = v.Because, v.Missing
			}
		}
	}
}

// HasEnd reports whether the trace has the end of the partition. The end is missing if the
// run failed in another job, was killed, or is still running.
func (p *Partition) HasEnd() bool { return p.Last.Decision == trace.Stop }

// missing reports whether the request of a page failed, or its response was not a page.
func missing(p engine.Record) bool { return p.Error != nil && len(p.Verdicts) == 0 }

// DescribeEnd describes how the partition ended.
func (p *Partition) DescribeEnd() string {
	last := p.Last
	switch {
	case !p.HasEnd() && p.failed != "":
		return fmt.Sprintf("did not go on after page %d, since the run failed in job %s", last.Page, p.failed)
	case !p.HasEnd():
		return fmt.Sprintf("the trace has no end: the run was killed after page %d, or is still running", last.Page)
	case last.Skipped:
		return fmt.Sprintf("failed on page %d, and was skipped", last.Page)
	case last.Error != nil:
		return fmt.Sprintf("failed on page %d", last.Page)
	}
	text := fmt.Sprintf("stopped on page %d by %s", last.Page, reason(last))
	if also := slices.DeleteFunc(slices.Clone(last.StoppedBy), func(id string) bool { return id == reason(last) }); len(also) > 0 {
		text += fmt.Sprintf(" (%s also met)", strings.Join(also, ", "))
	}
	return text
}

// summary says in one line how the partition ended: with its error and its findings.
func (p *Partition) summary() string {
	var b strings.Builder
	b.WriteString(p.DescribeEnd())
	if p.Last.Error != nil {
		b.WriteString(": " + wording.Clip(p.Last.Error.Message, 300))
	}
	for _, f := range p.Last.Findings {
		b.WriteString("; may be incomplete: " + f.Message + " (" + f.ID + ")")
	}
	return b.String()
}

// reason returns the rule that decided about the last page. Older traces do not name it.
func reason(p engine.Record) string {
	if p.Reason == "" && len(p.StoppedBy) > 0 {
		return p.StoppedBy[0]
	}
	return p.Reason
}

func origin(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
