// Package openapi reads descriptions of APIs in OpenAPI 3.0 and 3.1, in JSON and YAML.
//
// # Decisions
//
// A description says little about pages. Three extensions do: x-speakeasy-pagination,
// x-fern-pagination and x-ms-pageable, and a header Link of the response. Otherwise the names of
// parameters and of members of responses tell ([github.com/stopwhen/stopwhen/rules/apinames]); this is
// a guess, so such a stream is approximate, and its notes say which names have decided.
//
// The streams are the operations that return a list, if their method is GET, or if they have an extension or
// the user names them. Required values of an operation are inputs, and optional values are left out.
package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// Format is the format of descriptions in OpenAPI.
var Format = importer.Format{
	Name: "openapi",
	Doc:  "descriptions in OpenAPI 3.0 and 3.1 (openapi.yaml, openapi.json)",
	Read: Read,
}

// Read reads one description. The settings are names of parameters, of variables of servers and of
// properties of bodies.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one document; put all files into one (with redocly bundle)")
	}
	root, err := parse(files[0])
	if err != nil {
		return nil, err
	}
	r := &reader{root: root, options: o, file: files[0].Name, inputs: map[string]importer.Input{}, set: importer.NewSettings(o),
		known: map[uintptr][]node{}}
	if err := r.version(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	return r.source()
}

type reader struct {
	root    node
	options importer.Options
	file    string
	set     *importer.Settings

	inputs     map[string]importer.Input
	order      []string
	operations []*operation
	known      map[uintptr][]node // the parts of schemas
}

func (r *reader) version() error {
	version := r.root.get("openapi").text()
	switch {
	case r.root.get("swagger").given():
		return fmt.Errorf("the document is of Swagger %s; convert it to OpenAPI 3 (with swagger2openapi)", r.root.get("swagger").text())
	case version == "":
		return errors.New("not a description in OpenAPI: it has no key openapi")
	case !strings.HasPrefix(version, "3."):
		return fmt.Errorf("the document is of OpenAPI %s; want 3.0 or 3.1", version)
	}
	return nil
}

// An operation is an operation of the description.
type operation struct {
	name   string // operationId, or a name made of the path
	method string // GET
	path   string // /orders/{id}/lines
	place  string
	node   node
	item   node // its path item

	parameters []node // resolved
	response   node   // the schema of the response
	headers    node   // of the response
	media      string // of the response

	list   listPlace
	values []string // of the parameters of the path, as in an endpoint
	made   *importer.Stream
	failed error // why it cannot be read
}

var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace"}

// source reads the operations that are wanted.
func (r *reader) source() (*importer.Source, error) {
	var operations []*operation
	for _, p := range r.root.get("paths").names() {
		operations = append(operations, r.pathItem(p)...)
	}
	for _, wanted := range r.options.Streams {
		if !slices.ContainsFunc(operations, func(op *operation) bool { return op.is(wanted) }) {
			return nil, fmt.Errorf("%s has no operation %q; name it by its operationId or its path. Those that return lists are %s",
				r.file, wanted, cmp.Or(strings.Join(r.listNames(operations), ", "), "none"))
		}
	}
	for _, op := range operations {
		if r.isStream(op) {
			r.operations = append(r.operations, op)
		}
	}
	if len(r.operations) == 0 {
		return nil, fmt.Errorf("%s has no operation that returns a list", r.file)
	}
	out := &importer.Source{Name: r.apiName(), From: r.from()}
	for _, op := range r.operations {
		if r.wants(op) {
			r.stream(op).Hidden = false
		}
	}
	for _, op := range r.operations {
		if op.made != nil {
			out.Streams = append(out.Streams, op.made)
		}
	}
	if name, unknown := r.set.Unknown(); unknown {
		return nil, fmt.Errorf("no operation has a parameter %q, so it cannot be set", name)
	}
	for _, name := range r.order {
		out.Inputs = append(out.Inputs, r.inputs[name])
	}
	return out, nil
}

