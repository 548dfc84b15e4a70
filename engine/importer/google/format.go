// Package google reads the discovery documents of Google's APIs.
//
// # Decisions
//
// The streams are the methods whose response has a list and that are paged by a token, and the methods
// named list. A list whose path begins with a value that the items of another list have becomes its
// child. The tree of resources tells the parent.
package google

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// Format is the format of discovery documents.
var Format = importer.Format{
	Name: "google",
	Doc:  "discovery documents of Google's APIs (JSON)",
	Read: Read,
}

// Read reads one discovery document. The settings are names of parameters.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one discovery document")
	}
	d, err := parse(files[0])
	if err != nil {
		return nil, err
	}
	r := &reader{document: d, options: o, set: importer.NewSettings(o), inputs: map[string]importer.Input{}}
	for _, c := range d.calls(nil) {
		if c.ID == "" {
			c.ID = strings.Join(append(append([]string{d.Name}, c.resources...), c.name), ".")
		}
		if d.findLists(c); r.isStream(c) {
			r.calls = append(r.calls, c)
		}
	}
	return r.source(files[0].Name)
}

type reader struct {
	*document
	options importer.Options
	calls   []*call
	set     *importer.Settings
	inputs  map[string]importer.Input
	order   []string
}

// isStream reports whether a method returns a list: it is paged, or its name is list.
func (r *reader) isStream(c *call) bool {
	if c.lists == nil || c.HTTPMethod != "GET" && c.HTTPMethod != "POST" {
		return false
	}
	token, _ := r.token(c)
	return token != "" || c.HTTPMethod == "GET" && strings.HasPrefix(strings.ToLower(c.name), "list")
}

// token returns the member of the response with the token of the next page, and the parameter that it
// goes to: one of the query, or a member of the body.
func (r *reader) token(c *call) (member, param string) {
	member = r.propertyLike(c.Response, "nextPageToken")
	if member == "" {
		return "", ""
	}
	if param = c.parameterLike("pageToken"); param != "" {
		return member, param
	}
	if param = r.propertyLike(c.Request, "pageToken"); param != "" && c.HTTPMethod == "POST" {
		return member, param
	}
	return "", ""
}

// is reports whether the user's name of a stream is the name of the method: drive.files.list, or
// files.list.
func (c *call) is(name string) bool {
	return name == c.ID || name == c.short()
}

// short is the name of the method without the name of the API.
func (c *call) short() string { return strings.Join(append(slices.Clone(c.resources), c.name), ".") }

func (r *reader) source(file string) (*importer.Source, error) {
	names := lists.Map(r.calls, (*call).short)
	for _, wanted := range r.options.Streams {
		if !slices.ContainsFunc(r.calls, func(c *call) bool { return c.is(wanted) }) {
			return nil, fmt.Errorf("%s has no method %q that returns a list; those that do are %s", file, wanted, strings.Join(names, ", "))
		}
	}
	if len(r.calls) == 0 {
		return nil, fmt.Errorf("%s has no method that returns a list", file)
	}
	for _, c := range r.calls {
		if r.options.Streams == nil || slices.ContainsFunc(r.options.Streams, c.is) {
			r.stream(c).Hidden = false
		}
	}
	if name, unknown := r.set.Unknown(); unknown {
		return nil, fmt.Errorf("no method has a parameter %q, so it cannot be set", name)
	}
	out := &importer.Source{Name: r.Name, From: fmt.Sprintf("the discovery document of Google for %s %s", r.Name, r.Version)}
	for _, c := range r.calls {
		if c.made != nil {
			out.Streams = append(out.Streams, c.made)
		}
	}
	for _, name := range r.order {
		out.Inputs = append(out.Inputs, r.inputs[name])
	}
	return out, nil
}

// stream translates a method, once.
func (r *reader) stream(c *call) *importer.Stream {
	if c.made != nil {
		return c.made
	}
	c.made = &importer.Stream{Name: c.short(), Place: "methods." + c.ID, Hidden: true}
	t := &translation{reader: r, call: c, out: c.made, sent: map[string]bool{}}
	t.out.BaseURL = cmp.Or(r.RootURL+r.ServicePath, r.BaseURL)
	if r.RootURL == "" {
		t.out.BaseURL = r.BaseURL
	}
	t.out.BaseURL = strings.TrimSuffix(t.out.BaseURL, "/") + "/"
	importer.SetLists(t.out, c.lists, c.others, "response")
	t.endpoint()
	t.paging()
	t.parameters()
	t.body()
	t.credentials()
	t.key()
	return c.made
}

// A translation makes a stream of a method.
type translation struct {
	*reader
	*call
	out  *importer.Stream
	sent map[string]bool // parameters that the paging sends
}

func (t *translation) note(g importer.Grade, source, target, format string, args ...any) {
	t.out.Note(importer.Note{Grade: g, Text: fmt.Sprintf(format, args...), Source: t.out.Place + "." + source, Target: target})
}

// input declares an input and returns the expression that reads it. Methods share inputs of one name,
// unless their values have other forms.
func (t *translation) input(in importer.Input) string {
	in.Name = importer.InputName(in.Name)
	if known, has := t.inputs[in.Name]; has && known.Pattern != in.Pattern {
		in.Name += "_of_" + importer.InputName(t.short())
	}
	if _, known := t.inputs[in.Name]; !known {
		t.inputs[in.Name] = in
		t.order = append(t.order, in.Name)
	}
	return "input." + in.Name
}

