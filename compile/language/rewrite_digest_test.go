package language

import (
	"fmt"
	"strings"
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

// Private keys for tests alone: the same key as openssl genrsa and openssl pkcs8 write it.
const (
	pkcs1 = `-----BEGIN RSA PRIVATE KEY-----
MIICXQIBAAKBgQC2+Zcfb/6C3p9yEI1TVT3akfeiGbAT7JSgCQhZfIFHo/wvYJdJ
GqKGTi6GCpmDkhez4QJOiiYM+V1YjyweM60hCFqcejR7Gz4397lcBdfDwW0pNq0a
uLLmWNe1paO1/2tUcqWADBu5tXpPx6SEpRQQkwXEGpxdGTpoVZKYD4ET9wIDAQAB
AoGAar52/F8gsoZfrHKdkAUFnbJULhwgTa9SEX7TgSkSXpH7OER4XayNLh8EIyyh
3FDpRQY6i0kq45zCaTy1NzVchQ/u5tGSQMNVMDBjG5QJzooZgVi4iXkMniHPz3xF
uj0Pa1epzp8k53QA9nu7HcAmimjofLLMQaH1pg+CsBZMr1ECQQDwKct9a5J09zqp
gjmHYhD4SmBhi+zOXql9KLuiPqnE9GwMZoZ5i90jKzKlFotVTCor3shJYKmcYgJI
G6uR43pPAkEAwwplyORYi6snqnmA7HZWWdoC/1BX2pR4HOvCTAyc89ioKonmGfsQ
WA2Ln8uV1J+RSi/fIXLzrcGSlBkxMjxp2QJBAIREoHvcyPZ+SuKchA6Z5fq5C8ft
hmhKHlJ+IojCtkFw1CkoNhuu+gWqfuQJPIenwPoUYn53LDKij9si0iUxAWUCQDKU
q7jhnyT5ihvnzsuEFPjQVR6pU19YSZ4WdhkK3FlQwqvlf0sVlTOAr8kNHxo5F5DJ
wXAHQ7K4FK9bqSqCCGECQQCysAZ97uC78wa4Mau9DXP3sazg9BAyGAyAo/BDUun2
qzv9N5A5giploZH3SM1pLEHq+Ze6aIkJvMAiID6tQjzX
-----END RSA PRIVATE KEY-----
`
	pkcs8 = `-----BEGIN PRIVATE KEY-----
MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALb5lx9v/oLen3IQ
jVNVPdqR96IZsBPslKAJCFl8gUej/C9gl0kaooZOLoYKmYOSF7PhAk6KJgz5XViP
LB4zrSEIWpx6NHsbPjf3uVwF18PBbSk2rRq4suZY17Wlo7X/a1RypYAMG7m1ek/H
pISlFBCTBcQanF0ZOmhVkpgPgRP3AgMBAAECgYBqvnb8XyCyhl+scp2QBQWdslQu
HCBNr1IRftOBKRJekfs4RHhdrI0uHwQjLKHcUOlFBjqLSSrjnMJpPLU3NVyFD+7m
0ZJAw1UwMGMblAnOihmBWLiJeQyeIc/PfEW6PQ9rV6nOnyTndAD2e7sdwCaKaOh8
ssxBofWmD4KwFkyvUQJBAPApy31rknT3OqmCOYdiEPhKYGGL7M5eqX0ou6I+qcT0
bAxmhnmL3SMrMqUWi1VMKiveyElgqZxiAkgbq5Hjek8CQQDDCmXI5FiLqyeqeYDs
dlZZ2gL/UFfalHgc68JMDJzz2KgqieYZ+xBYDYufy5XUn5FKL98hcvOtwZKUGTEy
PGnZAkEAhESge9zI9n5K4pyEDpnl+rkLx+2GaEoeUn4iiMK2QXDUKSg2G676Bap+
5Ak8h6fA+hRifncsMqKP2yLSJTEBZQJAMpSruOGfJPmKG+fOy4QU+NBVHqlTX1hJ
nhZ2GQrcWVDCq+V/SxWVM4CvyQ0fGjkXkMnBcAdDsrgUr1upKoIIYQJBALKwBn3u
4LvzBrgxq70Nc/exrOD0EDIYDICj8ENS6farO/03kDmCKmWhkfdIzWksQer5l7po
iQm8wCIgPq1CPNc=
-----END PRIVATE KEY-----
`
)

func TestATextIsSignedWithAPrivateKey(t *testing.T) {
	// printf contents | openssl dgst -sha256 -sign KEY | base64 -w0
	const want = "OMwpA005fAYACeWCTO3IzemSXJnOnUcpVTBazHIfYDg6O/M+2ItYqPlI4wCBg9URU+NwW0cSyzjVbk/1kbl8iT" +
		"2h+4vRLWRLBDDdzsQLEIzRXR0DjPOxUwb3I2Vjcs6NBiHAmDRILcgKOB/H+QyziOUbP/SRD7gOA58LzqR6V1Y="
	for name, key := range map[string]string{
		"PKCS #1": pkcs1, "PKCS #8": pkcs8, "escaped newlines": strings.ReplaceAll(pkcs8, "\n", `\n`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := eval(t, `{}`, fmt.Sprintf(`base64(rsa("sha256", %q, "contents"))`, key))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestAKeyThatCannotSignIsRefusedWithoutBeingShown(t *testing.T) {
	for name, key := range map[string]string{
		"no PEM":      "s3cret",
		"no key":      strings.Replace(pkcs8, "MIIC", "MIID", 1),
		"another key": ellipticKey,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := eval(t, `{}`, fmt.Sprintf(`rsa("sha256", %q, "contents")`, key))
			require.ErrorContains(t, err, "the key: want a private RSA key in PEM, without a passphrase (PKCS #1 or PKCS #8)")
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
	_, err := eval(t, `{}`, `rsa("RS256", "k", "v")`)
	require.ErrorContains(t, err, `rsa: want md5, sha1, sha256, sha384 or sha512, got "RS256"`)
}

// ellipticKey is what openssl ecparam -genkey writes.
const ellipticKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbahMW6iszHWFBzys
kcTQ/CXfDIPuE84rtQyum2n9ufehRANCAAS6+Zof4H+IaGuILA9KiFd+Ndjlpztu
MZTPGhbhtGfnXJKLSCY29D0Wl4o4t2zpFeluSaaqCMoB+RjEYWM/7avn
-----END PRIVATE KEY-----
`
