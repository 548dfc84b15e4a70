// Package botocore reads the paginators of botocore (paginators-1.json), which say how the operations
// of AWS are paged, together with the models of the services (service-2.json), which say how requests
// are sent. It knows the protocols query, ec2, json, rest-json and rest-xml.
//
// # Decisions
//
// A configuration requests the same list as the paginator of botocore with only the required members of an
// operation. So a required member is an input, and an optional member is left out, unless a setting gives it
// a value. The size of a page is optional, too: botocore does not send it.
//
// Paths of paginators have names of shapes; paths of a configuration have names in responses, with the
// wrappers and list elements that XML has around them.
package botocore

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	urlpath "path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// Format is the format of paginators.
var Format = importer.Format{
	Name: "botocore",
	Doc:  "paginators of botocore (paginators-1.json, service-2.json)",
	Read: Read,
}

// PageSize is the setting that gives the number of items of a page, whatever the operations call it.
const PageSize = "PageSize"

// Read reads the paginators of one service. The files are the paginators and the service model, in
// any order; each may be compressed with gzip. The settings are members of the operations' inputs.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	r := &reader{options: o, set: importer.NewSettings(o), inputs: map[string]*input{}}
	for _, f := range files {
		if err := r.file(f); err != nil {
			return nil, err
		}
	}
	switch {
	case r.paginators == nil && r.service == nil:
		return nil, errors.New("want the paginators (paginators-1.json) and the model (service-2.json) of a service")
	case r.paginators == nil:
		return nil, fmt.Errorf("%s is the model of a service; its paginators are missing: add paginators-1.json, which is beside it",
			r.serviceFile)
	case r.service == nil:
		return nil, fmt.Errorf("%s has no addresses and names of members; add the model of the service, service-2.json, which is beside it",
			r.name)
	}
	return r.source()
}

type reader struct {
	options     importer.Options
	name        string // the file of the paginators
	serviceFile string
	paginators  []*paginator
	service     *service
	protocol    string
	set         *importer.Settings
	inputs      map[string]*input // by name
	order       []*input
}

// file takes a file as the paginators or as the service model.
func (r *reader) file(f importer.File) error {
	text, err := unpack(f)
	if err != nil {
		return err
	}
	paginators, model, err := kindOf(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	switch {
	case paginators && r.paginators != nil || model && r.service != nil:
		return fmt.Errorf("%s: the files of two services; import one service at a time", f.Name)
	case paginators:
		r.name = f.Name
		r.paginators, err = readPaginators(text)
	case model:
		r.serviceFile = f.Name
		err = json.Unmarshal(text, &r.service)
	default:
		// A directory of botocore has further files, such as waiters-2.json.
		if !regexp.MustCompile(`(waiters|examples|endpoint-rule-set|smoke|sdk-extras|completions|smithy)[^/]*$`).MatchString(f.Name) {
			err = errors.New("neither paginators (pagination) nor the model of a service (operations)")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, jsonError(text, err))
	}
	return nil
}

// readPaginators reads the entries of the paginators, by name.
func readPaginators(text []byte) ([]*paginator, error) {
	var root struct{ Pagination map[string]map[string]any }
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, jsonError(text, err)
	}
	out := []*paginator{}
	for _, name := range slices.Sorted(maps.Keys(root.Pagination)) {
		out = append(out, &paginator{name: name, keys: root.Pagination[name]})
	}
	return out, nil
}

