package detect

import (
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// token finds texts and numbers that may be sent for the next page.
func (s *seeker) token(sign apinames.PagingSign) []candidate {
	var out []candidate
	for _, f := range s.page.named(sign.Names...) {
		text, ok := value.Text(f.value)
		_, isFlag := f.value.(bool)
		_, isNumber := number(f.value)
		if !ok || isFlag || text == "" || text == "0" || text == "-1" || s.isAddress(text) || isNumber && sign.ID == "text-token" {
			continue
		}
		for i, param := range s.params(sign, f.name()) {
			c := candidate{score: tokenGuess - i*nextGuess, values: at(f.keys), guess: param}
			c.values["param"] = param
			switch {
			case s.hasParam(param), s.linked(param, text), param == f.name() && !strings.HasPrefix(strings.ToLower(param), "next"):
				c.score, c.guess = namedParam, ""
			case !sign.Weak:
				c.score, c.guess = stated, ""
			}
			if s.call.isJSON() && !sign.POST {
				c.values["param"] = s.target(param)
			}
			out = append(out, c)
		}
	}
	return out
}

// params returns the names of the parameters of a sign. "" is the name of what was found.
func (s *seeker) params(sign apinames.PagingSign, name string) []string {
	var out []string
	for _, p := range sign.Params {
		if p == "" {
			p = name
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// hasParam reports whether the request has a parameter.
func (s *seeker) hasParam(name string) bool {
	_, ok := s.call.params.Get(name)
	return ok
}

// linked reports whether a link in the response sends a value as a parameter.
func (s *seeker) linked(param, text string) bool {
	for _, f := range s.page.facts {
		if address, ok := f.value.(string); ok && strings.Contains(address, "?") {
			if u, err := url.Parse(address); err == nil && u.Query().Get(param) == text {
				return true
			}
		}
	}
	return false
}

// target returns the path in a JSON body at which a parameter belongs: next to that of
// the page size, or among the params of JSON-RPC.
func (s *seeker) target(param string) string {
	if _, isRPC := s.call.body.Get("jsonrpc"); isRPC {
		return rules.PathOf("params", param)
	}
	if keys := s.size.keys; len(keys) > 1 {
		return rules.PathOf(append(slices.Clone(keys[:len(keys)-1]), param)...)
	}
	return rules.PathOf(param)
}

// tokens finds several values that are sent together.
func (s *seeker) tokens(sign apinames.PagingSign) []candidate {
	found := s.page.named(sign.Names[0])
	if len(found) == 0 {
		return nil
	}
	keys := found[0].keys[:len(found[0].keys)-1]
	prefix := rules.PathOf(keys...)
	if len(keys) == 0 {
		return nil
	}
	return one(stated, map[string]any{"at": prefix, "body": rules.FormatPath("body", keys)})
}

func (s *seeker) object(sign apinames.PagingSign) []candidate {
	for _, f := range s.page.named(sign.Names...) {
		if object, ok := f.value.(value.Object); ok && len(object) > 0 {
			values := at(f.keys)
			if len(sign.Params) > 0 {
				values["param"] = sign.Params[0]
			}
			return one(stated, values)
		}
	}
	return nil
}

func (s *seeker) header(sign apinames.PagingSign) []candidate {
	var out []candidate
	for _, name := range sign.Names {
		text := s.page.exchange.header.Get(name)
		if text == "" {
			continue
		}
		for i, param := range s.params(sign, strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(name, "X-"), "Next-"))) {
			c := candidate{score: tokenGuess - i*nextGuess, values: map[string]any{"name": name, "param": param}, guess: param}
			if s.hasParam(param) {
				c.score, c.guess = namedParam, ""
			}
			out = append(out, c)
		}
	}
	return out
}
