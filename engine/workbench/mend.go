package workbench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// A MendResult is the effect of the fixes of stress on a document.
type MendResult struct {
	Text    string          `json:"text"`
	Edits   []Edit          `json:"edits"` // edits that turn the document into Text
	Changes []stress.Change `json:"changes"`
	Effects []stress.Effect `json:"effects"` // effects of the changes on the jobs
}

// Mend returns the document with the fixes of rows of [Document.Stress], which are given by their behaviours.
func (d *Document) Mend(ctx context.Context, behaviours ...string) (*MendResult, error) {
	report, err := d.Stress(ctx, stress.Options{})
	if err != nil {
		return nil, err
	}
	combined, err := report.Combine(ctx, behaviours...)
	if err != nil {
		return nil, err
	}
	text, err := Changed(d.Text, combined.Changes)
	if err != nil {
		return nil, err
	}
	return &MendResult{Text: text, Edits: d.difference(text), Changes: combined.Changes, Effects: combined.Effects}, nil
}

// Changed returns the text of a configuration after changes. All else remains as it is, comments included.
func Changed(text string, changes []stress.Change) (string, error) {
	var outer []string
	if root, err := yaml.ParseByContent(diag.NewSource("", text)); err == nil {
		members, _ := value.Members(root)
		if _, wrapped := members.Get("parameters"); wrapped {
			outer = []string{"parameters"}
		}
	}
	var edits []yaml.Edit
	for _, change := range changes {
		edits = append(edits, yaml.Edit{
			Path: slices.Concat(outer, change.Path), Value: change.Value, Append: change.Append, Remove: change.Remove,
		})
	}
	changed, err := yaml.Change(text, edits)
	if err != nil {
		lines := lists.Map(changes, stress.Change.String)
		return "", fmt.Errorf("%w: %s", err, strings.Join(lines, "; "))
	}
	if len(changed) > rules.MaxConfigBytes {
		return "", errors.New("the configuration would be too large with the changes")
	}
	return changed, nil
}

// difference returns the edits that turn the document into another text: none if the texts are equal, and
// otherwise one, which replaces the lines between their common beginning and their common end.
func (d *Document) difference(text string) []Edit {
	before, after := strings.SplitAfter(d.Text, "\n"), strings.SplitAfter(text, "\n")
	start, same := 0, 0
	for start < min(len(before), len(after)) && before[start] == after[start] {
		start++
	}
	for same < min(len(before), len(after))-start && before[len(before)-1-same] == after[len(after)-1-same] {
		same++
	}
	if start == len(before) && start == len(after) {
		return []Edit{}
	}
	from := len(strings.Join(before[:start], ""))
	to := len(d.Text) - len(strings.Join(before[len(before)-same:], ""))
	return []Edit{{Range: d.lines().span(from, to), Text: strings.Join(after[start:len(after)-same], "")}}
}
