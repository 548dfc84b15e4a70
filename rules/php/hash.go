package php

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

// hashes are the algorithms that configurations may use, by PHP's names.
var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New,
	"sha384": sha512.New384, "sha512": sha512.New, "sha512/224": sha512.New512_224, "sha512/256": sha512.New512_256,
	"sha3-224": func() hash.Hash { return sha3.New224() }, "sha3-256": func() hash.Hash { return sha3.New256() },
	"sha3-384": func() hash.Hash { return sha3.New384() }, "sha3-512": func() hash.Hash { return sha3.New512() },
}

// checksums are the algorithms that only [Hash] accepts, because they have no key.
var checksums = map[string]func() hash.Hash{
	"adler32": func() hash.Hash { return adler32.New() }, "crc32b": func() hash.Hash { return crc32.NewIEEE() },
	"fnv132": func() hash.Hash { return fnv.New32() }, "fnv1a32": func() hash.Hash { return fnv.New32a() },
	"fnv164": func() hash.Hash { return fnv.New64() }, "fnv1a64": func() hash.Hash { return fnv.New64a() },
}

// Hash is PHP's hash(algorithm, text), in hexadecimal. It fails for the algorithms of
// PHP that it does not know.
func Hash(algorithm, text string) (string, error) {
	known := maps.Clone(checksums)
	maps.Copy(known, hashes)
	return digest(algorithm, text, known, func(algorithm func() hash.Hash) hash.Hash { return algorithm() })
}

// HMAC is PHP's hash_hmac(algorithm, text, key), in hexadecimal. It fails for the
// algorithms of PHP that it does not know.
func HMAC(algorithm, text, key string) (string, error) {
	return digest(algorithm, text, hashes, func(algorithm func() hash.Hash) hash.Hash { return hmac.New(algorithm, []byte(key)) })
}

// digest returns the hash of a text by one of the algorithms that are known.
func digest(name, text string, known map[string]func() hash.Hash, start func(func() hash.Hash) hash.Hash) (string, error) {
	algorithm := known[strings.ToLower(name)]
	if algorithm == nil {
		return "", fmt.Errorf("unknown hash algorithm %q; known: %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	h := start(algorithm)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)), nil
}
