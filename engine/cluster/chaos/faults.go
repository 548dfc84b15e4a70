//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Controls, each of which breaks a rule that the promise rests on. The check must fail.
const (
	controlBlind   = "no-expectation" // pages are stored whatever the last page of the task is
	controlForget  = "no-announcement"
	controlHurried = "ack-first" // tasks are removed from the queue before they have ended
)

var controls = []string{controlBlind, controlForget, controlHurried}

func checkControl(control string) error {
	if control == "" || slices.Contains(controls, control) {
		return nil
	}
	return fmt.Errorf("there is no control %q; want %s", control, strings.Join(controls, ", "))
}

// A faultPlan says how often a worker suffers what, as probabilities per mille.
type faultPlan struct {
	Seed    uint64
	Kill    int // the process ends, at one of the points between the steps of a page
	Cut     int // the connection breaks at such a point
	Twice   int // a task is given to another worker while this one runs it
	Control string
}

// faults break what goes over the connections of a worker.
type faults struct {
	plan  faultPlan
	count *counts

	mu       sync.Mutex
	random   *rand.Rand
	commits  map[string]bool // where the answers to pages are expected
	sentOnce map[string]bool // attempts and pages
	again    map[string]bool // tasks that were delivered again, and have stored no page since
}

func newFaults(plan faultPlan, count *counts) *faults {
	return &faults{plan: plan, count: count, random: rand.New(rand.NewPCG(plan.Seed, uint64(os.Getpid()))),
		commits: map[string]bool{}, sentOnce: map[string]bool{}, again: map[string]bool{}}
}

// draws reports whether something happens now.
func (f *faults) draws(perMille int) bool { return f.random.IntN(1000) < perMille }

// point is a moment at which the process may end or lose its connection. It reports whether
// the connection is lost.
func (f *faults) point(name string) (lost bool) {
	if f.draws(f.plan.Kill) {
		f.count.add("killed " + name)
		die()
	}
	if f.draws(f.plan.Cut) {
		f.count.add("cut off " + name)
		return true
	}
	return false
}

// die ends the process at once.
func die() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }

// Subjects of the messages that matter.
const (
	pagePrefix = "stopwhen.page."
	workPrefix = "stopwhen.work."
	ackPrefix  = "$JS.ACK.STOPWHEN_WORK."
	expected   = "Nats-Expected-Last-Subject-Sequence"
)

func isCommit(f frame) bool {
	return strings.HasPrefix(f.subject, pagePrefix) && f.header("Stopwhen-State") != ""
}

// taskOf returns the id of the task that a message is about.
func taskOf(f frame) string { return f.subject[strings.LastIndexByte(f.subject, '.')+1:] }

// sending returns what is sent instead of a frame.
func (f *faults) sending(w *wire, out frame) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case strings.HasPrefix(out.subject, pagePrefix):
		return f.sendingPage(w, out)
	case strings.HasPrefix(out.subject, workPrefix):
		if f.point("before a task is queued") {
			_ = w.Close()
		}
		task := taskOf(out)
		if f.plan.Control == controlForget && f.again[task[:max(0, strings.LastIndexByte(task, '-'))]] {
			return out.withHeaders("NATS/1.0\r\n" + expected + ": 999999999\r\n\r\n") // "it is queued already"
		}
	case strings.HasPrefix(out.subject, ackPrefix) && out.reply != "":
		if f.point("before a task is removed") {
			_ = w.Close()
		}
	}
	return out.raw
}

func (f *faults) sendingPage(w *wire, out frame) []byte {
	if f.point("before a page") {
		_ = w.Close()
	}
	if isCommit(out) {
		page := out.header("Stopwhen-Attempt") + " " + out.header("Stopwhen-Page")
		if f.sentOnce[page] {
			f.count.add("page sent again")
		}
		f.sentOnce[page] = true
		f.commits[out.reply] = true
		delete(f.again, taskOf(out))
	}
	if f.plan.Control == controlBlind {
		value := out.header(expected)
		return out.withHeaders(strings.Replace(out.headers, expected+": "+value+"\r\n", "", 1))
	}
	return out.raw
}

// sent is called after a frame was sent.
func (f *faults) sent(w *wire, out frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(out.subject, workPrefix) && f.point("after a task was queued") {
		_ = w.Close()
	}
}

// receiving reports whether a frame reaches the client; otherwise the connection breaks.
func (f *faults) receiving(w *wire, in frame) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasPrefix(in.reply, ackPrefix) {
		f.delivered(w, in)
		return true
	}
	if !f.commits[in.subject] {
		return true
	}
	delete(f.commits, in.subject)
	if strings.Contains(string(in.body), `"err_code":10071`) {
		f.count.add("stale page refused")
		return true
	}
	if strings.Contains(string(in.body), `"error"`) {
		return true
	}
	if f.point("after a page was stored") {
		f.count.add("acknowledgement lost")
		return false
	}
	return true
}

// delivered breaks the delivery of a task.
func (f *faults) delivered(w *wire, in frame) {
	const deliveries = 4 // the index of their number in the subject of the acknowledgement
	if parts := strings.Split(in.reply, "."); parts[deliveries] != "1" {
		f.again[taskOf(in)] = true
		f.count.add("redelivery")
	}
	if f.plan.Control == controlHurried {
		go w.publish(in.reply, "+ACK")
	}
	if f.draws(f.plan.Twice) {
		f.count.add("delivered twice")
		go w.publish(in.reply, "-NAK")
	}
}
