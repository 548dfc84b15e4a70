package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var allFixes = flag.String("fixes", "", "regular `EXPRESSION` for the names of methods and cases whose fixes are applied, instead of a few")

// TestFixesAreSafe applies every fix that stress proposes for a configuration to its file, as JSON and as YAML
// with comments. The file changes as the fix says, and nothing else in it does. Against the API of the row, on
// the loopback interface, the changed configuration obtains what was missing, or reports that it is. A report on
// the changed configuration has no SILENT row that the one before had under another verdict. By default, the
// configurations have three of the methods; -fixes . takes all methods and cases, and prints how many fixes were
// applied.
func TestFixesAreSafe(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs the command in one goroutine, as other tests do")
	ignored := make(chan os.Signal, 1) // the goroutine of package signal must not belong to a bubble
	signal.Notify(ignored, syscall.SIGALRM)
	defer signal.Stop(ignored)
	trial := &fixTrial{stage: newStage(t)}
	names, subjects := regexp.MustCompile(cmp.Or(*allFixes, "^method (offset|pagecount)$")), methodSubjects()
	subjects = slices.DeleteFunc(subjects, func(one subject) bool { return !names.MatchString(one.name) })
	if *allFixes != "" {
		subjects = append(subjects, matchingSubjects(t, names, false)...)
	}
	for _, one := range subjects {
		t.Run(one.name, func(t *testing.T) { trial.play(t, one) })
	}
	t.Logf("%d fixes were applied: with %d the list was complete, with %d the run reported that it was not; %d belong to jobs that do not run alone",
		trial.complete+trial.reported+trial.skipped, trial.complete, trial.reported, trial.skipped)
}

// A fixTrial applies fixes.
type fixTrial struct {
	*stage
	complete, reported, skipped int
}

// otherSettings are settings of a pagination that no fix needs to change.
var otherSettings = value.ObjectOf("forceStop", value.ObjectOf("pages", 5000), "audit", value.ObjectOf("ignore", []any{"audit.ceiling"}))

// play applies the fixes of all rows of a subject.
func (f *fixTrial) play(t *testing.T, one subject) {
	one.root = playable(withoutCredentials(one.root), false, func(job value.Object, _ int) value.Object { return job })
	for _, m := range otherSettings {
		path := []string{"api", "pagination", m.Name}
		pagination := member(member(one.root, "api"), "pagination")
		if pagination != nil && member(pagination, m.Name) == nil && member(pagination, "method") != "single" { // which refuses forceStop
			one.root = one.root.WithPath(path, m.Value)
		}
	}
	e, args := f.load(t, one)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	tried := map[string]bool{}
	for i, job := range report.Jobs {
		for _, row := range job.Rows {
			if row.Fix == nil || row.Fix.Changes == nil {
				continue
			}
			text, err := json.Marshal(row.Fix.Changes)
			require.NoError(t, err)
			if !tried[string(text)] {
				f.requireApplied(t, one, args, report, row, len(tried) == 0)
				tried[string(text)] = true
			}
			f.requireHelps(t, one, e, args, report, i, row)
		}
	}
}

// requireApplied applies the fix of a row to the file in both formats, and compares the report on the changed
// configuration with the one before. The command does it if byCommand is set; otherwise it is done as the
// command does it, without the report that it makes again.
func (f *fixTrial) requireApplied(t *testing.T, one subject, args []string, report *stress.Report, row stress.Row, byCommand bool) {
	t.Helper()
	before := filepath.Join(f.home, "fixed.json")
	require.NoError(t, os.WriteFile(before, f.written(t, one.root), 0o600))
	annotated := &strings.Builder{}
	require.Zero(t, run(slices.Concat([]string{"explain", "--annotate", before}, args), strings.NewReader(""), annotated, io.Discard))
	commented := filepath.Join(f.home, "fixed.yaml")
	require.NoError(t, os.WriteFile(commented, []byte(annotated.String()), 0o600))
	combined, err := report.Combine(t.Context(), row.Behaviour)
	require.NoError(t, err, row.Behaviour)
	for path, parse := range map[string]func(*diag.Source) (any, error){before: rules.ParseJSON, commented: yaml.Parse} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		root, err := parse(diag.NewSource(path, string(text)))
		require.NoError(t, err)
		was, _ := value.Members(root)
		changed, err := workbench.Changed(string(text), combined.Changes)
		require.NoError(t, err, "%s of %s", row.Behaviour, path)
		if byCommand {
			stderr := &strings.Builder{}
			status := run(slices.Concat([]string{"stress", "--apply", path, "--fix", row.Behaviour}, args), strings.NewReader(""), io.Discard, stderr)
			require.Zero(t, status, "%s: %s", row.Behaviour, stderr)
			applied, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, changed, string(applied), row.Behaviour)
		}
		root, err = parse(diag.NewSource(path, changed))
		require.NoError(t, err, changed)
		is, err := value.Marshal(root)
		require.NoError(t, err)
		want, err := value.Marshal(stress.Apply(was, combined.Changes))
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(is))
		requireComments(t, string(text), changed, combined.Changes)
		if path == before {
			e, err := engine.Load(path, []byte(changed), loading()...)
			require.NoError(t, err)
			after, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
			require.NoError(t, err)
			requireNoOtherSilent(t, report, after, row)
		}
	}
}

