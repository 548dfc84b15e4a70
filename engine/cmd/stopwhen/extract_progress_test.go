package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

func TestTheProgressLineFitsTheTerminal(t *testing.T) {
	for _, test := range []struct {
		name  string
		width int
		job   string
		want  string
	}{
		{"all details fit", 60, "users", "users: 3 pages, 30 items, 1.5 kB, 12 items/s"},
		{"the last detail does not fit", 40, "users", "users: 3 pages, 30 items, 1.5 kB"},
		{"one detail fits", 26, "users", "users: 3 pages, 30 items"},
		{"no detail fits", 20, "users", "users: 3 pages"},
		{"a long name is shortened", 20, "users-of-the-organization", "users-of-t…: 3 pages"},
		{"a narrow terminal", 8, "users", "u…: 3 pages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, fit(test.width, test.job, ": 3 pages", ", 30 items", ", 1.5 kB", ", 12 items/s"))
		})
	}
}

func TestTheProgressLineCountsEachJob(t *testing.T) {
	p := &progress{jobs: map[string]*jobProgress{}}
	for range 3 {
		p.page(&engine.Page{Record: engine.Record{Job: "users", Bytes: 1000}})
	}
	p.page(&engine.Page{Record: engine.Record{Job: "orders", Bytes: 10}})
	require.Equal(t, 3, p.jobs["users"].pages)
	require.Equal(t, 1, p.jobs["orders"].pages)
	require.Equal(t, 10, p.jobs["orders"].bytes)
	require.Regexp(t, "^orders: 1 page, 0 items", p.lineFor(80))
	require.Equal(t, "orders: 1 page, 0 items, 10 B", p.lineFor(36))
}
