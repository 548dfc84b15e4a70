package php

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesAreFormattedAsByPHP(t *testing.T) {
	for _, tt := range []struct {
		want, format string
		args         []any
	}{
		{"Three apples are 0.50 plums.", "Three %s are %.2f %s.", []any{"apples", 0.5, "plums"}},
		{"00003", "%'.05d", []any{3}}, // the last padding counts
		{"**abc", "%'*5s", []any{"abc"}},
		{"abc  |", "%-5s|", []any{"abc"}},
		{"ab000", "%-05s", []any{"ab"}},
		{"12   |", "%-05d|", []any{12}}, // zeros would change the number
		{"-0012", "%05d", []any{-12}},
		{"+0007", "%+05d", []any{7}},
		{"b a", "%2$s %1$s", []any{"a", "b"}},
		{"100%", "%d%%", []any{100}},
		{"12", "%d", []any{"12abc"}},
		{"18446744073709551615", "%u", []any{-1}},
		{"ff FF 10 101 A", "%x %X %o %b %c", []any{255, 255, 8, 5, 65}},
		{"1.234568e+4", "%e", []any{12345.678}},
		{"1.000000E-10", "%E", []any{1e-10}},
		{"1.23457e+6", "%g", []any{1234567}},
		{"1.234e-5", "%g", []any{0.00001234}},
		{"2.2 2.4 0", "%.1f %.1f %.0f", []any{2.25, 2.35, 0.5}},
		{"abc", "%.3s", []any{"abcdef"}},
		{"1", "%s", []any{true}},
		{"", "%.2x", []any{255}}, // as in PHP
		{"plain", "plain", nil},
	} {
		t.Run(tt.format, func(t *testing.T) {
			got, err := sprintf(tt.format, tt.args)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestSprintfRefusesWhatHasNoValue(t *testing.T) {
	for format, message := range map[string]string{
		"%s %s":              "the format needs 2 arguments, got 1",
		"%3$s":               "the format needs 3 arguments, got 1",
		"%0$s":               "argument 0 does not exist",
		"%y":                 "unknown directive %y",
		"%'é5s":              "unknown directive %'",
		"100%":               "the format ends within a directive",
		"%99999s":            "a width or a precision of 99999 is too large",
		"%.9999999999999999": "a width or a precision of 9999999999999999 is too large",
	} {
		_, err := sprintf(format, []any{"a"})
		require.EqualError(t, err, message, format)
	}
}

func FuzzSprintf(f *testing.F) {
	for _, format := range []string{"%'.05d", "%2$s %1$s", "%-+7.2e|", "%", "%%", "%c"} {
		f.Add(format, "12abc")
	}
	f.Fuzz(func(t *testing.T, format, arg string) {
		got, err := sprintf(format, []any{arg, 1.5, -3})
		if err != nil {
			require.Empty(t, got)
			return
		}
		directives := strings.Count(format, "%")
		require.LessOrEqual(t, len(got), len(format)+directives*(MaxWidth+400+len(arg)))
	})
}
