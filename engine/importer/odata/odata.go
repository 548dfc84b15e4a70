// Package odata reads the metadata of OData services ($metadata) of the versions 2, 3 and 4.
//
// # Decisions
//
// Metadata describes entity sets, and no address and no credentials: the address is an input. By the
// protocol, a service that cuts a list sends the address of the rest, which is followed. Services that do
// not send it are read with $top and $skip, which the setting top asks for.
package odata

import (
	"encoding/xml"
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
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Format is the format of OData's metadata.
var Format = importer.Format{
	Name: "odata",
	Doc:  "metadata of OData services, versions 2 to 4 ($metadata)",
	Read: Read,
}

// The settings.
const (
	URL = "url" // the address of the service
	Top = "top" // items of a page, which $skip then counts
)

// Read reads one metadata document.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one metadata document")
	}
	f := files[0]
	if len(f.Text) > importer.MaxFileBytes {
		return nil, fmt.Errorf("%s: the document has %s; the limit is %s", f.Name, wording.Size(len(f.Text)), wording.Size(importer.MaxFileBytes))
	}
	var m metadata
	if err := xml.Unmarshal(f.Text, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	for _, set := range slices.Sorted(maps.Keys(o.Set)) {
		if set != URL && set != Top {
			return nil, fmt.Errorf("there is no setting %q; the settings are %s and %s", set, URL, Top)
		}
	}
	r := &reader{metadata: &m, options: o, types: map[string]*entityType{}}
	src, err := r.source()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return src, nil
}

// metadata is a document. The names of elements are the same in all versions.
type metadata struct {
	XMLName  xml.Name `xml:"Edmx"`
	Version  string   `xml:"Version,attr"`
	Services []struct {
		Version    string   `xml:"DataServiceVersion,attr"`
		MaxVersion string   `xml:"MaxDataServiceVersion,attr"`
		Schemas    []schema `xml:"Schema"`
	} `xml:"DataServices"`
}

type schema struct {
	Namespace  string       `xml:"Namespace,attr"`
	Alias      string       `xml:"Alias,attr"`
	Types      []entityType `xml:"EntityType"`
	Containers []struct {
		Name string      `xml:"Name,attr"`
		Sets []entitySet `xml:"EntitySet"`
	} `xml:"EntityContainer"`
}

type entityType struct {
	Name       string     `xml:"Name,attr"`
	BaseType   string     `xml:"BaseType,attr"`
	Keys       []property `xml:"Key>PropertyRef"`
	Properties []property `xml:"Property"`
}

type property struct {
	Name string `xml:"Name,attr"`
	Type string `xml:"Type,attr"`
}

type entitySet struct {
	Name           string `xml:"Name,attr"`
	EntityType     string `xml:"EntityType,attr"`
	Addressable    string `xml:"addressable,attr"`     // of SAP: false for a set that is read through others only
	RequiresFilter string `xml:"requires-filter,attr"` // of SAP
}

type reader struct {
	*metadata
	options importer.Options
	version int
	types   map[string]*entityType // by their names with the namespace, and with its alias
	sets    []entitySet
	name    string
}

func (r *reader) source() (*importer.Source, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	names := lists.Map(r.sets, func(s entitySet) string { return s.Name })
	for _, wanted := range r.options.Streams {
		if !slices.Contains(names, wanted) {
			return nil, fmt.Errorf("there is no entity set %q; the entity sets are %s", wanted, strings.Join(names, ", "))
		}
	}
	size, err := r.size()
	if err != nil {
		return nil, err
	}
	out := &importer.Source{Name: r.name, From: fmt.Sprintf("the metadata of %s, an OData service of version %d", r.name, r.version)}
	base := strings.TrimSuffix(r.options.Set[URL], "/") + "/"
	if base == "/" {
		base = "{+input.url}/"
		out.Inputs = []importer.Input{{Name: "url", Doc: "address of the service, without a slash at its end",
			Sample: "https://api.example.com/odata", Place: "$metadata"}}
	}
	for _, s := range r.sets {
		if r.options.Wants(s.Name) {
			out.Streams = append(out.Streams, r.stream(s, base, size))
		}
	}
	return out, nil
}

