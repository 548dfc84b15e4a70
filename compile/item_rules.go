package compile

import (
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// ItemRules holds the changes that a job makes to every item: filter and fields. The zero value passes
// items on as they are.
type ItemRules struct {
	Filter *language.Expression // nil if every item passes
	Fields []ItemField          // fields in the order of the configuration
	Reads  [][]string           // the paths of an item that are decoded; an empty path is the whole item
	Places [][]string           // the nonempty paths of an item that are decoded, copied or changed, each once

	rules []*language.Expression
}

// ItemField is a change of a member of every item. If the role of its rule is [rules.RoleRemove], it removes
// the member.
type ItemField struct {
	*language.Expression
	Path []string // path of the member
	Copy []string // path of the item value to copy; nil if the value is computed
}

// JSON returns the value of the member: nil, a boolean, a number, a string, a list or an
// object. A time, a duration and a time zone are strings. All errors are of the type [*language.RuleError].
func (f ItemField) JSON(m *language.Machine, c *rules.Context) (any, error) {
	v, err := f.Eval(m, c)
	if err != nil {
		return nil, err
	}
	if v = language.JSONForm(v); value.Exceeds(v, language.MaxValueBytes) {
		return nil, &language.RuleError{Rule: f.Rule, Err: &requests.LengthError{What: "its value", Limit: language.MaxValueBytes}}
	}
	return v, nil
}

// Empty reports whether items are passed on as they are.
func (s *ItemRules) Empty() bool { return len(s.rules) == 0 }

// Rules returns the rules: filter first, then the fields.
func (s *ItemRules) Rules() []*language.Expression { return s.rules }

// ReadsKey reports whether a rule reads the name of the member that an item comes from.
func (s *ItemRules) ReadsKey() bool {
	return slices.ContainsFunc(s.rules, func(e *language.Expression) bool { return e.ReadsAny(rules.ContextKey) })
}

func (s *ItemRules) add(e *language.Expression) {
	s.rules = append(s.rules, e)
	if e.Rule.Role == rules.RoleFilter {
		s.Filter = e
		s.addReads(e)
		return
	}
	f := ItemField{Expression: e, Path: keypath.Split(e.Rule.Target)}
	if f.Copy = copied(e); f.Copy == nil {
		s.addReads(e)
	} else {
		s.Places = withPath(s.Places, f.Copy)
	}
	s.Places = withPath(s.Places, f.Path)
	s.Fields = append(s.Fields, f)
}

// Watches returns the paths of items, of the body and of that of the first page, and the headers, that the rules read, each
// once. A path that no item has, or no response, is probably misspelt, unless it is optional.
func (s *ItemRules) Watches() []Watch {
	var found watches
	for _, e := range s.rules {
		found.add(e, language.Read.InItem, func(r language.Read) Watch { return Watch{Read: r, Optional: checksPresence(e, r)} })
		found.add(e, inResponses, func(r language.Read) Watch {
			return Watch{Read: r, Optional: checksPresence(e, r) || r.Defaulted || e.ContainsNil()}
		})
	}
	return found
}

// inResponses reports whether a read is about a part of the response that is the same for all items of a page.
func inResponses(r language.Read) bool {
	isHeader := r.Is(rules.ContextHeader) && len(r.Args) > 0 && !r.Open
	return isHeader || r.Root == rules.ContextBody && (r.Past == "" || r.Past == rules.ContextFirst)
}

// addReads notes the paths of the item that an expression reads. A list on a path is decoded as a whole.
func (s *ItemRules) addReads(e *language.Expression) {
	for _, r := range e.Reads {
		if !r.InItem() {
			continue
		}
		path := r.Path
		if i := slices.IndexFunc(path, isIndex); i >= 0 {
			path = path[:i]
		}
		if s.Reads = withPath(s.Reads, path); len(path) > 0 {
			s.Places = withPath(s.Places, path)
		}
	}
}

// isIndex reports whether a key of a path may be an index of a list.
func isIndex(key string) bool { _, err := strconv.Atoi(key); return err == nil }

// copied returns the path of the item whose value an expression has, if it only
// selects members: item.owner.id. Such a value need not be decoded. An index is
// not copied, since a path does not tell it from a name.
func copied(e *language.Expression) []string {
	for _, r := range e.Reads { // the expression may be this read alone
		if r.InItem() && len(r.Path) > 0 && !r.Has && e.Formatted() == r.String() && !slices.ContainsFunc(r.Path, isIndex) {
			return r.Path
		}
	}
	return nil
}
