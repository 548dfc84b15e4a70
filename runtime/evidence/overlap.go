package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An Overlap collects the items of the partitions of a job, to find those that several partitions have.
// The result of add does not depend on the order of the partitions, as long as the latest items are all.
type Overlap struct {
	Latest Recall `json:"latest,omitzero"` // the latest items: their keys or, without keys, the History.Identities of windows
	Again  int    `json:"again,omitempty"` // number of items that an earlier partition has, with the same content
	Other  int    `json:"other,omitempty"` // number of items whose key an earlier partition has, with other content
	First  uint64 `json:"first,omitempty"` // History.FirstList of the partitions that have one, if it is the same
	Lists  int    `json:"lists,omitempty"` // number of these partitions
	Differ bool   `json:"differ,omitempty"`
}

// Overlap returns what the list of one partition contributes to the overlap of a job, or nil.
func (h *History) Overlap(job *compile.Job) *Overlap {
	var one Overlap
	overlaps := func(v compile.ForVariable) bool { return v.Window != nil && v.Window.Overlap != (rules.Span{}) }
	switch {
	case len(job.For) == 0 || slices.ContainsFunc(job.For, overlaps): // an overlap that the configuration asks for
		return nil
	case len(job.Spec().Key) > 0:
		one.Latest = h.Keys
	case slices.ContainsFunc(job.For, isWindow) && !h.Ambiguous:
		one.Latest = h.Identities
	}
	if h.FirstList != 0 {
		one.First, one.Lists = h.FirstList, 1
	}
	if one.Lists == 0 && one.Latest.pairs == nil {
		return nil
	}
	return &one
}

func isWindow(v compile.ForVariable) bool { return v.Window != nil }

// add adds the overlap of other partitions.
func (o *Overlap) add(other *Overlap) {
	o.Again += other.Again
	o.Other += other.Other
	o.Latest.add(&other.Latest, func(known, other uint64) {
		if itemSighting(known).content() == itemSighting(other).content() {
			o.Again++
		} else {
			o.Other++
		}
	})
	if other.Lists > 0 {
		o.Differ = o.Differ || other.Differ || o.Lists > 0 && o.First != other.First
		o.First, o.Lists = other.First, o.Lists+other.Lists
	}
}

// The ids of the audit rules about items that occur again.
const (
	findingDuplicate = "audit.duplicate"
	findingRepeated  = "audit.repeated"
)

// Finding returns the finding that partitions of a job have the same items, or nil.
func (o *Overlap) Finding(job *compile.Job) *trace.Finding {
	f := &trace.Finding{Weight: rules.WeightHint}
	hasKey := len(job.Spec().Key) > 0
	switch {
	case o == nil:
		return nil
	case o.Other > 0 && hasKey && !slices.ContainsFunc(job.For, isWindow): // an item may change, and then be in a later window
		return findingOf(job, trace.FindingAmbiguous, rules.ListFacts{Ambiguous: o.Other, KeyPaths: strings.Join(job.Spec().Key, ", ")})
	case o.Lists > 1 && !o.Differ:
		f.ID, f.Message = findingRepeated, fmt.Sprintf("the first pages of all partitions that have items (%d) have the same items; "+
			"check the names of the parameters that differ from partition to partition: the API may ignore them", o.Lists)
	case o.Again+o.Other > 0 && hasKey:
		f.ID, f.Message = findingDuplicate, fmt.Sprintf("the key (%s) of %s occurs in an earlier partition, too; "+
			"merging writes the last of each key: if the items are not the same, add the value of the partition to the key",
			strings.Join(job.Spec().Key, ", "), value.Counted(o.Again+o.Other, "item"))
	case o.Again > 0:
		f.ID, f.Message = findingDuplicate, fmt.Sprintf("earlier windows have the same items, too: %d; "+
			"the API may include the end of a window: set granularity", o.Again)
	default:
		return nil
	}
	if slices.Contains(job.Ruleset.IgnoredFindings, f.ID) {
		return nil
	}
	return f
}
