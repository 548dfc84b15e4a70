package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A replayCommand is stopwhen replay.
type replayCommand struct {
	loader
	reporting
	against, kept string
}

func newReplay(a *app) *cobra.Command {
	c := &replayCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "replay CONFIG FILE",
		Short: "Show where a configuration would stop, from a recording",
		Long: `Run a configuration against a recording and show on which page it stops and by
which rule. FILE is a file of stopwhen record or any other HAR file, or - for
standard input. No network is used, waiting takes no time, and environment
variables that are not passed with --env have placeholder values.

With --against, show what another configuration would save or lose. A request
that is not in the recording ends the run with status 5.`,
		Example: `  stopwhen replay users.json users.har
  stopwhen replay users.json users.har --against other.json
  stopwhen replay users.json users.har --format json | jq '.config.jobs[]'`,
		Args: arguments(2, 2, "a configuration and a recording"),
		RunE: c.Run,
	}
	c.addFileFlags(cmd)
	c.addJobFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.against, "against", "", "`CONFIG` to compare with the first, showing what it would save or lose")
	f.StringVar(&c.kept, "kept", "", "`FILE` that an earlier run wrote with --kept; it is not changed")
	c.formatFlag(cmd, formatText, formatJSON)
	return cmd
}

// replayReport is the result of replaying one or two configurations.
type replayReport struct {
	Version   int                    `json:"version"` // keys may be added to a version
	Recording string                 `json:"recording"`
	Exchanges int                    `json:"exchanges"`
	Truncated bool                   `json:"truncated,omitempty"`
	Started   time.Time              `json:"started"`
	Config    replayedConfig         `json:"config"`
	Against   *replayedConfig        `json:"against,omitempty"`
	Compared  []recording.Comparison `json:"compared,omitempty"`
}

type replayedConfig struct {
	Name string `json:"name"`
	*recording.Replayed
	Error string `json:"error,omitempty"`
}

// replayOrder returns the configuration and the recording of two arguments. The other order is accepted, too, if the first
// argument is clearly a recording.
func replayOrder(first, second string) (config, recorded string) {
	if isRecording(first) && !isRecording(second) {
		return second, first
	}
	return first, second
}

// isRecording reports whether a file is an HTTP archive, by its name or its first key.
func isRecording(path string) bool {
	if strings.EqualFold(filepath.Ext(path), ".har") {
		return true
	}
	if files.IsStream(path) {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	dec := json.NewDecoder(file)
	opening, _ := dec.Token()
	key, _ := dec.Token()
	return opening == json.Delim('{') && key == "log"
}

// Run replays a recording, and compares two configurations.
func (c *replayCommand) Run(_ *cobra.Command, args []string) error {
	config, path := replayOrder(args[0], args[1])
	report, err := c.newReplayReport(config, path)
	if err != nil {
		return err
	}
	if err := c.writeReplay(report); err != nil {
		return err
	}
	if report.Config.Err == nil && report.Against != nil {
		return report.Against.Err
	}
	return report.Config.Err
}

func (c *replayCommand) newReplayReport(config, path string) (*replayReport, error) {
	c.placeholders = true
	if err := onlyOnce("standard input", streamUse{"the configuration", config}, streamUse{"the recording", path},
		streamUse{"--against", c.against}, streamUse{"--set-file", c.setFile}); err != nil {
		return nil, err
	}
	first, err := c.load([]string{config})
	if err != nil {
		return nil, err
	}
	var second *loaded
	if c.against != "" {
		if second, err = c.load([]string{c.against}); err != nil {
			return nil, err
		}
	}
	tape, err := c.readRecording(path)
	if err != nil {
		return nil, err
	}
	ctx, stop := c.catchSignals()
	defer stop()
	report := &replayReport{
		Version:   1,
		Recording: path, Exchanges: len(tape.Exchanges), Truncated: tape.Truncated, Started: tape.Exchanges[0].Started,
	}
	if report.Config, err = c.play(ctx, first, tape); err != nil || second == nil {
		return report, err
	}
	against, err := c.play(ctx, second, tape)
	report.Against = &against
	if err == nil {
		report.Compared = recording.Compare(report.Config.Replayed, against.Replayed)
	}
	return report, err
}

func (a *app) readRecording(path string) (*recording.Recording, error) {
	return readInput(a, "recording", path, recording.Read)
}

// play replays one configuration. The error of the run is part of the result;
// play returns an error only if the replay itself fails or is interrupted.
func (c *replayCommand) play(ctx context.Context, l *loaded, tape *recording.Recording) (replayedConfig, error) {
	if c.kept != "" {
		if err := l.readKept(c.kept); err != nil {
			return replayedConfig{}, err
		}
		l.Engine = l.With(engine.WithKept(l.kept))
	}
	out := replayedConfig{Name: l.name}
	out.Replayed, _ = recording.Replay(ctx, l.Engine, tape)
	if out.Err != nil {
		out.Error = out.Err.Error()
	}
	return out, interrupted(ctx)
}

func (c *replayCommand) writeReplay(r *replayReport) error {
	if c.format == formatJSON {
		return c.writeJSON(r)
	}
	printable.Strings(r)
	return c.writeTemplate(replayText, template.FuncMap{
		"difference": difference, "longer": timeDifference, "first": firstLines, "items": itemLines,
		"next":  func(n int) int { return n + 1 },
		"round": func(d time.Duration) time.Duration { return d.Round(time.Millisecond) },
	}, r)
}

// replayText is the template of a report.
//
//go:embed replay.txt
var replayText string

// MoreRequests returns how many more requests the second configuration makes.
func (r *replayReport) MoreRequests() int { return len(r.Against.Requests) - len(r.Config.Requests) }

// Longer returns how much longer the second configuration takes.
func (r *replayReport) Longer() time.Duration { return r.Against.Took - r.Config.Took }

// firstLines returns the first lines of a list, and how many more there are.
func firstLines(lines []string) string {
	const shown, width = 3, 110
	b := &strings.Builder{}
	for _, line := range lines[:min(len(lines), shown)] {
		fmt.Fprintf(b, "    %s\n", wording.Clip(line, width))
	}
	if n := len(lines) - shown; n > 0 {
		fmt.Fprintf(b, "    and %d more\n", n)
	}
	return b.String()
}

// itemLines returns a line for each item that is lost or gained.
func itemLines(verb string, items []recording.Item) []string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = fmt.Sprintf("%s, page %d: %s", verb, item.Page, item.Text)
	}
	return lines
}

// difference writes a difference in number: "1 page more", "2 pages fewer".
func difference(n int, noun string) string {
	switch {
	case n > 0:
		return wording.Counted(n, noun) + " more"
	case n < 0:
		return wording.Counted(-n, noun) + " fewer"
	}
	return "the same number of " + noun + "s"
}

func timeDifference(d time.Duration) string {
	switch {
	case d > 0:
		return d.String() + " longer"
	case d < 0:
		return (-d).String() + " shorter"
	}
	return "the same time"
}
