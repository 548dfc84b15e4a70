// Package nango reads the providers of Nango (providers.yaml).
//
// # Decisions
//
// A provider describes an API, its credentials and its pages, and no endpoint: scripts have these. So
// each provider is one stream, whose endpoint is an input. A script may replace each key of paginate; a
// setting of its name does the same.
//
// Nango ends a list with a cursor at the first empty page. An API that filters its pages sends empty pages
// with a cursor, so here the cursor decides, and the grade is approximate.
package nango

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Format is the format of Nango's providers.
var Format = importer.Format{
	Name: "nango",
	Doc:  "providers of Nango (providers.yaml)",
	Read: Read,
}

// Read reads one file: an object of providers.
func Read(files []importer.File, o importer.Options) (*importer.Source, error) {
	if len(files) != 1 {
		return nil, errors.New("want one file of providers")
	}
	f := files[0]
	v, err := importer.ParseCoreYAML(f, importer.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	providers, isObject := value.Members(v)
	if !isObject || len(providers) == 0 {
		return nil, fmt.Errorf("%s: want an object of providers, got %s", f.Name, value.KindOf(v))
	}
	r := &reader{providers: providers, at: map[string]value.Object{}, settings: importer.NewSettings(o)}
	src, err := r.source(f.Name, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return src, nil
}

type reader struct {
	providers value.Object
	at        map[string]value.Object // by name
	settings  *importer.Settings
}

// providerName matches the names of providers.
var providerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`) })

// source reads all providers that are wanted.
func (r *reader) source(file string, o importer.Options) (*importer.Source, error) {
	var names []string
	for _, m := range r.providers {
		object, isObject := value.Members(m.Value)
		switch {
		case !providerName().MatchString(m.Name):
			return nil, fmt.Errorf("%s: want the name of a provider: small letters, digits and hyphens", value.Preview(m.Name))
		case !isObject:
			return nil, fmt.Errorf("%s: want an object, got %s", m.Name, value.KindOf(m.Value))
		}
		r.at[m.Name] = object
		names = append(names, m.Name)
	}
	for _, wanted := range o.Streams {
		if r.at[wanted] == nil {
			return nil, fmt.Errorf("there is no provider %q; %s", wanted, diag.DidYouMean(wanted, names))
		}
	}
	out := &importer.Source{From: "the providers of Nango in " + file}
	for _, name := range names {
		if o.Wants(name) {
			out.Streams = append(out.Streams, r.stream(name))
		}
	}
	if name, unknown := r.settings.Unknown(); unknown {
		return nil, fmt.Errorf("there is no setting %q; the settings are endpoint, method, the keys of paginate and those of "+
			"connection_config", name)
	}
	return out, nil
}

// stream makes a stream of a provider.
func (r *reader) stream(name string) *importer.Stream {
	t := &translation{reader: r, out: &importer.Stream{Name: name, Place: name}, named: map[string]string{}}
	resolved, err := r.resolve(name, nil)
	if err == nil {
		t.node = node{resolved, name}
		err = t.translate()
	}
	if err != nil {
		t.out.Refused = err.Error()
	}
	return t.out
}

// maxAliases is the largest number of aliases from a provider to the one that they stand for.
const maxAliases = 20

// resolve returns a provider with the members of its alias that it does not have itself. The members of
// proxy are merged one by one.
func (r *reader) resolve(name string, before []string) (value.Object, error) {
	object := r.at[name]
	alias, _ := object.Get("alias")
	if alias == nil {
		return object, nil
	}
	target, isText := alias.(string)
	switch {
	case !isText || r.at[target] == nil:
		return nil, fmt.Errorf("%s.alias: there is no provider %s", name, value.Preview(alias))
	case slices.Contains(before, target) || target == name:
		return nil, fmt.Errorf("%s.alias: the aliases lead back to %s", name, target)
	case len(before) == maxAliases:
		return nil, fmt.Errorf("%s.alias: more than %d aliases lead to this one; name the provider that they stand for", name, maxAliases)
	}
	base, err := r.resolve(target, append(before, name))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(base)
	for _, m := range object {
		if m.Name == "proxy" {
			inherited, _ := value.Members(get(base, "proxy"))
			replaced, _ := value.Members(m.Value)
			m.Value = inherited.Merge(replaced)
		}
		out = out.With(m.Name, m.Value)
	}
	return out, nil
}

func get(o value.Object, key string) any {
	v, _ := o.Get(key)
	return v
}

// A node is a value of the document with its place.
type node struct {
	v    any
	path string
}

func (n node) given() bool { return n.v != nil }

func (n node) get(key string) node {
	object, _ := value.Members(n.v)
	return node{get(object, key), n.path + "." + key}
}

// text returns a scalar as text, or the empty text for other values.
func (n node) text() string {
	s, _ := value.Text(n.v)
	return s
}

// flag reports whether a value is true.
func (n node) flag() bool { return n.v == true }

// list returns the elements of a list, or any other value as the only element.
func (n node) list() []node {
	list, isList := n.v.([]any)
	if !isList {
		if n.v == nil {
			return nil
		}
		return []node{n}
	}
	var out []node
	for i, e := range list {
		out = append(out, node{e, fmt.Sprintf("%s[%d]", n.path, i)})
	}
	return out
}

type namedNode struct {
	name string
	node
}

func (n node) members() []namedNode {
	var out []namedNode
	object, _ := value.Members(n.v)
	for _, m := range object {
		out = append(out, namedNode{m.Name, node{m.Value, n.path + "." + m.Name}})
	}
	return out
}

// Keys of a provider are read, or left out because they have no effect on the requests for lists.
const (
	read = "read"
	left = "left"
)

// keysOf are the keys of each object of a provider.
var keysOf = map[string]map[string]string{
	"provider": {
		"alias": read, "auth_mode": read, "authorization_method": read, "body_format": read, "connection_config": read,
		"credentials": read, "default_scopes": read, "proxy": read, "proxy_header_authorization": read, "refresh_params": read,
		"refresh_url": read, "token_url": read, "token_params": read, "token_headers": read, "token_response": read,
		"token_expires_in_ms": read, "token_request_auth_method": read, "token_request_method": read, "additional_steps": read,
		"scope_separator": read, "token_response_metadata": read, "redirect_uri_metadata": read, "connection_configuration": read,
		"signature": read, "token": read, "require_client_certificate": read, "alternate_access_token_response_path": read,
		"request_url": read, "request_params": read, "signature_method": read, "request_http_method": read, "token_http_method": read,

		"display_name": left, "categories": left, "docs": left, "docs_connect": left, "setup_guide_url": left, "auth": left,
		"authorization_url": left, "authorization_params": left, "authorization_url_skip_encode": left,
		"authorization_url_skip_empty": left, "authorization_url_encode": left, "authorization_url_replacements": left,
		"authorization_url_fragment": left, "authorization_code_param_in_callback": left, "authorization_code_param_in_webhook": left,
		"access_token_url": left, "decode_url": left, "disable_pkce": left, "expires_in_unit": left, "installation": left,
		"post_connection_script": left, "pre_connection_deletion_script": left, "credentials_verification_script": left,
		"token_expiration_buffer": left, "token_url_encode": left, "token_url_skip_encode": left, "webhook_response_metadata": left,
		"webhook_routing_script": left, "webhook_user_defined_secret": left,
	},
	"proxy": {
		"base_url": read, "headers": read, "query": read, "retry": read, "paginate": read,
		"connection_config": left, "decompress": left, "verification": left,
	},
	"retry": {"after": read, "at": read, "remaining": read, "error_code": read, "in_body": left},
	"paginate": {
		"type": read, "cursor_path_in_response": read, "cursor_name_in_request": read, "link_rel_in_response_header": read,
		"link_path_in_response_body": read, "offset_name_in_request": read, "offset_start_value": read,
		"offset_calculation_method": read, "limit_name_in_request": read, "limit": read, "response_path": read, "in_body": read,
		"on_page": left,
	},
	"declaration": {
		"title": read, "description": read, "example": read, "pattern": read, "format": read, "secret": read, "prefix": read,
		"suffix": read, "optional": read, "default_value": read, "hidden": read, "enum": read,
		"type": left, "order": left, "doc_section": left, "automated": left,
	},
}

// keys notes the keys of an object that are not translated.
func (t *translation) keys(kind string, n node) {
	var without []string
	for _, m := range n.members() {
		switch keysOf[kind][m.name] {
		case "":
			t.note(importer.Check, m.node, "", "%s is not known here: look whether it changes the requests", m.name)
		case left:
			if kind != "declaration" { // of these, the descriptions of a form
				without = append(without, m.name)
			}
		}
	}
	if len(without) > 0 {
		t.note(importer.Left, n, "", "%s: without effect on the requests for a list", strings.Join(without, ", "))
	}
}

// paginateKeys returns the keys of paginate, which are settings, too.
func paginateKeys() []string { return slices.Sorted(maps.Keys(keysOf["paginate"])) }
