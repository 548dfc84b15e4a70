package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A State says whether a task goes on after a page.
type State string

// The states. A page with [Done] or [Failed] ends its task.
const (
	More   State = "more"
	Done   State = "done"
	Failed State = "failed"
)

// A Head is what is known of a page, and of its task up to the page, without reading it.
// It is stored as JSON in a header of the message.
type Head struct {
	State    State  `json:"state"`
	Attempt  string `json:"attempt"`            // names the delivery of the task that wrote the page; never reused
	Page     int    `json:"page,omitempty"`     // number of the page in the task, from 1; 0 for a marker without a page
	Parts    int    `json:"parts,omitempty"`    // messages that the page is stored in; 0 and 1: one. Append sets it
	Delivery int    `json:"delivery,omitempty"` // how often the task had been delivered, from 1
	Pages    int    `json:"pages,omitempty"`    // of the task up to here, as all figures below
	Items    int    `json:"items,omitempty"`
	Bytes    int64  `json:"bytes,omitempty"`    // as the caller counts them
	Children int    `json:"children,omitempty"` // tasks that were announced
	Findings int    `json:"findings,omitempty"` // of the audit
	Count    int    `json:"count,omitempty"`    // items of this page
	Kind     Kind   `json:"kind,omitempty"`     // of the task
	Outcome  string `json:"outcome,omitempty"`  // how a task with [Done] ended: an outcome of the rules, or [Skipped]
	Reason   string `json:"reason,omitempty"`   // the rule that ended it
	Reopens  bool   `json:"reopens,omitempty"`  // the page follows the marker of a failure
	Trials   int    `json:"trials,omitempty"`   // how often the task began to run alone since its last page: this marks the last time
	Label    string `json:"label,omitempty"`    // of the task, for people; clipped to 2,000 bytes

	// Partitions and Searches say, by job, how many of the announced tasks are of which kind.
	Partitions map[string]int `json:"partitions,omitempty"`
	Searches   map[string]int `json:"searches,omitempty"`

	After uint64 `json:"after,omitempty"` // sequence of the page before; 0: none. Append sets it
}

// A Kind says what a task does.
type Kind string

// The kinds. A task lists a partition unless it says otherwise.
const (
	Lists    Kind = ""
	Searches Kind = "search" // it finds values of a variable
	Splits   Kind = "split"  // its window was divided: others list the halves
	ListsAll Kind = "all"    // it runs all jobs
)

// Skipped is the outcome of a partition that failed and was skipped.
const Skipped = "skipped"

// Ends reports whether the task is over.
func (h Head) Ends() bool { return h.State == Done || h.State == Failed }

// The headers. Those of JetStream begin with "Nats-".
const (
	headerHead    = "Stopwhen-Head" // of the last message of a page
	headerRetryOf = "Stopwhen-Retry-Of"
	headerLost    = "Stopwhen-Lost"    // deliveries of the messages that this one replaces
	headerRefused = "Stopwhen-Refused" // times that workers could not run the task

	headerExpected      = "Nats-Expected-Last-Subject-Sequence"
	headerBatch         = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"
)

const labelBytes = 2000

// write adds the head to the headers of a message.
func (h Head) write(to nats.Header) {
	h.Label, h.Reason = clip(h.Label, labelBytes), clip(h.Reason, labelBytes)
	text, _ := json.Marshal(h) // texts and numbers
	to.Set(headerHead, string(text))
}

// readHead is the inverse of write.
func readHead(from nats.Header) (h Head, err error) {
	if err := json.Unmarshal([]byte(from.Get(headerHead)), &h); err != nil {
		return Head{}, fmt.Errorf("header %s: %w", headerHead, err)
	}
	if h.State != More && !h.Ends() {
		return Head{}, fmt.Errorf("header %s: unknown state %q", headerHead, h.State)
	}
	return h, nil
}

// clip returns the beginning of a text, without cutting a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.Clone(text[:limit])
}

// A Heading is what is known of a page without reading it.
type Heading struct {
	Key
	Head
	Sequence uint64    // in the run; of the last part, if the page has several
	Time     time.Time // when it was stored, by the clock of the server
}

// Heads calls f for the last page of each task of a run, in the order in which they were
// stored. It ends when it has delivered what there is, and keeps none of it. It calls again
// before the first task and, after the connection was interrupted, before f is called for all
// tasks once more. again may be nil.
func (s *Store) Heads(ctx context.Context, run string, again func(), f func(Heading) error) error {
	return s.scan(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject: pageSubject + run + ".>"}, again, f)
}

// HeadsFrom is [Store.Heads] for all pages of a run from a sequence on.
func (s *Store) HeadsFrom(ctx context.Context, run string, sequence uint64, again func(), f func(Heading) error) error {
	return s.scan(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sequence}, again, f)
}

// scan passes headings on as they arrive. It calls again whenever it begins.
func (s *Store) scan(ctx context.Context, run string, config jetstream.ConsumerConfig, again func(), f func(Heading) error) error {
	config.HeadersOnly = true
	d := feed{s: s, run: run, config: config, finite: true, opened: again}
	err := d.deliver(ctx, func(m *message) error {
		if !m.last() {
			return nil
		}
		e, err := m.entry()
		if err != nil {
			return err
		}
		return f(e.Heading)
	})
	if errors.Is(err, errCaughtUp) {
		return nil
	}
	return err
}
