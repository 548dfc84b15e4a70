package stress

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/apinames"
)

// needs says what a configuration must have for a behaviour to make a difference.
type needs struct {
	paged    bool   // it requests more than one page
	kind     string // rules read a value of this kind
	meaning  string // rules read a value of this meaning
	keys     bool   // requests name the key of an item
	changing bool   // the list is not sorted by an identifier, which is unique and does not change
	position bool   // requests name an index or the number of a page
	tokens   bool   // requests carry what a response said
	limit    bool   // the page size is known
	located  bool   // a request says which page it is for
}

// missing says why a behaviour cannot apply, or returns "".
func (n needs) missing(p *plan, limited bool) string {
	_, byKey := p.locator.(byKey)
	_, tokens := p.locator.(byToken)
	switch {
	case n.paged && !p.paged:
		return "the job makes one request"
	case n.kind != "" && !slices.ContainsFunc(p.places, func(m *meant) bool { return m.meaning.kind == n.kind }):
		return map[string]string{
			pointer: "the rules read no link or token", flag: "the rules read no flag", amount: "the rules read no total or number of pages",
		}[n.kind]
	case n.meaning != "" && !slices.ContainsFunc(p.places, func(m *meant) bool { return m.meaning.name == n.meaning }):
		return "the rules do not read " + n.meaning
	case n.keys && !byKey:
		return "requests do not name the key of an item"
	case n.changing && p.byIdentifier():
		return "the list is sorted by an identifier"
	case n.position && (byKey || tokens || p.locator == nil):
		return "requests have no index and no number of a page"
	case n.tokens && !tokens:
		return "requests carry no token or link"
	case n.limit && !limited:
		return "the configuration sets no limit"
	case n.located && p.locator == nil:
		return "requests do not say which page they are for"
	}
	return ""
}

// byIdentifier reports whether the list is sorted by the identifiers of its items.
func (p *plan) byIdentifier() bool {
	_, byKey := p.locator.(byKey)
	return byKey && slices.ContainsFunc(p.keyPaths, func(path []string) bool {
		return len(path) == 0 || apinames.IsIdentifier(path[len(path)-1])
	})
}