// apiName returns the name of the API: its title, or the name of the file.
func (r *reader) apiName() string {
	title := strings.ToLower(r.root.get("info", "title").text())
	for _, word := range []string{"openapi", "rest", "http", "api", "specification", "spec"} {
		title = regexp.MustCompile(`\b`+word+`\b`).ReplaceAllString(title, "")
	}
	if name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(title, "-"), "-"); name != "" && len(name) <= 40 {
		return name
	}
	base := path.Base(strings.ReplaceAll(r.file, `\`, "/"))
	return strings.TrimSuffix(base, path.Ext(base))
}

func (r *reader) from() string {
	return fmt.Sprintf("the description %s in OpenAPI", path.Base(strings.ReplaceAll(r.file, `\`, "/")))
}

// pathItem returns the operations of a path.
func (r *reader) pathItem(p string) []*operation {
	item := r.root.get("paths", p)
	resolved, err := r.resolve(item)
	if err == nil {
		item = resolved
	}
	var out []*operation
	for _, method := range methods {
		n := item.get(method)
		if !n.given() {
			continue
		}
		op := &operation{method: strings.ToUpper(method), path: p, place: "paths." + p + "." + method, node: n, item: item}
		op.name = cmp.Or(n.get("operationId").text(), nameOfPath(method, p))
		op.failed = r.prepare(op)
		out = append(out, op)
	}
	return out
}

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

// nameOfPath returns the name of an operation without an operationId: orders_lines.
func nameOfPath(method, p string) string {
	words := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(p, "")
	name := strings.Trim(notInName().ReplaceAllString(words, "_"), "_")
	if method != "get" {
		name = method + "_" + name
	}
	return cmp.Or(name, "list")
}

// prepare reads the parameters and the response of an operation.
func (r *reader) prepare(op *operation) error {
	index := map[string]int{}
	for _, list := range []node{op.item.get("parameters"), op.node.get("parameters")} {
		for _, p := range list.list() {
			p, err := r.resolve(p)
			if err != nil {
				return err
			}
			key := p.get("in").text() + " " + p.get("name").text()
			if i, known := index[key]; known {
				op.parameters[i] = p
				continue
			}
			index[key] = len(op.parameters)
			op.parameters = append(op.parameters, p)
		}
	}
	response, err := r.success(op.node.get("responses"))
	if err != nil {
		return err
	}
	op.headers = response.get("headers")
	op.media, op.response = mediaOf(response.get("content"))
	op.list = r.findList(op)
	return nil
}

// success returns the response of success.
func (r *reader) success(responses node) (node, error) {
	for _, status := range append([]string{"200", "2XX", "2xx", "201", "203", "206", "default"}, responses.names()...) {
		if n := responses.get(status); n.given() && (status == "default" || status[0] == '2') {
			return r.resolve(n)
		}
	}
	return node{}, nil
}

// mediaOf returns the media type that is read, and its schema.
func mediaOf(content node) (string, node) {
	rank := func(media string) int {
		for i, word := range []string{"json", "ndjson", "jsonl", "csv", "xml"} {
			if strings.Contains(media, word) {
				return i
			}
		}
		return 9
	}
	names := content.names()
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	if len(names) == 0 {
		return "", node{}
	}
	return names[0], content.get(names[0], "schema")
}

// is reports whether the user's name of a stream is the name of the operation.
func (op *operation) is(name string) bool {
	return name == op.name || name == op.path && op.method == "GET" || strings.EqualFold(name, op.method+" "+op.path)
}

func (r *reader) wants(op *operation) bool {
	return r.options.Streams == nil || slices.ContainsFunc(r.options.Streams, op.is)
}

// isStream reports whether an operation is a stream: it returns a list, or the user has named it.
func (r *reader) isStream(op *operation) bool {
	if r.options.Streams != nil && slices.ContainsFunc(r.options.Streams, op.is) {
		return true
	}
	return r.returnsList(op)
}

func (r *reader) returnsList(op *operation) bool {
	switch {
	case op.failed != nil:
		return op.method == "GET" && r.extension(op).given()
	case op.method == "GET":
		return r.extension(op).given() || op.list.found && r.isEnvelope(op)
	}
	return op.method == "POST" && r.extension(op).given()
}

func (r *reader) listNames(all []*operation) []string {
	var out []string
	for _, op := range all {
		if r.returnsList(op) {
			out = append(out, op.name)
		}
	}
	return out
}

// stream translates an operation, once.
func (r *reader) stream(op *operation) *importer.Stream {
	if op.made != nil {
		return op.made
	}
	op.made = &importer.Stream{Name: op.name, Place: op.place, Hidden: true}
	t := &translation{reader: r, operation: op, out: op.made, sent: map[string]bool{}}
	if err := t.translate(); err != nil {
		op.made.Refused = err.Error()
	}
	return op.made
}

// A translation makes a stream of an operation.
type translation struct {
	*reader
	*operation
	out  *importer.Stream
	sent map[string]bool // the parts of requests that the paging sends: "query page", "body cursor"
}

func (t *translation) translate() error {
	switch {
	case t.failed != nil:
		return t.failed
	case t.method != "GET" && t.method != "POST":
		return fmt.Errorf("its request has the method %s; a job has GET or POST", t.method)
	}
	for _, step := range []func() error{t.server, t.format, t.address, t.paging, t.parametersSent, t.body} {
		if err := step(); err != nil {
			return err
		}
	}
	t.credentials()
	t.keyOfItems()
	return nil
}

func (t *translation) note(g importer.Grade, source, target, format string, args ...any) {
	place := t.place
	if source != "" {
		place += "." + source
	}
	t.out.Note(importer.Note{Grade: g, Text: fmt.Sprintf(format, args...), Source: place, Target: target})
}

// input declares an input and returns the expression that reads it. Operations share inputs of one
// name.
func (r *reader) input(in importer.Input) string {
	in.Name = importer.InputName(in.Name)
	if _, known := r.inputs[in.Name]; !known {
		r.inputs[in.Name] = in
		r.order = append(r.order, in.Name)
	}
	return "input." + in.Name
}
