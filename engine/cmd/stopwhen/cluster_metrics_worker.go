package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// workerMetrics are the metrics of a worker. The events of the engine give the metrics of requests and
// pages, and the monitor of the worker gives the others. No label has a value from a configuration or an
// API.
type workerMetrics struct {
	monitor cluster.Monitor
	conn    atomic.Pointer[nats.Conn] // nil until the worker has connected

	requests              *prometheus.CounterVec
	duration              prometheus.Histogram
	pages, items, retries prometheus.Counter
	waits, waited         *prometheus.CounterVec
}

func newWorkerMetrics() *workerMetrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vector := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	return &workerMetrics{
		requests: vector("stopwhen_requests_total", "Requests to APIs, by the class of the response.", "status"),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "stopwhen_request_duration_seconds", Help: "Time from a request to the end of its response.",
			Buckets: []float64{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}),
		pages:   counter("stopwhen_pages_total", "Pages that were stored."),
		items:   counter("stopwhen_items_total", "Items of the pages that were stored."),
		retries: counter("stopwhen_retries_total", "Requests that were made again."),
		waits:   vector("stopwhen_waits_total", "Waits before requests, by reason.", "reason"),
		waited:  vector("stopwhen_wait_seconds_total", "Time of the waits before requests, by reason.", "reason"),
	}
}

// collectors returns all metrics.
func (m *workerMetrics) collectors() []prometheus.Collector {
	type state = cluster.WorkerState
	collectors := []prometheus.Collector{m.requests, m.duration, m.pages, m.items, m.retries, m.waits, m.waited}
	for _, c := range []struct {
		name, help, label, value string
		of                       func(state) int
	}{
		{"stopwhen_tasks_ended_total", "Tasks that ended here.", "state", "done", func(s state) int { return s.Done }},
		{"stopwhen_tasks_ended_total", "Tasks that ended here.", "state", "failed", func(s state) int { return s.Failed }},
		{"stopwhen_tasks_returned_total", "Tasks that were queued again.", "reason", "failure", func(s state) int { return s.PutBack }},
		{"stopwhen_tasks_returned_total", "Tasks that were queued again.", "reason", "stop", func(s state) int { return s.Returned }},
		{"stopwhen_lease_renewals_total", "Renewals of the leases of tasks.", "result", "ok", func(s state) int { return s.Renewals }},
		{"stopwhen_lease_renewals_total", "Renewals of the leases of tasks.", "result", "error", func(s state) int { return s.FailedRenewals }},
	} {
		collectors = append(collectors, prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: c.name, Help: c.help, ConstLabels: prometheus.Labels{c.label: c.value}},
			func() float64 { return float64(c.of(m.monitor.State())) },
		))
	}
	for _, g := range []struct {
		name, help string
		of         func(state) int
	}{
		{"stopwhen_slots", "Tasks that can run at the same time.", func(s state) int { return s.Slots }},
		{"stopwhen_tasks_running", "Tasks that run.", func(s state) int { return s.Running }},
	} {
		collectors = append(collectors, prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: g.name, Help: g.help}, func() float64 { return float64(g.of(m.monitor.State())) },
		))
	}
	return collectors
}

// option returns the option that lets an engine count its requests and pages.
func (m *workerMetrics) option() engine.Option {
	return engine.WithObserver(m, engine.EventRequest, engine.EventRetry, engine.EventWait, engine.EventPage)
}

// Observe counts an event.
func (m *workerMetrics) Observe(_ context.Context, e engine.Event) {
	switch e.Kind {
	case engine.EventRequest:
		m.requests.WithLabelValues(statusClass(e.Exchange.Status)).Inc()
		m.duration.Observe(e.Exchange.Duration.Seconds())
	case engine.EventRetry:
		m.retries.Inc()
		m.wait("retry", e.Exchange.Duration)
	case engine.EventWait:
		m.wait(waitReason(e.Exchange.Source), e.Exchange.Duration)
	case engine.EventPage:
		m.pages.Inc()
		m.items.Add(float64(e.Record.Count))
	}
}

func (m *workerMetrics) wait(reason string, d time.Duration) {
	m.waits.WithLabelValues(reason).Inc()
	m.waited.WithLabelValues(reason).Add(d.Seconds())
}

// statusClass returns a label for the status of a response, since an API can invent many statuses.
func statusClass(status int) string {
	if status == 0 {
		return "none"
	}
	return fmt.Sprintf("%dxx", min(max(status/100, 1), 9))
}

// waitReason returns a label for the source of a wait, which may be the name of a header.
func waitReason(source string) string {
	switch source {
	case transport.SourcePerSecond:
		return "rate"
	case runtime.SourceAfter:
		return "after"
	}
	return "api"
}

// health returns why the worker does not work, or nil.
func (m *workerMetrics) health() error {
	const patience = 2 * time.Second
	conn := m.conn.Load()
	switch {
	case conn == nil:
		return errors.New("the worker has not connected to NATS yet")
	case !conn.IsConnected():
		return errors.New("the connection to NATS is lost")
	}
	if err := conn.FlushTimeout(patience); err != nil {
		return fmt.Errorf("NATS does not answer: %w", err)
	}
	if problem := m.monitor.State().Problem; problem != "" {
		return errors.New(problem)
	}
	return nil
}
