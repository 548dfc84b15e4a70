// Package report shows the trace of a run: as tables in a terminal, and as a
// self-contained HTML page.
//
// Read report.go first, which reads the trace, then job.go and partition.go, which gather its pages, and text.go
// and html.go, which show them; timeline.go draws them in time. The other reports have one file for both forms:
// status.go for a run on many machines, import.go and, with stress_text.go, stress.go.
package report
