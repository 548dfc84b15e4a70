package yaml

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = '\ufeff'

// unreadable finds the first character that the YAML parser refuses, or treats as
// a line end, as YAML 1.1 did. The problem is empty if there is none.
func unreadable(text string) (at int, problem, hint string) {
	for i, c := range text {
		if c == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i, fmt.Sprintf("not valid YAML: byte 0x%02x is not UTF-8", text[i]), "save the file as UTF-8"
		}
		control := c < ' ' && !strings.ContainsRune("\t\n\r", c)
		lineEnd := c == '\u0085' || c == '\u2028' || c == '\u2029'
		noncharacter := c == '\ufffe' || c == '\uffff'
		if control || lineEnd || noncharacter || string(c) == hiddenMark {
			return i, fmt.Sprintf("the character %U must be escaped", c), fmt.Sprintf(`write \U%08x in double quotes`, c)
		}
	}
	return 0, "", ""
}

var versionLine = regexp.MustCompile(`^\x{feff}?([ \t]*\r?\n|[#%].*\n)*%YAML[ \t]+1\.[0-9]`)

// acceptVersion replaces the version of a %YAML directive with 1.1, the only one
// that the parser accepts, although it reads YAML 1.2.
func acceptVersion(text string) string {
	if end := len(versionLine.FindString(text)); end > 0 {
		return text[:end-1] + "1" + text[end:]
	}
	return text
}

// hiddenMark begins a hidden surrogate pair. JSON writes a character beyond U+FFFF
// as two escapes, \ud83d\ude00, which the parser refuses. The pair is replaced by
// the mark, a noncharacter that no readable text contains, its digits, and as many
// characters as keep all columns the same.
const hiddenMark = "\U0010ffff"

var (
	surrogatePair = regexp.MustCompile(`\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`)
	hiddenPair    = regexp.MustCompile(hiddenMark + `([0-9a-fA-F]{4})([0-9a-fA-F]{4})___`)
)

func hideSurrogates(text string) string {
	return surrogatePair.ReplaceAllString(text, hiddenMark+"${1}${2}___")
}

// restoreSurrogates returns the text of a scalar with its hidden pairs decoded if
// it is in double quotes, or as they are written otherwise.
func restoreSurrogates(text string, doubleQuoted bool) string {
	return hiddenPair.ReplaceAllStringFunc(text, func(hidden string) string {
		pair := hiddenPair.ReplaceAllString(hidden, `\u${1}\u${2}`)
		if doubleQuoted {
			_ = json.Unmarshal([]byte(`"`+pair+`"`), &pair)
		}
		return pair
	})
}
