package document

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Options determine the parts of a response that a [Reader] returns.
type Options struct {
	Paths     [][]string       // paths of values of the body to decode (see keypath.Split); a path without keys is the whole body
	Items     [][]string       // paths of the items that rules read; a path without keys is the whole item
	Places    [][]string       // paths of the items whose values [Values.Located] locates; no path is empty
	Decode    bool             // whether to set [Reading.Decoded]
	Members   bool             // whether to set [Reading.Members]
	Ignore    [][]string       // paths to leave out of [Reading.Content]
	Key       [][]string       // paths of the values of an item that identify it; nil: see [Identity]
	DataField *rules.DataField // paths of the items; nil means the only list
	Switches  rules.Switches
	MaxDepth  int // deepest nesting, at most 10,000; 0 means 10,000
	MaxItems  int // most items of a page; 0 means no limit

	MaxValueBytes int // memory for decoded values; 0 means [MaxValueBytes]

	Warn     func(code, message string) // receives warnings about a response; may be nil
	Arriving func()                     // see [Reader.Consume]; may be nil
}

// A Response is the part of an HTTP response from which a page is read.
type Response struct {
	Status  int            // HTTP status; from 400 on, the body need not be JSON
	Body    []byte         // modified by the Reader; items are slices of it
	Mapping *spool.Mapping // mapping of a body in a file; nil for a body in memory
	Scan    *Scan          // scan of this response if it was scanned ahead or while it arrived, or nil
}

// A Scan is the first and longest part of reading a response: its body was validated, its
// insignificant whitespace removed, and its items were separated.
type Scan struct {
	doc document
	err error
}

// A Reading is the result of reading one response.
type Reading struct {
	Items          Items
	Lists          []TypedItems // items by path
	Found          []scan.Kind  // for each list, the kind of value at its path, or "" if there is none; a star finds a list
	Members        []any        // for each item, with [Options.Members] and paths with a star: the key of its member, or nil
	Values         *Values      // items as rules read them, valid until the next response is read; nil without content
	Decoded        []any        // decoded items, if [Options.Decode] is set
	Body           any          // values at [Options.Paths]
	Bytes          int          // volume: length as minified JSON (specification 2.3)
	Content        Digest       // digest of the body without the ignored paths
	ItemsDigest    Digest       // digest of the items
	IdentityDigest Digest       // the same on pages with the same items: digest of what identifies them in order, or else ItemsDigest
	Spelling       Spelling     // valid until the response after the next is read

	DuplicateKey string // first key that rules read, or that leads to items, and that occurs twice in its object
	HasField     bool   // whether the response has the value that [Options.DataField] names, even null; without DataField, a list
	Place        string // where the list was found without [Options.DataField], such as body or body.users; "" otherwise
	Stray        *Stray // the first error below a star of [Options.DataField]; nil if there is none
	Truncated    Truncated
	HasErrors    bool     // whether the response may report an error next to its data: see [apinames.ErrorSignsNextToData]
	Compared     [][]byte // items to compare with the items of other pages: all, or a selection from a large page

	Original

	// Names returns the keys of the object at a path, for a suggestion. Lookup returns the values at further paths in the
	// shape of Body. Visit calls f with each value below the root object, or the first object of a root list, that want
	// selects, and enters the objects whose members want selects. All three are nil without content, and may be called
	// until the next response is read.
	Names  func(path []string) []string
	Lookup func(paths *Paths) (any, error)
	Visit  func(want func(path []string) (value, members bool), f func(path []string, v any)) error
}

// HasContent reports whether the response had content.
func (page *Reading) HasContent() bool { return page.Lookup != nil }

// Original describes the body of a response before it was converted to JSON. The zero Original is that of JSON.
type Original struct {
	Lines    bool     // whether the response is NDJSON or CSV
	Elements bool     // whether the response is XML
	Ended    bool     // whether the response is NDJSON or CSV and ends with the end of a line
	Open     bool     // whether it is NDJSON or CSV and ends within a line
	Unframed bool     // whether only the end of the connection marked the end of a response in NDJSON or CSV
	Wide     bool     // whether a response in NDJSON or CSV has a character of several bytes
	Columns  []string // the header of a response in CSV; nil without one
	Header   int      // the first line of a response in CSV that is a row, although it equals the header; 0: none is
}