// isVersion matches the folder of a version of a service: s3/2006-03-01/paginators-1.json.
var isVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{4}-\d\d-\d\d`) })

// apiName returns the name of the service: of its folder, or of its addresses.
func (r *reader) apiName() string {
	folder := urlpath.Dir(strings.ReplaceAll(r.name, `\`, "/"))
	if base := urlpath.Base(urlpath.Dir(folder)); isVersion().MatchString(urlpath.Base(folder)) && base != "." && base != "/" {
		return base
	}
	return r.service.Metadata.EndpointPrefix
}

// source reads the paginators that are wanted.
func (r *reader) source() (*importer.Source, error) {
	var err error
	if r.protocol, err = r.service.protocol(); err != nil {
		return nil, fmt.Errorf("%s: %w", r.serviceFile, err)
	}
	names := lists.Map(r.paginators, func(p *paginator) string { return p.name })
	for _, wanted := range r.options.Streams {
		if !slices.Contains(names, wanted) {
			return nil, fmt.Errorf("%s has no paginator %q; its paginators are %s", r.name, wanted, strings.Join(names, ", "))
		}
	}
	out := &importer.Source{Name: r.apiName(), From: "the paginators of botocore for " + r.apiName()}
	for _, p := range r.paginators {
		if r.options.Wants(p.name) {
			out.Streams = append(out.Streams, r.stream(p))
		}
	}
	if name, unknown := r.set.Unknown(); unknown {
		return nil, fmt.Errorf("no operation has a member %q, so it cannot be set; a setting is the name of a member as in the model, "+
			"region, or %s for the number of items of a page", name, PageSize)
	}
	for _, in := range r.order {
		out.Inputs = append(out.Inputs, in.Input)
	}
	return out, nil
}

// stream translates a paginator, or says why it cannot be translated.
func (r *reader) stream(p *paginator) *importer.Stream {
	t := &translation{reader: r, paginator: p, out: &importer.Stream{Name: p.name, Place: "pagination." + p.name}}
	if err := t.translate(); err != nil {
		t.out.Refused = err.Error()
	}
	return t.out
}

// A translation makes a stream of a paginator.
type translation struct {
	*reader
	paginator *paginator
	operation *operation
	uri       []part // of the endpoint
	results   []found
	out       *importer.Stream
}

func (t *translation) translate() error {
	t.operation = t.service.Operations[t.paginator.name]
	if t.operation == nil {
		return fmt.Errorf("%s has no operation %s; take the model of the same version", t.serviceFile, t.paginator.name)
	}
	for _, key := range slices.Sorted(maps.Keys(t.paginator.keys)) {
		if !slices.Contains(paginatorKeys, key) {
			return fmt.Errorf("the key %s is unknown", key)
		}
	}
	for _, step := range []func() error{t.address, t.request, t.response, t.paging} {
		if err := step(); err != nil {
			return err
		}
	}
	t.credentials()
	t.notes()
	return nil
}

func (t *translation) note(g importer.Grade, source, target, format string, args ...any) {
	t.out.Note(importer.Note{Grade: g, Text: fmt.Sprintf(format, args...), Source: source, Target: target})
}

// notes are about the keys of a paginator that a configuration does not have.
func (t *translation) notes() {
	if keys, err := t.paginator.list("non_aggregate_keys"); err == nil && keys != nil {
		t.note(importer.Left, t.out.Place+".non_aggregate_keys", "",
			"%s of the response is not a part of the items%s", strings.Join(keys, ", "), t.asField(keys[0]))
	}
	if keys, err := t.paginator.list("limit_key"); err == nil && keys != nil && t.options.Set[PageSize] == "" {
		t.note(importer.Left, t.out.Place+".limit_key", "",
			"No page size is sent, as botocore sends none, so pages have the size that the API chooses; the setting %s sends one", PageSize)
	}
	if t.operation.Discovery != nil {
		t.note(importer.Check, "operations."+t.paginator.name+".endpointdiscovery", "api.baseUrl",
			"The address is one that the operation DescribeEndpoints returns: write it into baseUrl")
	}
}

// asField says how a value of the response becomes a field of each item.
func (t *translation) asField(key string) string {
	q, err := parseQuery(key)
	if err != nil || len(q) > 1 {
		return ""
	}
	f, err := t.find(q[0])
	if err != nil {
		return ""
	}
	return fmt.Sprintf("; add it by fields, such as \"fields\": {\"%s\": \"%s\"}", q[0][len(q[0])-1].name, f.source())
}