var (
	inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\+?)([^{}]+)\}`) })
)

// largestSize bounds the size of a page.
const largestSize = 1000

// paging sets the token of the next page, and the size of a page if the document has a limit for it.
func (t *translation) paging() {
	if t.HTTPMethod == "POST" {
		t.out.Method = "POST"
	}
	member, param := t.token(t.call)
	if member == "" {
		return
	}
	t.sent[param] = true
	t.out.Paging = &importer.Paging{Kind: importer.Token, Into: importer.Target{In: importer.InParam, Name: param}, Path: pathOf(member)}
	if sync := t.propertyLike(t.Response, "nextSyncToken"); sync != "" {
		t.note(importer.Check, "response."+sync, "pagination",
			"The API can give only what has changed since the last run: keep %s of the response, and send it as syncToken", sync)
	}
	size := t.parameterLike("pageSize", "maxResults")
	if size == "" {
		return
	}
	p := t.call.Parameters[size]
	if text, set := t.set.Get(size); set {
		t.send(size, text)
	} else if n, err := strconv.Atoi(p.Maximum); err == nil && n > 0 && n < 1<<31-1 {
		t.send(size, strconv.Itoa(min(n, largestSize)))
	}
}

// send adds a parameter with a constant.
func (t *translation) send(name, text string) {
	t.sent[name] = true
	var v any = text
	if p := t.call.Parameters[name]; p != nil && p.Type == "integer" {
		if n, err := strconv.Atoi(text); err == nil {
			v = n
		}
	}
	t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Constant(v)})
}

// parameters adds the parameters of the query that the method requires or the user sets.
func (t *translation) parameters() {
	names := slices.Clone(t.Order)
	for _, name := range slices.Sorted(maps.Keys(t.call.Parameters)) {
		names = lists.AppendNew(names, name)
	}
	for _, name := range names {
		p := t.call.Parameters[name]
		if p == nil || p.Location != "query" || t.sent[name] {
			continue
		}
		text, set := t.set.Get(name)
		switch {
		case set && t.out.Method == "":
			t.send(name, text)
		case set:
			t.inEndpoint(name, text)
		case p.Required:
			in := importer.Input{Name: name, Doc: docOf(p.Description), Place: t.out.Place + ".parameters." + name}
			if p.Default != "" {
				in.Default = p.Default
			}
			if t.out.Method != "" {
				t.inEndpoint(name, "{"+t.input(in)+"}")
				continue
			}
			t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Computed(t.input(in))})
		}
	}
}

// inEndpoint adds a parameter of the query to the endpoint, as requests with a body have it.
func (t *translation) inEndpoint(name, text string) {
	glue := "?"
	if strings.Contains(t.out.Endpoint, "?") {
		glue = "&"
	}
	t.out.Endpoint += glue + name + "=" + text
}

// body adds the members of the body that the method requires or the user sets.
func (t *translation) body() {
	if t.out.Method != "POST" {
		return
	}
	request := t.resolve(t.Request)
	for _, name := range slices.Sorted(maps.Keys(request.Properties)) {
		p := t.property(request, name)
		if t.sent[name] {
			continue
		}
		if text, set := t.set.Get(name); set {
			t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Constant(text)})
			continue
		}
		raw := request.Properties[name]
		if raw == nil || !slices.Contains(append(raw.Annotations.Required, p.Annotations.Required...), t.ID) {
			continue
		}
		in := importer.Input{Name: name, Doc: docOf(cmp.Or(raw.Description, p.Description)), Place: t.out.Place + ".request." + name}
		if p.Type == "object" || p.Type == "array" {
			in.Sample = "{}"
			t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Computed("fromJSON(" + t.input(in) + ")")})
			continue
		}
		t.out.Params = append(t.out.Params, importer.Member{Name: name, Value: importer.Computed(t.input(in))})
	}
}

// credentials sets the authentication: OAuth 2.0 for methods with scopes, and otherwise a key.
func (t *translation) credentials() {
	secret := func(name, doc string) importer.Value {
		return importer.Computed(t.input(importer.Input{Name: name, Doc: doc, Secret: true, Place: "auth"}))
	}
	if len(t.Scopes) == 0 {
		t.out.Auth = []importer.Member{{Name: "type", Value: importer.Constant("query")}, {Name: "name", Value: importer.Constant("key")},
			{Name: "#value", Value: secret("key", "API key")}}
		return
	}
	t.out.Auth = []importer.Member{
		{Name: "type", Value: importer.Constant("oauth2")},
		{Name: "tokenUrl", Value: importer.Constant("https://oauth2.googleapis.com/token")},
		{Name: "clientId", Value: importer.Computed(t.input(importer.Input{Name: "client_id", Place: "auth"}))},
		{Name: "#clientSecret", Value: secret("client_secret", "")},
		{Name: "#refreshToken", Value: secret("refresh_token", "")},
	}
	t.note(importer.Check, "scopes", "api.authentication",
		"Authorize the client once with the scope %s, and set the refresh token that you get",
		leastScope(t.Scopes))
}

// leastScope returns the scope that allows least: a scope for reading, and otherwise the last scope, since
// the widest is first.
func leastScope(scopes []string) string {
	for _, s := range scopes {
		if strings.HasSuffix(s, "readonly") {
			return s
		}
	}
	return scopes[len(scopes)-1]
}

// key sets the key of an item: its id, or the name of a resource.
func (t *translation) key() {
	for _, name := range []string{"id", "name"} {
		has := func(l list) bool { return t.property(l.Item, name).Type == "string" }
		if !slices.ContainsFunc(t.lists, func(l list) bool { return !has(l) }) && (name == "id" || strings.Contains(t.Path, "{+")) {
			t.out.Key = []string{name}
			return
		}
	}
}

func pathOf(name string) string { return keypath.Join(name) }
