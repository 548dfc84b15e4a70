package evidence

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A History is the memory of a [Watcher] from page to page. It is part of the checkpoint of the list, and has no
// exported fields: other packages only save and load it, as JSON. The zero History is that of a list without pages.
type History struct{ content history }

// MarshalJSON encodes the history for a checkpoint.
func (h History) MarshalJSON() ([]byte, error) { return json.Marshal(h.content) }

// UnmarshalJSON decodes the result of MarshalJSON.
func (h *History) UnmarshalJSON(text []byte) error { return value.Unmarshal(text, &h.content) }

// A history holds the facts about a list that the audit needs from page to page. Each part belongs to the search
// that changes it. In JSON, the fields of all parts stand side by side.
type history struct {
	Facts rules.ListFacts `json:"facts"`

	firstPage
	repeatMemory
	cursorMemory
	sizeMemory
	positionMemory
	redirectMemory
	nestedMemory
	gapMemory
	pathMemory
	placeMemory
	errorMemory
	totalMemory
}
