package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A rootProgress says how far the tree of tasks of a root job has been collected.
type rootProgress struct {
	root  string
	tally *partition.Tally

	position
	resumed uint64 // sequence up to which pages have been added; 0 in a sorted collection
}

// A position records which pages of a tree have been collected, and how many tasks are known.
type position struct {
	Sequence uint64     `json:"sequence,omitempty"` // sequence of the last page
	Stored   time.Time  `json:"stored,omitzero"`    // time when that page was stored
	Path     []pathStep `json:"path,omitempty"`     // in a sorted collection, the path to the last page
	Tasks    int        `json:"tasks"`              // number of known tasks
	Ended    int        `json:"ended"`              // number of tasks that have ended, including failed ones
	Failed   int        `json:"failed,omitempty"`

	// Open is the sum of the digests of the known tasks that have not ended. After a server was restored from
	// a copy, a task may end before the page that announces it is stored again, so that numbers alone do not
	// tell whether all tasks have ended.
	Open uint64 `json:"open,omitempty"`

	Passed map[string]counts `json:"passed,omitempty"` // counts that the sink has received, by job
}

// addOpen adds a task to the sum of the open tasks.
func (p *position) addOpen(task string) { p.Open += digestOf(task) }

// removeOpen removes a task that has ended from the sum of the open tasks.
func (p *position) removeOpen(task string) { p.Open -= digestOf(task) }

func digestOf(task string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(task))
	return h.Sum64()
}

// allEnded reports whether all known tasks have ended.
func (p *position) allEnded() bool { return p.Ended == p.Tasks && p.Open == 0 }

// complete reports whether all tasks have ended and no task has failed.
func (p *position) complete() bool { return p.allEnded() && p.Failed == 0 }

// counts records how much of a job the sink has received.
type counts struct {
	Pages    int `json:"pages"`
	Items    int `json:"items"`
	Filtered int `json:"filtered,omitempty"`
	Bytes    int `json:"bytes"`
}

// A pathStep is a task on the path of a sorted collection, with the sequence of its last page.
type pathStep struct {
	Job      string `json:"job"`
	Task     string `json:"task"`
	Sequence uint64 `json:"sequence"`
}

// A collectCheckpoint is the checkpoint of a collection for one of the jobs of the run.
type collectCheckpoint struct {
	Version int    `json:"version"` // same key as in checkpoints of other runs
	Done    bool   `json:"done,omitempty"`
	Run     string `json:"run"`

	Submission string    `json:"submission"` // see record.Run
	Created    time.Time `json:"created"`    // creation time of the run's stream, to which the sequences belong

	Sorted  bool            `json:"sorted,omitempty"`
	Release string          `json:"release,omitempty"` // ID of a collection that releases pages
	At      position        `json:"at"`
	Tally   json.RawMessage `json:"tally"`
}

const checkpointVersion = 1

// resume restores the checkpoints of an earlier collection.
func (c *collection) resume(ctx context.Context) error {
	c.roots = c.engine.Info().Roots
	tallies, saved := c.engine.Distribution().Tallies(), c.engine.Distribution().Checkpoints()
	tasks := c.engine.Distribution().RootTasks()
	c.whole = len(tasks) == 1 && tasks[0].Job == ""
	c.continued = store.Mark{Created: c.created}
	for i, root := range c.roots {
		t := &rootProgress{root: root, tally: tallies[root], position: position{Tasks: 1}}
		t.addOpen(tasks[min(i, len(tasks)-1)].ID)
		c.trees = append(c.trees, t)
		if saved[root] == nil {
			continue
		}
		if err := c.restore(t, saved[root]); err != nil {
			return runtime.UnusableCheckpoint("", fmt.Errorf("job %q: %w", root, err))
		}
		if t.Sequence > c.continued.Sequence {
			c.continued.Sequence, c.continued.Stored = t.Sequence, t.Stored
		}
	}
	if c.continued.Sequence > 0 {
		if err := c.store.Check(ctx, c.run.ID(), c.continued); err != nil {
			return err
		}
	}
	if c.whole && c.options.Sorted {
		c.sharePath()
	}
	return nil
}

// restore continues a tree from its checkpoint.
func (c *collection) restore(t *rootProgress, saved json.RawMessage) error {
	var from collectCheckpoint
	if err := value.Unmarshal(saved, &from); err != nil {
		return err
	}
	switch {
	case from.Version != checkpointVersion || from.Run != c.run.ID():
		return fmt.Errorf("it does not belong to a collection of run %s", c.run.ID())
	case from.Submission != c.run.record.Submission:
		return fmt.Errorf("it belongs to an earlier run %s, which was deleted", c.run.ID())
	case !from.Created.Equal(c.created):
		return fmt.Errorf("the pages of run %s have been deleted since, and others are stored", c.run.ID())
	case from.Sorted != c.options.Sorted:
		return errors.New("it belongs to a collection in another order")
	}
	t.position, c.releases = from.At, cmp.Or(from.Release, c.releases)
	if !c.options.Sorted { // a sorted collection does not read the pages by sequence
		t.resumed = from.At.Sequence
	}
	return t.tally.Restore(from.Tally)
}

// sharePath gives all trees the most advanced position, because one task runs all of them in
// sequence.
func (c *collection) sharePath() {
	farthest := slices.MaxFunc(c.trees, func(a, b *rootProgress) int { return cmp.Compare(a.last(), b.last()) })
	for _, t := range c.trees {
		passed := t.Passed
		t.position, t.Passed = farthest.position, passed
	}
}

// last returns the sequence of the last page of a sorted collection.
func (t *rootProgress) last() uint64 {
	if len(t.Path) == 0 {
		return 0
	}
	return t.Path[len(t.Path)-1].Sequence
}

// checkpoint returns the checkpoint of a tree. done says whether nothing is left to collect.
func (c *collection) checkpoint(t *rootProgress, done bool) (json.RawMessage, error) {
	tally, err := t.tally.Save()
	if err != nil {
		return nil, err
	}
	return json.Marshal(collectCheckpoint{
		Version: checkpointVersion, Done: done, Run: c.run.ID(), Submission: c.run.record.Submission, Created: c.created,
		Sorted: c.options.Sorted, Release: c.releases, At: t.position, Tally: tally,
	})
}

// treesOf returns the trees of a task.
func (c *collection) treesOf(task string) []*rootProgress {
	if c.whole {
		return c.trees
	}
	if i, ok := partition.RootOf(task); ok && i < len(c.trees) {
		return c.trees[i : i+1]
	}
	return nil
}