// A Reader reads the responses of one job. It takes ownership of their bodies: items are passed on
// without copying.
type Reader struct {
	options Options
	field   *rules.DataField
	doc     document
	sample  [][]byte
	columns []itemColumn // of the items of the last page
	key     []byte       // key of one item
	gather  *gatherer    // collects several lists, or paths with a star; nil for one list
	values  *Values
	blank   Reading              // empty, with the functions of every reading
	left    allowance            // allowance for the values of the response
	scans   sync.Pool            // unused *Scan
	signs   []apinames.ErrorSign // signs of errors next to items
	nodes   []*scan.Node         // for each sign, where it is noted
	targets scan.Targets         // of all scans
	found   [1]scan.Kind

	copies [2]spool.Buffer // bodies in files that were not scanned while they arrived, alternating
}

// NewReader returns a reader.
func NewReader(o Options) *Reader {
	if o.Warn == nil {
		o.Warn = func(string, string) {}
	}
	r := &Reader{options: o, field: o.DataField, values: newValues(o.Items, o.Places)}
	if r.field != nil && o.Switches.EmptyIsAbsent && r.field.Text == "0" {
		r.field = nil
	}
	r.blank = Reading{Names: r.names, Lookup: r.lookup, Visit: r.visit}
	r.signs = apinames.ErrorSignsNextToData(r.field.Places())
	r.targets = r.newTargets()
	r.nodes = lists.Map(r.signs, func(sign apinames.ErrorSign) *scan.Node { return r.targets.Body.Root.At(sign.Keys...) })
	r.doc = r.newDocument()
	r.scans.New = func() any { return &Scan{doc: r.newDocument()} }
	if r.field != nil && r.field.Lists != nil {
		r.gather = &gatherer{doc: &r.doc, field: r.field, maxItems: o.MaxItems, named: o.Members}
	}
	return r
}

// newDocument returns a document for one response after another.
func (r *Reader) newDocument() document {
	return document{scanner: scan.New(r.targets), signs: r.nodes, dropsInvalid: r.options.Switches.DropInvalid}
}

// newTargets returns what a scan of a response looks for.
func (r *Reader) newTargets() scan.Targets {
	o := r.options
	noted := slices.Clone(o.Ignore)
	for _, sign := range r.signs {
		noted = append(noted, sign.Keys)
	}
	if r.field != nil {
		noted = append(noted, r.field.Keys)
		for _, list := range r.field.Lists {
			noted = append(noted, list.Fixed())
		}
	}
	targets := scan.Targets{
		Body: scan.NewTree(o.Paths, noted), Detect: r.field == nil, Compact: true, MaxItems: o.MaxItems, MaxDepth: o.MaxDepth,
	}
	if r.field != nil && r.field.Lists == nil {
		targets.Items = targets.Body.Root.At(r.field.Keys...)
	}
	if len(r.values.columns) > 0 && !r.values.whole || len(o.Places) > 0 {
		targets.Columns = r.values.tree
	}
	return targets
}

// Scan scans a response with a status below 400, whose body is in memory, ahead of its turn.
// [Reader.Read] must receive the same response with its scan. Scan modifies the body. It may be called
// by several goroutines, and while another response is read.
func (r *Reader) Scan(response Response) *Scan {
	s, _ := r.scans.Get().(*Scan)
	s.err = s.doc.parse(response.Body)
	return s
}

// Consume implements [spool.Consumer]: it calls [Options.Arriving], and scans a body while it arrives.
// The result is a *Scan, for [Reader.Read]. Consume may be called by several goroutines, and while
// another response is read.
func (r *Reader) Consume(from *spool.Stream) any {
	if r.options.Arriving != nil {
		r.options.Arriving()
	}
	s, _ := r.scans.Get().(*Scan)
	data, _, err := from.Next(nil, nil)
	if s.err = err; err == nil {
		s.err = s.doc.parseParts(data, from)
	}
	return s
}

