package language

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADigestIsTextExceptWhereItsBytesCount(t *testing.T) {
	const (
		digits = "98bf7d8c15784f0a3d63204441e1e2aa" // printf contents | md5sum
		inB64  = "mL99jBV4Two9YyBEQeHiqg=="         // printf contents | openssl md5 -binary | base64
	)
	for source, want := range map[string]any{
		`md5("contents")`:                                                      digits,
		`hex(md5("contents"))`:                                                 digits,
		`base64(md5("contents"))`:                                              inB64,
		`"v1=" + md5("contents")`:                                              "v1=" + digits,
		`upper(md5("contents"))`:                                               "98BF7D8C15784F0A3D63204441E1E2AA",
		`[md5("contents")][0]`:                                                 digits,
		`{"a": md5("contents")}.a`:                                             digits,
		`join(map(["contents"], md5(#)), ",")`:                                 digits,
		`let d = md5("contents"); base64(d)`:                                   inB64,
		`let d = md5("contents"); base64(1 > 0 ? d : d)`:                       inB64,
		`let d = md5("contents"); d + "."`:                                     digits + ".",
		`base64(1 > 0 ? md5("contents") : md5("other"))`:                       inB64,
		`len(md5("contents"))`:                                                 32,
		`md5("contents") == "` + digits + `"`:                                  true,
		`md5("contents") matches "^[0-9a-f]{32}$"`:                             true,
		`md5(body.absent)`:                                                     nil,
		`hmac("sha256", "k", body.absent)`:                                     nil,
		`text(md5("contents"))`:                                                digits,
		`md5("contents")[:2]`:                                                  "98",
		`(body.absent ?? md5("contents"))`:                                     digits,
		`toBase64("contents") == base64("contents")`:                           true,
		`hmac("sha256", hmac("sha256", "k", "a"), "b")`:                        "693643825562386579861644d1d9f4eb3aeb431f8b5897bbc22a2f2724590a3e",
		`hmac("sha256", "key", "The quick brown fox jumps over the lazy dog")`: "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8",
	} {
		t.Run(source, func(t *testing.T) {
			got, err := eval(t, `{}`, source)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestAnUnknownHashIsNamed(t *testing.T) {
	_, err := eval(t, `{}`, `hmac("sha-256", "k", "v")`)
	require.ErrorContains(t, err, `hmac: want md5, sha1, sha256, sha384 or sha512, got "sha-256"`)
}
