package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An Absence is a path that the configuration reads and no response of a list had.
type Absence struct {
	Key  string `json:"key"`  // identifies the path
	Text string `json:"text"` // path, its reader and, if there is one, a similar path

	Renamed bool `json:"renamed,omitempty"` // the list of items is absent, and the last response has another list of objects

	// Ordinary says that nothing else suggests that the list is incomplete. Then a partition that has
	// the path refutes the absence.
	Ordinary bool `json:"-"`
}

// keyItems is the key of the list of items.
const keyItems = "dataField"

// Had reports whether a response, or an item, had a watched path.
func (w *Watcher) Had(watch compile.Watch) bool {
	return slices.Contains(w.history.Had, watch.String())
}

// NoticeHad records that an item has a watched path that no earlier one had.
func (w *Watcher) NoticeHad(watch compile.Watch) {
	w.history.Had = append(w.history.Had, watch.String())
}

// Seen returns what the list, which has ended with an outcome, contributes to the signs across all partitions of
// its job.
func (w *Watcher) Seen(outcome rules.Outcome) Seen {
	seen := Seen{Had: w.history.hadKeys(), Values: w.nilValues, Items: w.history.overlap(w.subject.job)}
	if outcome != rules.Failed {
		seen.Lacked = w.history.Lacked
	}
	return seen
}

// missing describes the paths that no response had although one should have, or returns "". If
// other partitions of the job may prove a path right, missing notes it for the end of the tree
// instead. It also reports whether the list of items may have another name.
func (w *Watcher) missing(hints *rules.Hints) (text string, renamed bool) {
	var missing []string
	w.history.Lacked = nil
	for _, a := range w.absences(hints) {
		if w.end.Siblings && a.Ordinary {
			w.history.Lacked = append(w.history.Lacked, a)
		} else {
			missing, renamed = append(missing, a.Text), renamed || a.Renamed
		}
	}
	return joinMissing(missing), renamed
}

func joinMissing(texts []string) string { return strings.Join(texts, ", nor ") }

// absences returns the watched paths that no response had, except for paths that are normally
// absent.
func (w *Watcher) absences(hints *rules.Hints) (absences []Absence) {
	h := w.history
	if h.Responses == 0 {
		return nil
	}
	promisesMore := w.promisesMore(hints)
	if found := h.suggested(); !h.HadItems && hints.Total != 0 && (found.Path != "" || !h.Blank) {
		a := Absence{
			Key: keyItems, Text: "a list of items in its root: set dataField to the path of the items" + found.hint(),
			Ordinary: !promisesMore && !found.Certain,
		}
		if f := w.subject.job.Spec().DataField; f != nil {
			a.Text = f.Text + " (dataField)" + cmp.Or(found.hint(), document.SuggestField(w.page.Names, f.Keys))
			a.Ordinary = a.Ordinary && !w.misspelt(f.Keys)
		}
		a.Renamed = found.Certain || !w.page.Elements && slices.ContainsFunc(w.placesOfItems(), w.listsObjects)
		a.Ordinary = a.Ordinary && !(a.Renamed && w.isBareList())
		if f := w.subject.job.Spec().DataField; f != nil && w.page.Lookup != nil && w.listsObjects(nil) {
			a.Renamed, a.Ordinary = true, false
			a.Text = f.Text + " (dataField), and the last one is a list itself: remove dataField"
		}
		absences = append(absences, a)
	}
	for i, list := range w.listsOf() {
		if key := watchedList(list); h.HadItems && !slices.Contains(h.Had, key) {
			found := h.placeOf(i)
			text := list.Text + " (dataField)" + cmp.Or(found.hint(), document.SuggestField(w.page.Names, list.Fixed()))
			absences = append(absences, Absence{Key: key, Text: text, Ordinary: !promisesMore && !found.Certain, Renamed: found.Certain})
		}
	}
	for _, watch := range w.subject.watches {
		if !slices.Contains(h.Had, watch.String()) && w.suspectsAbsence(watch, hints) {
			text := fmt.Sprintf("%s (%s)%s", watch, watch.Rule.ID, document.Suggest(w.page.Names, watch.Path))
			if _, isNull := watch.Lookup(w.context); isNull {
				text = fmt.Sprintf("%s (%s) other than null", watch, watch.Rule.ID)
			}
			absences = append(absences, Absence{Key: watch.String(), Text: text, Ordinary: w.isOrdinary(watch, promisesMore)})
		}
	}
	return append(absences, w.end.Unseen...)
}

