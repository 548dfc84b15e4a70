package evidence

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An Overlap collects the items of the partitions of a job, to find those that several partitions have.
// It does not depend on the order of the partitions, as long as the latest items are all.
type Overlap struct {
	Latest     Recall `json:"latest,omitzero"` // the latest items, by repeatMemory.Keys
	Duplicates int    `json:"again,omitempty"` // number of items that an earlier partition has, with the same content
	Other      int    `json:"other,omitempty"` // number of items whose key an earlier partition has, with other content
	First      uint64 `json:"first,omitempty"` // repeatMemory.FirstList of the partitions that have one, if it is the same
	Lists      int    `json:"lists,omitempty"` // number of these partitions
	Differ     bool   `json:"differ,omitempty"`
}

// overlap returns what the list of one partition contributes to the overlap of a job, or nil.
func (m *repeatMemory) overlap(job *compile.Job) *Overlap {
	var one Overlap
	overlaps := func(v compile.ForVariable) bool { return v.Window != nil && v.Window.Overlap != (times.Span{}) }
	switch {
	case len(job.For) == 0 || slices.ContainsFunc(job.For, overlaps): // an overlap that the configuration asks for
		return nil
	case !m.Ambiguous || len(job.Spec().Key) > 0:
		one.Latest = m.Keys
	}
	if m.FirstList != 0 {
		one.First, one.Lists = m.FirstList, 1
	}
	if one.Lists == 0 && one.Latest.pairs == nil {
		return nil
	}
	return &one
}

// firstList returns the digest by which the first pages of partitions are compared. For the items of a parent, identifiers
// may begin anew, and the rest of an item may be an address. A single item without an identifier, such as a count or a state,
// may rightly be the same in several partitions, so it counts as another one for each request.
func (p *listView) firstList() document.Digest {
	switch {
	case len(p.reading.Compared) == 1 && document.Identity(p.reading.Compared[0]) == nil:
		return p.reading.ItemsDigest.With(p.request)
	case p.subject.job.Parent != nil:
		return p.reading.ItemsDigest
	}
	return p.reading.Stable()
}

func isWindow(v compile.ForVariable) bool { return v.Window != nil }

// add adds the overlap of other partitions.
func (o *Overlap) add(other *Overlap) {
	o.Duplicates += other.Duplicates
	o.Other += other.Other
	o.Latest.add(&other.Latest, func(known, other uint64) {
		if itemSighting(known).content() == itemSighting(other).content() {
			o.Duplicates++
		} else {
			o.Other++
		}
	})
	if other.Lists > 0 {
		o.Differ = o.Differ || other.Differ || o.Lists > 0 && o.First != other.First
		o.First, o.Lists = other.First, o.Lists+other.Lists
	}
}

// Finding returns the finding that partitions of a job have the same items, or nil.
func (o *Overlap) Finding(job *compile.Job) *trace.Finding {
	if o == nil {
		return nil
	}
	facts := rules.PartitionFacts{Duplicates: o.Duplicates, Key: strings.Join(job.Spec().Key, ", ")}
	if facts.Key != "" {
		if o.Other > 0 && !slices.ContainsFunc(job.For, isWindow) { // an item may change, and then be in a later window
			return AuditJob(job, trace.FindingAmbiguous, rules.ListFacts{KeyFacts: rules.KeyFacts{Ambiguous: o.Other, KeyPaths: facts.Key}})
		}
		facts.Duplicates += o.Other
	}
	if !o.Differ && (facts.Key == "" || facts.Duplicates > 0) { // a key with a value of the partition tells the items apart
		facts.Alike = o.Lists
	}
	return AuditPartitions(job, facts)
}