// index notes the types and the entity sets, and the version of the protocol.
func (r *reader) index() error {
	r.version = 4
	for _, service := range r.Services {
		if !strings.HasPrefix(r.Version, "4") {
			r.version = 2
			if strings.HasPrefix(service.MaxVersion, "3") || service.MaxVersion == "" && strings.HasPrefix(service.Version, "3") {
				r.version = 3
			}
		}
		for i := range service.Schemas {
			s := &service.Schemas[i]
			for j := range s.Types {
				t := &s.Types[j]
				r.types[s.Namespace+"."+t.Name] = t
				if s.Alias != "" {
					r.types[s.Alias+"."+t.Name] = t
				}
			}
			for _, c := range s.Containers {
				r.sets = append(r.sets, c.Sets...)
				if r.name == "" {
					r.name = serviceName(c.Name, s.Namespace)
				}
			}
		}
	}
	if len(r.sets) == 0 {
		return errors.New("the document has no entity sets")
	}
	return nil
}

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// serviceName returns the name of the service: the name of its container or, if that is a usual name, its
// namespace.
func serviceName(container, namespace string) string {
	name := strings.Trim(notInName().ReplaceAllString(strings.ToLower(container), "-"), "-")
	if name == "" || name == "container" || name == "defaultcontainer" || name == "default" {
		name = strings.Trim(notInName().ReplaceAllString(strings.ToLower(namespace), "-"), "-")
	}
	if name == "" {
		return "odata"
	}
	return name
}

// size returns the number of items that pages are asked to have; 0 leaves it to the service.
func (r *reader) size() (int, error) {
	text, set := r.options.Set[Top]
	if !set {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("the setting %s must be a number above 0 instead of %q", Top, text)
	}
	return n, nil
}

// stream makes a stream of an entity set.
func (r *reader) stream(set entitySet, base string, size int) *importer.Stream {
	s := &importer.Stream{Name: set.Name, Place: "EntitySet " + set.Name, Request: importer.Request{BaseURL: base, Endpoint: set.Name}}
	if set.Addressable == "false" {
		s.Refused = "it can be read through other entities only (sap:addressable is false)"
		return s
	}
	var next string
	switch r.version {
	case 2:
		s.Items, next = "d.results", "d.__next"
	case 3:
		s.Items, next = "value", keypath.Join("odata.nextLink")
	default:
		s.Items, next = "value", keypath.Join("@odata.nextLink")
	}
	s.Headers = []importer.Member{{Name: "Accept", Value: importer.Constant("application/json")}}
	s.Paging = &importer.Paging{Kind: importer.NextURL, Path: next, Into: importer.Target{In: importer.InURL}, NoParam: true}
	if size > 0 {
		s.Params = []importer.Member{{Name: "$top", Value: importer.Constant(size)}}
		s.Paging = &importer.Paging{Kind: importer.Offset, Into: importer.Target{In: importer.InParam, Name: "$skip"}, First: true,
			SizeIn: "$top", Size: strconv.Itoa(size), Short: true}
	}
	s.Key = r.keys(set.EntityType)
	r.notes(s, set)
	return s
}

// maxBases bounds the types that a type is derived from.
const maxBases = 50

// chain returns a type and the types that it is derived from.
func (r *reader) chain(name string) []*entityType {
	var out []*entityType
	for range maxBases {
		t := r.types[name]
		if t == nil {
			break
		}
		out = append(out, t)
		name = t.BaseType
	}
	return out
}

// keys returns the paths of the key of a type.
func (r *reader) keys(name string) []string {
	for _, t := range r.chain(name) {
		if len(t.Keys) > 0 {
			return lists.Map(t.Keys, func(p property) string { return keypath.Join(strings.Split(p.Name, "/")...) })
		}
	}
	return nil
}

// ofChange matches the names of properties with the time of the last change.
var ofChange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)modif|updat|chang`) })

// notes says what a user may add: the credentials, and a filter that reads only changed items.
func (r *reader) notes(s *importer.Stream, set entitySet) {
	note := func(source, target, format string, args ...any) {
		s.Note(importer.Note{Grade: importer.Check, Text: fmt.Sprintf(format, args...), Source: source, Target: target})
	}
	note("$metadata", "api.authentication", "Metadata does not describe credentials: write api.authentication")
	if set.RequiresFilter == "true" {
		note(s.Place, "params", "The service wants a filter (sap:requires-filter): add $filter to params")
	}
	if r.version < 4 {
		return // its filters have other forms of times
	}
	for _, t := range r.chain(set.EntityType) {
		for _, p := range t.Properties {
			if p.Type == "Edm.DateTimeOffset" && ofChange().MatchString(p.Name) {
				note(s.Place+"."+p.Name, "params", `To read only what has changed, keep the last %[1]s: `+
					`"keep": {"last": "latestOf(items, '%[1]s', kept.last)"} in pagination, `+
					`and "$filter": {"expr": "kept.last == nil ? nil : '%[1]s ge ' + kept.last"} in params; `+
					`the rows of that time come again, so merge the rows by their key: gt would leave out rows that get the same time later`, p.Name)
				return
			}
		}
	}
}
