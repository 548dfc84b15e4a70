package evidence

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A Memory is all that a [Watcher] remembers from page to page. It is part of the checkpoint of the list.
type Memory struct {
	History     History `json:"noticed"`
	LargestPage int     `json:"largestPage,omitempty"` // number of items on the largest page
	PreviousPages
}

// PreviousPages are what the next page is compared with, for the rules; see [rules.Comparisons].
type PreviousPages struct {
	Request        document.Digest   `json:"request"`       // the last request
	Content        document.Digest   `json:"content"`       // the last response
	ItemsDigest    document.Digest   `json:"list"`          // the list of items in the last response
	IdentityDigest document.Digest   `json:"same,omitzero"` // its identifiers: see [document.Reading]
	Spelling       document.Spelling `json:"spelling"`      // the escapes of the last response
	Exchanges      Recall            `json:"exchanges"`     // the page of each request with its response
}

// Restarted returns the memory of a list that begins again, which has the same page size.
func (m Memory) Restarted() Memory { return Memory{LargestPage: m.LargestPage} }

// A History is the part of a [Memory] that a restart of the list discards. It has no exported fields: other packages
// only save and load it, as JSON. The zero History is that of a list without pages.
type History struct{ content history }

// MarshalJSON encodes the history for a checkpoint.
func (h History) MarshalJSON() ([]byte, error) { return json.Marshal(h.content) }

// UnmarshalJSON decodes the result of MarshalJSON.
func (h *History) UnmarshalJSON(text []byte) error { return value.Unmarshal(text, &h.content) }

// A history holds the facts about a list that the audit needs from page to page, and what each search remembers, which
// only that search changes. The memories are embedded only because their fields stand side by side in saved lists: the
// code names the memory of a field.
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
	detailMemory
}
