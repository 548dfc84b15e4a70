package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A Spelling compares a document with one that may differ from it only in how
// characters are escaped: "é" and "\u00e9" are the same content. The zero
// Spelling equals no document.
type Spelling struct {
	size    int    // length of the canonical spelling, in bytes
	respelt bool   // the document has escapes that can be spelled in another way
	raw     []byte // the document; nil after a resume
	digest  Digest // of the document in its canonical spelling, when raw is nil
}

func (d *document) spelling() Spelling {
	return Spelling{size: len(d.raw) - d.scanner.Surplus, respelt: d.scanner.Respelt, raw: d.raw}
}

// Same reports whether two documents differ only in the spelling of escapes. It
// stops at the first difference, which two pages usually have near the start.
// Where neither document has such escapes it reports false: compare their digests.
func (s Spelling) Same(other Spelling) bool {
	if s.size != other.size || !s.respelt && !other.respelt {
		return false
	}
	if other.raw == nil {
		return s.canonical() == other.digest
	}
	a, b := s.raw, other.raw
	for len(a) > 0 && len(b) > 0 {
		if a[0] == b[0] && a[0] != '\\' {
			a, b = a[1:], b[1:]
			continue
		}
		x, n := scan.Character(a)
		y, m := scan.Character(b)
		if x != y {
			return false
		}
		a, b = a[n:], b[m:]
	}
	return len(a) == len(b)
}

// canonical returns the digest of the document in its canonical spelling.
func (s Spelling) canonical() Digest {
	if s.raw == nil {
		return s.digest
	}
	return DigestOf(respell(s.raw), none)
}

// respell returns a document in its canonical spelling, which escapes no more
// characters than JSON requires. Only strings contain backslashes.
func respell(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for {
		plain := bytes.IndexByte(raw, '\\')
		if plain < 0 {
			return append(out, raw...)
		}
		out = append(out, raw[:plain]...)
		r, size := scan.Unescape(raw[plain:])
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ' || utf16.IsSurrogate(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = utf8.AppendRune(out, r)
		}
		raw = raw[plain+size:]
	}
}

// A savedSpelling is a [Spelling] in a checkpoint.
type savedSpelling struct {
	Size   int    `json:"size"`
	Digest Digest `json:"digest"`
}

// MarshalJSON returns the size and the digest of the canonical spelling.
func (s Spelling) MarshalJSON() ([]byte, error) {
	if s.raw == nil && s.size == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(savedSpelling{s.size, s.canonical()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Spelling) UnmarshalJSON(text []byte) error {
	var saved *savedSpelling
	if err := json.Unmarshal(text, &saved); err != nil || saved == nil {
		*s = Spelling{}
		return err
	}
	*s = Spelling{size: saved.Size, respelt: true, digest: saved.Digest} // it may have had escapes
	return nil
}
