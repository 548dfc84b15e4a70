package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// onTerminal runs a shell command on a pseudo-terminal of 80 columns and returns
// what it wrote to it.
func onTerminal(t *testing.T, command string) string {
	t.Helper()
	return onTerminalOf(t, 80, command)
}

func onTerminalOf(t *testing.T, columns int, command string) string {
	t.Helper()
	script, err := exec.LookPath("script")
	if err != nil {
		t.Skip("script is not installed")
	}
	if err := exec.Command(script, "-qec", "true", "/dev/null").Run(); err != nil {
		t.Skip("script is not that of util-linux")
	}
	out, err := exec.Command(script, "-qec", fmt.Sprintf("stty cols %d; export TERM=xterm; %s", columns, command), "/dev/null").Output()
	require.NoError(t, err, string(out))
	return string(out)
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTheLogHasColoursOnATerminalUnlessNoColorIsSet(t *testing.T) {
	path := binary(t)
	require.Regexp(t, colour, onTerminal(t, "env -u NO_COLOR "+path+" run --fixture demo/orders"))
	require.NotRegexp(t, colour, onTerminal(t, "NO_COLOR=1 "+path+" run --fixture demo/orders"))
	require.NotRegexp(t, colour, onTerminal(t, "env -u NO_COLOR "+path+" run --fixture demo/orders 2>&1 | cat"))
}

func TestTheProgressLineDoesNotMixWithLogLines(t *testing.T) {
	path, config := binary(t), endless(t, 40)
	command := "export NO_COLOR=1; " + path + " run " + config + " --max-pages 60 >/dev/null; true"
	out := onTerminal(t, command)
	require.Regexp(t, `x: \d+ pages, \d+ items, .* items/s`, out)
	for _, at := range []int{strings.Index(out, "WRN retrying"), strings.LastIndex(out, "INF ")} { // while the line is shown, and after it
		require.Positive(t, at, out)
		before := out[:at-len("15:04:05 ")]
		require.Regexp(t, "[\r\n]$", before, "a log line begins at the first column")
		cleared := strings.TrimSuffix(before, "\r")
		cleared = cleared[strings.LastIndexAny(cleared, "\r\n")+1:]
		require.NotContains(t, cleared, "items/s", "the progress line is cleared before")
	}
	for _, quiet := range []string{"-q", "-v", "--no-progress", "--log-format json"} {
		t.Run(quiet, func(t *testing.T) {
			require.NotContains(t, onTerminal(t, strings.Replace(command, " run ", " run "+quiet+" ", 1)), "items/s")
		})
	}
}

// TestItemsOnATerminalAreApartFromTheProgressLine also checks that the line keeps the
// number of pages on a narrow terminal.
func TestItemsOnATerminalAreApartFromTheProgressLine(t *testing.T) {
	path, config := binary(t), endless(t)
	out := onTerminalOf(t, 40, "export NO_COLOR=1; timeout --foreground -s INT 1.5 "+path+" run "+config+"; true")
	require.Regexp(t, `x: \d+ pages?, \d+ items?`, out)
	items := 0
	for line := range strings.Lines(out) {
		at := strings.Index(line, `{"page":`)
		if at < 0 {
			continue
		}
		items++
		before := line[strings.LastIndex(line[:at], "\r")+1 : at]
		require.Empty(t, before, "an item begins at the first column")
		cleared := strings.Split(strings.TrimSuffix(line[:at], "\r"), "\r")
		require.Empty(t, strings.TrimSpace(cleared[len(cleared)-1]), "the progress line is cleared before an item")
	}
	require.Positive(t, items)
}

func TestExplainIsAsWideAsTheTerminal(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	path := binary(t)
	for _, width := range []int{40, 60, 110} {
		out := onTerminalOf(t, width, path+" explain --fixture demo/orders")
		longest := 0
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\r\n")
			if words := strings.Fields(line); len(words) > 2 || len(words) > 0 && !strings.Contains(line, "://") {
				longest = max(longest, len(line))
			}
		}
		require.LessOrEqual(t, longest, width)
		require.Greater(t, longest, width-12, "the width is used")
	}
}
