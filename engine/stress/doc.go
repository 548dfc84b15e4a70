// Package stress says how a configuration fares against what an API may do. A model of
// the API is derived from the compiled rules of each job: what they send, and what they
// read. The job then runs against this model, in memory and on a clock of its own, once
// for each behaviour of a table, and each run is judged: does the job obtain the list,
// and if not, does it say so? Package engine offers it as Engine.Stress.
package stress
