package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/creachadair/jrpc2"

	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/engine/workbench"
)

// The commands of lenses. Their arguments are the address of a document and a name, which may be empty.
const (
	testCommand   = "stopwhen.tests"
	stressCommand = "stopwhen.stress"
	replayCommand = "stopwhen.replay"
)

func (s *server) lenses(ctx context.Context, f *openFile, _ question) (any, error) {
	list := []map[string]any{}
	for _, l := range f.document.Lenses(ctx) {
		command := map[string]any{"title": l.Title, "command": "stopwhen." + l.Call, "arguments": []any{f.uri, l.Name}}
		list = append(list, map[string]any{"range": l.Range, "command": command})
	}
	return list, nil
}

// execute runs a command, shows its result in a sentence, and returns it.
func (s *server) execute(ctx context.Context, r *jrpc2.Request) (any, error) {
	var m struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments"`
	}
	if err := r.UnmarshalParams(&m); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%v", err)
	}
	var uri, name string
	for i, to := range []*string{&uri, &name} {
		if i < len(m.Arguments) {
			_ = json.Unmarshal(m.Arguments[i], to) // another type is not an address
		}
	}
	f := s.file(uri)
	if f == nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "%s: the document is not open", m.Command)
	}
	var result any
	var err error
	switch m.Command {
	case testCommand:
		result, err = s.test(ctx, f, name)
	case stressCommand:
		result, err = s.stress(ctx, f, name)
	case replayCommand:
		result, err = s.replay(ctx, f, name)
	default:
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "unknown command %s", m.Command)
	}
	if err != nil {
		s.show(showError, "stopwhen: "+err.Error())
		return nil, jrpc2.Errorf(requestFailed, "%v", err)
	}
	return result, nil
}

// test runs the tests, and shows those of a name, or all.
func (s *server) test(ctx context.Context, f *openFile, name string) (any, error) {
	report, err := f.document.Tests(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	passed, kind := 0, showInfo
	for _, result := range report.Tests {
		switch {
		case name != "" && result.Name != name:
		case result.OK:
			passed++
		default:
			kind = showError
			lines = append(lines, fmt.Sprintf("test %q failed: %s", result.Name, differences(result.Differences)))
		}
	}
	if kind == showInfo {
		lines = append(lines, fmt.Sprintf("%d of %d tests passed", passed, max(passed, 1)))
		if name != "" {
			lines = []string{fmt.Sprintf("test %q passed", name)}
		}
	}
	s.show(kind, strings.Join(lines, "\n"))
	return report, nil
}

// differences describes the expectations that were not met.
func differences(all []configtest.Difference) string {
	var texts []string
	for _, d := range all {
		text := d.Message
		if d.Of != "" {
			text = strings.TrimSuffix(fmt.Sprintf("%s: want %s, got %s; %s", d.Of, d.Want, d.Got, d.Message), "; ")
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// stress puts the jobs under stress, and shows what a job loses silently, or all jobs do.
func (s *server) stress(ctx context.Context, f *openFile, name string) (any, error) {
	report, err := f.document.Stress(ctx, stress.Options{})
	if err != nil {
		return nil, err
	}
	var lines []string
	kind := showInfo
	for _, job := range report.Jobs {
		if name != "" && job.Job != name {
			continue
		}
		if job.Unknown != "" {
			lines = append(lines, fmt.Sprintf("job %s: %s", job.Job, job.Unknown))
			continue
		}
		silent := job.Sorted(stress.Silent)
		for _, row := range silent {
			kind = showWarning
			text := fmt.Sprintf("job %s, %s: SILENT. %s", job.Job, row.Behaviour, row.Says)
			if row.Fix != nil {
				text += " " + row.Fix.Says
			}
			lines = append(lines, text)
		}
		if len(silent) == 0 {
			lines = append(lines, fmt.Sprintf("job %s loses nothing silently (%d behaviours)", job.Job, len(job.Rows)))
		}
	}
	s.show(kind, strings.Join(lines, "\n"))
	return report, nil
}

// replay replays the recording, and shows why a list ends, or all lists do.
func (s *server) replay(ctx context.Context, f *openFile, name string) (any, error) {
	run, err := f.document.Run(ctx, workbench.FromRecording(), workbench.Limits{})
	if err != nil {
		return nil, err
	}
	last := map[string]string{}
	var jobs []string
	for _, p := range run.Pages {
		if name != "" && p.Job != name {
			continue
		}
		if last[p.Job] == "" {
			jobs = append(jobs, p.Job)
		}
		last[p.Job] = fmt.Sprintf("job %s, page %d: %s", p.Job, p.Page, p.Why)
	}
	var lines []string
	for _, job := range jobs {
		lines = append(lines, last[job])
	}
	if lines == nil {
		lines = []string{"the recording has no page of the job"}
	}
	s.show(showInfo, strings.Join(lines, "\n"))
	return run, nil
}
