package workbench

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A jsonValue is a value in a JSON text.
type jsonValue struct {
	path       string // as an expression reads it: body.data[0].id
	star       string // the same with a star for each index: body.data[*].id
	name       string // of the member, or of the one that its list is in
	kind       byte   // its first byte
	start, end int
}

// spellings returns the paths under which rules may read the value. items is the path of the list of items.
func (v *jsonValue) spellings(items string) []string {
	spellings := []string{v.path}
	if v.star != v.path {
		spellings = append(spellings, v.star)
	}
	if rest, ok := strings.CutPrefix(v.star, items); ok && items != "" && (rest == "" || rest[0] == '[') {
		spellings = append(spellings, "items"+rest)
	}
	return spellings
}

// walkJSON calls visit with every value of a valid JSON text, the inner ones first.
func walkJSON(text string, visit func(*jsonValue)) {
	w := jsonWalk{text: text, visit: visit}
	w.value("body", "body", "")
}

type jsonWalk struct {
	text  string
	at    int
	visit func(*jsonValue)
}

// next skips white space and returns the next byte, or 0 at the end.
func (w *jsonWalk) next() byte {
	for w.at < len(w.text) && strings.IndexByte(" \t\r\n", w.text[w.at]) >= 0 {
		w.at++
	}
	if w.at == len(w.text) {
		return 0
	}
	return w.text[w.at]
}

func (w *jsonWalk) value(path, star, name string) {
	v := jsonValue{path: path, star: star, name: name, kind: w.next(), start: w.at}
	switch v.kind {
	case '{':
		w.at++
		for w.next() == '"' {
			from := w.at
			w.string()
			var key string
			_ = json.Unmarshal([]byte(w.text[from:w.at]), &key)
			w.next()
			w.at++ // the colon
			w.value(keypath.Format(path, []string{key}), keypath.Format(star, []string{key}), key)
			if w.next() == ',' {
				w.at++
			}
		}
		w.at++
	case '[':
		w.at++
		for i := 0; w.next() != ']' && w.at < len(w.text); i++ {
			w.value(path+"["+strconv.Itoa(i)+"]", star+"[*]", name)
			if w.next() == ',' {
				w.at++
			}
		}
		w.at++
	case '"':
		w.string()
	default:
		for w.at < len(w.text) && strings.IndexByte(" \t\r\n,]}", w.text[w.at]) < 0 {
			w.at++
		}
	}
	w.at = min(w.at, len(w.text))
	v.end = w.at
	w.visit(&v)
}

// string skips a text in quotes.
func (w *jsonWalk) string() {
	for w.at++; w.at < len(w.text) && w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
}
