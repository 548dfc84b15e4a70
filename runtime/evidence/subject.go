package evidence

import (
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A Subject holds the facts about a job that a [Watcher] needs for each of its lists.
type Subject struct {
	job        *compile.Job
	watches    []compile.Watch
	decisives  []language.Read
	paging     []language.Read // the values that rules read of a response, except of its items
	counts     []statedCount
	stated     [][]language.Read // for each stopping rule, the totals and numbers of pages that it reads
	countAlone bool              // whether only numbers of items end the list: see [compile.Analysis.EndsByCountAlone]
	readsItems bool              // whether the next request reads items
	keys       [][]string        // paths of the values that identify an item; nil if no values do
	keyPaths   string            // the same, for people
	stableKeys bool              // whether windows without keys are compared by identifiers, and by what [document.StableDigest] covers
	noNil      NilCounts         // the count of a partition in which no value is nil
	sent       []compile.SentCursor
	compared   *rules.Cursor // the cursor with which the filter or a stopping rule compares the items; nil if none does
	keptUnread bool          // whether the first page does not depend on the values that the job keeps
	lists      []itemList    // the lists of a page; nil without dataField

	beside      []apinames.ErrorSign   // signs of errors next to items
	besidePaths func() *document.Paths // their paths, and those of messages
	listsErrors bool                   // whether the job lists errors on purpose
}

// A statedCount is a value of a response with which a stopping rule compares the number of items, or of pages, that were read.
type statedCount struct {
	read language.Read
	kind apinames.SignKind // [apinames.SignTotal] or [apinames.SignPages]
}

// isRead reports whether a rule with a read knows the value.
func (c statedCount) isRead(read language.Read) bool { return read.String() == c.read.String() }

// statedCountsOf returns the numbers that the stopping rules of a job read.
func statedCountsOf(job *compile.Job) (counts []statedCount) {
	for _, stop := range job.Stops {
		reads := func(names ...string) bool {
			return stop.ReadsFunc(func(r language.Read) bool { return slices.Contains(names, r.String()) })
		}
		var kind apinames.SignKind
		switch {
		case reads("total.items"):
			kind = apinames.SignTotal
		case reads("page", "total.pages"):
			kind = apinames.SignPages
		default:
			continue
		}
		for _, read := range stop.StatedCounts() {
			if read.InResponse() {
				counts = append(counts, statedCount{read, kind})
			}
		}
	}
	return counts
}

// An itemList is a path of items of a job.
type itemList struct {
	keys  []string // up to the first star
	above []string // keys of the innermost object above it that may describe it: no star leads there, and it is in no item
	steps []rules.PathStep
	star  bool   // whether the path has a star
	text  string // the path in the configuration
}

// itemListsOf returns the paths of items of a job; nil without dataField.
func itemListsOf(field *rules.DataField) (out []itemList) {
	switch {
	case field == nil:
		return nil
	case field.Lists == nil:
		steps := lists.Map(field.Keys, func(key string) rules.PathStep { return rules.PathStep{Key: key} })
		return []itemList{{keys: field.Keys, above: field.Keys[:max(0, len(field.Keys)-1)], steps: steps, text: field.Text}}
	}
	for _, list := range field.Lists {
		keys := list.Fixed()
		above := keys[:max(0, len(keys)-1)]
		for _, other := range field.Lists {
			if n := len(other.Steps); n > 0 && n <= len(above) && leadsTo(other.Steps, above[:n]) {
				above = above[:n-1]
			}
		}
		out = append(out, itemList{keys, above, list.Steps, len(keys) < len(list.Steps), list.Text})
	}
	return out
}

// leadsTo reports whether steps lead to a path of the same length.
func leadsTo(steps []rules.PathStep, path []string) bool {
	return slices.EqualFunc(steps, path, func(step rules.PathStep, key string) bool { return step.All || step.Key == key })
}

// NewSubject returns the subject of a job.
func NewSubject(job *compile.Job) *Subject {
	paths, a := job.Spec().Key, job.Analysis()
	beside := apinames.ErrorSignsNextToData(job.Spec().DataField.Places())
	watched := lists.Map(a.Watches(), func(w compile.Watch) language.Read { return w.Read })
	return &Subject{
		paging: readsOfPaging(watched, a.Decisive()), counts: statedCountsOf(job), countAlone: a.EndsByCountAlone(),
		stated: lists.Map(job.Stops, (*compile.Trigger).StatedCounts),
		job:    job, watches: a.Watches(), decisives: a.Decisive(), readsItems: a.NextReads(rules.ContextItems),
		keys: lists.Map(paths, keypath.Split), keyPaths: strings.Join(paths, ", "),
		stableKeys: len(paths) == 0 && slices.ContainsFunc(job.For, isWindow),
		lists:      itemListsOf(job.Spec().DataField),
		noNil:      noNilOf(job),
		sent:       a.SentCursors(),
		compared:   a.ComparedCursor(),
		keptUnread: len(job.Keeps) > 0 && a.KeptUse() != compile.KeptFromFirst,
		beside:     beside, besidePaths: sync.OnceValue(func() *document.Paths { return pathsOfErrors(beside) }),
		listsErrors: listsErrors(job.Spec(), beside),
	}
}

// severalLists returns the lists of items if there are several, and nil otherwise.
func (s *Subject) severalLists() []rules.ItemList {
	if f := s.job.Spec().DataField; f != nil && len(f.Lists) > 1 {
		return f.Lists
	}
	return nil
}

// isBesideFirst reports whether the response is a list whose second element is the list of items, so that its first
// one may describe the list: [{"pages": 2}, [{"id": 1}]].
func (s *Subject) isBesideFirst() bool {
	return len(s.lists) == 1 && len(s.lists[0].keys) > 0 && s.lists[0].keys[0] == "1"
}

// holder returns the number of keys of a path that lead to lists of items, up to the innermost object above a
// list, and the indices of the lists below that object.
func (s *Subject) holder(path []string) (n int, lists []int) {
	for i, list := range s.lists {
		common := 0
		for common < min(len(path), len(list.above)) && path[common] == list.above[common] {
			common++
		}
		if common > n {
			n, lists = common, nil
		}
		if common == n {
			lists = append(lists, i)
		}
	}
	return n, lists
}

// holdsSigns reports whether the object at a path may describe a list: it holds the items, or it
// has the name of an object with signs, in the root or in such an object. The object may be the only element of a list,
// unless the list has a usual name of items.
func (s *Subject) holdsSigns(path []string) bool {
	n, _ := s.holder(path)
	parent, depth := "", 0
	for _, key := range path[n:] {
		switch {
		case key == "0" && parent == "" && s.isBesideFirst(): // as the World Bank has it
		case key == "0" && parent != "":
			if apinames.Key(parent).ListKind() == apinames.LikelyList {
				return false
			}
		case !apinames.Key(key).HoldsSignsIn(parent):
			return false
		default:
			parent = key
			depth++
		}
	}
	return depth <= maxSignDepth
}

// maxSignDepth is the largest number of objects with signs within each other, not counting the
// objects that hold the items.
const maxSignDepth = 2

// nameOfSign returns the last key of a path, or what it says about a list of items beside it: odata.nextLink for
// items@odata.nextLink. See [apinames.Key.SplitList].
func (s *Subject) nameOfSign(path []string) string {
	parent, name := path[:len(path)-1], path[len(path)-1]
	list, sign, ok := apinames.Key(name).SplitList()
	for _, l := range s.lists {
		switch isBeside := len(l.keys) == len(path) && slices.Equal(l.keys[:len(parent)], parent); {
		case isBeside && ok && apinames.Alike(l.keys[len(parent)], list):
			return sign
		case isBeside && apinames.Key(name).Signs() == nil && apinames.Key(name).CountsList(l.keys[len(parent)]):
			return listCount
		}
	}
	return name
}

// listCount replaces a name such as total_users, which consists of a word for a total and the name of the list. Such a
// number is a weak sign: it may also count users who are not in the list.
const listCount = "list count"

// reads reports whether a list of the job is at a path, or below it.
func (s *Subject) reads(path []string) bool {
	return slices.ContainsFunc(s.lists, func(list itemList) bool {
		return len(list.keys) >= len(path) && slices.Equal(list.keys[:len(path)], path)
	})
}
