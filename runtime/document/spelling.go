package document

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A Spelling identifies a document up to the escaping of its characters: "é" and "\u00e9" are the
// same content. The zero Spelling equals no document.
type Spelling struct {
	size    int    // length in canonical spelling, in bytes
	respelt bool   // whether the document has escapes with another spelling
	raw     []byte // the document; nil after a resume
	digest  Digest // digest of the document in canonical spelling, if it was summed up or raw is nil
	summed  bool
}

func (d *document) spelling() Spelling {
	return Spelling{size: len(d.raw) - d.scanner.Surplus, respelt: d.scanner.Respelt, raw: d.raw}
}

// Same reports whether two documents differ only in the spelling of escapes. It stops at the first
// difference, which is usually near the start. If neither document has such escapes, it reports
// false: compare their digests. It makes no canonical copies, which would cost a run five times the
// memory, since pages often have one size.
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

// canonical returns the digest of the document in canonical spelling.
func (s Spelling) canonical() Digest {
	if s.raw == nil || s.summed {
		return s.digest
	}
	return DigestOf(respell(s.raw), zeroDigest)
}

// respell returns a document in canonical spelling, with only the escapes that JSON requires. Only
// strings contain backslashes.
func respell(raw []byte) []byte {
	plain := bytes.IndexByte(raw, '\\')
	if plain < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for ; plain >= 0; plain = bytes.IndexByte(raw, '\\') {
		out = append(out, raw[:plain]...)
		r, size := scan.Unescape(raw[plain:])
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ':
			out = append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
		raw = raw[plain+size:]
	}
	return append(out, raw...)
}

// SumUp prepares the spelling for MarshalJSON, which otherwise reads the document each time. The
// checkpoint of a page is also part of the checkpoints of its children.
func (s *Spelling) SumUp() { s.digest, s.summed = s.canonical(), true }

const hexDigits = "0123456789abcdef"

// A savedSpelling is the form of a [Spelling] in a checkpoint.
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

// UnmarshalJSON decodes the result of MarshalJSON.
func (s *Spelling) UnmarshalJSON(text []byte) error {
	var saved *savedSpelling
	if err := json.Unmarshal(text, &saved); err != nil || saved == nil {
		*s = Spelling{}
		return err
	}
	*s = Spelling{size: saved.Size, respelt: true, digest: saved.Digest} // it may have had escapes
	return nil
}
