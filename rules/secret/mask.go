package secret

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Mask replaces every character of the secrets in the text of a configuration, JSON or
// YAML, by a star, so that positions remain valid. It returns the secrets, too. It
// masks what stands under a key that begins with # or that usually carries a
// credential, whatever its type, the user name and password of addresses, and the
// parameters of addresses that usually carry credentials. It works on malformed text,
// in which it rather masks too much.
func Mask(text string) (masked string, secrets []string) {
	m := newMasker(text)
	m.scan()
	for _, inAddress := range []*regexp.Regexp{userinfo, parameter} {
		for _, at := range inAddress.FindAllStringSubmatchIndex(text, -1) {
			if inAddress == userinfo || Name(text[at[2]:at[3]]) {
				m.hide(at[len(at)-2], at[len(at)-1])
			}
		}
	}
	return m.result(), m.secrets
}

var (
	userinfo  = regexp.MustCompile(`()://([^/?#@\s"'<>]+)@`)
	parameter = regexp.MustCompile(`[?&]([\w.-]+)=([^&#\s"'\\]+)`)
)

// A masker scans a configuration once, from its beginning. What it needs to know of
// the text before an offset it counts on the way, so that its time is in proportion to
// the length of the text.
type masker struct {
	text    string
	at      int
	keys    []string // keys of the brackets that are open; "" without a key
	key     string   // the key before a colon; the next value belongs to it
	hidden  []bool   // bytes to mask
	secrets []string

	line  int // offset of the line of the latest key
	upTo  int // offset before which no later line begins
	below int // offset of the line whose lines below were masked last; -1: none

	inAuthentication int // brackets that are open under the key authentication
	authentication   int // offset after the first such key of YAML, or the length of the text
}

// authenticationKey is the key of the object whose value is a secret under a key that
// says nothing of it.
const authenticationKey = "authentication"

func newMasker(text string) *masker {
	m := &masker{text: text, hidden: make([]bool, len(text)), below: -1, authentication: len(text)}
	if at := strings.Index(text, authenticationKey+":"); at >= 0 {
		m.authentication = at + len(authenticationKey) + 1
	}
	return m
}

// A token is a string, a plain word or one character of punctuation.
type token struct {
	start, end int // of its content, without quotes
	next       int // after it
	quote      byte
}

func (m *masker) scan() {
	for m.at < len(m.text) {
		t := m.token()
		if t.quote == 0 && t.end-t.start == 1 && strings.IndexByte("{}[],:", m.text[t.start]) >= 0 {
			m.punctuation(m.text[t.start])
			m.at = t.next
			continue
		}
		m.at = t.next
		if t.quote == 0 && m.text[t.start:t.end] == "#" { // a comment that begins with "#:"
			line, _, _ := strings.Cut(m.text[m.at:], "\n")
			m.at += len(line)
			continue
		}
		if m.atColon() && (t.quote != 0 || m.plainKey()) {
			m.key = m.text[t.start:t.end]
			m.at += strings.IndexByte(m.text[m.at:], ':') + 1
			if m.isSecret(m.key) && !m.mayBeOther(m.key) {
				m.value(m.lineStart(t.start))
			}
			continue
		}
		m.key = ""
	}
}

func (m *masker) punctuation(c byte) {
	switch c {
	case '{', '[':
		m.open()
	case '}', ']':
		m.close()
	}
	if c != ':' {
		m.key = ""
	}
}

func (m *masker) open() {
	m.keys = append(m.keys, m.key)
	if m.key == authenticationKey {
		m.inAuthentication++
	}
}

func (m *masker) close() {
	last := len(m.keys) - 1
	if last < 0 {
		return
	}
	if m.keys[last] == authenticationKey {
		m.inAuthentication--
	}
	m.keys = m.keys[:last]
}

// isSecret reports whether the value of a key is a secret.
func (m *masker) isSecret(key string) bool {
	if strings.HasPrefix(key, "#") || Name(key) {
		return true
	}
	return key == "value" && (m.inAuthentication > 0 || m.authentication <= m.at)
}

// mayBeOther reports whether a key is likely to be no secret: a name with other uses,
// under which there is an object.
func (m *masker) mayBeOther(key string) bool {
	rest := strings.TrimLeft(m.text[m.at:], " \t")
	return !strings.HasPrefix(key, "#") && !sure(key) && (rest == "" || strings.IndexByte("{\r\n", rest[0]) >= 0)
}

