package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// hubMetrics are the metrics of a hub, read from the server when they are collected. The values of the
// label account come from the configuration of the server.
type hubMetrics struct {
	server *hub.Server

	connections, stored, limit, runs, tasks *prometheus.Desc
}

func newHubMetrics(server *hub.Server) *hubMetrics {
	return &hubMetrics{
		server:      server,
		connections: prometheus.NewDesc("stopwhen_hub_connections", "Clients that are connected.", nil, nil),
		stored:      prometheus.NewDesc("stopwhen_hub_stored_bytes", "Size of what is stored on the disk.", nil, nil),
		limit:       prometheus.NewDesc("stopwhen_hub_stored_limit_bytes", "Maximum of what is stored on the disk.", nil, nil),
		runs:        prometheus.NewDesc("stopwhen_hub_runs", "Runs that have not been deleted.", []string{"account"}, nil),
		tasks:       prometheus.NewDesc("stopwhen_hub_tasks", "Queued tasks.", []string{"account", "state"}, nil),
	}
}

// Describe sends the descriptions of the metrics.
func (m *hubMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.connections, m.stored, m.limit, m.runs, m.tasks} {
		to <- d
	}
}

// Collect sends the metrics.
func (m *hubMetrics) Collect(to chan<- prometheus.Metric) {
	u, err := m.server.Usage()
	if err != nil {
		to <- prometheus.NewInvalidMetric(m.connections, err)
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(m.connections, float64(u.Connections))
	gauge(m.stored, float64(u.Stored))
	gauge(m.limit, float64(u.Limit))
	for _, a := range u.Accounts {
		gauge(m.runs, float64(a.Runs), a.Name)
		gauge(m.tasks, float64(a.Waiting), a.Name, "waiting")
		gauge(m.tasks, float64(a.Running), a.Name, "running")
	}
}
