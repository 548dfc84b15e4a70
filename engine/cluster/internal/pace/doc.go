// Package pace keeps one pace for the requests of many machines, over a key-value bucket of
// NATS JetStream: a [Schedule] has the rate of an origin, and what the API has said about
// when to retry.
//
// Times in the bucket are the server's. Each process measures how far its own clock is from
// them, so the clocks of machines may differ. Between measurements it uses its monotonic
// clock, so they may be set, too.
//
// Read pace.go first (the bucket, and what happens while it is out of reach), then slot.go
// (the rule for the next free time), schedule.go (requests receive their times), hold.go,
// claim.go (which request goes first) and watch.go.
package pace
