package runtime

import (
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// tools are what a job needs to read its pages, whatever the partition. The partitions of a
// tree that run one after another use the same.
type tools struct {
	machine    compile.Machine
	reader     *document.Reader
	head       []byte                     // first bytes of the last body, for messages
	warn       func(code, message string) // of the reader
	buffers    [2]*spool.Buffer           // of this page's body and of the last one's, alternating
	converted  [2]*spool.Buffer           // the same, of the bodies that were converted to JSON
	watches    []compile.Watch
	decisives  []compile.Read
	readsItems bool // the next request
}

func newTools(l Loop, job *compile.Job) *tools {
	t := &tools{
		buffers: [2]*spool.Buffer{{}, {}}, converted: [2]*spool.Buffer{{}, {}},
		watches: job.Watches(), decisives: job.Decisive(), readsItems: job.NextReads("items"),
	}
	t.reader = document.NewReader(document.Options{
		Paths: job.Needs.Body, Items: job.Needs.Items, Decode: job.Needs.Past, Ignore: job.Set.Ignore, DataField: job.Set.Job.DataField,
		Members: job.Shape.ReadsKey(), Switches: rules.SwitchesOf(job.Set.Dialect),
		MaxDepth: l.MaxDepth, MaxItems: l.MaxItems, MaxValueBytes: l.MaxValueBytes, Warn: func(code, message string) { t.warn(code, message) },
	})
	return t
}

// A toolbox holds tools that are not in use, by job. The nil toolbox holds none.
type toolbox struct {
	mu   sync.Mutex
	free map[*compile.Job][]*tools
}

func newToolbox() *toolbox { return &toolbox{free: map[*compile.Job][]*tools{}} }

// take returns tools for a job.
func (b *toolbox) take(l Loop, job *compile.Job) *tools {
	if b == nil {
		return newTools(l, job)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.free[job]
	if len(free) == 0 {
		return newTools(l, job)
	}
	t := free[len(free)-1]
	b.free[job] = free[:len(free)-1]
	return t
}

// keptBytes is how large a buffer may be that is kept for the next partition.
const keptBytes = 64 << 10

// put takes tools back. What was read with them is no longer valid.
func (b *toolbox) put(job *compile.Job, t *tools) {
	t.reader.Close()
	for _, buffer := range slices.Concat(t.buffers[:], t.converted[:]) {
		buffer.Trim(keptBytes)
	}
	if b == nil {
		return
	}
	t.warn, t.machine.Observe, t.machine.Note, t.machine.Context = nil, nil, nil, nil
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free[job] = append(b.free[job], t)
}
