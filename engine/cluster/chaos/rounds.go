//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// playAll plays rounds, and prints what has happened.
func playAll(rounds int, seed uint64, control string, keep bool) error {
	began, total, failed := time.Now(), map[string]int{}, 0
	made, repeated := 0, 0
	for i := range rounds {
		r, err := playOne(seed+uint64(i), control, keep, total)
		if err != nil {
			failed++
		}
		if r != nil {
			a, b := r.api.summary()
			made, repeated = made+a, repeated+b
		}
	}
	fmt.Printf("%d rounds in %s, %d failed\n", rounds, time.Since(began).Round(time.Second), failed)
	fmt.Printf("%8d requests, of which %d were made before\n", made, repeated)
	for _, event := range slices.Sorted(maps.Keys(total)) {
		fmt.Printf("%8d %s\n", total[event], event)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d rounds failed", failed, rounds)
	}
	return nil
}

// playOne plays one round, and adds its events to a total.
func playOne(seed uint64, control string, keep bool, total map[string]int) (*round, error) {
	dir, err := os.MkdirTemp("", "stopwhen-chaos-")
	if err != nil {
		return nil, err
	}
	r, err := newRound(draw(seed), control, dir)
	if err != nil {
		return nil, err
	}
	err = r.play(context.Background())
	r.tell(os.Stdout, err)
	if err != nil && keep {
		fmt.Printf("  %+v\n  its files are in %s\n", r.plan, dir)
	} else {
		defer os.RemoveAll(dir)
	}
	text, _ := os.ReadFile(r.counts.path) // none: nothing has happened
	for event := range bytes.Lines(text) {
		total[string(bytes.TrimSpace(event))]++
	}
	return r, err
}
