// Package times has the forms of times, and of lengths of time, in configurations and responses.
//
//	layout.go    the layouts of times: 2026-01-31, 2026-01-31T12:00:00Z and many others
//	duration.go  durations in words: 90s, 2 hours 30 minutes
//	span.go      the lengths of windows, with days and months of the calendar: 7d, 1mo, P1Y
package times
