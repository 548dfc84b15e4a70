package apinames

import (
	"bytes"
	"slices"
)

// A Key is the name of a member of a response, or of a header, as an API spells it. Its methods say what APIs mean by
// the name. Those that take a value say it of the value under the name.
type Key string

// Alike reports whether two names differ in nothing but case and separators, such as brackets.
func Alike(a, b string) bool {
	var one, two [maxBare]byte
	return bytes.Equal(appendBare(one[:0], a), appendBare(two[:0], b))
}

// AlikeAny reports whether a name is [Alike] one of several.
func AlikeAny(name string, names []string) bool {
	return slices.ContainsFunc(names, func(one string) bool { return Alike(name, one) })
}

// contains reports whether a bare name contains one of several words.
func contains(name string, words ...string) bool {
	var buffer [maxBare]byte
	bare := appendBare(buffer[:0], name)
	return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(bare, []byte(word)) })
}

// maxBare is the size of a buffer that is large enough for most names.
const maxBare = 64

// appendBare appends a name in lower case, without separators and without the prefix of a namespace: hasmore for
// has_more, totalitems for hydra:totalItems, nextlink for @odata.nextLink.
func appendBare(out []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		case c == ':', c == '.' && name[0] == '@':
			out = out[:0]
		case c != '_' && c != '-' && c != '.' && c != ' ' && c != '@' && c != '$' && c != '[' && c != ']':
			out = append(out, c)
		}
	}
	return out
}
