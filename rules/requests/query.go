package requests

import (
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// encodeQuery encodes params: scalars as name=value, lists and objects with their
// indexes and keys in brackets. It leaves out null and empty lists.
func encodeQuery(params value.Object) string {
	var pairs []string
	for _, m := range params {
		pairs = append(pairs, pairsOf(m.Name, m.Value)...)
	}
	return strings.Join(pairs, "&")
}

func pairsOf(name string, v any) []string {
	if text, ok := value.Text(v); ok {
		return []string{url.QueryEscape(name) + "=" + url.QueryEscape(text)}
	}
	var pairs []string
	if list, ok := v.([]any); ok {
		for i, e := range list {
			pairs = append(pairs, pairsOf(fmt.Sprintf("%s[%d]", name, i), e)...)
		}
	}
	object, _ := value.Members(v)
	for _, m := range object {
		pairs = append(pairs, pairsOf(name+"["+m.Name+"]", m.Value)...)
	}
	return pairs
}

// mergeQuery merges params into the query of an endpoint. The other parameters of
// the endpoint keep their spelling.
func mergeQuery(endpoint string, params value.Object) string {
	rest, _, _ := strings.Cut(endpoint, "#") // the fragment is never sent
	path, query, _ := strings.Cut(rest, "?")
	var parts []string
	used := map[string]bool{}
	if query != "" {
		for p := range Params(query) {
			v, replaced := params.Get(p.Name)
			switch {
			case !replaced:
				parts = append(parts, p.Text)
			case !used[p.Name]:
				used[p.Name] = true
				parts = append(parts, pairsOf(p.Name, v)...)
			}
		}
	}
	for _, m := range params {
		if !used[m.Name] {
			parts = append(parts, pairsOf(m.Name, m.Value)...)
		}
	}
	if len(parts) == 0 {
		return path
	}
	return path + "?" + strings.Join(parts, "&")
}

// ParseQuery returns the parameters of a query string, or of a URL: decoded, in
// order, with the values of a repeated name as a list. It takes time in proportion to
// the length of the text.
func ParseQuery(text string) value.Object {
	if _, query, ok := strings.Cut(text, "?"); ok {
		text = query
	} else if strings.Contains(text, "://") {
		return nil
	}
	text, _, _ = strings.Cut(text, "#")
	var params value.Object
	for p := range Params(text) {
		if p.Text != "" {
			params = append(params, value.Member{Name: p.Name, Value: p.Value})
		}
	}
	return params.Gather()
}

// A Param is a parameter of a query. Text is how it is spelled; it may be empty.
type Param struct{ Name, Value, Text string }

// Params iterates over the parameters of a query, in order. A name or a value that cannot
// be decoded stays as it is spelled.
func Params(query string) iter.Seq[Param] {
	return func(yield func(Param) bool) {
		for text := range strings.SplitSeq(query, "&") {
			name, v, _ := strings.Cut(text, "=")
			if !yield(Param{unescape(name), unescape(v), text}) {
				return
			}
		}
	}
}

func unescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
