package cluster

import (
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// LosingAcks returns options with which some acknowledgements of pages get lost.
func LosingAcks(o Options, lose func() bool) Options {
	o.lose = func(store.Key) bool { return lose() }
	return o
}

// Impatient returns options with which a worker that cannot run a run tries again soon.
func Impatient(o Options) Options {
	o.pause = 10 * time.Millisecond
	return o
}
