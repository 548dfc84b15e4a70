package document

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A Digest is a 128-bit hash. It is the same in every process, so it can be saved. It is not
// cryptographic: collisions can be constructed. The zero Digest is the seed of a new one.
type Digest struct{ a, b uint64 }

// zeroDigest is the seed of a digest that begins with its own data.
var zeroDigest Digest

// DigestBytes is the length of a Digest in bytes.
const DigestBytes = 16

// AppendBinary appends the digest to b as DigestBytes bytes, big-endian.
func (d Digest) AppendBinary(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, d.a), d.b)
}

// DigestFromBytes returns the digest with the given bytes, as appended by AppendBinary.
func DigestFromBytes(b [DigestBytes]byte) Digest {
	return Digest{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// MarshalText returns the digest as 32 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x%016x", d.a, d.b), nil }

// UnmarshalText decodes the result of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != DigestBytes {
		return fmt.Errorf("not a digest: %s", value.Clip(string(text), 40))
	}
	*d = DigestFromBytes([DigestBytes]byte(raw))
	return nil
}

// The keys are digits of pi; any other constants would do.
const (
	key0 = 0x243f6a8885a308d3
	key1 = 0x13198a2e03707344
	key2 = 0xa4093822299f31d0
	key3 = 0x082efa98ec4e6c89
	key4 = 0x452821e638d01377
)

// mix returns both halves of the product of two words, combined, so that every
// bit of the words counts.
func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// DigestOf returns the digest of data that follows other data, whose digest is the seed; the seed of
// data that follows nothing is the zero Digest. To be fast, it mixes 64 bytes at a time into four
// independent words. Each word adds its old value to the product, so that a factor of 0 loses nothing.
func DigestOf(data []byte, seed Digest) Digest {
	length := uint64(len(data))
	a, b, c, d := seed.a^key4, seed.b^key2, seed.b^key1, seed.a^key0
	for len(data) >= 64 {
		w := data[:64:64]
		a = mix(binary.LittleEndian.Uint64(w[0:])^key0, binary.LittleEndian.Uint64(w[8:])^a) + bits.RotateLeft64(a, 23)
		b = mix(binary.LittleEndian.Uint64(w[16:])^key1, binary.LittleEndian.Uint64(w[24:])^b) + bits.RotateLeft64(b, 23)
		c = mix(binary.LittleEndian.Uint64(w[32:])^key2, binary.LittleEndian.Uint64(w[40:])^c) + bits.RotateLeft64(c, 23)
		d = mix(binary.LittleEndian.Uint64(w[48:])^key3, binary.LittleEndian.Uint64(w[56:])^d) + bits.RotateLeft64(d, 23)
		data = data[64:]
	}
	var tail [64]byte
	copy(tail[:], data)
	for i := 0; i < len(data); i += 16 {
		a = mix(binary.LittleEndian.Uint64(tail[i:])^key0, binary.LittleEndian.Uint64(tail[i+8:])^a) + bits.RotateLeft64(a, 23)
	}
	a, b = mix(a^key3, b^length), mix(c^key4, d^length)
	return Digest{mix(a^key1, b^key2) + a, mix(b^key3, a^key0) + b}
}

// Half returns half of the digest, for maps in which rare collisions are harmless.
func (d Digest) Half() uint64 { return d.a }

// With returns the digest of two pieces of data with the digests d and other.
func (d Digest) With(other Digest) Digest {
	return DigestOf(other.AppendBinary(nil), d)
}

// digests returns the digest of the document without the ignored spans, which must be in order, and
// the digest of the list at a span.
func (d *document) digests(list scan.Span, ignored []scan.Span) (content, items Digest) {
	if list.Present() {
		items = d.digest(list, zeroDigest)
	}
	if len(ignored) == 0 && list.Present() {
		content = d.digest(scan.Span{Start: 0, End: list.Start}, items)
		return d.digest(scan.Span{Start: list.End, End: len(d.raw)}, content), items
	}
	start := 0
	for _, gap := range ignored {
		if gap.Start < start {
			continue // inside the previous span
		}
		content = d.digest(scan.Span{Start: start, End: gap.Start}, content)
		start = gap.End
	}
	return d.digest(scan.Span{Start: start, End: len(d.raw)}, content), items
}

