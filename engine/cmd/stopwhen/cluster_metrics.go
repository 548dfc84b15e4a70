package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A monitored command serves its health and its metrics over HTTP while it runs.
type monitored struct {
	app     *app
	metrics string // value of --metrics; empty if nothing is served
}

func (m *monitored) metricsFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.metrics, "metrics", "", "`HOST:PORT` that serves /metrics for Prometheus and /healthz, without authentication;\n"+
		"without HOST on 127.0.0.1, and port 0 is any free one")
}

// checkMetrics refuses an address that cannot be listened on.
func (m *monitored) checkMetrics() error {
	if m.metrics == "" {
		return nil
	}
	const largest = 65535
	_, port, err := net.SplitHostPort(m.metrics)
	number, notNumber := strconv.Atoi(port)
	if err != nil || notNumber != nil || number < 0 || number > largest {
		return &usageError{fmt.Sprintf("--metrics: want HOST:PORT, such as 127.0.0.1:9464, got %q", m.metrics)}
	}
	return nil
}

// serveMetrics serves the metrics and the health until stop is called, if the user asks for it.
// health returns why the command does not work, or nil.
func (m *monitored) serveMetrics(log *slog.Logger, health func() error, metrics ...prometheus.Collector) (stop func(), err error) {
	if m.metrics == "" {
		return func() {}, nil
	}
	host, port, _ := net.SplitHostPort(m.metrics)
	listener, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, &failure.Error{
			Class: failure.Config, Op: "metrics", Message: fmt.Sprintf("--metrics: cannot listen on %s: %v", m.metrics, err), Err: err,
			Hint: "use another port; port 0 is any free one",
		}
	}
	const patience = 10 * time.Second
	server := &http.Server{Handler: m.metricsHandler(health, metrics), ReadHeaderTimeout: patience, WriteTimeout: patience}
	go func() { _ = server.Serve(listener) }()
	log.Info(fmt.Sprintf("metrics are on http://%s/metrics", listener.Addr()), "event", "metrics_ready", "listen", listener.Addr().String())
	return func() { _ = server.Close() }, nil
}

// metricsHandler answers /metrics and /healthz.
func (m *monitored) metricsHandler(health func() error, all []prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(all...)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "stopwhen_build_info", Help: "1, with the version of the program.",
		ConstLabels: prometheus.Labels{"version": readBuild().Version},
	})
	build.Set(1)
	registry.MustRegister(build)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := health(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, m.app.redactor.Text(m.app.messageOf(err)))
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}
