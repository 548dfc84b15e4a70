//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime"
)

// check compares what was collected with the run on one machine.
func (r *round) check(ctx context.Context, o outcome) error {
	if o.Error != "" {
		return fmt.Errorf("the run failed: %s", o.Error)
	}
	pages, err := os.ReadFile(filepath.Join(r.dir, "collected", "pages"))
	if err != nil {
		return err
	}
	if err := sameItems(byPartition(r.local.text()), byPartition(pages)); err != nil {
		return err
	}
	if err := sameResults(r.results(r.local.result, false), r.results(o.Result, false)); err != nil {
		return err
	}
	if err := r.checkSorted(ctx); err != nil {
		return err
	}
	if len(r.api.wrong) > 0 {
		return fmt.Errorf("%d requests had a wrong secret, the first: %s", len(r.api.wrong), r.api.wrong[0])
	}
	if err := r.checkQueue(ctx); err != nil {
		return err
	}
	return r.checkSecrets(ctx)
}

// sameItems compares the items of partitions.
func sameItems(want, got map[string]string) error {
	for _, partition := range slices.Sorted(maps.Keys(want)) {
		a, b := want[partition], got[partition]
		if strings.HasPrefix(partition, "#"+stats) { // two of them have the same values
			a, b = inAnyOrder(a), inAnyOrder(b)
		}
		if err := sameList(a, b); err != nil {
			return fmt.Errorf("partition %s: %w", partition, err)
		}
	}
	for partition := range got {
		if _, known := want[partition]; !known {
			return fmt.Errorf("partition %s is not one of the run", partition)
		}
	}
	return nil
}

func inAnyOrder(items string) string { return strings.Join(slices.Sorted(strings.Lines(items)), "") }

// sameList says what is wrong with the items of a partition.
func sameList(want, got string) error {
	if want == got {
		return nil
	}
	times := map[string]int{}
	for item := range strings.Lines(want) {
		times[item]++
	}
	for item := range strings.Lines(got) {
		times[item]--
	}
	missing, again := 0, 0
	for _, n := range times {
		missing, again = missing+max(n, 0), again+max(-n, 0)
	}
	if missing+again == 0 {
		return fmt.Errorf("the items are in another order")
	}
	return fmt.Errorf("%d items are missing, %d are there more than once", missing, again)
}

// results returns the results of jobs as texts, without what depends on time, and without
// what depends on the order in which partitions end unless they are sorted.
func (r *round) results(result *engine.Result, sorted bool) []string {
	var all []string
	for _, job := range result.Jobs {
		job.Seconds = 0
		if p := job.Partitions; p != nil && !sorted {
			job.Message, _, _ = strings.Cut(job.Message, ", the first: ")
			partitions := *p
			job.Partitions = &partitions
			job.Findings = slices.SortedFunc(slices.Values(job.Findings), func(a, b engine.Finding) int {
				return strings.Compare(a.Partition+a.ID, b.Partition+b.ID)
			})
			partitions.Failures = slices.SortedFunc(slices.Values(p.Failures), func(a, b runtime.PartitionResult) int {
				return strings.Compare(a.Partition, b.Partition)
			})
		}
		text, err := json.Marshal(job)
		if err != nil {
			return []string{err.Error()}
		}
		all = append(all, strings.NewReplacer("/one/", "/", "/many/", "/").Replace(string(text)))
	}
	return all
}

func sameResults(want, got []string) error {
	if slices.Equal(want, got) {
		return nil
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Errorf("the results differ:\n  one machine: %s\n  many:        %s", want[i], got[i])
		}
	}
	return fmt.Errorf("there are results of %d jobs instead of %d", len(got), len(want))
}

