package document

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A document is a validated response body: one JSON document (RFC 8259), not yet decoded. It refers
// to the body.
type document struct {
	raw     []byte // the body without its byte order mark
	scanner *scan.Scanner
	mapping *spool.Mapping // mapping of a body in a file; nil for a body in memory

	arrival arrival // summary of a document that was scanned while it arrived

	signs []*scan.Node // places of [Reader.signs]

	dropsInvalid bool   // whether bytes that are not UTF-8 are removed, instead of being an error
	dropped      bool   // whether such bytes were removed
	duplicate    string // first list that an object has twice; see also [scan.Found.Duplicate]

	items      scan.Span // list that the scan has divided into items; absent if it has divided no list
	separators []int     // offsets of the commas between items, and of the closing bracket, while newlines replace them; see withCommas

	divided bool // whether the scan has put newlines between the items, and items is not set yet
}

// newDocument validates a body and finds the values at paths (see keypath.Split; a path without
// keys is the root). It ignores a UTF-8 byte order mark. The error is a [*scan.SyntaxError] or a
// [*DepthError].
func newDocument(body []byte, paths [][]string, depth int) (*document, error) {
	d := &document{scanner: scan.New(scan.Targets{Body: scan.NewTree(paths, nil), MaxDepth: depth})}
	return d, d.parse(body)
}

var byteOrderMark = []byte("\ufeff")

// parse reads a body, which replaces the previous one. If the scanner compacts, parse removes
// insignificant whitespace from the body in place.
func (d *document) parse(body []byte) error {
	err := d.parseParts(body, nil)
	if err != nil && d.dropsInvalid && isNotUTF8(err) {
		d.dropped = true
		plain := bytes.TrimPrefix(body, byteOrderMark)
		err = scan.AddOffset(d.scanner.Scan(dropInvalid(d.scanner.Rest(), nil)), len(body)-len(plain))
	}
	if err == nil {
		d.raw = d.scanner.Data
	}
	return err
}

// parseParts is parse for a body that begins with data, and continues with what the source returns. It
// does not set raw.
func (d *document) parseParts(data []byte, source scan.Source) error {
	if scan.IsUTF16(data) {
		return &scan.SyntaxError{Message: scan.UTF16Problem}
	}
	d.items, d.separators, d.dropped, d.duplicate, d.mapping = scan.Span{}, nil, false, "", nil
	d.divided = source != nil
	if d.arrival.from = source; source != nil {
		d.arrival.begin(d.scanner)
		source = &d.arrival
	}
	plain := bytes.TrimPrefix(data, byteOrderMark)
	return scan.AddOffset(d.scanner.ScanParts(plain, source), len(data)-len(plain))
}

// open opens the document in the file that parseParts has written.
func (d *document) open(view []byte, mapping *spool.Mapping) {
	d.raw, d.mapping = view, mapping
	d.mapping.Rewind()
	for _, list := range d.scanner.Replaced() {
		for at := range d.newlines(list) {
			d.raw[at] = ','
		}
		d.raw[list.End-1] = ']'
	}
	if list := d.separated(); list.Present() && d.decodes(list, d.scanner.Body.Root, d.scanner.Row) {
		d.undivide()
	}
}

// separated returns the list that the scan has separated, if it has elements.
func (d *document) separated() scan.Span {
	if d.scanner.Count == 0 {
		return scan.Span{}
	}
	return scan.Span{Start: d.scanner.Begins, End: d.scanner.Ends}
}

// decodes reports whether a list is decoded, or part of it, for the values of a node and the nodes
// below it. row has their locations.
func (d *document) decodes(list scan.Span, node *scan.Node, row []scan.Span) bool {
	value := node.In(row)
	if !value.Present() {
		return false
	}
	if node.Selected || node.Leads && d.raw[value.Start] == '[' {
		return value.Start < list.End && value.End > list.Start
	}
	return slices.ContainsFunc(node.Children, func(child *scan.Node) bool { return d.decodes(list, child, row) })
}

// undivide replaces the newlines that the scan has put between items.
func (d *document) undivide() {
	if d.divided {
		d.divided = false
		d.separate(d.breaks(), ',', ']')
	}
}

// isNotUTF8 reports whether a document is not valid because it has bytes that are not UTF-8.
func isNotUTF8(err error) bool {
	syntax, ok := errors.AsType[*scan.SyntaxError](err)
	return ok && syntax.NotUTF8
}

// dropInvalid removes the bytes that are not UTF-8, in place.
func dropInvalid(data []byte, mapping *spool.Mapping) []byte {
	mapping.Rewind()
	n := 0
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r != utf8.RuneError || size > 1 {
			n += copy(data[n:], data[i:i+size])
		}
		i += size
		mapping.Pass(i, n)
	}
	return data[:n]
}

// forget drops the references to the body.
func (d *document) forget() {
	d.raw, d.mapping, d.divided, d.arrival.from = nil, nil, false, nil
	d.scanner.Release()
}

// trim drops buffers that grew with a large page, and the prefixes if no more can be learned.
func (d *document) trim() {
	d.separators = nil
	d.scanner.Trim()
}

