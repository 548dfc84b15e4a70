package store

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
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
// It is stored in the headers of the message; members that are zero are left out.
type Head struct {
	State    State
	Attempt  string // names the delivery of the task that wrote the page; never reused
	Page     int    // number of the page in the task, from 1; 0 for a marker without a page
	Parts    int    // messages that the page is stored in; 0 and 1: one. Append sets it
	Delivery int    // how often the task had been delivered, from 1
	Pages    int    // of the task up to here, as all figures below
	Items    int
	Bytes    int64  // as the caller counts them
	Children int    // tasks that were announced
	Findings int    // of the audit
	Count    int    // items of this page
	Kind     Kind   // of the task
	Outcome  string // how a task with [Done] ended: an outcome of the rules, or "skipped"
	Reason   string // the rule that ended it
	Reopens  bool   // the page follows the marker of a failure
	Label    string // of the task, for people; clipped to 2,000 bytes

	// Partitions and Searches say, by job, how many of the announced tasks are of which kind.
	Partitions, Searches map[string]int

	after uint64 // sequence of the page before; 0: none
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

// Ends reports whether the task is over.
func (h Head) Ends() bool { return h.State == Done || h.State == Failed }

// The headers. Those of JetStream begin with "Nats-".
const (
	headerState    = "Stopwhen-State"
	headerAttempt  = "Stopwhen-Attempt"
	headerPage     = "Stopwhen-Page"
	headerParts    = "Stopwhen-Parts"
	headerDelivery = "Stopwhen-Delivery"
	headerPages    = "Stopwhen-Pages"
	headerItems    = "Stopwhen-Items"
	headerBytes    = "Stopwhen-Bytes"
	headerChildren = "Stopwhen-Children"
	headerFindings = "Stopwhen-Findings"
	headerCount    = "Stopwhen-Count"
	headerKind     = "Stopwhen-Kind"
	headerOutcome  = "Stopwhen-Outcome"
	headerReason   = "Stopwhen-Reason"
	headerReopens  = "Stopwhen-Reopens"
	headerLabel    = "Stopwhen-Label"

	headerPartitions = "Stopwhen-Partitions"
	headerSearches   = "Stopwhen-Searches"

	headerAfter   = "Stopwhen-After"
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
	to.Set(headerState, string(h.State))
	to.Set(headerAttempt, h.Attempt)
	for _, f := range h.numbers() {
		if n := f.get(); n != 0 {
			to.Set(f.header, strconv.FormatInt(n, 10))
		}
	}
	if h.Reopens {
		to.Set(headerReopens, "1")
	}
	for _, f := range h.texts() {
		if *f.value != "" {
			to.Set(f.header, url.PathEscape(clip(*f.value, labelBytes)))
		}
	}
	for header, counts := range map[string]map[string]int{headerPartitions: h.Partitions, headerSearches: h.Searches} {
		if len(counts) > 0 {
			to.Set(header, writeCounts(counts))
		}
	}
	if h.after != 0 {
		to.Set(headerAfter, strconv.FormatUint(h.after, 10))
	}
}

// A number is a member of a Head, as its header and its value.
type number struct {
	header string
	small  *int
	large  *int64
}

func (n number) get() int64 {
	if n.small != nil {
		return int64(*n.small)
	}
	return *n.large
}

func (n number) set(value int64) {
	if n.small != nil {
		*n.small = int(value)
		return
	}
	*n.large = value
}

func (h *Head) numbers() []number {
	return []number{
		{headerPage, &h.Page, nil}, {headerParts, &h.Parts, nil}, {headerDelivery, &h.Delivery, nil}, {headerPages, &h.Pages, nil},
		{headerItems, &h.Items, nil}, {headerBytes, nil, &h.Bytes}, {headerChildren, &h.Children, nil}, {headerFindings, &h.Findings, nil},
		{headerCount, &h.Count, nil},
	}
}

// A text is a member of a Head that is a text, as its header and its value.
type text struct {
	header string
	value  *string
}

func (h *Head) texts() []text {
	return []text{{headerLabel, &h.Label}, {headerKind, (*string)(&h.Kind)}, {headerOutcome, &h.Outcome}, {headerReason, &h.Reason}}
}

// readHead is the inverse of write.
func readHead(from nats.Header) (Head, error) {
	h := Head{State: State(from.Get(headerState)), Attempt: from.Get(headerAttempt), Reopens: from.Get(headerReopens) != ""}
	if h.State != More && !h.Ends() {
		return Head{}, fmt.Errorf("header %s: unknown state %q", headerState, h.State)
	}
	for _, f := range h.numbers() {
		text := from.Get(f.header)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return Head{}, fmt.Errorf("header %s: %q is not a number", f.header, text)
		}
		f.set(n)
	}
	var err error
	for _, f := range h.texts() {
		if *f.value, err = url.PathUnescape(from.Get(f.header)); err != nil {
			return Head{}, fmt.Errorf("header %s: %w", f.header, err)
		}
	}
	if h.Partitions, err = readCounts(from, headerPartitions); err != nil {
		return Head{}, err
	}
	if h.Searches, err = readCounts(from, headerSearches); err != nil {
		return Head{}, err
	}
	if text := from.Get(headerAfter); text != "" {
		if h.after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return Head{}, fmt.Errorf("header %s: %q is not a sequence", headerAfter, text)
		}
	}
	return h, nil
}

// writeCounts returns numbers by job as a header: "lines:3,orders:12".
func writeCounts(counts map[string]int) string {
	var parts []string
	for _, job := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, escape(job)+":"+strconv.Itoa(counts[job]))
	}
	return strings.Join(parts, ",")
}

// readCounts is the inverse of writeCounts. It returns nil for a header that is missing.
func readCounts(from nats.Header, header string) (map[string]int, error) {
	text := from.Get(header)
	if text == "" {
		return nil, nil
	}
	counts := map[string]int{}
	for part := range strings.SplitSeq(text, ",") {
		token, number, _ := strings.Cut(part, ":")
		job, ok := unescape(token)
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 0 {
			return nil, fmt.Errorf("header %s: %q is not a number for a job", header, part)
		}
		counts[job] = n
	}
	return counts, nil
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
