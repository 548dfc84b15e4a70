package detect

import (
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// size is the number of items of a page.
type size struct {
	param string   // the parameter that carries it; empty: none
	keys  []string // its path in a JSON body
	asked int      // what the request says
	items int      // what a page has
}

// sizeOf finds the parameter that carries the page size.
func sizeOf(c *call, items []any) size {
	found := size{items: len(items)}
	for _, name := range apinames.PageSizes() {
		keys, n, ok := c.param(name)
		if !ok || n <= 0 || found.asked == len(items) {
			continue
		}
		if found.param == "" || n == len(items) {
			found.param, found.keys, found.asked = name, keys, n
		}
	}
	return found
}

// param returns an integer parameter of the request: of the address or, at any depth, of
// a JSON body.
func (c *call) param(name string) (keys []string, n int, ok bool) {
	var search func(o value.Object, keys []string)
	search = func(o value.Object, above []string) {
		for _, m := range o {
			path := append(slices.Clone(above), m.Name)
			if v, isNumber := number(m.Value); isNumber && m.Name == name && !ok {
				keys, n, ok = path, v, true
			}
			if inner, isObject := m.Value.(value.Object); isObject && c.isJSON() {
				search(inner, path)
			}
		}
	}
	search(c.params, nil)
	return keys, n, ok
}

var placeholder = regexp.MustCompile(`\$\{([A-Za-z]+)\}`)

// complete writes the pagination of a candidate, or leaves it nil if something that it
// needs was not found.
func (s *seeker) complete(c *candidate) {
	if c.values == nil {
		c.values = map[string]any{}
	}
	s.fillSize(c)
	if c.sign.Needs != "" && c.values[c.sign.Needs] == nil {
		return
	}
	template := c.sign.Pagination
	if c.sign.Kind == apinames.PagingToken && s.call.isJSON() && !c.sign.POST {
		template = c.sign.InBody()
	}
	if filled, ok := fill(template, c.values).(value.Object); ok {
		c.pagination = filled
	}
}

// fillSize fills in what depends on the page size. It is only relied on if the API has
// honoured it.
func (s *seeker) fillSize(c *candidate) {
	honoured := s.size.param != "" && s.size.asked == s.size.items
	switch c.sign.Kind {
	case apinames.PagingIndex:
		if !honoured {
			c.values["counted"] = true
		}
	case apinames.PagingKey:
		honoured = honoured && c.values["shortEnds"] != nil
	case apinames.PagingNumber:
		honoured = s.size.param != "" && c.values["sendFirst"] == nil
	}
	if honoured {
		c.values["limit"], c.values["limitParam"] = s.size.asked, s.size.param
	}
}

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
	if m := placeholder.FindStringSubmatch(text); m != nil && m[0] == text {
		return values[m[1]]
	}
	missing := false
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		v, ok := values[strings.Trim(found, "${}")]
		missing = missing || !ok
		return asText(v)
	})
	if missing {
		return nil
	}
	return filled
}
