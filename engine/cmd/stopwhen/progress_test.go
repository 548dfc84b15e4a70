package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
		{"no detail fits", 30, "users", "users: 3 pages, 30 items"},
		{"a long name is shortened", 30, "users-of-the-organization", "users-of-t…: 3 pages, 30 items"},
		{"a narrow terminal", 10, "users", "u…: 3 pages, 30 items"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, fit(test.width, test.job, ": 3 pages, 30 items", ", 1.5 kB", ", 12 items/s"))
		})
	}
}
