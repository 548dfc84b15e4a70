package php

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// hashes are the algorithms that configurations may use, by PHP's names.
var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New,
	"sha384": sha512.New384, "sha512": sha512.New, "sha512/224": sha512.New512_224, "sha512/256": sha512.New512_256,
	"sha3-224": func() hash.Hash { return sha3.New224() }, "sha3-256": func() hash.Hash { return sha3.New256() },
	"sha3-384": func() hash.Hash { return sha3.New384() }, "sha3-512": func() hash.Hash { return sha3.New512() },
}

// checksums are the algorithms that only hashText accepts, because they have no key.
var checksums = map[string]func() hash.Hash{
	"adler32": func() hash.Hash { return adler32.New() }, "crc32b": func() hash.Hash { return crc32.NewIEEE() },
	"fnv132": func() hash.Hash { return fnv.New32() }, "fnv1a32": func() hash.Hash { return fnv.New32a() },
	"fnv164": func() hash.Hash { return fnv.New64() }, "fnv1a64": func() hash.Hash { return fnv.New64a() },
}

// hashText is PHP's hash(algorithm, text), in hexadecimal. It fails for the algorithms of
// PHP that it does not know.
func hashText(algorithm, text string) (string, error) {
	known := maps.Clone(checksums)
	maps.Copy(known, hashes)
	return digest(algorithm, text, known, func(algorithm func() hash.Hash) hash.Hash { return algorithm() })
}

// hmacText is PHP's hash_hmac(algorithm, text, key), in hexadecimal. It fails for the
// algorithms of PHP that it does not know.
func hmacText(algorithm, text, key string) (string, error) {
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

// OAuth1 are the credentials of OAuth 1.0 (RFC 5849).
type OAuth1 struct{ Key, Secret, Token, TokenSecret string }

// Header returns the header Authorization of a request, with signature method HMAC-SHA1:
// of its method, its address, and the body of a form, which is empty for any other body. The
// time is in seconds since 1970.
func (o OAuth1) Header(method, address, form, nonce string, seconds int) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	fields := [][2]string{
		{"oauth_consumer_key", o.Key}, {"oauth_nonce", nonce}, {"oauth_signature_method", "HMAC-SHA1"},
		{"oauth_timestamp", strconv.Itoa(seconds)}, {"oauth_token", o.Token}, {"oauth_version", "1.0"},
	}
	params := slices.Concat(fields, parameters(u.RawQuery), parameters(form))
	pairs := lists.Map(params, func(p [2]string) string { return rawURLEncode(p[0]) + "=" + rawURLEncode(p[1]) })
	slices.Sort(pairs)
	u.RawQuery, u.Fragment = "", ""
	base := strings.ToUpper(method) + "&" + rawURLEncode(u.String()) + "&" + rawURLEncode(strings.Join(pairs, "&"))
	h := hmac.New(sha1.New, []byte(rawURLEncode(o.Secret)+"&"+rawURLEncode(o.TokenSecret)))
	h.Write([]byte(base))
	fields = slices.Insert(fields, 2, [2]string{"oauth_signature", base64.StdEncoding.EncodeToString(h.Sum(nil))})
	parts := lists.Map(fields, func(p [2]string) string { return p[0] + `="` + rawURLEncode(p[1]) + `"` })
	return "OAuth " + strings.Join(parts, ", "), nil
}

// parameters returns the names and values of a query.
func parameters(query string) [][2]string {
	var out [][2]string
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			name, text, _ := strings.Cut(pair, "=")
			out = append(out, [2]string{unescape(name), unescape(text)})
		}
	}
	return out
}

// rawURLEncode is PHP's rawurlencode (RFC 3986).
func rawURLEncode(text string) string {
	return strings.NewReplacer("+", "%20", "%7E", "~").Replace(escape(text))
}
