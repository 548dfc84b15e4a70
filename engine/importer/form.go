package importer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Source describes one API in the intermediate form, to which all formats are read. Its expressions are
// in the rule language. Addresses have expressions in braces, as in the endpoint of a job.
type Source struct {
	Name    string    // name of the API, used for file names, such as github; if empty, a file is named after its first stream
	From    string    // name of the document in a comment, such as "the manifest source-github/manifest.yaml of Airbyte"
	Inputs  []Input   // values that each run sets
	Streams []*Stream // in the order of the document; a parent may come after its children
}

// An Input is a value that each run sets, such as a tenant or a token.
type Input struct {
	Name     string // an identifier: start_date
	Doc      string
	Default  any  // a text, a number or a boolean, or nil
	Optional bool // a run need not set a value; there is no Default then
	Needed   bool // credentials are not complete without it, so that it is only optional for other expressions
	Secret   bool
	Pattern  string
	Sample   any    // a value for the tests of the configuration; nil if any string will do
	Place    string // where the source declares it
}

// A Stream is one list. It becomes one job unless it is refused.
type Stream struct {
	Name  string // name in the source, and of the file with its items
	ID    string // id of its job; empty means Name. Streams with the same name are parts of one list
	Place string // where the source describes it

	Inputs []Input // of this stream, in place of the inputs of the source; streams with different inputs are not in one file

	Request
	For      []Variable
	Paging   *Paging     // nil for a single request
	Errors   []ErrorRule // in the order in which they are tried
	Response []Member    // the format of the responses: response of a job
	Output               // of the job
	Kept
	Whole   *Whole // how the items that are new can be told in the whole list; nil if that is not known
	KeepFor string // expression over the variables; separate values are kept for each result; empty means that all partitions share them

	Hidden  bool   // do not write its items, because only other streams need them
	Refused string // why it cannot be translated; the fields besides Name, Place and Notes are then ignored
	Notes   []Note
}

// A Request is the request for the first page.
type Request struct {
	BaseURL   string   // https://{input.tenant}.example.com/v1/; it must end with a slash
	Endpoint  string   // relative to BaseURL: orders/{order.id}/lines
	Method    string   // GET (or empty), POST with a JSON body, or FORM with an urlencoded body
	Params    []Member // the query of GET, and the members of the body otherwise if Body is nil
	Body      []Member // the body, or nil. With a body, Params are the query of any method
	ListStyle string   // how lists stand in the query, as listStyle of a job; empty for indices
	Headers   []Member
	Auth      []Member // api.authentication, key by key, or nil. # before a key marks a secret
	Origins   []string // allowedOrigins of the job
	Common    []Member // further keys of api.http, such as maxRetries
}

// An Output says where a response has the items, and how they are written.
type Output struct {
	Items   string // path of the list: data.orders, rows.*; "" is the whole response
	AnyList bool   // Items is not known: the items are the response, or its only list
	Lists   []List // several lists of one response, instead of Items
	Filter  string // expression over item
	Fields  []Field
	Key     []string // paths of the values that identify an item
}

// A List is one of several lists of a response. Each is written to a file of its own.
type List struct {
	Path string
	Name string // of the file
}

// isXML reports whether the responses are XML.
func (s *Stream) isXML() bool {
	return slices.ContainsFunc(s.Response, func(m Member) bool { return m.Name == "format" && m.Value.Const == "xml" })
}

// items returns the path of the items, or of the first of several lists.
func (s *Stream) items() string {
	if len(s.Lists) > 0 {
		return s.Lists[0].Path
	}
	return s.Items
}

// Note adds a note.
func (s *Stream) Note(n Note) { s.Notes = append(s.Notes, n) }

// A Member is a named value: a parameter, a header, or a member of a JSON body.
type Member struct {
	Name  string
	Value Value
}

// Named returns a member.
func Named(name string, v Value) Member { return Member{Name: name, Value: v} }

// A Value is a constant, an expression, or an object or a list of values.
type Value struct {
	Const  any      // a text, a number, a boolean or nil, or any constant of JSON as package rules/value has it
	Source string   // an expression, which replaces Const
	Object []Member // replaces Const if it is not nil
	List   []Value  // replaces Const if it is not nil

	// ReadsPage says that the expression reads the page before, so that the value is a part of the
	// requests after the first: {"cursor": "body.next"}.
	ReadsPage bool
}

// Constant returns the value of a constant.
func Constant(v any) Value { return Value{Const: v} }

