// Package keboola reads configurations of Keboola's generic extractor, which the engine runs in dialect
// keboola, and turns them into configurations of dialect spec.
//
// # Decisions
//
// The dialect itself reads a document first. If it refuses the document, the import fails with its message.
// Keys that it warns of have no effect, and are left out with a note. So a reader of the keys need not check
// them.
//
// A pagination is written as it is, since both dialects have the same methods. Only values that PHP
// converts, such as a limit in a text, are written in their usual form, and rules are added where the
// dialects end a list at different pages. The guards against loops of dialect spec apply: if the API makes no
// progress, dialect keboola ends the list with a warning, and the translated configuration fails.
//
// Secrets of the document are not copied into expressions: they become inputs without a default.
package keboola

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Format is the format of configurations of the generic extractor.
var Format = importer.Format{
	Name: "keboola",
	Doc:  "configurations of Keboola's generic extractor",
	Read: Read,
}

// Read reads one configuration.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one configuration")
	}
	f := files[0]
	if len(f.Text) > importer.MaxFileBytes {
		return nil, fmt.Errorf("%s: the document has %s; the limit is %s", f.Name, wording.Size(len(f.Text)), wording.Size(importer.MaxFileBytes))
	}
	e, err := engine.Load(f.Name, f.Text, engine.WithDialect(rules.Keboola), engine.WithPlaceholders())
	if err != nil {
		return nil, err // it names the file
	}
	parsed, err := rules.ParseJSON(diag.NewSource(f.Name, string(f.Text)))
	if err != nil {
		return nil, err
	}
	r := &reader{settings: importer.NewSettings(o), without: map[string]string{}, given: map[string]string{}, ids: map[string]bool{}}
	for _, w := range e.Warnings() {
		r.without[w.Path] = w.Message
	}
	root, _ := value.Members(parsed)
	r.root, r.authorization = root, objectAt(root, "authorization")
	if inner, wrapped := root.Get("parameters"); wrapped {
		r.root, _ = value.Members(inner)
		r.path = "parameters"
	}
	r.name = strings.TrimSuffix(path.Base(f.Name), path.Ext(f.Name))
	return r.source(o)
}

type reader struct {
	settings      *importer.Settings
	root          value.Object // with api and config
	path          string       // of root
	name          string
	authorization value.Object

	without map[string]string // the messages of the warnings of the dialect, by config paths
	ids     map[string]bool   // of the streams

	inputs []importer.Input
	given  map[string]string // the names of inputs by the names of their attributes

	// Of the iteration that is read:
	config    value.Object // with the values that the iteration overrides
	over      value.Object // these values
	iteration int          // from 1; 0 without iterations

	base    string
	auth    []importer.Member
	common  []importer.Member
	notes   []importer.Note // on all streams
	streams []*importer.Stream
}

// source reads the jobs of all iterations.
func (r *reader) source(o importer.Options) (*importer.Source, error) {
	iterations, _ := memberOf(r.root, "iterations").([]any)
	if len(iterations) == 0 {
		iterations = []any{nil}
	}
	for i, one := range iterations {
		r.over, _ = value.Members(one)
		r.config = objectAt(r.root, "config").Merge(r.over)
		if r.iteration = i + 1; len(iterations) == 1 && r.over == nil {
			r.iteration = 0
		}
		r.notes = nil
		r.left()
		if err := r.api(); err != nil {
			return nil, err
		}
		r.jobs()
	}
	if name, unknown := r.settings.Unknown(); unknown {
		return nil, fmt.Errorf("there is no setting %q; the settings are the values of config that functions read", name)
	}
	out := &importer.Source{Name: r.name, From: "a configuration of Keboola's generic extractor", Inputs: r.inputs}
	names := lists.Map(r.streams, func(s *importer.Stream) string { return s.Name })
	for _, wanted := range o.Streams {
		if !slices.Contains(names, wanted) {
			return nil, fmt.Errorf("there is no stream %q; the streams are %s", wanted, strings.Join(names, ", "))
		}
	}
	for _, s := range r.streams {
		if o.Wants(s.Name) {
			out.Streams = append(out.Streams, s)
		}
	}
	return out, nil
}

// left notes the keys that have no effect in the dialect, apart from the keys of jobs.
func (r *reader) left() {
	for _, place := range sorted(r.without) {
		if !strings.HasPrefix(place, r.at("config.jobs[")) && r.ineffective(place) {
			r.notes = append(r.notes, importer.Note{Grade: importer.Left, Source: place, Text: "In dialect keboola, " + r.without[place]})
		}
	}
}