// token reads the next token.
func (m *masker) token() token {
	for m.at < len(m.text) && strings.IndexByte(" \t\r\n", m.text[m.at]) >= 0 {
		m.at++
	}
	start := m.at
	if start == len(m.text) {
		return token{start, start, start, 0}
	}
	switch c := m.text[start]; {
	case c == '"' || c == '\'':
		end := m.closing(start+1, c)
		next := end
		if end < len(m.text) && m.text[end] == c {
			next++
		}
		return token{start + 1, end, next, c}
	case strings.IndexByte("{}[],:", c) >= 0:
		return token{start, start + 1, start + 1, 0}
	}
	end := start + 1
	for end < len(m.text) && strings.IndexByte("{}[],:\"\n", m.text[end]) < 0 {
		end++
	}
	return token{start, start + len(strings.TrimRight(m.text[start:end], " \t\r")), end, 0}
}

// closing returns the offset of the quote that ends a string, or of the end of the
// line if there is none.
func (m *masker) closing(at int, quote byte) int {
	for ; at < len(m.text) && m.text[at] != '\n'; at++ {
		switch {
		case m.text[at] == '\\' && quote == '"' && at+1 < len(m.text):
			at++
		case m.text[at] == quote:
			return at
		}
	}
	return min(at, len(m.text))
}

// atColon reports whether a colon follows.
func (m *masker) atColon() bool {
	return strings.HasPrefix(strings.TrimLeft(m.text[m.at:], " \t"), ":")
}

// plainKey reports whether the colon that follows ends a key without quotes: not that
// of an address or of a time.
func (m *masker) plainKey() bool {
	rest := strings.TrimLeft(m.text[m.at:], " \t")
	return len(rest) == 1 || strings.IndexByte(" \t\r\n\"'{[", rest[1]) >= 0
}

// value masks the value that follows a key, up to the end of a list or an object, and
// the lines below the key that are indented more.
func (m *masker) value(line int) {
	m.at += len(m.text[m.at:]) - len(strings.TrimLeft(m.text[m.at:], " \t"))
	if m.at == len(m.text) {
		return
	}
	switch c := m.text[m.at]; {
	case c == '{' || c == '[':
		m.brackets()
		return
	case c == '"' || c == '\'':
		t := m.token()
		m.hide(t.start, t.end)
		m.at = t.next
	default:
		end := m.at
		for end < len(m.text) && m.text[end] != '\n' && (len(m.keys) == 0 || strings.IndexByte(",}]", m.text[end]) < 0) {
			end++
		}
		if c != '\n' && c != '\r' {
			m.hide(m.at, end)
		}
		m.at = end
	}
	if len(m.keys) == 0 && line != m.below {
		m.deeper(line)
	}
}

// brackets masks the values in a list or an object, except a reference to the
// environment.
func (m *masker) brackets() {
	depth, env := 0, false
	for m.at < len(m.text) {
		t := m.token()
		m.at = t.next
		switch word := m.text[t.start:t.end]; {
		case t.quote == 0 && (word == "{" || word == "["):
			depth++
		case t.quote == 0 && (word == "}" || word == "]"):
			if depth--; depth == 0 {
				return
			}
		case t.quote == 0 && (word == "," || word == ":"):
		case word == "env" && m.atColon():
			env = true
		case env:
			env = false
		default:
			m.hide(t.start, t.end)
		}
	}
}

// deeper masks the lines that follow and are indented more than that of a key, except
// a reference to the environment.
func (m *masker) deeper(line int) {
	if after := strings.TrimLeft(m.text[m.at:], " \t\r"); after != "" && after[0] != '\n' && after[0] != '#' {
		return
	}
	m.below = line
	indent := indentOf(m.text[line:])
	rest, _, _ := strings.Cut(m.text[m.at:], "\n")
	for next := m.at + len(rest) + 1; next < len(m.text); {
		body, _, _ := strings.Cut(m.text[next:], "\n")
		content := strings.TrimSpace(body)
		deeper := indentOf(body) > indent || indentOf(body) == indent && strings.HasPrefix(content, "- ")
		if content != "" && !deeper {
			return
		}
		if !strings.HasPrefix(content, "env:") {
			m.hide(next+indentOf(body), next+len(body))
		}
		next += len(body) + 1
		m.at = min(next, len(m.text))
	}
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// lineStart returns the offset at which the line of an offset begins. Offsets must not
// decrease from call to call.
func (m *masker) lineStart(at int) int {
	if m.upTo < at {
		if last := strings.LastIndexByte(m.text[m.upTo:at], '\n'); last >= 0 {
			m.line = m.upTo + last + 1
		}
		m.upTo = at
	}
	return m.line
}

// hide marks a part of the text and notes it as a secret, also as JSON has it.
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