// ScansArriving returns the reader as the consumer of bodies that have not arrived yet, or nil if it
// has to see such a body as it was sent.
func (r *Reader) ScansArriving() spool.Consumer {
	if r.options.Switches.DropInvalid {
		return nil
	}
	return r
}

// Suits reports whether the reader can replace a new reader with the given options, apart from
// their functions.
func (r *Reader) Suits(o Options) bool {
	current := r.options
	return samePaths(current.Paths, o.Paths) && samePaths(current.Items, o.Items) && samePaths(current.Places, o.Places) &&
		samePaths(current.Ignore, o.Ignore) && samePaths(current.Key, o.Key) &&
		current.Decode == o.Decode && current.Members == o.Members && current.Switches == o.Switches &&
		current.MaxDepth == o.MaxDepth && current.MaxItems == o.MaxItems && current.MaxValueBytes == o.MaxValueBytes &&
		(current.DataField == o.DataField || reflect.DeepEqual(current.DataField, o.DataField))
}

func samePaths(a, b [][]string) bool { return slices.EqualFunc(a, b, slices.Equal[[]string]) }

// Close ends a list: it releases the last response, whose items become invalid. The reader can then
// read the responses of another list.
func (r *Reader) Close() {
	r.values.reset(Items{}, nil, errPassed)
	r.values.trim()
	r.doc.forget()
	r.doc.trim()
	for i := range r.copies {
		r.copies[i].Trim(0)
	}
	clear(r.sample)
	if r.gather != nil {
		r.gather.out.Release()
	}
}

// Read reads one response. A response with status 204 has no content and gives the zero Reading.
// Text must be Unicode: a byte that is not UTF-8, or half of a surrogate pair in an escape, is an
// error. The error is a [*DepthError], an [*ItemsError] or a [*SizeError], or says why the body is not
// JSON or does not have the items at the configured place.
func (r *Reader) Read(response Response) (Reading, error) {
	r.values.reset(Items{}, nil, errPassed)
	if response.Status == http.StatusNoContent {
		return Reading{}, nil
	}
	doc := &r.doc
	if err := r.parse(response); err != nil {
		return Reading{}, err
	}
	if doc.dropped {
		r.options.Warn("invalid_utf8", "the response contains bytes that are not UTF-8; they are left out")
	}
	r.left = *newAllowance(r.options.MaxValueBytes)
	memory := &r.left
	body, err := doc.selected(memory)
	if err != nil {
		return Reading{}, err
	}
	out := r.blank
	out.Body, out.Bytes = body, doc.scanner.Size
	if r.options.Switches.PHPVolume {
		doc.undivide()
		out.Bytes = php.EncodedLen(doc.rootValue())
	}
	if err := r.readItems(&out, response.Status); err != nil {
		return Reading{}, err
	}
	out.HasErrors = r.hasErrors()
	out.DuplicateKey = r.duplicateKey()
	out.Compared = r.comparedItems(out.Items)
	out.IdentityDigest = r.identityDigest(&out)
	out.Spelling = doc.spelling()
	if r.options.Decode {
		out.Decoded, err = decodeItems(out.Items, memory)
	}
	out.Values = r.takeValues(out.Items, memory)
	return out, err
}

// hasErrors reports whether the response may report an error next to its data.
func (r *Reader) hasErrors() bool {
	s := r.doc.scanner
	for i, node := range r.doc.signs {
		if at := node.In(s.Row); at.Present() && r.signs[i].MayMatch(at.Of(r.doc.raw)) {
			return true
		}
	}
	return false
}

// duplicateKey returns the path of the first key that occurs twice in an object, among the keys that
// rules read and the keys that lead to items. It returns "" if no such key occurs twice.
func (r *Reader) duplicateKey() string {
	s := r.doc.scanner
	switch {
	case s.Duplicate == nil:
		return r.doc.duplicate
	case s.Columns != nil && s.Columns.Root.At(s.Duplicate.Path...) == s.Duplicate:
		return keypath.Format(rules.ContextItem, s.Duplicate.Path)
	}
	return keypath.Format(rules.ContextBody, s.Duplicate.Path)
}

