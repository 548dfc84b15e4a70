package cluster

import "github.com/stopwhen/stopwhen/engine/cluster/internal/store"

// LosingAcks returns options with which some acknowledgements of pages get lost.
func LosingAcks(o Options, lose func() bool) Options {
	o.lose = func(store.Key) bool { return lose() }
	return o
}
