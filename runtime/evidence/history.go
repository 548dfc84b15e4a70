package evidence

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A History is the memory of a [Watcher] from page to page. It is part of the checkpoint of the list, and has no
// exported fields: other packages only save and load it, as JSON. The zero History is that of a list without pages.
type History struct{ content history }

// MarshalJSON encodes the history for a checkpoint.
func (h History) MarshalJSON() ([]byte, error) { return json.Marshal(h.content) }

// UnmarshalJSON decodes the result of MarshalJSON.
func (h *History) UnmarshalJSON(text []byte) error { return value.Unmarshal(text, &h.content) }

// A history holds the facts about a list that the audit needs from page to page.
type history struct {
	Facts rules.ListFacts `json:"facts"`

	Lists      Recall `json:"lists"`               // key: Reading.IdentityDigest of a page; value: its number and its request
	Requests   Recall `json:"requests"`            // key: request; value: what rules read in its response
	Identities Recall `json:"identities"`          // key: identifier of an item; value: its page and content
	Keys       Recall `json:"keys,omitzero"`       // key: key of an item, or its identifier in a window; value: its page and content
	Ambiguous  bool   `json:"ambiguous,omitempty"` // whether a page has different items with one identifier
	LastItem   uint64 `json:"lastItem,omitempty"`  // identifier of the last item of the latest page, or 0

	First      trace.Sent  `json:"first"`                // first request, without its secrets
	FirstTotal *firstTotal `json:"firstTotal,omitempty"` // total on the first page, if it has one
	FirstPaths []string    `json:"firstPaths,omitempty"` // paths of the first page: in its root, and next to its items
	FirstNames []string    `json:"firstNames,omitempty"` // names of the members of the first item of the first page
	Alone      *loneItem   `json:"alone,omitempty"`      // the only item of page 1, until a page with several items follows

	// FirstFailures are the paths of the errors and messages of the first page that tell of a failure, although it has the
	// list. FirstStatuses are its other values with such names, save messages, by their paths.
	FirstFailures []string          `json:"firstFailures,omitempty"`
	FirstStatuses map[string]string `json:"firstStatuses,omitempty"`

	NamesByList [][]string `json:"namesByList,omitempty"` // for each of several lists, the names in its first item

	Responses int      `json:"responses,omitempty"` // number of successful responses with a body
	HadItems  bool     `json:"hadItems,omitempty"`  // whether a response had the place of the items
	Had       []string `json:"had,omitempty"`       // watched paths that a response had

	WithoutList int       `json:"gap,omitempty"`  // first page without any list of items after a page with a list, or 0
	Gaps        []listGap `json:"gaps,omitempty"` // for each list, the page that lacks it, although others are present

	FirstList uint64 `json:"firstList,omitempty"` // digest of the items of page 1, if they have identifiers, or 0
	FirstItem string `json:"firstItem,omitempty"` // identifier of the first item of page 1, if it has several
	Fresh     bool   `json:"fresh,omitempty"`     // whether the latest page has items that no earlier page has

	Ends []endMember `json:"ends,omitempty"` // members of the last item of the latest page, if it is full; see noticeTie

	Sizes [2]int `json:"sizes,omitzero"`  // number of items on the first two pages
	Lost  string `json:"lost,omitempty"`  // parameters of the first request that the second lacks
	Nests bool   `json:"nests,omitempty"` // whether items have lists that say whether they are complete

	Counts []int `json:"counts,omitempty"` // for each of several lists, the number of its items

	Ended bool `json:"ended,omitempty"` // whether a page in NDJSON or CSV ends with the end of a line

	FirstPages int    `json:"firstPages,omitempty"` // the number of pages that page 1 states
	FirstMore  string `json:"firstMore,omitempty"`  // where page 1 says that there is more

	HadOthers  bool `json:"hadOthers,omitempty"`  // whether a page has items that are not objects
	FirstNulls bool `json:"firstNulls,omitempty"` // whether page 1 is the latest page with items, and has several, all null

	Elsewhere []place `json:"elsewhere,omitempty"` // for each list, where a page that lacks it may have its items
	Blank     bool    `json:"blank,omitempty"`     // whether a page of XML has the element above the list, and no items anywhere

	Lacked []Absence `json:"lacked,omitempty"` // absences at the end of a partition that otherwise looks complete
}

// A firstTotal is the total of items in the first response.
type firstTotal struct {
	Total int    `json:"total"`
	Count int    `json:"count"` // number of items on the page
	At    string `json:"at"`
	Read  bool   `json:"read,omitempty"`  // whether a rule that decides reads it
	Rough bool   `json:"rough,omitempty"` // whether it may be an estimate
}

// hadKeys returns the keys of the paths that a response had.
func (h *history) hadKeys() []string {
	if h.HadItems {
		return append([]string{keyItems}, h.Had...)
	}
	return h.Had
}