// requireComments requires that a changed text has all comments, except those of keys that the changes remove.
func requireComments(t *testing.T, before, after string, changes []stress.Change) {
	t.Helper()
	removes := slices.ContainsFunc(changes, func(c stress.Change) bool { return c.Remove })
	for line := range strings.Lines(before) {
		if comment := strings.TrimSpace(line); strings.HasPrefix(comment, "#") && !strings.Contains(after, comment) {
			if !removes {
				t.Errorf("the comment %q is gone", comment)
			}
			t.Logf("gone: %s", comment)
		}
	}
}

// requireNoOtherSilent requires that each row that is SILENT in a report was SILENT in the one before.
func requireNoOtherSilent(t *testing.T, before, after *stress.Report, fixed stress.Row) {
	t.Helper()
	had := map[string]stress.Verdict{}
	for _, job := range before.Jobs {
		for _, row := range job.Rows {
			had[job.Job+" "+row.Behaviour] = row.Verdict
		}
	}
	for _, job := range after.Jobs {
		if job.Unknown != "" {
			t.Errorf("after the fix for %s, job %s has no model: %s", fixed.Behaviour, job.Job, job.Unknown)
		}
		for _, row := range job.Rows {
			if v, known := had[job.Job+" "+row.Behaviour]; known && row.Verdict == stress.Silent && v != stress.Silent {
				t.Errorf("after the fix for %s, %s of %s is SILENT; it was %s", fixed.Behaviour, row.Behaviour, job.Job, v)
			}
		}
	}
}

// requireHelps plays the row against the configuration after its fix, and requires that the run has all items or
// reports that it lacks some.
func (f *fixTrial) requireHelps(t *testing.T, one subject, e *engine.Engine, args []string, report *stress.Report, index int, row stress.Row) {
	t.Helper()
	job := report.Jobs[index]
	jobs := member(member(one.root, "config"), "jobs").([]any)
	at := slices.IndexFunc(jobs, func(v any) bool { return member(v, "id") == job.Job || member(v, "endpoint") == job.Job })
	if at < 0 || len(jobs) != len(report.Jobs) && e.Job(job.Job).Root != job.Job {
		f.skipped++
		return
	}
	api, tree := job.Server(row.Behaviour), row.Group == "partitions"
	changed := stress.Apply(one.root, row.Fix.Changes)
	changed = playable(changed, slices.Contains(job.Model, "The limits of the configuration are left out."), func(given value.Object, i int) value.Object {
		if i == at && !tree {
			return alone(given, api.Variables())
		}
		return given
	})
	path := filepath.Join(f.home, "config.json")
	require.NoError(t, os.WriteFile(path, f.written(t, changed), 0o600))
	args = slices.Concat([]string{"run", path}, args)
	for _, other := range report.Jobs {
		if other.Job == job.Job || tree && e.Job(other.Job).Root == job.Job {
			args = append(args, "--job", other.Job)
		}
	}
	f.api.Store(api)
	items, result, status, log := f.run(t, args)
	obtained, missing, duplicated := api.Tally(items)
	findings, outcomes := 0, map[string]bool{}
	for _, ended := range result.Jobs {
		findings += len(ended.Findings)
		outcomes[string(ended.Outcome)] = true
	}
	switch {
	case missing+duplicated == 0 && status == 0:
		f.complete++
	case status != 0 || findings > 0 || len(outcomes) != 1 || !outcomes["complete"]:
		f.reported++
		if row.Fix.Verdict == stress.Complete {
			t.Errorf("%s of %s: the fix says that the list is complete: %d obtained, %d missing, status %d:\n%s",
				row.Behaviour, job.Job, obtained, missing, status, log)
		}
	default:
		t.Errorf("%s of %s: the list lacks %d items and has %d twice, and nothing says so, with %v (outcomes %v)", row.Behaviour, job.Job,
			missing, duplicated, row.Fix.Changes, slices.Collect(maps.Keys(outcomes)))
	}
}
