package document

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Digest is a 128-bit hash that is the same in every process. It tells
// contents apart; it does not resist somebody who constructs collisions.
type Digest struct{ a, b uint64 }

// none is the seed of the first hash.
var none Digest

// MarshalText writes the digest as 32 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x%016x", d.a, d.b), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != 16 {
		return fmt.Errorf("not a digest: %s", value.Clip(string(text), 40))
	}
	*d = Digest{binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:])}
	return nil
}

// The keys are digits of pi, as good as any.
const (
	key0 = 0x243f6a8885a308d3
	key1 = 0x13198a2e03707344
	key2 = 0xa4093822299f31d0
	key3 = 0x082efa98ec4e6c89
	key4 = 0x452821e638d01377
)

// mix folds the product of two words, to which every bit of both contributes.
func mix(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return hi ^ lo
}

// DigestOf hashes data behind what seed is the digest of. Four lanes take 64
// bytes at a time; a lane keeps its old value beside the product, so that a
// factor of 0 loses nothing.
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
