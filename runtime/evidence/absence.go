package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An absenceSearch finds paths that the configuration reads and no response has.
type absenceSearch struct {
	comparison
	memory *pathMemory
	places placeSearch
}

// A pathMemory is what an [absenceSearch] remembers of earlier pages.
type pathMemory struct {
	Responses int       `json:"responses,omitempty"` // number of successful responses with a body
	HadItems  bool      `json:"hadItems,omitempty"`  // whether a response had the place of the items
	Had       []string  `json:"had,omitempty"`       // watched paths that a response had
	Lacked    []Absence `json:"lacked,omitempty"`    // absences at the end of a partition that otherwise looks complete
}

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

// Had reports whether a response, or an item, had the path with a key.
func (w *Watcher) Had(key string) bool { return slices.Contains(w.history.pathMemory.Had, key) }

// NoticeHad records that an item, or its response, has the path with a key, and no earlier one had it.
func (w *Watcher) NoticeHad(key string) {
	w.history.pathMemory.Had = append(w.history.pathMemory.Had, key)
}

// Suggest returns a suggestion for a path that the last response lacks: see [document.Suggest].
func (w *Watcher) Suggest(path []string) string {
	return document.Suggest(w.list.reading.Names, path)
}

// Seen returns what the list, which has ended with an outcome, contributes to the signs across all partitions of
// its job.
func (w *Watcher) Seen(outcome rules.Outcome) Seen {
	seen := Seen{Had: w.history.pathMemory.hadKeys(), Values: w.nilValues, Items: w.history.repeatMemory.overlap(w.list.subject.job)}
	if w.history.errorMemory.Replaced != nil {
		seen.Headers = []string{strings.Join(w.history.errorMemory.Replaced, ",")}
	}
	if outcome != rules.Failed {
		seen.Lacked, seen.Only = w.history.pathMemory.Lacked, w.history.errorMemory.Only
		seen.Detail = w.history.detailMemory.Detail
	}
	return seen
}

// noticePaths records the watched paths that the response has.
func (s absenceSearch) noticePaths() {
	c := s.context
	if c.Status >= 400 || !s.reading.HasContent() {
		return
	}
	s.memory.Responses++
	s.places.notice()
	s.memory.HadItems = s.memory.HadItems || s.reading.HasField && !s.places.mayBeEmpty()
	for i, list := range s.subject.severalLists() {
		if key := watchedList(list); s.places.had(i) && !slices.Contains(s.memory.Had, key) {
			s.memory.Had = append(s.memory.Had, key)
		}
	}
	for _, watch := range s.subject.watches {
		key := watch.String()
		if slices.Contains(s.memory.Had, key) {
			continue
		}
		limit, hasLimit := c.Limit.(int)
		isFull := hasLimit && c.Count > 0 && c.Count >= limit
		if v, present := watch.Lookup(c); present && (v != nil || !watch.Total && !(watch.Flag && isFull)) {
			s.memory.Had = append(s.memory.Had, key)
		}
	}
}

// lostFlag returns the flag that ends the list, if earlier pages had it and the last one lacks it, or "".
func (s absenceSearch) lostFlag() string {
	for _, watch := range s.subject.watches {
		if v, _ := watch.Lookup(s.context); v == nil && watch.Flag && slices.Contains(s.memory.Had, watch.String()) {
			return watch.String()
		}
	}
	return ""
}

// watchedList returns the name of a list among the watched paths.
func watchedList(list rules.ItemList) string { return "dataField " + list.Text }

// suspectsAbsence reports whether a path that no response had should have been present.
func (s absenceSearch) suspectsAbsence(watch compile.Watch, signs *rules.Signs) bool {
	switch {
	case s.misspelt(watch.Path):
		return true
	case watch.Link && s.memory.Responses == 1:
		return s.promisesMore(signs)
	case watch.Link:
		return !slices.ContainsFunc(s.subject.watches, func(other compile.Watch) bool {
			return other.Link && slices.Contains(s.memory.Had, other.String())
		})
	case watch.Rule.Stop.ExpectsRead:
		return slices.Contains(s.end.StoppedBy, watch.Rule.ID)
	}
	return !watch.Optional
}

// hadKeys returns the keys of the paths that a response had.
func (m *pathMemory) hadKeys() []string {
	if m.HadItems {
		return append([]string{keyItems}, m.Had...)
	}
	return m.Had
}

// missing describes the paths that no response had although one should have, or returns "". If
// other partitions of the job may prove a path right, missing notes it for the end of the tree
// instead. It also reports whether the list of items may have another name.
func (s absenceSearch) missing(signs *rules.Signs) (text string, renamed bool) {
	var missing []string
	s.memory.Lacked = nil
	for _, a := range s.absences(signs) {
		if s.end.Siblings && a.Ordinary {
			s.memory.Lacked = append(s.memory.Lacked, a)
		} else {
			missing, renamed = append(missing, a.Text), renamed || a.Renamed
		}
	}
	return joinMissing(missing), renamed
}

func joinMissing(texts []string) string { return strings.Join(texts, ", nor ") }

