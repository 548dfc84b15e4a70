package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// An absence is a path that the configuration reads and no response of a list had.
type absence struct {
	Key  string `json:"key"`  // names the path among those that responses had
	Text string `json:"text"` // the path, what reads it and, if there is one, a similar path

	ordinary bool // apart from it, the list looks complete: other partitions may show that the path is right
}

// keyItems is the key of the list of items.
const keyItems = "dataField"

// had returns the keys of the paths that a response had.
func (n *noticed) had() []string {
	if n.HadItems {
		return append([]string{keyItems}, n.Had...)
	}
	return n.Had
}

// missing describes the paths that no response had and that should have been there: "" if
// there are none. If other partitions of the job may show that a path is right, it is noted
// for the end of the tree instead.
func (r *run) missing(hints *rules.Hints) string {
	var missing []string
	r.Noticed.Lacked = nil
	for _, a := range r.absences(hints) {
		if r.hasSiblings && a.ordinary {
			r.Noticed.Lacked = append(r.Noticed.Lacked, a)
		} else {
			missing = append(missing, a.Text)
		}
	}
	return joinMissing(missing)
}

func joinMissing(texts []string) string { return strings.Join(texts, ", nor ") }

// absences returns the watched paths that no response had, except for those whose absence
// is normal.
func (r *run) absences(hints *rules.Hints) (all []absence) {
	n := &r.Noticed
	if n.Responses == 0 {
		return nil
	}
	more := r.promisesMore(hints)
	if !n.HadItems && hints.Total != 0 {
		a := absence{Key: keyItems, Text: "a list of items in its root: set dataField to the path of the items", ordinary: !more}
		if f := r.job.Set.Job.DataField; f != nil {
			a.Text = f.Text + " (dataField)" + r.suggest(f.Keys)
			a.ordinary = !more && !r.misspelt(f.Keys)
		}
		all = append(all, a)
	}
	for _, list := range r.missingLists() {
		list.ordinary = !more
		all = append(all, list)
	}
	for _, watch := range r.watches {
		if !slices.Contains(n.Had, watch.String()) && r.suspectsAbsence(watch, hints) {
			text := fmt.Sprintf("%s (%s)%s", watch, watch.Rule.ID, r.suggest(watch.Path))
			all = append(all, absence{Key: watch.String(), Text: text, ordinary: r.isOrdinary(watch, more)})
		}
	}
	return append(all, r.shaper.missing(func(rule rules.Rule) bool { return rule.Role == rules.Filter })...)
}

// promisesMore reports whether the last response says that there are more items than were
// read.
func (r *run) promisesMore(hints *rules.Hints) bool {
	total, hasTotal := hints.Total.(int)
	return hints.More == true || hints.Next != nil || hasTotal && total > r.Context.Value.Total.Items
}

// isOrdinary reports whether a path that a rule reads may be absent from the list, if the
// lists of other partitions have it. It may not if the last response has a similar one, or
// if the list has items and ended because of it.
func (r *run) isOrdinary(watch compile.Watch, more bool) bool {
	ended := slices.Contains(r.Result.StoppedBy, watch.Rule.ID) && r.Context.Value.Total.Items > 0
	return !more && !ended && !r.misspelt(watch.Path)
}

// missingLists describes the lists that no response had, if others were there.
func (r *run) missingLists() (missing []absence) {
	for _, list := range r.listsOf() {
		if key := watchedList(list); r.Noticed.HadItems && !slices.Contains(r.Noticed.Had, key) {
			missing = append(missing, absence{Key: key, Text: list.Text + " (dataField)" + r.suggest(list.Fixed())})
		}
	}
	return missing
}

// A seen is what the lists of the partitions of a job had and lacked. What none of them has
// had is probably misspelt.
type seen struct {
	Had    []string  `json:"had,omitempty"`
	Lacked []absence `json:"lacked,omitempty"` // the paths of Had are left out
}

func (s *seen) empty() bool { return len(s.Had)+len(s.Lacked) == 0 }

// add adds what the list of one partition had and lacked.
func (s *seen) add(had []string, lacked []absence) {
	for _, key := range had {
		if !slices.Contains(s.Had, key) {
			s.Had = append(s.Had, key)
		}
	}
	for _, a := range lacked {
		if !slices.ContainsFunc(s.Lacked, func(known absence) bool { return known.Key == a.Key }) {
			s.Lacked = append(s.Lacked, a)
		}
	}
	s.Lacked = slices.DeleteFunc(s.Lacked, func(a absence) bool { return slices.Contains(s.Had, a.Key) })
}

// finding returns the finding about a job that lists of partitions lacked what none of them
// had; nil: there is none.
func (s *seen) finding(job *compile.Job) *Finding {
	var texts []string
	for _, a := range s.Lacked {
		texts = append(texts, a.Text)
	}
	at := slices.IndexFunc(job.Set.Rules, func(rule rules.Rule) bool { return rule.ID == findingMissing })
	if texts == nil || at < 0 {
		return nil
	}
	rule := job.AuditRule(&job.Set.Rules[at])
	c := rules.Context{List: &rules.ListFacts{Missing: joinMissing(texts)}, Hints: &rules.Hints{}}
	return &Finding{ID: findingMissing, Message: rule.Message.Text(&compile.Machine{}, &c), Because: rule.Because(&c)}
}

// findingMissing is the id of the audit rule about paths that responses do not have.
const findingMissing = "audit.missing"
