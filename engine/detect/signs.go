package detect

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

func jsonOf(v any) string {
	text, _ := value.Marshal(v)
	return string(text)
}

func oneCandidate(score int, values map[string]any) []candidate {
	return []candidate{{score: score, values: values}}
}

func at(p path) map[string]any {
	return map[string]any{"at": p.String(), "body": keypath.Format("body", p)}
}

var afterVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bafter\s*:\s*\$([A-Za-z_][A-Za-z0-9_]*)`) })

// connection finds pageInfo next to the list of a query.
func (d *detection) connection(h hypothesis) []candidate {
	variable := afterVariable().FindStringSubmatch(d.call.query())
	if variable == nil {
		return nil
	}
	for _, f := range d.page.named("pageInfo") {
		info, ok := f.value.(value.Object)
		parent := f.parent()
		if !ok || len(parent) == 0 || len(d.items.path) <= len(parent) || !slices.Equal(d.items.path[:len(parent)], parent) {
			continue
		}
		if _, hasCursor := info.Get("endCursor"); hasCursor == (h.names == nil) {
			values := at(parent)
			values["param"] = variable[1]
			return oneCandidate(stated, values)
		}
	}
	return nil
}

// linkHeader finds the link to the next page in the Link header or, if there are names, a parameter
// of it that is true.
func (d *detection) linkHeader(h hypothesis) []candidate {
	if address, _ := d.page.link("next").(string); h.names == nil && address != "" {
		return oneCandidate(stated, nil)
	}
	for _, name := range h.names {
		if d.page.link("next", name) == "true" {
			return oneCandidate(stated, map[string]any{"name": name})
		}
	}
	return nil
}

// address finds texts that are addresses, under a name that means the next page, or under a
// name of an address in an object of such a name: next.href.
func (d *detection) address(h hypothesis) []candidate {
	score := stated
	if _, asQuery := h.pagination.Get("paramIsQuery"); asQuery {
		score = namedParam - 1
	}
	isNext := func(key string) bool { return apinames.Key(key).Is(apinames.SignNext) || slices.Contains(h.names, key) }
	var out []candidate
	for _, f := range d.page.facts {
		inner := slices.Contains([]string{"href", "url", "uri", "link"}, f.name()) && isNext(f.parent().name())
		if text, ok := f.value.(string); ok && (isNext(f.name()) || inner) && isAddress(text) {
			out = append(out, candidate{score: score, values: at(f.path)})
		}
	}
	return out
}

// isAddress reports whether a text is the address of another page: absolute, relative to
// the request's, or a query.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil || text == "" || strings.ContainsAny(text, " \t\n"):
		return false
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host != ""
	case text[0] == '/' || text[0] == '?':
		return true
	}
	return u.Scheme == "" && strings.Contains(text, "?") && strings.Contains(text, "=")
}

// relation finds a link to the next page in a list of links.
func (d *detection) relation(h hypothesis) []candidate {
	for _, l := range d.page.lists {
		for _, item := range l.items {
			link, _ := item.(value.Object)
			for _, rel := range []string{"rel", "relation"} {
				for _, key := range []string{"href", "url", "uri"} {
					address, _ := link.Get(key)
					if is, _ := link.Get(rel); is != "next" || !isAddress(textOf(address)) {
						continue
					}
					if _, hasBody := link.Get("body"); hasBody != h.post {
						return nil
					}
					found := "find(" + keypath.Format("body", l.path) + ", ." + rel + ` == "next").`
					return oneCandidate(stated, map[string]any{"at": l.String(), "body": found + key, "rest": found + "body"})
				}
			}
		}
	}
	return nil
}

// token finds texts and numbers that may be sent for the next page.
func (d *detection) token(h hypothesis) []candidate {
	if h.names == nil {
		return d.follower()
	}
	var out []candidate
	for _, f := range d.page.named(h.names...) {
		text := textOf(f.value)
		_, isFlag := f.value.(bool)
		n, isNumber := number(f.value)
		if isFlag || text == "" || text == "0" || text == "-1" || isAddress(text) || isNumber && h.textOnly {
			continue
		}
		if param := d.advanced(n); isNumber && apinames.Key(f.name()).Is(apinames.SignNext) && param != "" {
			c := candidate{score: namedParam, values: at(f.path)}
			c.values["param"] = param
			out = append(out, c)
			continue
		}
		sign := h
		if items := len(d.items.items); isNumber && apinames.Alike(f.name(), "next") && n == items && items > 2 { // it numbers no page
			sign.params = slices.Concat(apinames.ItemIndexNames()[:3], h.params)
		}
		for _, m := range d.call.params { // a parameter of the address that pages is tried first
			name := d.call.nameOf(path{m.Name})
			marks := apinames.IsPosition(name) && !apinames.AlikeAny(name, []string{"token", "since"}) &&
				!apinames.AlikeAny(name, apinames.ItemKeyNames())
			if marks && textOf(m.Value) != text && name != d.size.param {
				sign.params = slices.Concat([]string{name}, sign.params)
			}
		}
		for _, c := range d.sent(sign, at(f.path), f.name()) {
			param := c.guess
			switch {
			case d.hasParam(param), d.linked(param, text), param == f.name() &&
				!strings.HasPrefix(strings.ToLower(param), "next") && !strings.HasPrefix(strings.ToLower(param), "last"):
				c.score, c.guess = namedParam, ""
			case !h.weak:
				c.score, c.guess = stated, ""
			}
			if d.call.isJSON() && !h.post {
				c.values["param"] = d.target(param)
			}
			out = append(out, c)
		}
	}
	return out
}

// advanced returns the parameter of the request whose value for the next page is to: the number that was
// sent plus one, or plus the number of items on the page. It returns "" if there is no such parameter.
func (d *detection) advanced(to int) string {
	for _, f := range d.call.numbers() {
		from, _ := number(f.value)
		if step := to - from; !slices.Equal(f.path, d.size.path) && (step == len(d.items.items) ||
			step == 1 && !apinames.AlikeAny(f.name(), apinames.ItemIndexNames())) {
			return d.call.nameOf(f.path)
		}
	}
	return ""
}

// follower finds values whose names say that they are the next value of a parameter, such as
// next_since for since, and values of parameters of the request that are positions.
func (d *detection) follower() []candidate {
	var out []candidate
	for _, f := range d.page.facts {
		text := textOf(f.value)
		if _, isFlag := f.value.(bool); isFlag || text == "" || isAddress(text) {
			continue
		}
		param, next := apinames.Key(f.name()).NextParam()
		known := !next && apinames.IsPosition(f.name())
		if known {
			param = f.name()
		}
		if param == "" {
			continue
		}
		values := at(f.path)
		i := slices.IndexFunc(d.call.params, func(m value.Member) bool {
			sent := textOf(m.Value)
			return apinames.Alike(m.Name, param) && sent != text && sent != "" && m.Name != d.size.param
		})
		switch {
		case i >= 0:
			values["param"] = d.call.nameOf(path{d.call.params[i].Name})
			out = append(out, candidate{score: namedParam, values: values})
		case next && !d.call.isJSON():
			values["param"] = param
			out = append(out, candidate{score: tokenGuess - 1, values: values, guess: param})
			own := maps.Clone(values) // some APIs expect the name that the response has
			own["param"] = f.name()
			out = append(out, candidate{score: tokenGuess - nextGuess, values: own, guess: f.name()})
		case known && !d.call.isJSON() && !apinames.Alike(param, "token") && !isNumber(text): // token may be a credential
			values["param"] = param
			out = append(out, candidate{score: tokenGuess - nextGuess, values: values, guess: param})
		}
	}
	return out
}

// headerToken finds headers with a value that may be sent for the next page.
func (d *detection) headerToken(h hypothesis) []candidate {
	var out []candidate
	for _, name := range h.names {
		if d.page.ResponseHeader.Get(name) == "" {
			continue
		}
		for _, c := range d.sent(h, map[string]any{"name": name}, strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(name, "X-"), "Next-"))) {
			if d.hasParam(c.guess) {
				c.score, c.guess = namedParam, ""
			}
			out = append(out, c)
		}
	}
	return out
}

// sent returns a candidate for each parameter that may carry the value found under a name.
func (d *detection) sent(h hypothesis, values map[string]any, name string) []candidate {
	var out []candidate
	for _, param := range h.params {
		if param == "" {
			param = name
		}
		if slices.ContainsFunc(out, func(c candidate) bool { return c.guess == param }) {
			continue
		}
		c := candidate{score: tokenGuess - len(out)*nextGuess, values: maps.Clone(values), guess: param}
		c.values["param"] = param
		out = append(out, c)
	}
	return out
}

// hasParam reports whether the request has a parameter.
func (d *detection) hasParam(name string) bool {
	_, ok := d.call.params.Get(name)
	return ok
}

// linked reports whether a link in the response sends a value as a parameter.
func (d *detection) linked(param, text string) bool {
	return slices.ContainsFunc(d.page.facts, func(f fact) bool {
		address, _ := f.value.(string)
		u, err := url.Parse(address)
		return err == nil && strings.Contains(address, "?") && u.Query().Get(param) == text
	})
}

// target returns the path in a JSON body at which a parameter belongs: next to the page size, or among the
// params of JSON-RPC.
func (d *detection) target(param string) string {
	if _, isRPC := d.call.body.Get("jsonrpc"); isRPC {
		return keypath.Join("params", param)
	}
	if at := d.size.path; len(at) > 1 {
		return at.parent().child(param).String()
	}
	return keypath.Join(param)
}

// tokens finds several values that are sent together.
func (d *detection) tokens(h hypothesis) []candidate {
	if found := d.page.named(h.names[0]); len(found) > 0 && len(found[0].path) > 1 {
		return oneCandidate(stated, at(found[0].parent()))
	}
	return nil
}

func (d *detection) object(h hypothesis) []candidate {
	for _, f := range d.page.named(h.names...) {
		if object, ok := f.value.(value.Object); ok && len(object) > 0 {
			values := at(f.path)
			if len(h.params) > 0 {
				values["param"] = h.params[0]
			}
			return oneCandidate(stated, values)
		}
	}
	return nil
}
