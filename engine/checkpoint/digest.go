package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"github.com/cespare/xxhash/v2"
)

// A digest is XXH64, which can be cloned.
type digest struct{ *xxhash.Digest }

func (d digest) Clone() (hash.Cloner, error) { return digest{new(*d.Digest)}, nil }

// digestOf returns an empty digest of the kind that a sum in a state is of: XXH64, also for no sum, or SHA-256, which
// earlier builds used.
func digestOf(sum string) hash.Cloner {
	if len(sum) == hex.EncodedLen(sha256.Size) {
		return sha256.New().(hash.Cloner)
	}
	return digest{xxhash.New()}
}

// sumOf returns the sum of what a digest has read.
func sumOf(d hash.Hash) string { return hex.EncodeToString(d.Sum(nil)) }
