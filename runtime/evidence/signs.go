package evidence

import (
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Sign is a value of a response that rules read, or that describes its list under a name that many
// APIs use.
type Sign struct {
	At    string // where the response has it, as an expression reads it: body.meta.next, header("Link")
	Value any    // a scalar, or an empty list or object in place of one
}

// Signs returns the signs of the last page that its response has, each place once.
func (w *Watcher) Signs() []Sign {
	var signs []Sign
	known := map[string]bool{}
	add := func(path string, v any) {
		if !known[path] {
			known[path] = true
			signs = append(signs, Sign{path, outlineOf(v)})
		}
	}
	for _, read := range w.Subject.signs {
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
	return signs
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

// signsOf returns the values that the rules of a job read of responses, except of their items.
func signsOf(watched []language.Read, decisive []language.Read) []language.Read {
	signs := watched
	for _, read := range decisive {
		if read.Is("header") && len(read.Path) > 0 || read.Is("link") {
			read.Has = false
			signs = append(signs, read)
		}
	}
	return signs
}
