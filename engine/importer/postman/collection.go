package postman

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A collection is a document of the versions 2.0 and 2.1.
type collection struct {
	Info struct {
		Name string `json:"name"`
	} `json:"info"`
	Items     []item     `json:"item"`
	Variables []variable `json:"variable"`
	Auth      *auth      `json:"auth"`
	Events    []event    `json:"event"`
}

// An item is a request or, without one, a folder.
type item struct {
	Name      string     `json:"name"`
	Items     []item     `json:"item"`
	Request   *request   `json:"request"`
	Responses []response `json:"response"`
	Auth      *auth      `json:"auth"`
	Events    []event    `json:"event"`
}

// A variable has a value of a collection or of an environment.
type variable struct {
	Key      string `json:"key"`
	ID       string `json:"id"` // in the place of the key, in version 2.0
	Value    any    `json:"value"`
	Type     string `json:"type"` // secret, and others that do not matter
	Disabled bool   `json:"disabled"`
	Enabled  *bool  `json:"enabled"` // of an environment; nil is true
}

func (v variable) off() bool { return v.Disabled || v.Enabled != nil && !*v.Enabled }

func (v variable) name() string {
	if v.Key == "" {
		return v.ID
	}
	return v.Key
}

// text returns the value as text, or "" if it is not given.
func (v variable) text() string {
	if v.Value == nil {
		return ""
	}
	text, _ := value.Text(value.Plain(v.Value))
	return text
}

// A request is an object, or an address alone.
type request struct {
	Method string  `json:"method"`
	URL    address `json:"url"`
	Header headers `json:"header"`
	Body   *body   `json:"body"`
	Auth   *auth   `json:"auth"`
}

func (r *request) UnmarshalJSON(text []byte) error {
	if isText(text) {
		return json.Unmarshal(text, &r.URL)
	}
	type plain request
	return json.Unmarshal(text, (*plain)(r))
}

func (r *request) auth() *auth {
	if r == nil {
		return nil
	}
	return r.Auth
}

func isText(text []byte) bool { return strings.HasPrefix(strings.TrimSpace(string(text)), `"`) }

// An address is an object, or its text alone.
type address struct {
	Raw       string     `json:"raw"`
	Protocol  string     `json:"protocol"`
	Host      words      `json:"host"`
	Port      string     `json:"port"`
	Path      words      `json:"path"`
	Query     []pair     `json:"query"`
	Variables []variable `json:"variable"`
}

func (a *address) UnmarshalJSON(text []byte) error {
	if isText(text) {
		return json.Unmarshal(text, &a.Raw)
	}
	type plain address
	return json.Unmarshal(text, (*plain)(a))
}

// words are the parts of a host or of a path: a list of texts and of variables, or a text alone.
type words []string

func (w *words) UnmarshalJSON(text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		*w = strings.Split(strings.Trim(v, "/"), "/")
	case []any:
		for _, e := range v {
			if object, isObject := e.(map[string]any); isObject {
				e = object["value"]
			}
			*w = append(*w, fmt.Sprint(e))
		}
	}
	return nil
}

// lines are a list of texts, or one text.
type lines []string

func (l *lines) UnmarshalJSON(text []byte) error {
	if isText(text) {
		*l = []string{""}
		return json.Unmarshal(text, &(*l)[0])
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// A pair is a parameter or a header.
type pair struct {
	Key      string  `json:"key"`
	Value    *string `json:"value"`
	Disabled bool    `json:"disabled"`
	Type     string  `json:"type"` // of a form: text or file
}

func (p pair) text() string {
	if p.Value == nil {
		return ""
	}
	return *p.Value
}

// headers are a list, or the text of a header block.
type headers []pair

func (h *headers) UnmarshalJSON(text []byte) error {
	if !isText(text) {
		var list []pair
		err := json.Unmarshal(text, &list)
		*h = list
		return err
	}
	var block string
	if err := json.Unmarshal(text, &block); err != nil {
		return err
	}
	for line := range strings.Lines(block) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			v = strings.TrimSpace(v)
			*h = append(*h, pair{Key: strings.TrimSpace(name), Value: &v})
		}
	}
	return nil
}

// A body has the mode that says which of its members counts.
type body struct {
	Mode       string `json:"mode"`
	Raw        string `json:"raw"`
	URLEncoded []pair `json:"urlencoded"`
	FormData   []pair `json:"formdata"`
	GraphQL    struct {
		Query     string `json:"query"`
		Variables any    `json:"variables"` // a JSON text or an object
	} `json:"graphql"`
	Disabled bool `json:"disabled"`
}

// A response is one that was saved, with its request.
type response struct {
	Request *request `json:"originalRequest"`
	Code    int      `json:"code"`
	Header  headers  `json:"header"`
	Body    string   `json:"body"`
}

// An event is a script.
type event struct {
	Listen string `json:"listen"` // prerequest or test
	Script struct {
		Exec lines `json:"exec"`
	} `json:"script"`
	Disabled bool `json:"disabled"`
}

// An auth has a type and its settings: a list of pairs in version 2.1, and an object in version 2.0.
type auth struct {
	Type     string
	Settings map[string]string
}

func (a *auth) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	if err := json.Unmarshal(members["type"], &a.Type); err != nil {
		return fmt.Errorf("auth.type: %w", err)
	}
	a.Settings = map[string]string{}
	var list []struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	settings := members[a.Type]
	if json.Unmarshal(settings, &list) == nil {
		for _, s := range list {
			a.set(s.Key, s.Value)
		}
		return nil
	}
	var object map[string]any
	if settings != nil {
		if err := json.Unmarshal(settings, &object); err != nil {
			return fmt.Errorf("auth.%s: %w", a.Type, err)
		}
	}
	for key, v := range object {
		a.set(key, v)
	}
	return nil
}

// set notes a setting whose value is a scalar.
func (a *auth) set(key string, v any) {
	switch v.(type) {
	case nil, []any, map[string]any:
		return
	}
	if text, ok := value.Text(v); ok {
		a.Settings[key] = text
	}
}
