// Package status defines the types that describe how far runs on many machines are. It does not
// depend on a server: package engine/cluster fills the types in, and package engine/report prints
// them.
package status

import (
	"time"

	"github.com/stopwhen/stopwhen/rules/remedy"
)

// Version is the version of the JSON of a [Run], an [Overview] and a [Partition]. It changes when
// a key is removed or changes its meaning, but not when a key is added.
const Version = 1

// A Phase is the state of a run.
type Phase string

// Phases of a run.
const (
	Running   Phase = "running"   // some tasks have not ended
	Cancelled Phase = "cancelled" // it was cancelled; submitting it again continues it
	Complete  Phase = "complete"  // all partitions have ended successfully
	Failed    Phase = "failed"    // all partitions have ended, and some have failed
)

// A State is the state of a partition.
type State string

// States of a partition.
const (
	StateWaiting State = "waiting" // it is queued: for the first time, again after a failure, or handed back after some pages
	StateRunning State = "running" // a worker runs it
	StateDone    State = "done"
	StateFailed  State = "failed" // it was set aside; a retry continues it
)

// An Overview lists all runs on a server.
type Overview struct {
	Version int       `json:"version" doc:"of this JSON: 1"`
	At      time.Time `json:"at" doc:"time of this status"`
	Runs    []Summary `json:"runs" doc:"the latest first"`
	Workers Workers   `json:"workers" doc:"of all runs"`

	Unreadable []Unreadable `json:"unreadable,omitempty" doc:"runs whose records this program cannot read; absent if there are none"`
}

// An Unreadable is a run whose record cannot be read.
type Unreadable struct {
	Run     string `json:"run" doc:"its id"`
	Problem string `json:"problem" doc:"why, and what to do"`
}

// A Summary describes in short how far a run is.
type Summary struct {
	Run     string     `json:"run" doc:"its id"`
	Phase   Phase      `json:"phase" doc:"running, cancelled, complete or failed"`
	Config  string     `json:"config" doc:"name of the configuration"`
	Program string     `json:"program,omitempty" doc:"program that submitted the run"`
	Address string     `json:"address,omitempty" doc:"of the API: its origin; absent if only the workers know it"`
	Started time.Time  `json:"started" doc:"when it was submitted"`
	Last    *time.Time `json:"last,omitempty" doc:"when something was stored last: a page, or the end of a partition; absent if nothing is"`
	Total   Counts     `json:"total" doc:"of all jobs"`
	Growing bool       `json:"growing" doc:"more partitions may be found"`
	Stored  Stored     `json:"stored" doc:"space that the run takes on the server"`

	FailedSearches int `json:"failedSearches,omitempty" doc:"searches for the values of a variable that have failed; they are not partitions"`
}

// A Run describes how far a run is. The lengths of its lists are limited, regardless of the number
// of partitions.
type Run struct {
	Version int       `json:"version" doc:"of this JSON: 1"`
	At      time.Time `json:"at" doc:"time of this status, by the clock of the server, like all times but started"`
	Summary
	Warnings []Warning   `json:"warnings" doc:"problems that need attention"`
	Rates    Rates       `json:"rates" doc:"amounts stored per second"`
	Jobs     []Job       `json:"jobs" doc:"parents before the jobs for their items"`
	Failed   []Partition `json:"failed" doc:"partitions that failed and are not queued again, at most 100"`
	Running  []Partition `json:"running" doc:"partitions that workers are running, the latest pages first, at most 20"`
	Findings []Finding   `json:"findings" doc:"of the audit, each about all partitions of a job that have it"`
	Workers  Workers     `json:"workers" doc:"of all runs"`
}

// Counts are the numbers of partitions by state. Each known partition is either done, failed,
// running or waiting.
type Counts struct {
	Partitions int   `json:"partitions" doc:"number of known partitions; more may be found"`
	Done       int   `json:"done" doc:"number of partitions that have ended, including skipped ones"`
	Failed     int   `json:"failed" doc:"number of partitions that have failed and are not queued again"`
	Running    int   `json:"running" doc:"number of partitions that workers are running"`
	Waiting    int   `json:"waiting" doc:"number of queued partitions"`
	Skipped    int   `json:"skipped" doc:"number of partitions that failed, with onPartitionError skip; they count as done"`
	Suspect    int   `json:"suspect" doc:"number of partitions with findings, whatever their state"`
	Pages      int   `json:"pages" doc:"number of stored pages"`
	Items      int   `json:"items" doc:"number of stored items"`
	Bytes      int64 `json:"bytes" doc:"size of the stored pages, as minified JSON"`
	Findings   int   `json:"findings" doc:"number of findings of the audit"`
}

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	c.Partitions, c.Done, c.Failed = c.Partitions+o.Partitions, c.Done+o.Done, c.Failed+o.Failed
	c.Running, c.Waiting = c.Running+o.Running, c.Waiting+o.Waiting
	c.Skipped, c.Suspect, c.Findings = c.Skipped+o.Skipped, c.Suspect+o.Suspect, c.Findings+o.Findings
	c.Pages, c.Items, c.Bytes = c.Pages+o.Pages, c.Items+o.Items, c.Bytes+o.Bytes
}

// Open returns the number of partitions that have not ended.
func (c Counts) Open() int { return c.Running + c.Waiting }

