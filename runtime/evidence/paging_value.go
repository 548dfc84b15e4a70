package evidence

import (
	"github.com/stopwhen/stopwhen/compile/language"
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
	for _, read := range w.Subject.paging {
		if v, ok := read.Lookup(w.Context); ok {
			add(read.String(), v)
		}
	}
	hints := w.Hints()
	for _, hint := range []struct {
		path string
		v    any
	}{{hints.TotalAt, hints.Total}, {hints.PagesAt, hints.Pages}, {hints.NextAt, hints.Next}, {hints.MoreAt, hints.More}} {
		if hint.v != nil {
			add(hint.path, hint.v)
		}
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
		if read.Is("header") && len(read.Path) > 0 || read.Is("link") {
			read.Has = false
			values = append(values, read)
		}
	}
	return values
}