// isBareList reports whether the last response has nothing but a list whose name is usual for lists of items, and
// members that describe a list.
func (w *Watcher) isBareList() bool {
	return !slices.ContainsFunc(w.page.Names(nil), func(name string) bool {
		return apinames.ListKindOf(name) != apinames.LikelyList && apinames.HintsOf(name) == nil && !apinames.HoldsHints(name)
	})
}

// promisesMore reports whether the last response says that there are more items than were read.
func (w *Watcher) promisesMore(hints *rules.Hints) bool {
	total, hasTotal := hints.Total.(int)
	return hints.More == true || hints.Next != nil || hasTotal && total > w.context.Total.Items
}

// isOrdinary reports whether a path that a rule reads may be absent from the list if the lists of
// other partitions have it; see [Absence.Ordinary]. It may not if the last response has a similar path,
// or if the list has items and ended because of the absence. promisesMore says whether
// the response promises further items.
func (w *Watcher) isOrdinary(watch compile.Watch, promisesMore bool) bool {
	ended := slices.Contains(w.end.StoppedBy, watch.Rule.ID) && w.context.Total.Items > 0
	return !promisesMore && !ended && !w.misspelt(watch.Path)
}

// A Seen collects the paths that the lists of a job's partitions had and lacked, and the values and items
// that are compared between them. A path that all of them lack is probably misspelt.
type Seen struct {
	Had    []string  `json:"had,omitempty"`
	Lacked []Absence `json:"lacked,omitempty"` // the paths of Had are left out
	Values NilCounts `json:"values,omitempty"`
	Items  *Overlap  `json:"items,omitempty"` // items that several partitions may have
}

// Empty reports whether nothing was added.
func (s *Seen) Empty() bool { return len(s.Had)+len(s.Lacked)+len(s.Values) == 0 && s.Items == nil }

// Add adds the paths that the list of one partition had and lacked.
func (s *Seen) Add(other *Seen) {
	s.Values.add(other.Values)
	if other.Items != nil {
		if s.Items == nil {
			s.Items = &Overlap{}
		}
		s.Items.add(other.Items)
	}
	for _, key := range other.Had {
		if !slices.Contains(s.Had, key) {
			s.Had = append(s.Had, key)
		}
	}
	for _, a := range other.Lacked {
		i := slices.IndexFunc(s.Lacked, func(known Absence) bool { return known.Key == a.Key })
		if i < 0 {
			s.Lacked = append(s.Lacked, a)
			continue
		}
		known := &s.Lacked[i] // the result does not depend on the order of the partitions
		known.Renamed = known.Renamed || a.Renamed
		if cmp.Or(len(a.Text)-len(known.Text), strings.Compare(a.Text, known.Text)) > 0 {
			known.Text = a.Text // with a similar path
		}
	}
	s.Lacked = slices.DeleteFunc(s.Lacked, func(a Absence) bool { return slices.Contains(s.Had, a.Key) })
}

// Finding returns the finding that the lists of all partitions lack a path, or nil.
func (s *Seen) Finding(job *compile.Job) *trace.Finding {
	var texts []string
	renamed := false
	for _, a := range s.Lacked {
		texts, renamed = append(texts, a.Text), renamed || a.Renamed
	}
	if texts == nil {
		return nil
	}
	return findingOf(job, findingMissing, rules.ListFacts{Missing: joinMissing(texts), Renamed: renamed})
}

// findingMissing is the id of the audit rule about paths that responses do not have.
const findingMissing = "audit.missing"
