package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Match is a place in a text that reveals a secret.
type Match struct {
	Start, End int    // offsets in bytes
	Name       string // name of the secret
	Secret     string
	Form       string // spelling, for [Spell]
	Escaped    bool   // whether characters of that form are escaped
}

// A span is a part of a text.
type span struct{ start, end int }

// A needle is one form of a secret to search for.
type needle struct {
	text   string
	secret int  // index of the secret
	form   form // spelling of the secret
	alone  bool // whether it counts only as a separate word, because it is short
}

// A finder finds the forms of secrets in texts.
type finder struct {
	secrets []namedSecret
	needles [256][]needle // by first byte
	any     bool
}

// A namedSecret is a secret with its name.
type namedSecret struct{ name, text string }

// maxEscapes is the number of times that a text is unescaped. JSON in a URL that is printed as JSON
// needs three, and a secret that itself looks escaped needs more.
const maxEscapes = 6

func newFinder(secrets []namedSecret) *finder {
	f := &finder{secrets: secrets}
	seen := map[string]bool{}
	for i, s := range secrets {
		for _, n := range needlesOf(s.text) {
			if n.text == "" || seen[n.text] {
				continue
			}
			seen[n.text] = true
			n.secret = i
			f.needles[n.text[0]] = append(f.needles[n.text[0]], n)
			f.any = true
		}
	}
	return f
}

// A purpose is the purpose of a search.
type purpose int

const (
	toHide       purpose = iota // hide every secret, and the beginning of a secret where a text was clipped
	toHideCut                   // like toHide, for a text whose end was cut off
	toSpellAgain                // replace secrets in a text that must be restored later
)

// find returns all places in a text that reveal a secret, in any order. The places may overlap.
func (f *finder) find(text string, why purpose) []Match {
	if !f.any {
		return nil
	}
	var found []Match
	var levels []unescapedText // the given text first
	for current := text; ; {
		f.scan(current, why, func(n *needle, inner, outer span) {
			if why == toSpellAgain {
				outer = inner
			}
			for _, level := range slices.Backward(levels) {
				outer = level.source(outer)
			}
			match := Match{Start: outer.start, End: outer.end, Name: f.secrets[n.secret].name, Secret: f.secrets[n.secret].text, Form: n.form.name}
			match.Escaped = len(levels) > 0 || n.form.of == nil
			found = append(found, match)
		})
		next, changed := unescape(current)
		if !changed || len(levels) == maxEscapes {
			return found
		}
		levels = append(levels, next)
		current = next.text
	}
}

// scan reports every needle in a text: inner is the needle itself, and outer includes the
// surrounding text that also reveals it.
func (f *finder) scan(text string, why purpose, report func(n *needle, inner, outer span)) {
	for i := range len(text) {
		for j := range f.needles[text[i]] {
			n := &f.needles[text[i]][j]
			if strings.HasPrefix(text[i:], n.text) && (!n.alone || standsAlone(text, i, i+len(n.text))) {
				inner := span{i, i + len(n.text)}
				report(n, inner, n.form.extend(text, inner))
			}
		}
	}
	if why != toSpellAgain {
		f.scanCuts(text, why == toHideCut, report)
	}
}

// scanCuts reports the beginnings of needles before a cut: before an ellipsis and, if cut is set,
// at the end of the text.
func (f *finder) scanCuts(text string, cut bool, report func(n *needle, inner, outer span)) {
	const longest = 64 << 10 // largest message; bodies of responses are not cut
	if len(text) > longest {
		text, cut = text[:longest], false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], "…")
		if i < 0 {
			break
		}
		f.scanCut(text[:from+i], report)
		from += i + len("…")
	}
	if cut {
		f.scanCut(text, report)
	}
}

// shortestBeginning is the length, in bytes, of the shortest beginning of a secret that is hidden.
const shortestBeginning = 4

// scanCut reports the beginning of a needle at the end of a text, even if the beginning of an
// escape follows it, or of one escape within another.
func (f *finder) scanCut(text string, report func(n *needle, inner, outer span)) {
	end := len(text)
	f.scanEnd(text, end, report)
	for range maxEscapes + 1 { // %2 may be the beginning of %3B, which ends &#x26;
		whole := withoutPartialEscape(text)
		if whole == text {
			break
		}
		f.scanEnd(whole, end, report)
		text = whole
	}
}

func (f *finder) scanEnd(text string, end int, report func(n *needle, inner, outer span)) {
	for _, needles := range f.needles {
		for i := range needles {
			n := &needles[i]
			for k := min(len(n.text)-1, len(text)); k >= shortestBeginning && !n.alone; k-- {
				if strings.HasSuffix(text, n.text[:k]) {
					report(n, span{len(text) - k, len(text)}, span{len(text) - k, end})
					break
				}
			}
		}
	}
}

// withoutPartialEscape removes the beginning of an escape at the end of a text, and an escape that may be one.
func withoutPartialEscape(text string) string {
	const longest = 11 // the beginning of two JSON escapes
	tail := text[max(0, len(text)-longest):]
	if i := strings.LastIndexAny(tail, `%\&`); i >= 0 && !strings.ContainsAny(tail[i:], " \"'<>=") {
		if _, size := escapeAt(tail[i:]); size == 0 || i+size == len(tail) { // an entity may go on
			return text[:len(text)-len(tail)+i]
		}
	}
	return text
}

// escapeAt decodes the escape at the beginning of a text. The size is 0 if there is no escape.
func escapeAt(text string) (plain string, size int) {
	switch text[0] {
	case '%':
		return percent(text)
	case '\\':
		return backslash(text)
	case '&':
		return entity(text)
	}
	return "", 0
}

// standsAlone reports whether a part of a text is not a part of a longer word.
func standsAlone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !isAlphanumeric(before) && !isAlphanumeric(after)
}

func isAlphanumeric(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// joined returns the parts of a text that the found places cover, in order. Overlapping places form
// one part.
func joined(found []Match) []span {
	slices.SortFunc(found, func(a, b Match) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	var out []span
	for _, f := range found {
		if last := len(out) - 1; last >= 0 && f.Start < out[last].end {
			out[last].end = max(out[last].end, f.End)
			continue
		}
		out = append(out, span{f.Start, f.End})
	}
	return out
}
