package workbench

import (
	"errors"

	"github.com/stopwhen/stopwhen/engine/explain"
)

// An Explained is an explanation of a document.
type Explained struct {
	Current bool                 `json:"current"` // false: the text has a mistake, and this is about an earlier one
	Text    string               `json:"text"`    // for people
	Mermaid string               `json:"mermaid"` // as a flowchart
	Data    *explain.Explanation `json:"data"`
}

// errNeverCompiled is returned by calls that need compiled rules if no text of the document has compiled yet.
var errNeverCompiled = errors.New("the configuration has a mistake: see its diagnostics")

// Explain describes the rules of the text or, if it does not compile, of the last text that did. A width is in
// columns, from 40 to 120; 0 is 100. The error says that no text has compiled.
func (d *Document) Explain(width int) (*Explained, error) {
	x := d.explained()
	if x == nil {
		return nil, errNeverCompiled
	}
	_, current := d.engine()
	return &Explained{
		Current: current, Text: x.Text(explain.TextOptions{Width: width, Full: true}), Mermaid: x.Mermaid(), Data: x,
	}, nil
}

// Guards returns the ids of the rules that are guards, of the text that [Document.Explain] explains.
func (d *Document) Guards() map[string]bool {
	ids := map[string]bool{}
	if x := d.explained(); x != nil {
		for _, job := range x.Jobs {
			for _, rule := range job.Stops {
				if rule.Guard {
					ids[rule.ID] = true
				}
			}
		}
	}
	return ids
}