// Quote returns a text as an expression. It has single quotes where it can, because the texts of configurations are
// often in double ones.
func Quote(text string) string {
	quoted := strconv.Quote(text)
	if strings.ContainsAny(text, `'\`) || strings.ReplaceAll(quoted, `\"`, `"`) != `"`+text+`"` {
		return quoted
	}
	return "'" + text + "'"
}

// Computed returns the value of an expression.
func Computed(source string) Value { return Value{Source: source} }

// IsConst reports whether a value is a constant other than nil.
func (v Value) IsConst() bool {
	return v.Source == "" && v.Object == nil && v.List == nil && v.Const != nil
}

// Sources returns the expressions of a value and of all values in it.
func (v Value) Sources() []string {
	var sources []string
	if v.Source != "" {
		sources = append(sources, v.Source)
	}
	for _, m := range v.Object {
		sources = append(sources, m.Value.Sources()...)
	}
	for _, element := range v.List {
		sources = append(sources, element.Sources()...)
	}
	return sources
}

// A Variable is a variable of for. It has exactly one of Parent, Values and From.
type Variable struct {
	Name string

	Parent *Stream // the stream is read once for each item of the parent
	When   string  // with Parent: the items for which the stream is read

	Values Value // a list, or an expression for one

	From, To, Step string // windows: expressions or dates, and a length such as 7d
	Granularity    string // of windows whose end the API includes: their unit, such as 1s
}

// A Field changes a member of the items. An empty expression removes it.
type Field struct {
	Name   string // a name, or a path
	Source string
}

// Kept is what a run keeps for the next one.
type Kept struct {
	Incremental *Incremental
	Keep        []Field // values as expressions
}

// An Incremental describes the items that the next run leaves out, as in the key incremental of a job.
type Incremental struct {
	Cursor string // path in the items
	Param  string // parameter, header:NAME or body:PATH; empty if only expressions read the kept value
	Lag    string
	From   any // constant, or an expression as text
	Format string
}

// sends reports whether requests have the kept value, besides those whose expressions read it.
func (i *Incremental) sends() bool { return i != nil && i.Param != "" }

// A Whole says how a stream that reads increments could read its whole list instead, for its children, and write the
// items that are new.
type Whole struct {
	New string // condition over item and kept: the item is new
	Kept
}

// An ErrorRule says what to do about an error response, or about a response with a status of
// success: stop, retry, restart, fail or continue.
type ErrorRule struct {
	On                string // success, any, or empty for an error
	When, Do, Message string
}

// A PagingKind says where the next page comes from.
type PagingKind int

// The kinds of paging.
const (
	Pages    PagingKind = iota // the number of a page
	Offset                     // the number of items before the page
	Token                      // a value of the response, or any other expression
	NextURL                    // the address of the next page, in the response
	Link                       // the address of the next page, in the header Link
	LastItem                   // a value of the last item
	Other                      // as Keys describe it; no test is generated
)

// A Paging says how the next page is requested, and when a list ends. The writer chooses the named
// method that does it, or writes expressions.
type Paging struct {
	Kind PagingKind
	Into Target // where the number or the token goes; of an address, [InURL]

	Start     int    // Pages: the number of the first page
	First     bool   // Pages and Offset: the first request has the number, too
	Size      string // items of a full page: a number or an expression; empty if it is not known
	SizeIn    string // the name of the member of Params that has the size; empty if no member has it
	Short     bool   // a page with fewer items than Size is the last
	BySize    bool   // Offset: it rises by Size, which is a number, however many items a page has
	Rel       string // Link: the relation; empty for next
	MoreParam string // Link: the parameter of the link that is true while there is more
	Path      string // Token and NextURL: path in the response; LastItem: path in the item
	Header    string // Token: the header, instead of a path
	Source    string // Token and NextURL: an expression, instead of a path
	More      string // path of a flag that is true while there is more; in XML it is a text
	Last      string // name of a flag in the root of the response that is true on the last page
	Pages     string // Pages: path of the number of pages in the response
	Stops     []Stop // further rules that end the list
	NoParam   bool   // NextURL and Link: the address comes without the parameters of the stream

	// Keys are the pagination of a source in the rule language, whose method and settings are written as
	// they are. Tests are made from the other fields, which describe the method.
	Keys []Member

	// Together are parameters that are sent together with the token at Path, each with the path of its
	// value in the response. The list ends when all of them are empty.
	Together []Together

	// Next are values of requests after the first that read the page before, besides the token.
	Next []Next

	// Poll is how long to wait before the same request is made again, until a rule of Stops is met: 30s.
	// All other fields except Stops are then ignored.
	Poll string
}

// A Together is a parameter of the next request.
type Together struct {
	Name string
	Path string // in the response
}

// A Stop is a rule that ends a list.
type Stop struct {
	Name, When string
	Failed     bool   // the list ends with an error
	Message    string // of the error
}

// A Place is a part of a request.
type Place int

// The parts of requests.
const (
	InParam    Place = iota // a member of Params
	InHeader                // a header
	InBody                  // a path in the JSON body
	InURL                   // the address
	InEndpoint              // the endpoint, relative to BaseURL
	Nowhere                 // the token is not sent as it is; Next reads it
)

// A Target is a place in a request, with its name.
type Target struct {
	In   Place
	Name string
}

// A Next is a part of the requests after the first.
type Next struct {
	Target
	Source string
}

// segmentName matches the end of expressions for values that are one segment of a path.
var segmentName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(id|key|uuid|gid|number|code|token|tenant|subdomain|domain|account|workspace|region|version|` +
		`org|organization|instance|shop|store|site)$`)
})

// IsSegment reports whether an expression is, by its name, for a value without characters that end a segment of a path. An
// address that escapes such a value is the same as one that does not.
func IsSegment(source string) bool { return segmentName().MatchString(source) }