// takeValues returns the items of the response for rules. The scan has noted the locations of the
// values that rules read. For a page in a file they are found when a rule reads them; see [Values].
func (r *Reader) takeValues(items Items, left *allowance) *Values {
	v, s := r.values, r.doc.scanner
	v.reset(items, left, nil)
	if s.Columns != nil && items.at == s.Begins+1 && len(s.Cells) == items.Len()*s.Columns.Width {
		v.located, v.unique, v.cells, v.base = true, s.Duplicate == nil, s.Cells, items.at
	}
	return v
}

// readItems finds the items and sets the facts about them.
func (r *Reader) readItems(out *Reading, status int) error {
	doc := &r.doc
	if r.gather != nil {
		return r.gatherItems(out)
	}
	list, single, err := r.locateItems(out, status)
	if err != nil {
		return err
	}
	found := scan.Kind("")
	switch {
	case single != nil:
		doc.undivide()
		out.Items, found = oneItem(single), scan.KindOf(single)
	case list.Present():
		out.Items, found = doc.elements(list), scan.List
	default:
		doc.undivide()
		if r.field != nil {
			found = doc.kindAt(r.field.Keys)
		}
	}
	out.Found, out.HasField = append(r.found[:0], found), found != ""
	if out.Content, out.ItemsDigest = doc.digests(list, r.ignored()); single != nil {
		out.ItemsDigest = DigestOf(single, zeroDigest)
	}
	out.Lists = []TypedItems{{Items: out.Items}}
	return nil
}

// gatherItems sets the items of several lists, or of paths with a star.
func (r *Reader) gatherItems(out *Reading) error {
	if err := r.gather.gather(out); err != nil {
		return err
	}
	out.HasField = slices.ContainsFunc(out.Found, func(found scan.Kind) bool { return found != "" })
	out.Content, _ = r.doc.digests(scan.Span{}, r.ignored())
	if out.HasField {
		out.ItemsDigest = out.Items.digest()
	}
	if root := r.doc.rootKind(); !out.HasField && root != scan.Object && root != scan.List {
		return fmt.Errorf("the response is %s and has no %s (dataField)", root, r.field.Text)
	}
	if at := r.gather.object; at != nil {
		r.options.Warn("data_object", fmt.Sprintf("%s (dataField) is an object; it is taken as one item", keypath.Join(at...)))
	}
	for i, list := range r.field.Lists {
		if out.Found[i] == "" {
			r.options.Warn("data_missing "+list.Text,
				fmt.Sprintf("the response has no %s (dataField), so there are no items of it%s",
					list.Text, SuggestField(r.doc.names, list.Fixed())))
		}
	}
	return nil
}

// lookup implements [Reading.Lookup].
func (r *Reader) lookup(paths *Paths) (body any, err error) {
	doc := &r.doc
	paths.use(doc.raw, r.options.MaxValueBytes, func(s *selection) {
		root := paths.tree.Root
		if doc.rootKind() == scan.List && !root.Selected && !root.EntersLists() {
			return // a list in the root may be large, and has no names
		}
		doc.newWalk(doc.items).Locate(doc.scanner.Root.Start, paths.tree, s.row)
		list := scan.Span{}
		if doc.decodes(doc.items, root, s.row) {
			list = doc.items
		}
		doc.withCommasIn(list, func() { body, _, err = s.project(root) })
	})
	return body, err
}

// visit implements [Reading.Visit].
func (r *Reader) visit(want func(path []string) (value, members bool), f func(path []string, v any)) (err error) {
	start, path := r.doc.scanner.Root.Start, []string(nil)
	if r.doc.rootKind() == scan.List {
		start, path = start+1, []string{"0"}
		if _, members := want(path); !members || r.doc.raw[start] != '{' {
			return nil
		}
	}
	if r.doc.raw[start] == '{' {
		err = r.doc.visit(start, path, want, newAllowance(r.options.MaxValueBytes), f)
	}
	return err
}
