package secret

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Mask replaces every character of the secrets in the text of a configuration, JSON or
// YAML, by a star, so that positions remain valid. It returns the secrets, too. It
// masks values of any type under a key that begins with # or that usually carries a
// credential, the user name and password of addresses, and the parameters of addresses that
// usually carry credentials. It works on malformed text, too, and masks too much there rather
// than too little.
func Mask(text string) (masked string, secrets []string) {
	m := &masker{text: text, hidden: make([]bool, len(text)), lineEnd: -1, yamlAuthentication: len(text)}
	if i := strings.Index(text, authenticationKey+":"); i >= 0 {
		m.yamlAuthentication = i
	}
	m.scan()
	for _, inAddress := range []*regexp.Regexp{userinfo(), parameter()} {
		for _, i := range inAddress.FindAllStringSubmatchIndex(text, -1) {
			if inAddress == userinfo() || IsName(text[i[2]:i[3]]) {
				m.hide(i[len(i)-2], i[len(i)-1])
			}
		}
	}
	return m.result(), m.secrets
}

var (
	userinfo  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`()://([^/?#@\s"'<>]+)@`) })
	parameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[?&]([\w.-]+)=([^&#\s"'\\]+)`) })
)

// authenticationKey is the key of the object whose value is a secret even under a key
// that says nothing about secrets.
const authenticationKey = "authentication"

// A masker reads the tokens of a configuration once, from its beginning, so that its time is
// in proportion to the length of the text.
type masker struct {
	text    string
	at      int    // offset of the next byte to read
	line    int    // offset at which the line of the latest token begins
	lineEnd int    // offset of the latest line end that was searched for, or -1
	depth   int    // brackets that are open
	hidden  []bool // bytes to mask
	secrets []string

	authentication     int // depth within the brackets under the key authentication; 0: outside
	yamlAuthentication int // offset of the first such key of YAML, or the length of the text
}

// A token is a string, a plain word, one character of punctuation, or the end of a line.
type token struct {
	start, end int // offsets of its content, without quotes
	kind       byte
}

// The kinds of tokens, besides those of punctuation, which are the character itself.
const (
	endOfText = 0
	plainWord = 'a'
)

// next reads the next token. At the end of the text its kind is endOfText.
func (m *masker) next() token {
	for m.at < len(m.text) && strings.IndexByte(" \t\r", m.text[m.at]) >= 0 {
		m.at++
	}
	start := m.at
	if start == len(m.text) {
		return token{start, start, endOfText}
	}
	m.at++
	switch c := m.text[start]; c {
	case '\n':
		m.line = m.at
		return token{start, m.at, c}
	case '{', '}', '[', ']', ',', ':':
		return token{start, m.at, c}
	case '"', '\'':
		for m.at < len(m.text) && m.text[m.at] != c && m.text[m.at] != '\n' {
			if m.text[m.at] == '\\' && c == '"' && m.at+1 < len(m.text) {
				m.at++
			}
			m.at++
		}
		end := m.at
		if end < len(m.text) && m.text[end] == c {
			m.at++
		}
		return token{start + 1, end, c}
	}
	if length := strings.IndexAny(m.text[m.at:], "{}[],:\"\n"); length >= 0 {
		m.at += length
	} else {
		m.at = len(m.text)
	}
	return token{start, start + len(strings.TrimRight(m.text[start:m.at], " \t\r")), plainWord}
}

// scan masks the values of all keys that carry secrets.
func (m *masker) scan() {
	key := "" // before a colon; the next value belongs to it
	for t := m.next(); t.kind != endOfText; t = m.next() {
		word := m.text[t.start:t.end]
		switch t.kind {
		case '\n', ':':
			continue
		case '{', '[':
			m.depth++
			if key == authenticationKey && m.authentication == 0 {
				m.authentication = m.depth
			}
		case '}', ']':
			if m.authentication == m.depth {
				m.authentication = 0
			}
			m.depth = max(m.depth-1, 0)
		case plainWord, '"', '\'':
			if t.kind == plainWord && word == "#" { // a comment that begins with "#:"
				m.at = m.endOfLine()
			} else if m.isKey(t) {
				key = word
				m.at += strings.IndexByte(m.text[m.at:], ':') + 1
				if m.isSecret(key) {
					m.value(m.line)
				}
				continue
			}
		}
		key = ""
	}
}

// isKey reports whether a colon follows a word, and, without quotes, is not that of an address
// or of a time.
func (m *masker) isKey(t token) bool {
	rest := strings.TrimLeft(m.text[m.at:], " \t")
	return strings.HasPrefix(rest, ":") && (t.kind != plainWord || len(rest) == 1 || strings.IndexByte(" \t\r\n\"'{[", rest[1]) >= 0)
}

// isSecret reports whether the value of a key is a secret. If the key
// has other uses, too, an object under it is probably no credential.
func (m *masker) isSecret(key string) bool {
	rest := strings.TrimLeft(m.text[m.at:], " \t")
	holdsObject := rest == "" || strings.IndexByte("{\r\n", rest[0]) >= 0
	switch {
	case strings.HasPrefix(key, "#") || IsCredential(key):
		return true
	case plain(key) == pathKey && pathValue().MatchString(rest):
		return false
	case key == "value" && (m.authentication > 0 || m.yamlAuthentication < m.at), IsName(key):
		return !holdsObject
	}
	return false
}

// pathKey is also the name of the key of a job that has the paths of what identifies an item.
const pathKey = "key"

// pathValue matches words without digits, which a credential is not: a path, or a list of paths.
var pathValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:["']?[A-Za-z_.]{1,40}["']?|\[(?:\s*["']?[A-Za-z_.]{1,40}["']?\s*,?)*\])\s*(?:[,}\]\r\n]|$)`)
})

