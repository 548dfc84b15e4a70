package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/value"
)

func (a *app) replayCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay RECORDING CONFIG",
		Short: "Say where a configuration would stop, from a recording, without a network",
		Long: `Run a configuration against a recording (stopwhen record, or any HAR file) and
say on which page it stops and by which rule. There is no network, waiting takes
no time, and environment variables that are not passed on have a stand-in.

With --against, say what another configuration in its place would save or lose.
A request that was not recorded ends the run with the status of a failed run.`,
		Example: `  stopwhen replay users.har users.json
  stopwhen replay users.har users.json --against other.json
  stopwhen replay users.har users.json --format json | jq '.config.jobs[].reason'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return &usageError{fmt.Sprintf("want a recording and a configuration, got %s", value.Counted(len(args), "argument"))}
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.replay(args[0], args[1]) },
	}
	a.fileFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.flags.against, "against", "", "another `CONFIG`: what it would save or lose in the place of the first")
	f.StringVar(&a.flags.kept, "kept", "", "`FILE` with what an earlier run kept; it is read alone")
	a.formatFlag(cmd, "text", "json")
	return cmd
}

// replayed is what the replay of one configuration, or of two, says.
type replayed struct {
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

func (a *app) replay(path, config string) error {
	if err := a.checkFormat("text", "json"); err != nil {
		return err
	}
	a.standIns = true
	one, err := a.load([]string{config})
	if err != nil {
		return err
	}
	configs := []*loaded{one}
	if a.flags.against != "" {
		other, err := a.load([]string{a.flags.against})
		if err != nil {
			return err
		}
		configs = append(configs, other)
	}
	tape, err := readRecording(path)
	if err != nil {
		return err
	}
	ctx, stop := catchSignals()
	defer stop()
	report := &replayed{Recording: path, Exchanges: len(tape.Exchanges), Truncated: tape.Truncated, Started: tape.Exchanges[0].Started}
	if report.Config, err = a.play(ctx, configs[0], tape); err != nil {
		return err
	}
	if len(configs) == 2 {
		other, err := a.play(ctx, configs[1], tape)
		if err != nil {
			return err
		}
		report.Against, report.Compared = &other, recording.Compare(report.Config.Replayed, other.Replayed)
	}
	if err := a.writeReplay(report); err != nil {
		return err
	}
	if report.Config.Err == nil && report.Against != nil {
		return report.Against.Err
	}
	return report.Config.Err
}

func readRecording(path string) (*recording.Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("cannot read the recording: %v", err)}
	}
	defer file.Close()
	tape, err := recording.Read(file)
	if err != nil {
		return nil, &usageError{fmt.Sprintf("%s: %v", path, err)}
	}
	return tape, nil
}

// play runs one configuration. The error is a signal's alone: how the run ended
// is part of the report.
func (a *app) play(ctx context.Context, l *loaded, tape *recording.Recording) (replayedConfig, error) {
	if a.flags.kept != "" {
		kept, err := readKept(a.flags.kept)
		if err != nil {
			return replayedConfig{}, err
		}
		l.Engine = l.With(engine.WithKept(kept))
	}
	out := replayedConfig{Name: l.name}
	out.Replayed, _ = recording.Replay(ctx, l.Engine, tape)
	if out.Err != nil {
		out.Error = out.Err.Error()
	}
	return out, signalled(ctx, context.Cause(ctx))
}

func (a *app) writeReplay(r *replayed) error {
	if a.flags.format == "json" {
		return a.writeJSON(r)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %s", r.Recording, value.Counted(r.Exchanges, "exchange"))
	if !r.Started.IsZero() {
		fmt.Fprintf(b, ", recorded from %s", r.Started.Format("2006-01-02 15:04:05"))
	}
	if r.Truncated {
		b.WriteString("; the file ends in the middle")
	}
	b.WriteString("\n")
	writeReplayed(b, r.Config)
	if r.Against != nil {
		writeReplayed(b, *r.Against)
		writeCompared(b, r)
	}
	_, err := io.WriteString(a.stdout, b.String())
	return outputError(err)
}

func writeReplayed(b *strings.Builder, c replayedConfig) {
	fmt.Fprintf(b, "\n%s\n", c.Name)
	for _, j := range c.Jobs {
		switch {
		case j.Reason == "error" && c.Missing != "":
			ended := fmt.Sprintf("does not stop on page %d", j.Pages)
			if j.Pages == 0 {
				ended = "has no first page"
			}
			fmt.Fprintf(b, "job %s: %s: it asks for %s, which the recording does not have\n", j.JobResult.Job, ended, c.Missing)
		case j.Reason == "error":
			fmt.Fprintf(b, "job %s: fails after page %d\n    %s\n", j.JobResult.Job, j.Pages, j.Message)
		default:
			fmt.Fprintf(b, "job %s: stops on page %d by %s (%s)\n", j.JobResult.Job, j.Pages, strings.Join(j.StoppedBy, " and "), j.Outcome)
		}
		for _, line := range j.Because {
			fmt.Fprintf(b, "    %s\n", line)
		}
		for _, f := range j.Findings {
			fmt.Fprintf(b, "    may not be whole: %s\n", f.Message)
		}
		fmt.Fprintf(b, "    %s, %s, %s\n", value.Counted(j.Pages, "page"), value.Counted(j.Items, "item"), value.Size(j.Bytes))
	}
	fmt.Fprintf(b, "%s in %s\n", value.Counted(len(c.Requests), "request"), c.Took.Round(time.Millisecond))
	if len(c.Unplayed) > 0 {
		fmt.Fprintf(b, "%s of the recording %s not asked for:\n", value.Counted(len(c.Unplayed), "exchange"), isAre(len(c.Unplayed)))
		writeSome(b, c.Unplayed)
	}
}

// some is how many requests or items are shown of many.
const some = 3

func writeSome(b *strings.Builder, lines []string) {
	for _, line := range lines[:min(len(lines), some)] {
		fmt.Fprintf(b, "    %s\n", value.Clip(line, 110))
	}
	if n := len(lines) - some; n > 0 {
		fmt.Fprintf(b, "    and %d more\n", n)
	}
}

func writeCompared(b *strings.Builder, r *replayed) {
	fmt.Fprintf(b, "\n%s in the place of %s\n", r.Against.Name, r.Config.Name)
	for _, c := range r.Compared {
		fmt.Fprintf(b, "job %s: %s\n", c.Job, strings.Join([]string{
			more(c.Pages, "page"), "loses " + value.Counted(len(c.Lost), "item"), "gains " + value.Counted(len(c.Added), "item"), fmt.Sprintf("%d the same", c.Same),
		}, ", "))
		writeItems(b, "lost", c.Lost)
		writeItems(b, "gained", c.Added)
	}
	requests := len(r.Against.Requests) - len(r.Config.Requests)
	took := (r.Against.Took - r.Config.Took).Round(time.Millisecond)
	fmt.Fprintf(b, "%s, %s\n", more(requests, "request"), moreTime(took))
}

func writeItems(b *strings.Builder, what string, items []recording.Item) {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = fmt.Sprintf("%s, page %d: %s", what, item.Page, item.Text)
	}
	writeSome(b, lines)
}

// more says by how much something is more, or saved.
func more(n int, noun string) string {
	switch {
	case n > 0:
		return value.Counted(n, noun) + " more"
	case n < 0:
		return "saves " + value.Counted(-n, noun)
	}
	return "as many " + noun + "s"
}

func moreTime(d time.Duration) string {
	switch {
	case d > 0:
		return d.String() + " longer"
	case d < 0:
		return "saves " + (-d).String()
	}
	return "the same time"
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
