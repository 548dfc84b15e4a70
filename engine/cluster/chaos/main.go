//go:build unix

// Command chaos proves that a run on many machines extracts every item exactly once, by
// breaking everything that takes part in it:
//
//	go run ./engine/cluster/chaos -rounds 100
//
// Each round draws a configuration and an API, which this process serves. A server, some
// workers and a collector are processes of their own. While they work, workers are killed,
// frozen, told to stop and added; they lose connections at the worst moments, and tasks are
// delivered twice; the server is killed and restarted; the collector is killed and resumed;
// the run is submitted again, and messages of tasks that have ended are queued once more.
// Then what was collected is compared with a run on one machine.
//
// A round is drawn from a number, which is printed. -seed repeats it, though processes and
// the network do not repeat themselves.
//
// -control breaks a rule that the promise rests on, and the check must fail.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	rounds := flag.Int("rounds", 10, "how many rounds are played")
	seed := flag.Uint64("seed", uint64(time.Now().Unix()), "the number that the first round is drawn from; the next round has the next one")
	control := flag.String("control", "", "break a rule, so that the check fails: "+strings.Join(controls, ", "))
	keep := flag.Bool("keep", false, "keep the files of rounds that have failed")
	flag.Parse()
	if err := run(*rounds, *seed, *control, *keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rounds int, seed uint64, control string, keep bool) error {
	if err := checkControl(control); err != nil {
		return err
	}
	return playAll(rounds, seed, control, keep)
}