// value masks the value that follows a key, up to the end of a list or an object. Outside
// brackets it also masks the following lines that are indented more than the line of the key.
func (m *masker) value(line int) {
	begin := m.at
	switch t := m.next(); t.kind {
	case '{', '[':
		m.brackets()
		return
	case '"', '\'':
		m.hide(t.start, t.end)
	case endOfText:
		return
	default:
		m.at = begin
		length := m.endOfLine() - begin
		if m.depth > 0 {
			length = len(untilAny(m.text[begin:begin+length], ",}]"))
		}
		m.at += length
		if word := strings.TrimSpace(m.text[begin:m.at]); !isConstant(word) {
			m.hide(m.at-len(strings.TrimLeft(m.text[begin:m.at], " \t")), m.at)
		}
	}
	if m.depth == 0 {
		m.below(line)
	}
}

// publicKeys are the keys of objects that may stand for a secret, or declare one: a reference to the
// environment, an expression, and an input whose name is that of a secret. Only the value of default may be one, and the texts
// in an expression that [KeysIn] returns.
var publicKeys = []string{"env", "expr", "doc", "pattern", "secret"}

const defaultKey = "default"

// brackets masks the values in a list or an object that has just begun, except those of public keys.
func (m *masker) brackets() {
	public := false // the next value is
	for depth := 1; depth > 0; {
		t := m.next()
		switch t.kind {
		case endOfText:
			return
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case plainWord, '"', '\'':
			word, isKey := m.text[t.start:t.end], strings.HasPrefix(strings.TrimLeft(m.text[m.at:], " \t"), ":")
			switch {
			case isKey && slices.Contains(publicKeys, word):
				public = true
				continue
			case public:
				m.hideKeys(t.start, t.end)
			case isKey && word == defaultKey, t.kind == plainWord && isConstant(word):
			default:
				m.hide(t.start, t.end)
			}
		case ':':
			continue
		}
		public = false
	}
}

// isConstant reports whether a word without quotes is a value that no credential has.
func isConstant(word string) bool {
	return slices.Contains([]string{"true", "false", "null", "~"}, word)
}

// below masks the lines that follow and are indented more than that of a key, except those of public keys.
func (m *masker) below(line int) {
	rest := m.text[m.at:m.endOfLine()]
	if rest = strings.TrimLeft(rest, " \t\r"); rest != "" && rest[0] != '#' {
		return
	}
	indent := indentOf(m.text[line:])
	for next := m.endOfLine() + 1; next < len(m.text); {
		following := indentOf(m.text[next:])
		content := m.text[next+following:]
		deeper := following > indent || following == indent && strings.HasPrefix(content, "- ")
		if content != "" && strings.IndexByte("\r\n", content[0]) < 0 && !deeper {
			return // before the end of the line is searched for: there may be many secrets above it
		}
		body := m.text[next : next+lineLength(m.text[next:])]
		switch key, written, isKey := strings.Cut(body[min(following, len(body)):], ":"); {
		case isKey && slices.Contains(publicKeys, key):
			m.hideKeys(next+len(body)-len(written), next+len(body))
		case isKey && key == defaultKey:
			m.hide(next+len(body)-len(strings.TrimLeft(written, " ")), next+len(body))
		default:
			m.hide(next+following, next+len(body))
		}
		next += len(body) + 1
		m.at = min(next, len(m.text))
		m.line = m.at
	}
}

// endOfLine returns the offset of the end of the line that is being read.
func (m *masker) endOfLine() int {
	if m.lineEnd < m.at {
		m.lineEnd = m.at + lineLength(m.text[m.at:])
	}
	return m.lineEnd
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

func lineLength(text string) int { return len(untilAny(text, "\n")) }

// untilAny returns a text up to the first of some characters.
func untilAny(text, chars string) string {
	if end := strings.IndexAny(text, chars); end >= 0 {
		return text[:end]
	}
	return text
}

// hide marks a part of the text and notes it as a secret, both as it is and as JSON encodes it.
func (m *masker) hide(start, end int) {
	written := m.text[start:end]
	if strings.TrimSpace(written) == "" {
		return
	}
	for i := start; i < end; i++ {
		m.hidden[i] = true
	}
	m.secrets = append(m.secrets, strings.TrimSpace(written))
	var decoded string
	if json.Unmarshal([]byte(`"`+written+`"`), &decoded) == nil && decoded != written {
		m.secrets = append(m.secrets, decoded)
	}
}

// hideKeys hides the texts in an expression that may be keys.
func (m *masker) hideKeys(start, end int) {
	for _, span := range KeysIn(m.text[start:end]) {
		m.hide(start+span[0], start+span[1])
	}
}

func (m *masker) result() string {
	var b strings.Builder
	for i, r := range m.text {
		if m.hidden[i] && r != '\n' && r != '\r' {
			r = '*'
		}
		b.WriteRune(r)
	}
	return b.String()
}
