// Package pace coordinates the request rate of many machines through a key-value bucket of NATS
// JetStream. A [Schedule] holds the rate of an origin and the pauses that the API has asked for.
//
// The rate of an origin is represented by one time in the bucket, the next free one, which
// processes advance by compare-and-set. Assigning a share of the rate to each running task would
// need no such messages, but it is exact only while no task begins or ends: when a worker joins,
// the total exceeds the rate until the other workers have heard of it, and an API may respond with
// a penalty for all. Moreover, a task that makes no requests would withhold its share from the
// others.
//
// Times in the bucket are the server's. Each process measures the offset of its own clock, so the
// clocks of machines may differ. Between measurements it uses its monotonic clock, so its wall
// clock may be set.
//
// Read pace.go first (the bucket, and waiting while it is out of reach), then schedule.go (how the
// next free time is computed and given to requests) and hold.go (pauses that the API has asked for,
// and which request goes first afterwards). clock.go measures the server's time.
package pace