// checkSorted collects the run in the order of one machine.
func (r *round) checkSorted(ctx context.Context) error {
	e, err := r.run.Engine()
	if err != nil {
		return err
	}
	x := &extraction{}
	if x.result, err = r.run.Collect(ctx, e, x.page, cluster.Collecting{Sorted: true}); err != nil {
		return fmt.Errorf("sorted: %w", err)
	}
	if len(x.pages) != len(r.local.pages) {
		return fmt.Errorf("sorted: there are %d pages instead of %d", len(x.pages), len(r.local.pages))
	}
	for i, page := range r.local.pages {
		if x.pages[i] != page {
			return fmt.Errorf("sorted: page %d is another one: %.200q instead of %.200q", i+1, x.pages[i], page)
		}
	}
	if err := sameResults(r.results(r.local.result, true), r.results(x.result, true)); err != nil {
		return fmt.Errorf("sorted: %w", err)
	}
	return nil
}

// checkQueue waits until nothing is queued any more: workers remove what has ended.
func (r *round) checkQueue(ctx context.Context) error {
	for end := time.Now().Add(5 * ackWait); ; {
		n, err := r.queued(ctx)
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d tasks are queued though the run has ended: %s", n, r.queueState(ctx))
		}
		if err := r.tend(); err != nil {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// queueState says what the server knows about the queue.
func (r *round) queueState(ctx context.Context) string {
	s, err := r.js.Stream(ctx, workStreamName)
	if err != nil {
		return err.Error()
	}
	var all []string
	consumers := s.ListConsumers(ctx)
	for c := range consumers.Info() {
		all = append(all, fmt.Sprintf("%s: %d wait, %d run of at most %d, %d were delivered again", c.Name, c.NumPending, c.NumAckPending,
			c.Config.MaxAckPending, c.NumRedelivered))
	}
	return strings.Join(all, "; ")
}

// checkSecrets searches all that is stored for the secrets of workers.
func (r *round) checkSecrets(ctx context.Context) error {
	for _, m := range r.tasks {
		if strings.Contains(string(m.Data), secretOf("")) {
			return fmt.Errorf("a task holds a secret: %s", m.Data)
		}
	}
	names := r.js.StreamNames(ctx)
	for name := range names.Name() {
		if name == workStreamName { // which is empty now
			continue
		}
		s, err := r.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
		if err != nil {
			return err
		}
		for left := s.CachedInfo().State.Msgs; left > 0; left-- {
			m, err := c.Next(jetstream.FetchMaxWait(time.Second))
			if err != nil {
				break // it was removed in the meantime
			}
			if strings.Contains(string(m.Data())+fmt.Sprint(m.Headers()), secretOf("")) {
				return fmt.Errorf("stream %s holds a secret, under %s", name, m.Subject())
			}
		}
	}
	return names.Err()
}

// checkFailures compares the partitions that are set aside with those that the API lets fail.
func (r *round) checkFailures(ctx context.Context) error {
	failed := map[string]bool{}
	err := r.store.Heads(ctx, runID, func(h store.Heading) error {
		if h.State == store.Failed {
			failed[h.Job+"/"+h.Label] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	want := map[string]bool{}
	for list := range r.api.failing {
		want[list] = true
	}
	if r.plan.Limit > 0 { // one task has run everything
		return nil
	}
	for label := range failed {
		if !want[listOf(label)] {
			return fmt.Errorf("partition %s is set aside, and the API has not let it fail", label)
		}
		delete(want, listOf(label))
	}
	if len(want) > 0 {
		return fmt.Errorf("partitions are not set aside that fail: %v", slices.Collect(maps.Keys(want)))
	}
	return nil
}

// listOf returns the address of the list of a partition, given its job and its label, as in
// "lines/account.id=a1, order.id=a1o2, order.open=true".
func listOf(label string) string {
	job, values, _ := strings.Cut(label, "/")
	named := map[string]string{}
	for value := range strings.SplitSeq(values, ", ") {
		name, text, _ := strings.Cut(value, "=")
		named[name] = text
	}
	switch job {
	case lines:
		return job + "/" + named["order.id"]
	case stats:
		return job + "/" + named["area.name"] + "-" + named["kind"]
	}
	return job + "/" + named["account.id"]
}
