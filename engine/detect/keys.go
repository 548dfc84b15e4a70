package detect

import (
	"net/http"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// key finds the identifiers of the items, whose last one may be the position.
func (s *seeker) key(sign apinames.PagingSign) []candidate {
	if s.call.method != http.MethodGet || len(s.items.items) == 0 || s.isComplete() {
		return nil
	}
	name, direction := s.identifier()
	descends := sign.ID == "last-key-descending"
	if name == "" || descends && direction >= 0 {
		return nil
	}
	var out []candidate
	for i, param := range sign.Params {
		c := candidate{score: blind - 4 - i*nextGuess, guess: param, values: map[string]any{"idKey": name, "param": param}}
		switch {
		case s.hasParam(param):
			c.score, c.guess = typed, ""
		case descends && !s.flagged():
			c.score = blind - 1 - i*nextGuess
		case !descends && s.flagged():
			c.score = keyGuess - i*otherKey
		}
		out = append(out, c)
	}
	return out
}

// flagged reports whether a flag says that there is more, but no total does: an API with a
// total usually counts.
func (s *seeker) flagged() bool {
	_, _, counted := s.page.hint(apinames.HintTotal, func(n int) bool { return n > len(s.items.items) })
	return len(s.more) > 0 && !counted
}

// identifier returns the key of the items whose values identify them, and whether these
// ascend (1), descend (-1) or neither (0).
func (s *seeker) identifier() (name string, direction int) {
	for _, id := range apinames.Identifiers() {
		var texts []string
		for _, item := range s.items.items {
			object, _ := item.(value.Object)
			v, _ := object.Get(id)
			text, ok := value.Text(v)
			if !ok || text == "" {
				texts = nil
				break
			}
			texts = append(texts, text)
		}
		if len(texts) > 0 {
			return id, directionOf(texts)
		}
	}
	return "", 0
}

func directionOf(texts []string) int {
	ascends, descends := len(texts) > 1, len(texts) > 1
	for i := 1; i < len(texts); i++ {
		a, b := texts[i-1], texts[i]
		ascends = ascends && (len(a) < len(b) || len(a) == len(b) && a < b)
		descends = descends && (len(a) > len(b) || len(a) == len(b) && a > b)
	}
	switch {
	case ascends:
		return 1
	case descends:
		return -1
	}
	return 0
}

// sortKey finds items that have the values by which they are sorted.
func (s *seeker) sortKey(sign apinames.PagingSign) []candidate {
	if _, sorted := s.call.body.Get("sort"); !sorted || len(s.items.items) == 0 {
		return nil
	}
	if len(sign.Params) > 0 && len(s.page.named(sign.Params...)) == 0 {
		return nil
	}
	for _, item := range s.items.items {
		object, _ := item.(value.Object)
		v, _ := object.Get(sign.Names[0])
		if _, isList := v.([]any); !isList {
			return nil
		}
	}
	return one(stated, map[string]any{})
}