// rootValue returns the root value without the whitespace around it. It is not a copy.
func (d *document) rootValue() []byte { return d.scanner.Root.Of(d.raw) }

// rootKind returns the kind of the root value.
func (d *document) rootKind() scan.Kind { return scan.KindOf(d.rootValue()) }

// find returns the location of the value at a path, which may be null. A number is also an index
// into a list. If the scan has not looked for the path, find passes over the document, whose items
// must be separated by commas (see withCommas); it skips the items unless the path may lead into them.
func (d *document) find(path []string) scan.Span {
	if node := d.scanner.Body.Root.At(path...); node != nil {
		return node.In(d.scanner.Row)
	}
	tree := scan.NewTree([][]string{path}, nil)
	row := make([]scan.Span, tree.Width)
	known := d.items
	if hasIndex(path) {
		known = scan.Span{}
	}
	d.newWalk(known).Locate(d.scanner.Root.Start, tree, row)
	return tree.Root.At(path...).In(row)
}

// hasIndex reports whether a path may lead into a list.
func hasIndex(path []string) bool {
	return slices.ContainsFunc(path, func(key string) bool { return scan.Index(key) >= 0 })
}

// newWalk returns a walk over the document that skips a value whose span is known.
func (d *document) newWalk(known scan.Span) scan.Walk {
	d.mapping.Rewind()
	return scan.Walk{Data: d.raw, Measured: known, Mapping: d.mapping}
}

// kindAt returns the kind of the value at a path that the scan has noted, or "" if there is none.
func (d *document) kindAt(keys []string) scan.Kind {
	at := d.find(keys)
	if !at.Present() {
		return ""
	}
	return scan.KindOf(d.raw[at.Start:])
}

// visit decodes the values below the object at i that want selects, and calls f with each value and
// its path. It does not enter a selected value, except an object whose members want selects, too. A list is entered
// if it has one element, which is an object: {"meta": [{"total": 5}]}.
func (d *document) visit(
	i int, path []string, want func(path []string) (value, members bool), memory *allowance, f func(path []string, v any),
) error {
	type member struct {
		path  []string
		at    scan.Span
		whole bool
	}
	var found []member
	path = append(path, "")
	for key, at := range d.newWalk(d.items).Members(i) {
		path[len(path)-1] = string(scan.Unquote(key.Of(d.raw)))
		value, members := want(path)
		if !value && !members {
			continue
		}
		m := member{path: slices.Clone(path), at: at, whole: value && !(members && d.raw[at.Start] == '{')}
		found = slices.DeleteFunc(found, func(earlier member) bool { return slices.Equal(earlier.path, m.path) })
		found = append(found, m)
	}
	for _, m := range found {
		switch {
		case m.whole:
			var v any
			var err error
			d.withCommasIn(m.at, func() { v, err = decode(m.at.Of(d.raw), memory) })
			if err != nil {
				return err
			}
			f(m.path, v)
		case d.raw[m.at.Start] == '{':
			if err := d.visit(m.at.Start, m.path, want, memory, f); err != nil {
				return err
			}
		case d.hasOneObject(m.at):
			path := append(slices.Clip(m.path), "0")
			if _, members := want(path); members {
				if err := d.visit(m.at.Start+1, path, want, memory, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hasOneObject reports whether a value is a list of one object.
func (d *document) hasOneObject(at scan.Span) bool {
	if d.raw[at.Start] != '[' || d.raw[at.Start+1] != '{' {
		return false
	}
	return d.newWalk(d.items).End(at.Start+1) == at.End-1
}

// Limits on the names that document.names returns for suggestions.
const (
	maxNames = 1000
	maxName  = 256 // in bytes
)

// Names returns the first keys of the object at a path of a JSON value, for suggestions, or nil if there
// is not an object. The value is valid and begins without white space, as items do, or is empty.
func Names(raw []byte, path []string) []string {
	if len(raw) == 0 {
		return nil
	}
	tree := scan.NewTree([][]string{path}, nil)
	row := make([]scan.Span, tree.Width)
	walk := scan.Walk{Data: raw}
	walk.Locate(0, tree, row)
	return namesAt(walk, tree.Root.At(path...).In(row))
}

// names returns the first keys of the object at a path. It costs a pass over the object.
func (d *document) names(path []string) []string {
	span := d.find(path)
	return namesAt(d.newWalk(d.items), span)
}

// namesAt returns the first keys of the object at a span, without duplicates and without long keys,
// in order. It returns nil if there is no object.
func namesAt(walk scan.Walk, span scan.Span) []string {
	if !span.Present() || scan.KindOf(walk.Data[span.Start:]) != scan.Object {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for key := range walk.Members(span.Start) {
		if name := string(scan.Unquote(key.Of(walk.Data))); key.End-key.Start <= maxName && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		if len(names) == maxNames {
			break
		}
	}
	return names
}

// A DepthError reports a document that is nested more deeply than the limit.
type DepthError = scan.DepthError

// An ItemsError reports a page with more items than the limit.
type ItemsError = scan.ItemsError

// A SizeError reports a response that needs more memory than the limit.
type SizeError struct {
	Message string
	Hint    string // remedy
}

// Error returns the message.
func (e *SizeError) Error() string { return e.Message }