// digest returns the digest of a span.
func (d *document) digest(at scan.Span, seed Digest) Digest {
	return digestIn(at.Of(d.raw), at.Start, d.window, seed)
}

// digestIn returns the digest of data, reading one window at a time.
func digestIn(data []byte, offset int, window *spool.Window, seed Digest) Digest {
	if len(data) == 0 || window == nil && len(data) <= spool.WindowBytes {
		return DigestOf(data, seed)
	}
	sum := seed // a separate variable, since it is on the heap
	for part := range windows(data, offset, window) {
		sum = DigestOf(part, sum)
	}
	return sum
}

// If a page has more items than wholePage, only some of them are compared with other pages. These are
// the first and the last edgeItems, because items repeat where pages meet if a list changes while it is
// read, and usually between drawnItems/2 and drawnItems of the others, at most 2*drawnItems. The others
// are drawn by their content, so that two pages with the same items draw the same items in any order.
const (
	wholePage  = 64
	edgeItems  = 16
	drawnItems = 32
)

// comparedItems returns the items of a page that are compared with items of other pages, in the order of
// the page. They are slices of the document.
func (r *Reader) comparedItems(items Items) [][]byte {
	r.sample = r.sample[:0]
	inner := items.Len() - 2*edgeItems // number of items between the ends
	shift := 64 - bits.Len(uint(max(inner, 0)/drawnItems))
	i, drawn := 0, 0
	for item := range items.All() {
		switch {
		case items.Len() <= wholePage || i < edgeItems || i >= items.Len()-edgeItems:
			r.sample = append(r.sample, item)
		case drawn < 2*drawnItems && drawingOf(item)>>shift == 0:
			r.sample = append(r.sample, item)
			drawn++
		}
		i++
	}
	return r.sample
}

// drawingOf returns a hash of the length, the first and the last 32 bytes of an item.
func drawingOf(item []byte) uint64 {
	n := len(item)
	if n < 32 {
		return DigestOf(item, zeroDigest).Half()
	}
	head, tail := item[:32:32], item[n-32:n:n]
	a := mix(binary.LittleEndian.Uint64(head[0:])^key0, binary.LittleEndian.Uint64(head[8:])^key1)
	b := mix(binary.LittleEndian.Uint64(head[16:])^key2, binary.LittleEndian.Uint64(head[24:])^key3)
	c := mix(binary.LittleEndian.Uint64(tail[0:])^key1, binary.LittleEndian.Uint64(tail[8:])^key2)
	d := mix(binary.LittleEndian.Uint64(tail[16:])^key3, binary.LittleEndian.Uint64(tail[24:])^key0)
	return mix(a+bits.RotateLeft64(b, 23)^key4, c+bits.RotateLeft64(d, 23)^uint64(n))
}

// maxIdentityBytes is the length of the part of an item that is searched for its identifier.
const maxIdentityBytes = 4096

// Identity returns the identifier of an item as it was sent: the value of its first key that names
// an identifier (see [apinames.IsIdentifier]), or the identifier of its node, as in an edge of
// GraphQL. It returns nil if the item has no identifier. item is a valid JSON value without insignificant
// whitespace.
func Identity(item []byte) []byte {
	if len(item) == 0 || item[0] != '{' {
		return nil
	}
	for key, span := range scan.Members(item) {
		if key.Start >= maxIdentityBytes {
			break
		}
		switch name := string(item[key.Start+1 : key.End-1]); {
		case apinames.IsIdentifier(name):
			if v := span.Of(item); identifies(v) {
				return v
			}
		case name == "node":
			return Identity(span.Of(item))
		}
	}
	return nil
}

// identifies reports whether a value can be an identifier.
func identifies(raw []byte) bool {
	switch scan.KindOf(raw) {
	case scan.Null, scan.Boolean, scan.List:
		return false
	case scan.String:
		return len(raw) > 2
	}
	return true
}

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
