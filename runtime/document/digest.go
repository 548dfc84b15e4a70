package document

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A Digest is a 128-bit hash. It is the same in every process, so it can be saved. It is not
// cryptographic: collisions can be constructed. The zero Digest is the seed of a new one.
type Digest struct{ a, b uint64 }

// zeroDigest is the seed of a digest that begins with its own data.
var zeroDigest Digest

// digestBytes is the length of a Digest in bytes.
const digestBytes = 16

// AppendBinary appends the digest to b as digestBytes bytes, big-endian.
func (d Digest) AppendBinary(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, d.a), d.b)
}

// digestFromBytes returns the digest with the given bytes, as appended by AppendBinary.
func digestFromBytes(b [digestBytes]byte) Digest {
	return Digest{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}

// MarshalText returns the digest as 32 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x%016x", d.a, d.b), nil }

// UnmarshalText decodes the result of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != digestBytes {
		return fmt.Errorf("not a digest: %s", wording.Clip(string(text), 40))
	}
	*d = digestFromBytes([digestBytes]byte(raw))
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
	w := lanesOf(seed)
	return w.sum(w.mix(data), uint64(len(data)))
}

// lanes is the state of a digest.
type lanes struct{ a, b, c, d uint64 }

func lanesOf(seed Digest) lanes {
	return lanes{seed.a ^ key4, seed.b ^ key2, seed.b ^ key1, seed.a ^ key0}
}

// mix mixes all blocks of 64 bytes, and returns the rest.
func (m *lanes) mix(data []byte) (rest []byte) {
	a, b, c, d := m.a, m.b, m.c, m.d
	for len(data) >= 64 {
		w := data[:64:64]
		a = mix(binary.LittleEndian.Uint64(w[0:])^key0, binary.LittleEndian.Uint64(w[8:])^a) + bits.RotateLeft64(a, 23)
		b = mix(binary.LittleEndian.Uint64(w[16:])^key1, binary.LittleEndian.Uint64(w[24:])^b) + bits.RotateLeft64(b, 23)
		c = mix(binary.LittleEndian.Uint64(w[32:])^key2, binary.LittleEndian.Uint64(w[40:])^c) + bits.RotateLeft64(c, 23)
		d = mix(binary.LittleEndian.Uint64(w[48:])^key3, binary.LittleEndian.Uint64(w[56:])^d) + bits.RotateLeft64(d, 23)
		data = data[64:]
	}
	m.a, m.b, m.c, m.d = a, b, c, d
	return data
}

// sum returns the digest of data of a length, whose rest has not been mixed.
func (m *lanes) sum(rest []byte, length uint64) Digest {
	a, b, c, d := m.a, m.b, m.c, m.d
	var tail [64]byte
	copy(tail[:], rest)
	for i := 0; i < len(rest); i += 16 {
		a = mix(binary.LittleEndian.Uint64(tail[i:])^key0, binary.LittleEndian.Uint64(tail[i+8:])^a) + bits.RotateLeft64(a, 23)
	}
	a, b = mix(a^key3, b^length), mix(c^key4, d^length)
	return Digest{mix(a^key1, b^key2) + a, mix(b^key3, a^key0) + b}
}

// A summer returns the digest of data that comes in parts, like digestIn. The zero summer has no data.
type summer struct {
	seed  Digest // digest of the parts before this one
	lanes lanes  // of the blocks of this part; not set at its beginning
	rest  [64]byte
	n     int // bytes of this part
}

// add adds a part.
func (s *summer) add(data []byte) {
	for len(data) > 0 {
		if s.n == 0 {
			s.lanes = lanesOf(s.seed)
		}
		part := data[:min(len(data), spool.ResidentBytes-s.n)]
		data = data[len(part):]
		begun := s.n % len(s.rest)
		s.n += len(part)
		if begun > 0 {
			added := copy(s.rest[begun:], part)
			if part = part[added:]; begun+added == len(s.rest) {
				s.lanes.mix(s.rest[:])
			}
		}
		if len(part) > 0 {
			copy(s.rest[:], s.lanes.mix(part))
		}
		if s.n == spool.ResidentBytes {
			s.seed, s.n = s.lanes.sum(nil, spool.ResidentBytes), 0
		}
	}
}

// sum returns the digest of all data.
func (s *summer) sum() Digest {
	if s.n == 0 {
		return s.seed
	}
	return s.lanes.sum(s.rest[:s.n%len(s.rest)], uint64(s.n))
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
		items = d.listDigest(list)
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

// listDigest returns the digest of the list at a span.
func (d *document) listDigest(list scan.Span) Digest {
	if d.arrival.has(d, list) {
		return d.arrival.sum.sum()
	}
	return d.digest(list, zeroDigest)
}

// digest returns the digest of a span.
func (d *document) digest(at scan.Span, seed Digest) Digest {
	return digestIn(at.Of(d.raw), at.Start, d.mapping, seed)
}

// digestIn returns the digest of data, reading one part of a mapped file at a time.
func digestIn(data []byte, offset int, mapping *spool.Mapping, seed Digest) Digest {
	if len(data) == 0 || mapping == nil && len(data) <= spool.ResidentBytes {
		return DigestOf(data, seed)
	}
	sum := summer{seed: seed}
	for part := range partsOf(data, offset, mapping) {
		sum.add(part)
	}
	return sum.sum()
}
