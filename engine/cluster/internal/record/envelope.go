package record

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// An Envelope is the first line of a stored step: everything except the items. Programs that read
// the items with a NATS client depend on its format.
type Envelope struct {
	Record   *engine.Record        `json:"record,omitempty"` // record of the page; nil if the step has no page
	Lists    []document.ListEnd    `json:"lists,omitempty"`  // lists of the items, which follow the envelope
	Kept     map[string]any        `json:"kept,omitzero"`
	Root     string                `json:"root,omitempty"`
	Final    bool                  `json:"final,omitempty"`
	Skipped  []engine.Record       `json:"skipped,omitempty"`
	Children []partition.Task      `json:"children,omitempty"`
	Position json.RawMessage       `json:"position,omitempty"`
	Missing  map[string][][]string `json:"missing,omitempty"`
	Ending   *partition.Ending     `json:"ending,omitempty"`
	Task     *partition.Task       `json:"task,omitempty"` // failed task, needed to retry it
}

// EncodeStep returns the envelope of a step.
func EncodeStep(step *partition.Step, failed *partition.Task) ([]byte, error) {
	e := Envelope{
		Skipped: step.Skipped, Children: step.Children, Position: step.Position, Missing: step.Missing, Ending: step.Ending, Task: failed,
	}
	if page := step.Page; page != nil {
		e.Record, e.Kept, e.Root, e.Final = &page.Record, page.Kept, page.Root, page.Final
		e.Lists = document.ListEnds(page.Lists)
	}
	return json.Marshal(e)
}

// ReadEnvelope returns the envelope of a page. The error says that the page is damaged.
func ReadEnvelope(entry *store.Entry) (*Envelope, error) {
	e := &Envelope{}
	err := value.Unmarshal(entry.Envelope, e)
	if err == nil && e.Record != nil && e.Record.Partition != nil {
		err = e.keepOrder(entry.Envelope)
	}
	if err != nil {
		return nil, entry.Damaged(err.Error())
	}
	return e, nil
}

// keepOrder decodes the values of the partition again, so that their keys keep the order of the
// API.
func (e *Envelope) keepOrder(text []byte) error {
	var decoded struct {
		Record struct{ Partition map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &decoded); err != nil {
		return err
	}
	for name, raw := range decoded.Record.Partition {
		v, err := rules.ParseJSON(diag.NewSource("", string(raw)))
		if err != nil {
			return err
		}
		e.Record.Partition[name] = v
	}
	return nil
}

// Page returns the page of a step, or nil if the step has no page. final is [engine.Page.Final].
func (e *Envelope) Page(entry *store.Entry, final bool) *engine.Page {
	if e.Record == nil {
		return nil
	}
	items, lists := document.Lists(entry.Items.Bytes(), entry.Mapping, e.Lists)
	return &engine.Page{Record: *e.Record, Root: e.Root, Items: items, Lists: lists, Kept: e.Kept, Final: final}
}