// api reads the settings that all jobs have in common.
func (r *reader) api() error {
	api := objectAt(r.root, "api")
	base, err := r.address(memberOf(api, "baseUrl"))
	if err != nil {
		return fmt.Errorf("%s: %w", r.at("api.baseUrl"), err)
	}
	if i := strings.IndexAny(base, "?#"); i >= 0 && !strings.Contains(base, "{") {
		base = base[:i]
	}
	if r.base = base; !r.endsInSlash(memberOf(api, "baseUrl")) {
		r.base = directory(base)
	}
	r.common = r.http(api)
	for _, key := range copied {
		section, name, _ := strings.Cut(key, ".")
		if v := memberOf(objectAt(r.root, section), name); isGiven(v) {
			r.everywhere(importer.Approximate, key, "%s is a key of this engine: copy it", name)
		}
	}
	r.auth = r.authentication(objectAt(api, "authentication"))
	return nil
}

// directory returns an address up to its last slash, as endpoints are resolved against it.
func directory(base string) string {
	i := strings.LastIndexByte(base, '/')
	if strings.HasSuffix(base, "}") || i < 0 || strings.HasSuffix(base[:i], ":/") { // a host
		return base + "/"
	}
	return base[:i+1]
}

// copied are keys of the engine that users copy: certificates, which are secret, and limits of runs.
var copied = []string{"api.caCertificate", "api.clientCertificate", "api.#clientCertificate", "config.limits"}

// at returns the config path of a key, below the path of the object that holds api and config.
func (r *reader) at(key string) string { return diag.Join(r.path, key) }

// http returns api.http: the settings that all requests have in common.
func (r *reader) http(api value.Object) []importer.Member {
	var out []importer.Member
	http := objectAt(api, "http")
	for _, m := range http {
		switch m.Name {
		case "headers", "defaultOptions", "requiredHeaders":
		case "maxRetries":
			out = r.retries(out, m.Value)
		default:
			if !r.ineffective(r.at("api.http." + m.Name)) {
				out = append(out, importer.Member{Name: m.Name, Value: importer.Constant(m.Value)})
			}
		}
	}
	retry := objectAt(api, "retryConfig")
	if v := memberOf(retry, "maxRetries"); v != nil {
		out = r.retries(out, v)
	}
	for _, m := range append(append(value.Object{}, retry...), objectAt(retry, "http")...) {
		switch m.Name {
		case "codes", "retryHeader":
			out = with(out, m.Name, importer.Constant(m.Value))
		}
	}
	var headers value.Object
	for _, o := range []value.Object{
		objectAt(http, "headers"), objectAt(http, "defaultOptions", "headers"), objectAt(r.config, "http", "headers"),
	} {
		headers = headers.Merge(o)
	}
	if members, err := r.headers(headers); err != nil {
		r.everywhere(importer.Approximate, "api.http.headers", "Headers are left out: %v", err)
	} else if len(members) > 0 {
		out = append(out, importer.Member{Name: "headers", Value: importer.Value{Object: members}})
	}
	if params := objectAt(http, "defaultOptions", "params"); len(params) > 0 {
		all, _ := r.query(params, nil) // without functions
		out = append(out, importer.Member{Name: "defaultOptions", Value: importer.Value{Object: []importer.Member{
			{Name: "params", Value: importer.Value{Object: all}}}}})
	}
	return out
}

// retries sets the number of retries. A number below 0 is 0.
func (r *reader) retries(out []importer.Member, v any) []importer.Member {
	n, _ := whole(v)
	return with(out, "maxRetries", importer.Constant(max(n, 0)))
}

// headers returns headers. The values of secret ones are marked.
func (r *reader) headers(object value.Object) ([]importer.Member, error) {
	var out []importer.Member
	for _, m := range object {
		v, err := r.value(m.Value, nil)
		if err != nil {
			return nil, err
		}
		if text, isText := v.Const.(string); isText && secret.IsHeader(m.Name, text) && !strings.HasPrefix(m.Name, "#") {
			m.Name = "#" + m.Name
		}
		out = append(out, importer.Member{Name: m.Name, Value: v})
	}
	return out, nil
}

// ineffective reports whether the dialect says of a key that it has no effect.
func (r *reader) ineffective(place string) bool {
	message := r.without[place]
	return strings.Contains(message, "no effect") || strings.Contains(message, "unknown key") || strings.Contains(message, "as it is")
}

// everywhere adds a note to all streams.
func (r *reader) everywhere(grade importer.Grade, key, format string, args ...any) {
	r.notes = append(r.notes, importer.Note{Grade: grade, Text: fmt.Sprintf(format, args...), Source: r.at(key), Target: key})
}

// memberOf returns a member of an object.
func memberOf(o value.Object, name string) any { v, _ := o.Get(name); return v }

// objectAt returns the object at a path of keys, or nil.
func objectAt(o value.Object, keys ...string) value.Object {
	for _, key := range keys {
		o, _ = value.Members(memberOf(o, key))
	}
	return o
}

// with sets a member.
func with(members []importer.Member, name string, v importer.Value) []importer.Member {
	for i, m := range members {
		if m.Name == name {
			members[i].Value = v
			return members
		}
	}
	return append(members, importer.Member{Name: name, Value: v})
}

func sorted(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isGiven reports whether a value of a configuration is not empty in PHP.
func isGiven(v any) bool { return !php.EmptyConfig(v) }
