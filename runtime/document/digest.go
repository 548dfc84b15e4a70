package document

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

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
