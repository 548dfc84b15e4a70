package language

import (
	"cmp"
	"slices"
	"strings"
)

// A givenRead is a marked read, or an element of a kept value for which an expression is the key, such as kept.seen[item.id].
type givenRead struct {
	past string // "prev" or "first" for a read of that page
	lack lack
}

// A lack is the value of a marked read that is nil, when a rule is evaluated again under a [supposition].
type lack struct {
	source string // of the read: kept.at
	isKept bool

	isElement bool // it is the element that a list is supposed to have, since the list is a lack
}

// A site identifies a comparison with a lack by its address. It has a size, since values without one may share an address.
type site struct{ _ byte }

// A supposition says of each comparison with a lack whether it is true. At first, all of them are.
type supposition struct {
	first  lack    // the first lack that a comparison met
	sites  []*site // in the order in which an evaluation has met them
	truths []bool
}

// maxSuppositions is the largest number of suppositions under which an expression is evaluated.
const maxSuppositions = 64

// of returns the value of a comparison with a lack.
func (s *supposition) of(o *site, lacking lack) bool {
	s.first = cmp.Or(s.first, lacking)
	i := slices.Index(s.sites, o)
	if i < 0 {
		i = len(s.sites)
		s.sites, s.truths = append(s.sites, o), append(s.truths, true)
	}
	return s.truths[i]
}

// next makes the supposition the next one. It reports false after the last one.
func (s *supposition) next() bool {
	last := len(s.truths) - 1
	for last >= 0 && !s.truths[last] { // both values of it have been supposed
		last--
	}
	if last < 0 {
		return false
	}
	s.sites, s.truths = s.sites[:last+1], s.truths[:last+1]
	s.truths[last] = false
	return true
}

// orLack returns the value of a marked read. If the value is nil, that is a lack in a supposition, and nil otherwise.
func (m *meter) orLack(v any, r *givenRead) any {
	if v != nil {
		return v
	}
	if r.past != "" {
		if _, exists := (Read{Past: r.past}).page(m.page); exists {
			return nil
		}
	}
	if m.lacks = true; m.supposes == nil {
		return nil
	}
	return r.lack
}

// orNone returns nil for a lack, and any other value as it is.
func orNone(v any) any {
	if lacking, lacks := v.(lack); lacks && !lacking.isElement {
		return nil
	}
	return v
}

// either returns the value of an alternative or, if it is nil as well, the first value.
func either(first, alternative any) any {
	if _, lacks := first.(lack); lacks && orNone(alternative) == nil {
		return first
	}
	return alternative
}

// decide returns the value of a comparison. If the value is a lack, it is as supposed.
func (m *meter) decide(v any, o *site) any {
	if lacking, lacks := v.(lack); lacks {
		return m.supposes.of(o, lacking)
	}
	return v
}

// elementsOf returns the list of a predicate. Nothing is known of a list that is a lack: it is supposed to have an element,
// which is a lack, too, and then to be empty.
func (m *meter) elementsOf(list any, o *site) any {
	lacking, lacks := list.(lack)
	switch {
	case !lacks:
		return list
	case !m.supposes.of(o, lacking):
		return nil
	}
	lacking.isElement = true
	return []any{lacking}
}

// propagate calls a function in a supposition. If an argument is a lack, or a list that has a lack, the value is the lack, unless
// the function has a value for nil, as truthy does.
func (m *meter) propagate(name string, args []any, call func(m *meter, args []any) (any, error)) (any, error) {
	lacking, inList := lackAmong(args)
	operator, _ := strings.CutPrefix(name, safeOp)
	equates := operator == "==" || operator == "!="
	switch {
	case lacking == (lack{}), name == nameOfObject, equates && inList:
		return call(m, args)
	case operator == "in" && inList:
		if v, err := call(m, args); err != nil || v == true {
			return v, err
		}
		return lacking, nil
	case inList, name == nameOfKeyed:
		return lacking, nil
	}
	missing := slices.Contains(args, nil) // without being a lack
	compares := operators[operator].boolean || name == nameOfMatch
	switch {
	case missing && equates && lacking.isElement:
		return call(m, args)
	case !missing && (compares || lacking.isElement):
		return lacking, nil
	}
	args = slices.Clone(args)
	for i, a := range args {
		if _, lacks := a.(lack); lacks {
			args[i] = nil
		}
	}
	if v, err := call(m, args); missing || v != nil || err != nil {
		return v, err
	}
	return lacking, nil
}

// lackAmong returns the first lack among arguments and in the lists of them, and whether it is in a list.
func lackAmong(args []any) (lacking lack, inList bool) {
	for _, a := range args {
		if lacking, ok := a.(lack); ok {
			return lacking, false
		}
	}
	for _, a := range args {
		list, _ := a.([]any)
		for _, e := range list {
			if lacking, ok := e.(lack); ok {
				return lacking, true
			}
		}
	}
	return lack{}, false
}

// consequence says why the lack of a kept value loses items.
func (l lack) consequence() string {
	if l.isKept {
		return ", although later runs read only what follows it"
	}
	return ""
}
