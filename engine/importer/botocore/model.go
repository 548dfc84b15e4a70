package botocore

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A service is a service model: service-2.json.
type service struct {
	Metadata   metadata
	Operations map[string]*operation
	Shapes     map[string]*shape
}

type metadata struct {
	APIVersion       string
	EndpointPrefix   string
	GlobalEndpoint   string
	JSONVersion      string
	Protocol         string
	Protocols        []string
	ServiceFullName  string
	ServiceID        string
	SignatureVersion string
	SigningName      string
	TargetPrefix     string
}

type operation struct {
	HTTP struct {
		Method     string
		RequestURI string
	}
	Input, Output *reference
	AuthType      string
	Auth          []string
	Endpoint      struct{ HostPrefix string }
	Discovery     json.RawMessage `json:"endpointdiscovery"`
}

// A reference is a member of a shape, or the shape of an input or an output.
type reference struct {
	Shape           string
	Location        string // header, headers, querystring, statusCode, uri; empty is the body
	LocationName    string
	QueryName       string // of protocol ec2
	ResultWrapper   string
	TimestampFormat string
	Flattened       bool
	HostLabel       bool
	Documentation   string
	Token           bool `json:"idempotencyToken"`
}

type shape struct {
	Type            string
	Members         map[string]*reference
	Required        []string
	Member          *reference // of a list
	Value           *reference // of a map
	Payload         string
	LocationName    string
	TimestampFormat string
	Flattened       bool
	Enum            []string
	Sensitive       bool
}

// A paginator says how the pages of an operation are read: an entry of paginators-1.json. A key with
// several names has a list of them.
type paginator struct {
	name string
	keys map[string]any
}

// paginatorKeys are all keys of a paginator.
var paginatorKeys = []string{
	"input_token", "output_token", "more_results", "limit_key", "result_key", "non_aggregate_keys", "py_input_token",
}

// list returns the values of a key, which may be one text or a list of texts.
func (p *paginator) list(key string) ([]string, error) {
	v, has := p.keys[key]
	if !has || v == nil {
		return nil, nil
	}
	elements, isList := v.([]any)
	if !isList {
		elements = []any{v}
	}
	var out []string
	for _, e := range elements {
		text, isText := e.(string)
		if !isText || text == "" {
			return nil, fmt.Errorf("%s must be a text or a list of texts", key)
		}
		out = append(out, text)
	}
	return out, nil
}

// unpack returns the text of a file, which may be compressed as in the packages of botocore.
func unpack(f importer.File) ([]byte, error) {
	if len(f.Text) > importer.MaxFileBytes {
		return nil, fmt.Errorf("%s: the file has %s; the limit is %s", f.Name, wording.Size(len(f.Text)), wording.Size(importer.MaxFileBytes))
	}
	if !bytes.HasPrefix(f.Text, []byte{0x1f, 0x8b}) {
		return f.Text, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(f.Text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, importer.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if len(text) > importer.MaxFileBytes {
		return nil, fmt.Errorf("%s: the file has more than %s when it is decompressed, which is the limit",
			f.Name, wording.Size(importer.MaxFileBytes))
	}
	return text, nil
}

// kindOf tells by the members of its root whether a text is paginators or a service model.
func kindOf(text []byte) (isPaginators, isService bool, err error) {
	var root struct {
		Pagination json.RawMessage
		Operations json.RawMessage
	}
	if err := json.Unmarshal(text, &root); err != nil {
		return false, false, jsonError(text, err)
	}
	return root.Pagination != nil, root.Operations != nil, nil
}

// jsonError adds the line of a syntax error.
func jsonError(text []byte, err error) error {
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")), err)
	}
	return err
}

// protocol returns the protocol that requests are made in: the first of the service that a configuration
// can have.
func (s *service) protocol() (string, error) {
	protocols := s.Metadata.Protocols
	if len(protocols) == 0 {
		protocols = []string{s.Metadata.Protocol}
	}
	for _, p := range protocols {
		switch p {
		case "query", "ec2", "json", "rest-json", "rest-xml":
			return p, nil
		}
	}
	return "", fmt.Errorf("the protocol %s is not supported; the supported ones are query, ec2, json, rest-json and rest-xml",
		strings.Join(protocols, ", "))
}

// shape returns a shape. It is never nil.
func (s *service) shape(r *reference) *shape {
	if r == nil || s.Shapes[r.Shape] == nil {
		return &shape{}
	}
	return s.Shapes[r.Shape]
}

var (
	wordBegins = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(.)([A-Z][a-z]+)`) })
	wordEnds   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])`) })
	notInName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
)

// snake returns a name as inputs have it: db_instance_identifier for DBInstanceIdentifier.
func snake(name string) string {
	name = wordEnds().ReplaceAllString(wordBegins().ReplaceAllString(name, "${1}_$2"), "${1}_$2")
	name = strings.Trim(notInName().ReplaceAllString(strings.ToLower(name), "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "value_" + name
	}
	return name
}

var (
	tags  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^>]*>`) })
	space = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s+`) })
)

// docOf returns the first sentence of a documentation in HTML.
func docOf(html string) string {
	html = html[:min(len(html), 2000)]
	text := strings.ToValidUTF8(tags().ReplaceAllString(html, ""), "")
	for _, e := range [][2]string{{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&amp;", "&"}} {
		text = strings.ReplaceAll(text, e[0], e[1])
	}
	return importer.FirstSentence(space().ReplaceAllString(text, " "))
}
