package configtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// compare returns the expectations that were not met. If the run failed and the test does not mention
// how it ended, it returns only that.
func (t *trial) compare() []Difference {
	want := t.test.Expect
	if t.script.beyond != "" {
		return []Difference{{Message: t.script.problem()}}
	}
	expected := want.Error != "" || want.Exit != nil || want.Outcome != "" || want.Reason != "" || want.Message != ""
	if t.err != nil && !t.result.Refused && !expected {
		return []Difference{{Message: "the run failed: " + t.redact(t.err.Error())}}
	}
	d := &differences{}
	if t.result.Refused && want.Error == "" && want.Exit == nil && want.Findings == nil {
		d.list = append(d.list, Difference{Message: fmt.Sprintf("the run ends with status %d: %s", t.suite.ExitStatus(t.err), t.failure())})
	}
	if problem := t.script.problem(); problem != "" {
		d.list = append(d.list, Difference{Message: problem})
	}
	t.compareEnd(d, want)
	d.count("pages", want.Pages, t.result.Pages)
	d.count("items", want.Items, len(t.items))
	if want.List != nil {
		d.each("items", texts(want.List), t.redacted(texts(t.items)), func(want, got string) bool { return want == got })
	}
	if want.Requests != nil {
		d.each("requests", want.Requests, t.script.requests, sameRequest)
	}
	if want.Kept != nil {
		t.compareKept(d, want.Kept)
	}
	return d.list
}

// compareEnd compares how the run ended.
func (t *trial) compareEnd(d *differences, want rules.Expectation) {
	r := t.result
	if want.StoppedBy != nil && !slices.Equal(want.StoppedBy, r.StoppedBy) {
		d.add("stoppedBy", listed(want.StoppedBy), listed(r.StoppedBy), cmp.Or(t.unknown(want.StoppedBy...), onlyTheReason(want.StoppedBy, r)))
	}
	if want.Reason != "" && want.Reason != r.Reason {
		d.add("reason", want.Reason, r.Reason, t.unknown(want.Reason))
	}
	if want.Outcome != "" && want.Outcome != r.Outcome {
		d.add("outcome", string(want.Outcome), string(r.Outcome), t.failure())
	}
	if want.Message != "" && !strings.Contains(r.Message, want.Message) {
		d.add("message", "one that contains "+quoted(want.Message), quoted(t.redact(r.Message)), "")
	}
	if got := t.suite.ExitStatus(t.err); want.Exit != nil && *want.Exit != got {
		d.add("exit", fmt.Sprint(*want.Exit), fmt.Sprint(got), t.failure())
	}
	if want.Error != "" {
		switch got := t.failure(); {
		case got == "":
			d.add("error", "one that contains "+quoted(want.Error), "none", "")
		case !strings.Contains(got, want.Error):
			d.add("error", "one that contains "+quoted(want.Error), quoted(got), "")
		}
	}
	if want.Findings != nil {
		var got []string
		for _, f := range r.Findings {
			got = append(got, f.ID)
		}
		if !slices.Equal(want.Findings, got) {
			d.add("findings", listed(want.Findings), listed(got), "")
		}
	}
}

// failure returns the error of the run, or "".
func (t *trial) failure() string {
	if t.err == nil {
		return ""
	}
	return t.redact(t.err.Error())
}

// unknown reports an id that no rule of the job has.
func (t *trial) unknown(ids ...string) string {
	known := []string{
		runtime.ReasonEnd, runtime.ReasonNextRequest, runtime.ReasonError, runtime.ReasonPartitions, runtime.ReasonPartitionLimit,
	}
	for _, r := range t.job.Ruleset.Rules {
		if r.Role == rules.RoleStop || r.Role == rules.RoleOnError {
			known = append(known, r.ID)
		}
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return strings.TrimSuffix(fmt.Sprintf("job %s has no rule %s; %s", t.test.Job, id, diag.DidYouMean(id, known)), "; ")
		}
	}
	return ""
}

// onlyTheReason returns a hint for a test that wants only one of several rules which ended the list,
// namely the first one.
func onlyTheReason(want []string, got runtime.Result) string {
	if len(want) == 1 && want[0] == got.Reason && len(got.StoppedBy) > 1 {
		return fmt.Sprintf(`stoppedBy lists every rule that is met; write "reason": %q for the first`, want[0])
	}
	return ""
}

func (t *trial) compareKept(d *differences, want map[string]any) {
	all := maps.Clone(want)
	maps.Copy(all, t.result.Kept)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, expected := want[name]
		g, kept := t.result.Kept[name]
		if g == nil && w == nil {
			continue // a value that is nil is not kept; if the list had items, this is known
		}
		if a, b := jsonOf(w, expected), t.redact(jsonOf(g, kept)); a != b {
			d.add("kept."+name, a, b, "")
		}
	}
}

func jsonOf(v any, present bool) string {
	if !present {
		return nothing
	}
	text, err := value.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (t *trial) redacted(list []string) []string {
	for i := range list {
		list[i] = t.redact(list[i])
	}
	return list
}

// sameRequest compares a request with an expected one, which may lack the body.
func sameRequest(want, got string) bool {
	if strings.Count(want, " ") == 1 {
		parts := strings.SplitN(got, " ", 3)
		got = strings.Join(parts[:min(len(parts), 2)], " ")
	}
	return want == got
}

func texts(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, raw := range list {
		out[i] = string(raw)
	}
	return out
}

func listed(ids []string) string {
	if len(ids) == 0 {
		return nothing
	}
	return strings.Join(ids, ", ")
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

// nothing is how a difference shows an absent value.
const nothing = "nothing"

// differences collects the differences of a test.
type differences struct{ list []Difference }

func (d *differences) add(of, want, got, message string) {
	d.list = append(d.list, Difference{Of: of, Want: want, Got: got, Message: message})
}

func (d *differences) count(of string, want *int, got int) {
	if want != nil && *want != got {
		d.add(of, fmt.Sprint(*want), fmt.Sprint(got), "")
	}
}

// each compares two lists. It reports a difference in length and the first
// element that differs.
func (d *differences) each(noun string, want, got []string, same func(want, got string) bool) {
	if len(want) != len(got) {
		d.add(noun, fmt.Sprint(len(want)), fmt.Sprint(len(got)), "")
	}
	for i := range max(len(want), len(got)) {
		w, g := nothing, nothing
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w == nothing || g == nothing || !same(w, g) {
			d.add(fmt.Sprintf("%s[%d]", noun, i), w, g, rewritten(w, g))
			return
		}
	}
}

// rewritten returns a message if two items differ only in their spelling.
func rewritten(want, got string) string {
	a, errA := value.Canonical([]byte(want))
	b, errB := value.Canonical([]byte(got))
	if errors.Join(errA, errB) == nil && bytes.Equal(a, b) {
		return "the values are equal, but their key order or spelling differs: items are written as the API sends them"
	}
	return ""
}