// absences returns the watched paths that no response had, except for paths that are normally
// absent.
func (s absenceSearch) absences(signs *rules.Signs) (absences []Absence) {
	if s.memory.Responses == 0 {
		return nil
	}
	promisesMore := s.promisesMore(signs)
	if found := s.places.memory.suggested(); !s.memory.HadItems && signs.Total != 0 && (found.Path != "" || !s.places.memory.Blank) {
		a := Absence{
			Key: keyItems, Text: s.textOfRoot() + ": set dataField to the path of the items" + found.suggestion(""),
			Ordinary: !promisesMore && !found.Certain,
		}
		if f := s.subject.job.Spec().DataField; f != nil {
			a.Text = f.Text + " (dataField)" + cmp.Or(found.suggestion(f.Text), document.SuggestField(s.reading.Names, f.Keys))
			a.Ordinary = a.Ordinary && !s.misspelt(f.Keys)
		}
		a.Renamed = found.Certain || found.Only || !s.reading.Elements && slices.ContainsFunc(s.placesOfItems(), s.listsObjects)
		a.Ordinary = a.Ordinary && !(a.Renamed && s.isBareList())
		if f := s.subject.job.Spec().DataField; f != nil && s.reading.HasContent() && s.listsObjects(nil) {
			a.Renamed, a.Ordinary = true, false
			a.Text = f.Text + " (dataField), and the last one is a list itself: remove dataField"
		}
		absences = append(absences, a)
	}
	for i, list := range s.subject.severalLists() {
		if key := watchedList(list); s.memory.HadItems && !slices.Contains(s.memory.Had, key) {
			found := s.places.memory.placeOf(i)
			text := list.Text + " (dataField)" + cmp.Or(found.suggestion(list.Text), document.SuggestField(s.reading.Names, list.Fixed()))
			absences = append(absences, Absence{Key: key, Text: text, Ordinary: !promisesMore && !found.Certain, Renamed: found.Certain})
		}
	}
	for _, watch := range s.subject.watches {
		if !slices.Contains(s.memory.Had, watch.String()) && s.suspectsAbsence(watch, signs) {
			text := fmt.Sprintf("%s (%s)%s", watch, watch.Rule.ID, document.Suggest(s.reading.Names, watch.Path))
			if _, isNull := watch.Lookup(s.context); isNull {
				text = fmt.Sprintf("%s (%s) other than null", watch, watch.Rule.ID)
			}
			absences = append(absences, Absence{Key: watch.String(), Text: text, Ordinary: s.isOrdinary(watch, promisesMore)})
		}
	}
	return append(absences, s.end.Unseen...)
}

// textOfRoot names the list of items in the root of the last response, which no response has.
func (p *listView) textOfRoot() string {
	if reports := p.reportsTaken(); reports != "" {
		return "a list of items in its root other than " + reports
	}
	return "a list of items in its root"
}

// promisesMore reports whether the last response says that there are more items than were read.
func (p *listView) promisesMore(signs *rules.Signs) bool {
	total, hasTotal := signs.Total.(int)
	return signs.More == true || signs.Next != nil || hasTotal && total > p.context.Total.Items
}

// isOrdinary reports whether a path that a rule reads may be absent from the list if the lists of
// other partitions have it; see [Absence.Ordinary]. It may not if the last response has a similar path,
// or if the list has items and ended because of the absence. promisesMore says whether
// the response promises further items.
func (s absenceSearch) isOrdinary(watch compile.Watch, promisesMore bool) bool {
	ended := slices.Contains(s.end.StoppedBy, watch.Rule.ID) && s.context.Total.Items > 0
	return !promisesMore && !ended && !s.misspelt(watch.Path)
}

// A Seen collects the paths that the lists of a job's partitions had and lacked, and the values and items
// that are compared between them. A path that all of them lack is probably misspelt.
type Seen struct {
	Had    []string  `json:"had,omitempty"`
	Lacked []Absence `json:"lacked,omitempty"` // the paths of Had are left out
	Values NilCounts `json:"values,omitempty"`
	Items  *Overlap  `json:"items,omitempty"` // items that several partitions may have
	Only   OnlyItems `json:"only,omitzero"`
	Detail Detail    `json:"detail,omitzero"`

	// Headers are the least and the greatest of the headers of CSV, if response.columns replaces them.
	Headers []string `json:"headers,omitempty"`
}

// Empty reports whether nothing was added.
func (s *Seen) Empty() bool {
	return len(s.Had)+len(s.Lacked)+len(s.Values)+len(s.Only.Sound)+len(s.Headers) == 0 && s.Items == nil && s.Only.Suspect == nil &&
		s.Detail == Detail{}
}

// Add adds the paths that the list of one partition had and lacked.
func (s *Seen) Add(other *Seen) {
	s.Values.add(other.Values)
	s.Only.add(other.Only)
	s.Detail.add(other.Detail)
	if len(other.Headers) > 0 {
		headers := slices.Sorted(slices.Values(append(slices.Clip(s.Headers), other.Headers...)))
		s.Headers = slices.Compact([]string{headers[0], headers[len(headers)-1]})
	}
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
	return AuditJob(job, trace.FindingMissing, rules.ListFacts{PlaceFacts: rules.PlaceFacts{Missing: joinMissing(texts), Renamed: renamed}})
}

// HeaderFinding returns the finding that the rows of the partitions have different columns, or nil.
func (s *Seen) HeaderFinding(job *compile.Job) *trace.Finding {
	if len(s.Headers) < 2 {
		return nil
	}
	return AuditPartitions(job, rules.PartitionFacts{Header: shortText(s.Headers[0]), OtherHeader: shortText(s.Headers[1])})
}
