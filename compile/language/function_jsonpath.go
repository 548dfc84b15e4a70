package language

import (
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/ohler55/ojg/jp"

	"github.com/stopwhen/stopwhen/rules/value"
)

// maxPath is the longest JSONPath, in bytes.
const maxPath = 1024

// A jsonPath is parsed by the library when its rule is compiled. It is evaluated
// here, one fragment after another, because the library cannot be interrupted.
type jsonPath struct {
	fragments []jp.Frag
	filters   map[jp.Frag]jsonFilter
}

// A jsonFilter is the condition of a fragment like [?(@.rel == 'next')].
type jsonFilter struct {
	*jp.Filter
	reads        []jp.Expr // the paths that it reads of an element
	instructions int       // of its regular expressions
}

func jsonPathOf(node ast.Node) (*jsonPath, error) {
	text, ok := node.(*ast.StringNode)
	if !ok {
		return nil, faultAt(node, "jsonpath takes its path as a string literal")
	}
	if len(text.Value) > maxPath || strings.Count(text.Value, "..") > 1 {
		return nil, faultAt(node, "a JSONPath has at most one .. and %d bytes", maxPath)
	}
	compiled, err := jp.ParseString(text.Value)
	if err != nil {
		return nil, faultAt(node, "not a JSONPath: %v", err)
	}
	p := &jsonPath{fragments: compiled, filters: map[jp.Frag]jsonFilter{}}
	for _, f := range compiled {
		if err := p.check(f); err != nil {
			return nil, faultAt(node, "%v", err)
		}
	}
	return p, nil
}

// check returns an error for a fragment that select does not know.
func (p *jsonPath) check(f jp.Frag) error {
	switch f := f.(type) {
	case jp.Root, jp.At, jp.Bracket, jp.Child, jp.Nth, jp.Wildcard, jp.Descent, jp.Slice, jp.Union:
		return nil
	case *jp.Filter:
		filter := jsonFilter{Filter: f, instructions: 1}
		condition, err := inspect(f)
		if err == nil {
			err = filter.add(condition)
		}
		if err != nil {
			return err
		}
		p.filters[f] = filter
		return nil
	}
	return fmt.Errorf("a JSONPath here cannot have %s", f.Append(nil, true, true))
}

// inspect returns the condition of a filter. The library cannot inspect a condition that is
// only a path, as in [?(@.href)].
func inspect(f *jp.Filter) (condition any, err error) {
	text := strings.TrimSuffix(strings.TrimPrefix(f.String(), "[?("), ")]")
	if path, err := jp.ParseString(text); err == nil {
		return path, nil
	}
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("the filter %s of the JSONPath is not a condition", f)
		}
	}()
	return f.Inspect(), nil
}

// add checks an operand of the filter, and records its cost. Only paths of
// names and indexes are allowed, so that an element takes a short time.
func (f *jsonFilter) add(operand any) error {
	switch o := operand.(type) {
	case *jp.Form:
		if err := f.addPattern(o); err != nil {
			return err
		}
		if err := f.add(o.Left); err != nil {
			return err
		}
		return f.add(o.Right)
	case jp.Expr:
		for _, fragment := range o {
			switch fragment.(type) {
			case jp.At, jp.Bracket, jp.Child, jp.Nth:
			default:
				return fmt.Errorf("the filter %s of the JSONPath reads %s; a filter may read paths like @.a.b and @.a[0]", f.Filter, o)
			}
		}
		f.reads = append(f.reads, o)
	}
	return nil
}

// addPattern records the size of a regular expression.
func (f *jsonFilter) addPattern(form *jp.Form) error {
	switch form.Op {
	case "=~", "~=", "match", "search":
	default:
		return nil
	}
	var text string
	switch right := form.Right.(type) {
	case string:
		text = right
	case *regexp.Regexp:
		text = right.String()
	default:
		return fmt.Errorf("the filter %s of the JSONPath takes its pattern as a literal", f.Filter)
	}
	compiled, err := compilePattern(text)
	if err != nil {
		return err
	}
	f.instructions += compiled.instructions
	return nil
}

// matches reports whether an element satisfies the condition.
func (f jsonFilter) matches(m *meter, element any) bool {
	for _, read := range f.reads {
		text, _ := read.First(element).(string)
		m.spend(product(len(text)+16, f.instructions))
	}
	m.step()
	return f.Match(element)
}

// find returns the values that the path selects.
func (p *jsonPath) find(m *meter, body any) []any {
	found := []any{}
	if body != nil {
		found = append(found, body)
	}
	for i, f := range p.fragments {
		s := selection{m: m, path: p}
		if _, descends := f.(jp.Descent); descends && i+1 == len(p.fragments) {
			f = allBelow{}
		}
		for _, v := range found {
			s.add(f, v)
		}
		found = s.found
	}
	return found
}

// allBelow is a descent at the end of a path: it selects all values below another.
type allBelow struct{ jp.Frag }

// A selection holds the values that one fragment selects.
type selection struct {
	m     *meter
	path  *jsonPath
	found []any
}

func (s *selection) keep(v any) {
	s.found = append(s.found, v)
	s.m.grow(16)
}

// add selects from one value.
func (s *selection) add(f jp.Frag, from any) {
	s.m.spend(16)
	switch f := f.(type) {
	case jp.Child:
		if v, ok := member(from, string(f)); ok && isObject(from) {
			s.keep(v)
		}
	case jp.Nth:
		if v, ok := member(from, strconv.Itoa(int(f))); ok && !isObject(from) {
			s.keep(v)
		}
	case jp.Wildcard:
		for v := range s.inner(from) {
			s.keep(v)
		}
	case jp.Slice, jp.Union: // the library takes linear time
		s.m.spend(product(memberCount(from), 16))
		some := jp.Expr{f}.Get(from)
		s.found = append(s.found, some...)
		s.m.grow(product(len(some), 16))
	case jp.Descent:
		s.keep(from)
		for v := range s.inner(from) {
			if _, inner := entries(v); inner {
				s.add(f, v)
			}
		}
	case allBelow:
		for v := range s.inner(from) {
			s.keep(v)
			s.add(f, v)
		}
	case *jp.Filter:
		for v := range s.inner(from) {
			if s.path.filters[f].matches(s.m, v) {
				s.keep(v)
			}
		}
	default: // $ and @
		s.keep(from)
	}
}

// inner yields the elements of a list, or the values of an object in the order of their names.
func (s *selection) inner(from any) iter.Seq[any] {
	return func(yield func(any) bool) {
		list, isList := from.([]any)
		if !isList {
			s.m.spend(product(memberCount(from), 16))
			object, _ := value.Members(from)
			list = object.Values()
		}
		for _, v := range list {
			s.m.spend(1)
			if !yield(v) {
				return
			}
		}
	}
}
