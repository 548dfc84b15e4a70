package evidence

import (
	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Watcher notices, page by page, signs that a list may be incomplete. At the end of the list,
// the audit rules say what follows from them.
type Watcher struct {
	*Noticed // of the state of the job

	Subject     *Subject
	Context     *rules.Context // of the last page
	Largest     *int           // items of the largest page
	Resumed     *rules.Hints   // of the last page before a resume; nil once a page was read
	HasSiblings bool           // other partitions of the job may show that a path is right
	Redactor    *redact.Redactor
	Warn        func(code, message string) // logs a warning, each code once

	page    document.Reading // the last one
	repeats bool             // its items are those of an earlier page
	hinted  []hinted         // its hints; nil: not looked for yet
	audited audited
	end     End
}

// An End says how a list ended.
type End struct {
	Outcome   rules.Outcome
	StoppedBy []string  // the rules that ended it
	Items     int       // that were delivered
	Unseen    []Absence // the paths that the filter of the job reads, and that no item had
}

// A Subject is a job as a [Watcher] needs it, for all of its lists.
type Subject struct {
	job        *compile.Job
	watches    []compile.Watch
	decisives  []language.Read
	readsItems bool // the next request
}

// NewSubject returns the subject of a job.
func NewSubject(job *compile.Job) *Subject {
	return &Subject{job: job, watches: job.Watches(), decisives: job.Decisive(), readsItems: job.NextReads("items")}
}
