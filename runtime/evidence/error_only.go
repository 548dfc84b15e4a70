package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// OnlyItems compares the objects that are the only items of their pages, in one list or in all partitions of a job. One
// with an error may be an item, such as a run that has failed: it is if it has all members that the objects without
// an error share. The size of OnlyItems does not depend on the number of objects.
type OnlyItems struct {
	Sound   []string     `json:"sound,omitzero"`   // names that all objects without an error have; nil if there is none
	Suspect *suspectItem `json:"suspect,omitzero"` // the objects with an error; nil if there is none
}

// A suspectItem describes objects with an error.
type suspectItem struct {
	Names []string         `json:"names"` // names that all of them have
	Size  int              `json:"size"`  // number of members of the smallest object, which the following describes
	Error string           `json:"error"`
	Page  int              `json:"page"`
	Sent  string           `json:"sent"` // its request, without its secrets
	Doubt rules.ErrorDoubt `json:"doubt,omitempty"`
}

// maxNames is the largest number of members by which objects are compared.
const maxNames = 64

// noticeErrorInItems notices an error in an item, or in the response if that is the item. If the item is the only
// one, other such items may refute it, so it is judged at the end.
func (s errorSearch) noticeErrorInItems() {
	before := *s.facts
	s.noticeErrorItem(s.errorItem)
	if s.readsRoot() && s.reading.HasErrors {
		s.noticeErrorSign(s.subject.beside, s.pageOfErrors(s.subject.besidePaths()))
	}
	item := s.reading.Compared[0]
	if s.context.Count > 1 || !isObject(item) {
		return
	}
	if s.readsRoot() && *s.facts == before {
		s.noticeFailureMessage()
	}
	names := document.Names(item, nil)
	names = names[:min(len(names), maxNames)]
	if *s.facts == before {
		s.memory.Only.add(OnlyItems{Sound: names})
		return
	}
	object, _ := membersOf(item)
	isData := func(m rules.Member) bool { return !apinames.Key(m.Name).NamesErrors() && !value.Empty(m.Value) }
	if s.readsRoot() && !slices.ContainsFunc(object, isData) { // {"error": "denied", "data": null}
		return
	}
	s.memory.Only.add(OnlyItems{Suspect: &suspectItem{
		names, len(names), s.facts.Error, s.facts.ErrorPage, s.sent.Method + " " + s.sent.URL, s.facts.ErrorDoubt,
	}})
	*s.facts = before
}

// noticeFailureMessage notices a message of failure in a response that is the only item, if it has no identifier:
// {"message": "rate limit exceeded", "url": …}. It may be that of an item.
func (s errorSearch) noticeFailureMessage() {
	names := s.reading.Names(nil)
	if slices.ContainsFunc(names, apinames.IsIdentifier) {
		return
	}
	for _, name := range names {
		if !apinames.Key(name).IsErrorMessage() || apinames.Key(name).IsErrorCaption() {
			continue
		}
		v, _ := s.lookup([]string{name})
		if text, _ := v.(string); apinames.SaysFailure(text) {
			s.reportError("body."+name+" is "+shortText(v), rules.DoubtItem)
			return
		}
	}
}

// add adds other objects. The result does not depend on their order.
func (o *OnlyItems) add(other OnlyItems) {
	if o.Sound = shared(o.Sound, other.Sound); other.Suspect == nil {
		return
	}
	if o.Suspect == nil {
		o.Suspect = other.Suspect
		return
	}
	names := shared(o.Suspect.Names, other.Suspect.Names)
	if cmp.Or(o.Suspect.Size-other.Suspect.Size, strings.Compare(o.Suspect.Sent, other.Suspect.Sent)) > 0 {
		o.Suspect = other.Suspect
	}
	suspect := *o.Suspect
	suspect.Names = names
	o.Suspect = &suspect
}

// shared returns the names that two lists share, or one list if the other is nil.
func shared(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// suspected returns the objects with an error, or nil if there is none, or if they are items.
func (o *OnlyItems) suspected() *suspectItem {
	lacks := func(name string) bool { return !slices.Contains(o.Suspect.Names, name) }
	if o.Suspect == nil || len(o.Sound) > 0 && !slices.ContainsFunc(o.Sound, lacks) {
		return nil
	}
	return o.Suspect
}

// Finding returns the finding that the only item of a partition is an error, or nil.
func (o *OnlyItems) Finding(job *compile.Job) *trace.Finding {
	found := o.suspected()
	if found == nil {
		return nil
	}
	text := found.Error + ", in the response to " + wording.Clip(found.Sent, 300)
	facts := rules.ErrorFacts{Error: text, ErrorPage: found.Page, ErrorDoubt: found.Doubt}
	return AuditJob(job, trace.FindingErrorBody, rules.ListFacts{ErrorFacts: facts})
}
