package detect

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A candidate is a pagination that the API may have.
type candidate struct {
	hypothesis
	values map[string]any // values of its placeholders
	score  int            // candidates with higher scores are tried first
	moved  []string       // parameters to remove from the job, because the pagination sends them in every request
	sets   value.Object   // parameters to add to the job

	pagination       value.Object
	guess            string // the parameter, if nothing in the response or in the request names it
	withoutJobParams bool   // the token is sent without the parameters of the job
	baseUnknown      bool   // it is not known whether counting begins at 0 or 1
}

// The scores of candidates. Statements of the API come first, guesses last.
const (
	stated     = 100
	namedParam = 90 // the request or a link in the response names the parameter
	typed      = 80 // the user wrote the parameter
	tokenGuess = 78
	echoed     = 75 // the response repeats the parameter
	keyGuess   = 60
	blind      = 50
	besideSize = 3  // bonus of a parameter that APIs have next to the parameter of the page size
	otherKey   = 12 // penalty for each later name of the key of an item
	nextGuess  = 6  // penalty for each later name of a parameter
)

// candidates returns the paginations that may page through the list, the likeliest first.
func (d *detection) candidates() []candidate {
	var candidates []candidate
	for _, h := range hypotheses {
		inQuery := h.kind == connectionSign || h.post && (h.kind == numberSign || h.kind == indexSign)
		if h.post && !d.call.isJSON() || d.call.isGraphQL() && !inQuery { // only these kinds know the variables of a GraphQL request
			continue
		}
		for _, c := range h.kind.find(d, h) {
			c.hypothesis = h
			if h.kind == tokenSign && h.names == nil && c.guess != "" && isListed(textOf(c.values["at"])) {
				c.score = min(c.score, tokenGuess-nextGuess-1) // after the parameters that APIs are known to have
			}
			candidates = append(candidates, d.complete(c))
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return b.score - a.score })
	seen := map[string]bool{}
	return slices.DeleteFunc(candidates, func(c candidate) bool {
		text := jsonOf(c.pagination)
		repeated := seen[text]
		seen[text] = true
		return repeated || c.pagination == nil
	})
}

// isListed reports whether the table has a row for tokens of a name, which is the last in a path.
func isListed(at string) bool {
	keys := keypath.Split(at)
	return len(keys) > 0 && slices.ContainsFunc(hypotheses, func(h hypothesis) bool {
		return h.kind == tokenSign && slices.Contains(h.names, keys[len(keys)-1])
	})
}

// A size is the number of items of a page.
type size struct {
	param string // parameter that carries it; may be empty
	path  path   // its path in a JSON body
	asked int    // number that the request asks for
	items int    // number of items on a page
}

// honoured reports whether pages have as many items as the request says.
func (s size) honoured() bool { return s.param != "" && s.asked == s.items }

// sizeOf finds the parameter that carries the page size.
func sizeOf(c *call, items int) size {
	found := size{items: items}
	for _, name := range apinames.PageSizeNames() {
		if at, n, ok := c.param(name); ok && n > 0 && !found.honoured() && (found.param == "" || n == items) {
			found.param, found.path, found.asked = at.name(), at, n
		}
	}
	return found
}

// complete writes the pagination of a candidate. It is nil if something that it needs was not
// found. The page size is only relied on if the API has honoured it.
func (d *detection) complete(c candidate) candidate {
	if c.values == nil {
		c.values = map[string]any{}
	}
	known := d.size.honoured()
	switch c.kind {
	case indexSign:
		if !known {
			c.values["counted"] = true
		}
	case keySign:
		known = false
	case numberSign:
		known = d.size.param != "" && c.values["sendFirst"] == nil
	}
	if known && len(d.size.path) == 1 { // limitParam cannot name a size within an object of a body
		c.values["limit"], c.values["limitParam"] = d.size.asked, d.size.param
	}
	template := c.hypothesis.pagination
	if c.kind == tokenSign && d.call.isJSON() && !c.post {
		template = inBody
	}
	if c.needs == "" || c.values[c.needs] != nil {
		c.fill(template)
	}
	return c
}

// fill writes the pagination of a candidate.
func (c *candidate) fill(template value.Object) {
	c.pagination, _ = fill(template, c.values).(value.Object)
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z]+)\}`) })

// fill replaces the placeholders of a template. It returns nil for a text with a
// placeholder that has no value, and leaves out members that are nil.
func fill(v any, values map[string]any) any {
	switch v := v.(type) {
	case value.Object:
		out := value.Object{}
		for _, m := range v {
			name, _ := fill(m.Name, values).(string)
			if filled := fill(m.Value, values); filled != nil && name != "" {
				out = append(out, value.Member{Name: name, Value: filled})
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			if filled := fill(item, values); filled != nil {
				out = append(out, filled)
			}
		}
		return out
	case string:
		return fillText(v, values)
	}
	return v
}

func fillText(text string, values map[string]any) any {
	if m := placeholder().FindStringSubmatch(text); m != nil && m[0] == text {
		return values[m[1]]
	}
	missing := false
	filled := placeholder().ReplaceAllStringFunc(text, func(found string) string {
		v, ok := values[strings.Trim(found, "${}")]
		missing = missing || !ok
		return textOf(v)
	})
	if missing {
		return nil
	}
	return filled
}
