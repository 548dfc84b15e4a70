// Package postman reads collections of Postman, versions 2.0 and 2.1, with environments beside them.
//
// # Decisions
//
// A collection has requests and, if somebody saved them, responses, but says nothing about pages. So the
// saved responses of a request are given to package detect, which recognizes the pagination as from any
// recording. Without a saved response, the names of the parameters tell, as far as they do.
//
// The streams are the requests that return lists: those with the method GET, unless a saved response has
// no list or the path ends with a value, those with the method POST if a saved response has a list, and
// any that the user names.
//
// A variable is an input. Its value in the collection is the default, unless it is a secret. A variable
// at the beginning of an address is a constant if its value is known.
package postman

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Format is the format of Postman's collections.
var Format = importer.Format{
	Name: "postman",
	Doc:  "collections of Postman 2.0 and 2.1, and environments",
	Read: Read,
}

// Read reads one collection and its environments, in any order. Of several environments, the last one
// that has a variable gives its value. The settings are the names of variables.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	r := &reader{options: o, set: importer.NewSettings(o), known: map[string]variable{}, inputs: map[string]string{}}
	var collections []string
	for _, f := range files {
		isCollection, err := r.file(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if isCollection {
			collections = append(collections, f.Name)
		}
	}
	if len(collections) != 1 {
		return nil, fmt.Errorf("want one collection and any number of environments; got %s",
			wording.Counted(len(collections), "collection"))
	}
	src, err := r.source(collections[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", collections[0], err)
	}
	return src, nil
}

type reader struct {
	options    importer.Options
	set        *importer.Settings
	collection collection
	known      map[string]variable // of the environments, which come before those of the collection
	requests   []*entry
	inputs     map[string]string // the names of inputs by what they are for
	src        *importer.Source
}

// file reads a file and reports whether it is the collection.
func (r *reader) file(f importer.File) (isCollection bool, err error) {
	if len(f.Text) > importer.MaxFileBytes {
		return false, fmt.Errorf("the document has %s; the limit is %s", wording.Size(len(f.Text)), wording.Size(importer.MaxFileBytes))
	}
	var document struct {
		collection
		Wrapped *collection `json:"collection"` // as Postman's API gives it
		Values  []variable  `json:"values"`     // of an environment
		Order   any         `json:"requests"`   // of version 1
	}
	if err := json.Unmarshal(f.Text, &document); err != nil {
		return false, err
	}
	switch c := cmp.Or(document.Wrapped, &document.collection); {
	case c.Items != nil:
		r.collection = *c
		return true, nil
	case document.Order != nil:
		return false, errors.New("the collection is of version 1; export it as Collection v2.1")
	case document.Values != nil:
		for _, v := range document.Values {
			if !v.off() {
				r.known[v.Key] = v
			}
		}
		return false, nil
	}
	return false, errors.New("the document is neither a collection, which has a list item, nor an environment, which has values")
}

// An entry is a request with its place in the collection.
type entry struct {
	item
	place   string
	folders []string // their names
	auth    *auth    // its own, or that of the nearest folder that has one
	scripts []event  // of the collection, the folders and the request
	name    string   // of its stream
	path    string   // for children: its address up to the query
	list    bool     // whether it is known to return a list
	stream  *importer.Stream
	ids     []string // the members of its first item that identify it
}

// maxRequests is the number of requests of a collection.
const maxRequests = 20_000

// source translates the requests that return lists.
func (r *reader) source(file string) (*importer.Source, error) {
	for _, v := range r.collection.Variables {
		if _, has := r.known[v.name()]; !has && !v.off() {
			r.known[v.name()] = v
		}
	}
	r.walk(r.collection.Items, &entry{auth: r.collection.Auth, scripts: r.collection.Events, place: "item"})
	if len(r.requests) > maxRequests {
		return nil, fmt.Errorf("the collection has more than %d requests", maxRequests)
	}
	r.nameStreams()
	for _, wanted := range r.options.Streams {
		if !slices.ContainsFunc(r.requests, func(e *entry) bool { return e.is(wanted) }) {
			return nil, fmt.Errorf("there is no request %q; the requests are %s", wanted,
				strings.Join(lists.Map(r.requests, func(e *entry) string { return e.name }), ", "))
		}
	}
	name := strings.Trim(notInName().ReplaceAllString(strings.ToLower(r.collection.Info.Name), "-"), "-")
	r.src = &importer.Source{Name: name, From: fmt.Sprintf("the collection %s of Postman", cmp.Or(r.collection.Info.Name, file))}
	var streams []*entry
	for _, e := range r.requests { // all, since others may be their children
		if t := r.translate(e); t != nil {
			streams = append(streams, e)
		}
	}
	r.parents(streams)
	for _, e := range streams {
		e.stream.Hidden = !r.wants(e)
		r.src.Streams = append(r.src.Streams, e.stream)
	}
	if !slices.ContainsFunc(r.src.Streams, func(s *importer.Stream) bool { return !s.Hidden }) {
		return nil, errors.New("the collection has no request that returns a list; name the requests to import")
	}
	if name, unknown := r.set.Unknown(); unknown {
		return nil, fmt.Errorf("no request has a variable %q, so it cannot be set", name)
	}
	return r.src, nil
}

// walk collects the requests of items. The parent has what they inherit.
func (r *reader) walk(items []item, parent *entry) {
	for i, item := range items {
		e := &entry{item: item, place: fmt.Sprintf("%s[%d]", parent.place, i), auth: parent.auth, folders: parent.folders,
			scripts: append(slices.Clip(parent.scripts), item.Events...)}
		if own := cmp.Or(item.Auth, item.Request.auth()); own != nil {
			e.auth = own
		}
		if item.Request != nil {
			r.requests = append(r.requests, e)
			continue
		}
		e.folders = append(slices.Clip(parent.folders), item.Name)
		e.place += ".item"
		r.walk(item.Items, e)
	}
}

var (
	notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
	verb      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(list|get|fetch|retrieve|find|search|read|query|show)_(all_)?(the_)?`)
	})
)

// nameStreams names the streams after the requests: orders for "List all orders". Where that is not
// unique, the folder comes first, and then a number follows.
func (r *reader) nameStreams() {
	used := map[string]bool{}
	for _, e := range r.requests {
		name := importer.InputName(e.Name)
		if short := verb().ReplaceAllString(name, ""); short != "" && short != "a" && !strings.HasPrefix(short, "by_") {
			name = short
		}
		if used[name] && len(e.folders) > 0 {
			name = importer.InputName(e.folders[len(e.folders)-1]) + "_" + name
		}
		for base, i := name, 2; used[name]; i++ {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		used[name] = true
		e.name = name
	}
}

// is reports whether a user means a request by a name.
func (e *entry) is(name string) bool { return e.name == name || e.Name == name }

// wants reports whether the stream of a request is imported.
func (r *reader) wants(e *entry) bool {
	return r.options.Streams == nil || slices.ContainsFunc(r.options.Streams, e.is)
}