// A Job describes how far the partitions of a job are. A job without variables has one partition.
type Job struct {
	Job     string `json:"job" doc:"its id; empty: all jobs of the run, which one worker runs because of limits.partitions"`
	Counts  Counts `json:"counts"`
	Growing bool   `json:"growing" doc:"more partitions may be found"`
	Ends    []End  `json:"ends" doc:"how its partitions ended, the most frequent first"`
}

// An End is the number of partitions that ended in the same way.
type End struct {
	Outcome    string `json:"outcome" doc:"complete, limited, guarded, failed or skipped; partial if some partitions of all jobs were skipped"`
	Reason     string `json:"reason,omitempty" doc:"id of the rule that ended them; of those that were skipped, the class of the error"`
	Partitions int    `json:"partitions"`
	Suspect    int    `json:"suspect" doc:"how many of them have findings"`
}

// Stored is the space that a run takes on the server.
type Stored struct {
	Bytes int64 `json:"bytes" doc:"on the disk of a server"`
	Limit int64 `json:"limit,omitempty" doc:"limit of the run in bytes; absent if the run has no limit of its own"`

	Replicas int `json:"replicas" doc:"number of servers that hold the run"`
}

// Rates are the amounts stored per second.
type Rates struct {
	Overall *Rate `json:"overall,omitempty" doc:"since the run was submitted, up to its last page if it is over"`
	Recent  *Rate `json:"recent,omitempty" doc:"of the last minute or, with many pages, less; absent if the run is over"`

	// SecondsLeft is only known if no more partitions can be found and enough partitions have ended
	// recently.
	SecondsLeft *float64 `json:"secondsLeft,omitempty" doc:"at the rate of the last minute; absent if it cannot be estimated"`
}

// A Rate is the amount stored in a span of time.
type Rate struct {
	Seconds    float64 `json:"seconds" doc:"the span of time"`
	Pages      float64 `json:"pages" doc:"per second"`
	Items      float64 `json:"items" doc:"per second"`
	Partitions float64 `json:"partitions" doc:"ended partitions per second"`
}

// A Warning describes a problem that a user should act on.
type Warning struct {
	ID      string `json:"id" doc:"failed, search, full, lost, noWorkers, silent or problem"`
	Message string `json:"message" doc:"one sentence without its full stop"`
	Hint    string `json:"hint" doc:"what to do"`

	Remedy remedy.Remedy `json:"-"` // the hint, for a front end with its own wording
}

// A Partition describes how far a partition is.
type Partition struct {
	Job       string     `json:"job"`
	Task      string     `json:"task" doc:"the id that stopwhen retry takes"`
	Partition string     `json:"partition,omitempty" doc:"the values of its variables"`
	Search    bool       `json:"search,omitempty" doc:"whether it finds the values of a variable instead of being a partition"`
	State     State      `json:"state" doc:"waiting, running, done or failed"`
	Outcome   string     `json:"outcome,omitempty" doc:"of a partition that is done: as of ends"`
	Reason    string     `json:"reason,omitempty" doc:"of a partition that is done: id of the rule that ended it, or the class of the error"`
	Pages     int        `json:"pages"`
	Items     int        `json:"items"`
	Bytes     int64      `json:"bytes" doc:"of its pages, as minified JSON"`
	Findings  int        `json:"findings"`
	Last      *time.Time `json:"last,omitempty" doc:"time at which the last page or the end was stored; absent if nothing is stored"`
	Worker    string     `json:"worker,omitempty" doc:"name of the worker that runs the partition"`
	Error     *Error     `json:"error,omitempty" doc:"of a partition that failed, also if it is queued again"`
	Queued    bool       `json:"queued,omitempty" doc:"of a partition that waits: it failed, and is queued again"`
}

// An Error describes why a partition failed.
type Error struct {
	Class   string `json:"class" doc:"of the exit status, such as api"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty" doc:"how to fix it"`
}

// A Finding is an audit finding about partitions of a job.
type Finding struct {
	Job        string `json:"job"`
	ID         string `json:"id" doc:"such as audit.token"`
	Partitions int    `json:"partitions" doc:"how many partitions have it, of the first 100 of the run with findings"`
	Partition  string `json:"partition,omitempty" doc:"the first of them"`
	Message    string `json:"message" doc:"about the first of them"`
}

// Workers are the workers that have reported to the server in the last minute.
type Workers struct {
	Count   int      `json:"count"`
	Slots   int      `json:"slots" doc:"how many tasks they can run at the same time"`
	Running int      `json:"running" doc:"tasks that they run; a task is a partition, or finds the values of a variable"`
	List    []Worker `json:"list" doc:"those with problems first, at most 100; without those that were silent before the run was submitted"`
}

// A Worker is a process that runs tasks of all runs.
type Worker struct {
	Name    string    `json:"name"`
	Host    string    `json:"host"`
	Started time.Time `json:"started" doc:"by the clock of its machine"`
	Heard   time.Time `json:"heard" doc:"time of its last report"`
	Silent  bool      `json:"silent" doc:"whether its last report is overdue"`
	Slots   int       `json:"slots" doc:"how many tasks it can run at the same time"`
	Running int       `json:"running" doc:"tasks that it runs, of all runs"`
	Done    int       `json:"done" doc:"tasks that have ended there, of all runs"`
	Problem string    `json:"problem,omitempty" doc:"latest problem in the last minutes"`
}
