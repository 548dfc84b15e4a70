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

// States of a task. A page with [Done] or [Failed] ends its task.
const (
	More   State = "more"
	Done   State = "done"
	Failed State = "failed"
)

// A Head summarizes a page, and its task up to the page. It is stored as JSON in a header of the
// message, so that it can be read without the page.
type Head struct {
	State       State  `json:"state"`
	Attempt     string `json:"attempt"`            // identifies the delivery of the task that wrote the page; never reused
	Page        int    `json:"page,omitempty"`     // number of the page in the task, from 1; 0 for a marker without a page
	Parts       int    `json:"parts,omitempty"`    // number of messages that hold the page; 0 and 1 both mean one. Append sets it
	Delivery    int    `json:"delivery,omitempty"` // number of deliveries of the task so far, from 1
	Count       int    `json:"count,omitempty"`    // number of items of this page
	Kind        Kind   `json:"kind,omitempty"`     // kind of the task
	Outcome     string `json:"outcome,omitempty"`  // how a task with [Done] ended: an outcome of the rules, or [Skipped]
	Reason      string `json:"reason,omitempty"`   // rule that ended the task
	Reopens     bool   `json:"reopens,omitempty"`  // the page follows the marker of a failure
	StartsAlone int    `json:"trials,omitempty"`   // number of times the task was started alone since its last page, this one included
	Label       string `json:"label,omitempty"`    // label of the task for users, clipped to 2,000 bytes
	After       uint64 `json:"after,omitempty"`    // sequence of the previous page; 0 for the first page. Append sets it

	Totals
}

// Totals are the figures of a task up to a page.
type Totals struct {
	Pages    int   `json:"pages,omitempty"` // number of pages
	Items    int   `json:"items,omitempty"`
	Bytes    int64 `json:"bytes,omitempty"`    // size as counted by the caller
	Children int   `json:"children,omitempty"` // number of tasks announced
	Findings int   `json:"findings,omitempty"` // number of audit findings

	// Partitions and Searches count the announced tasks of each kind, by job.
	Partitions map[string]int `json:"partitions,omitempty"`
	Searches   map[string]int `json:"searches,omitempty"`
}

// A Kind says what a task does.
type Kind string

// Kinds of tasks. The zero Kind is a task that lists a partition.
const (
	Lists    Kind = ""
	Searches Kind = "search" // it finds values of a variable
	Splits   Kind = "split"  // its window was divided, and other tasks list the halves
	ListsAll Kind = "all"    // it runs all jobs
)

// Skipped is the outcome of a partition that failed and was skipped.
const Skipped = "skipped"

// Follows reports whether the page was stored after a page of its task, given the sequence and the number of
// that page, which are 0 if there is none.
func (h Head) Follows(sequence uint64, page int) bool { return h.After == sequence && h.Page == page+1 }

// Ends reports whether the task has ended.
func (h Head) Ends() bool { return h.State == Done || h.State == Failed }

// Header names. Headers of JetStream begin with "Nats-".
const (
	headerHead = "Stopwhen-Head" // head of a page, in its last message
	headerTask = "Stopwhen-Task" // [taskHeader] of a queued task

	headerExpected      = "Nats-Expected-Last-Subject-Sequence"
	headerBatch         = "Nats-Batch-Id"
	headerBatchSequence = "Nats-Batch-Sequence"
	headerBatchCommit   = "Nats-Batch-Commit"
)

const labelBytes = 2000

// write adds the head to the headers of a message.
func (h Head) write(to nats.Header) {
	h.Label, h.Reason = clip(h.Label, labelBytes), clip(h.Reason, labelBytes)
	text, _ := json.Marshal(h) // a head has only texts and numbers
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

// clip returns a text cut to at most limit bytes, without cutting a character.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.Clone(text[:limit])
}

// A StoredHead locates a page and summarizes it, so that the page need not be read.
type StoredHead struct {
	Key
	Head
	Sequence uint64    // sequence in the run; for a page in parts, the sequence of the last part
	Time     time.Time // time when it was stored, by the server's clock
}

// Heads calls f for the last page of each task of a run, in the order in which they were stored.
// It ends with the pages that existed when it began. After a lost connection it starts over, and
// passes all tasks to f a second time. It calls reset at the beginning and whenever it starts over,
// so that the caller can discard the tasks that f has collected; reset may be nil.
func (s *Store) Heads(ctx context.Context, run string, reset func(), f func(StoredHead) error) error {
	return s.scan(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject: pageSubject + run + ".>"}, reset, f)
}

// HeadsFrom is like [Store.Heads] for all pages of a run, starting at a sequence.
func (s *Store) HeadsFrom(ctx context.Context, run string, sequence uint64, reset func(), f func(StoredHead) error) error {
	return s.scan(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sequence}, reset, f)
}

// scan delivers heads as they arrive. It calls reset whenever it begins.
func (s *Store) scan(ctx context.Context, run string, config jetstream.ConsumerConfig, reset func(), f func(StoredHead) error) error {
	config.HeadersOnly = true
	d := feed{s: s, run: run, config: config, finite: true, opened: reset}
	err := d.deliver(ctx, func(m *message) error {
		if !m.last() {
			return nil
		}
		e, err := m.entry()
		if err != nil {
			return err
		}
		return f(e.StoredHead)
	})
	if errors.Is(err, errCaughtUp) {
		return nil
	}
	return err
}
