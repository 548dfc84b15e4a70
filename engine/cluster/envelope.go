package cluster

import (
	"bytes"
	"encoding/json"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// An envelope is the first line of what is stored of a step: all but the items. It is part
// of the contract with programs that read the items with a NATS client.
type envelope struct {
	Record   *engine.Record        `json:"record,omitempty"` // of the page; nil: the step has none
	Lists    []list                `json:"lists,omitempty"`  // of its items, which follow the envelope
	Kept     map[string]any        `json:"kept,omitempty"`
	Root     string                `json:"root,omitempty"`
	Final    bool                  `json:"final,omitempty"`
	Skipped  []engine.Record       `json:"skipped,omitempty"`
	Children []engine.Task         `json:"children,omitempty"`
	Position json.RawMessage       `json:"position,omitempty"`
	Missing  map[string][][]string `json:"missing,omitempty"`
	Ending   *engine.Ending        `json:"ending,omitempty"`
	Task     *engine.Task          `json:"task,omitempty"` // of a failure, to try it again
}

// A list is one of the lists of a page's items: it ends at a byte and an item of them.
type list struct {
	DataType string `json:"dataType"`
	End      int    `json:"end"`
	Count    int    `json:"count"`
}

// encodeStep returns the envelope of a step.
func encodeStep(step *engine.Step, failed *engine.Task) ([]byte, error) {
	e := envelope{
		Skipped: step.Skipped, Children: step.Children, Position: step.Position, Missing: step.Missing, Ending: step.Ending, Task: failed,
	}
	if page := step.Page; page != nil {
		e.Record, e.Kept, e.Root, e.Final = &page.Record, page.Kept, page.Root, page.Final
		for _, m := range page.Marks() {
			e.Lists = append(e.Lists, list{m.DataType, m.End, m.Count})
		}
	}
	return json.Marshal(e)
}

func decodeEnvelope(entry *store.Entry) (*envelope, error) {
	e := &envelope{}
	err := decode(entry.Envelope, e)
	if err == nil && e.Record != nil && e.Record.Partition != nil {
		err = e.keepOrder(entry.Envelope)
	}
	return e, err
}

// keepOrder decodes the values of the partition once more, so that their keys are in the
// order of the API.
func (e *envelope) keepOrder(text []byte) error {
	var again struct {
		Record struct{ Partition map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &again); err != nil {
		return err
	}
	for name, raw := range again.Record.Partition {
		v, err := rules.ParseJSON(diag.NewSource("", string(raw)))
		if err != nil {
			return err
		}
		e.Record.Partition[name] = v
	}
	return nil
}

// decode reads JSON and keeps the digits of numbers.
func decode(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(into)
}

// page returns the page of a step, or nil if it has none.
func (e *envelope) page(entry *store.Entry, final bool, checkpoint func() (json.RawMessage, error)) *engine.Page {
	if e.Record == nil {
		return nil
	}
	marks := make([]document.Mark, len(e.Lists))
	for i, l := range e.Lists {
		marks[i] = document.Mark{DataType: l.DataType, End: l.End, Count: l.Count}
	}
	items, lists := document.Lists(entry.Items.Bytes(), entry.Window, marks)
	page := runtime.StoredPage(*e.Record, e.Root, items, lists, final, checkpoint)
	page.Kept = e.Kept
	return page
}
