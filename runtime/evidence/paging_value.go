package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A PagingValue is a value of a response by which its list is paged: rules read it, or its name describes a
// list in many APIs.
type PagingValue struct {
	At    string // where the response has it, as an expression reads it: body.meta.next, header("Link")
	Value any    // a scalar, or an empty list or object in place of one
}

// PagingValues returns the paging values that the last response has, each place once.
func (w *Watcher) PagingValues() []PagingValue {
	var values []PagingValue
	known := map[string]bool{}
	add := func(path string, v any) {
		if !known[path] {
			known[path] = true
			values = append(values, PagingValue{path, outlineOf(v)})
		}
	}
	signs := w.Signs()
	named := []PagingValue{{signs.TotalAt, signs.Total}, {signs.PagesAt, signs.Pages}, {signs.NextAt, signs.Next}, {signs.MoreAt, signs.More}}
	named = slices.DeleteFunc(named, func(sign PagingValue) bool {
		return sign.Value == nil || w.signs.counted && sign.At == signs.TotalAt
	})
	for _, read := range w.list.subject.paging {
		isNamed := func(sign PagingValue) bool { return readsHeader(sign.At)(read) }
		if v, ok := read.Lookup(w.list.context); ok && !slices.ContainsFunc(named, isNamed) {
			add(read.String(), v)
		}
	}
	for _, sign := range named {
		add(sign.At, sign.Value)
	}
	return values
}

// outlineOf returns a scalar, or an empty list or object in place of one.
func outlineOf(v any) any {
	if list, ok := v.([]any); ok {
		return list[:0]
	}
	if _, ok := value.Members(v); ok {
		return value.Object{}
	}
	if _, ok := value.Text(v); !ok && v != nil {
		return nil
	}
	return v
}

// readsOfPaging returns the values that the rules of a job read of responses, except of their items.
func readsOfPaging(watched []language.Read, decisive []language.Read) []language.Read {
	values := watched
	for _, read := range decisive {
		if read.Is(rules.ContextHeader) && len(read.Args) > 0 || read.Is(rules.ContextLink) {
			read.Has = false
			values = append(values, read)
		}
	}
	return values
}
