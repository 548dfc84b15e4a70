// Package pace keeps one pace for the requests of many machines, over a key-value bucket of
// NATS JetStream: a [Schedule] has the rate of an origin, and what the API has said about
// when to retry.
//
// The rate of an origin is one time in the bucket, the next free one, which processes move on
// by compare-and-set. A share of the rate for each running task would need no such messages,
// but it is exact only while no task begins or ends: when a worker joins, the others exceed
// the rate together with it until they have heard of it, and an API may answer that with a
// penalty for all. And a task that makes no request would keep its share from the others.
//
// Times in the bucket are the server's. Each process measures how far its own clock is from
// them, so the clocks of machines may differ. Between measurements it uses its monotonic
// clock, so they may be set, too.
//
// Read pace.go first (the bucket, and waiting while it is out of reach), then schedule.go (the
// rule for the next free time, and how requests receive their times) and hold.go (pauses that
// the API has asked for, and which request goes first afterwards).
package pace
