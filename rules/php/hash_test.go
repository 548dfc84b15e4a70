package php

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The digests are test vectors: of "abc" (FIPS 180-4, FIPS 202, RFC 1321), and the check
// values of the checksums.
func TestHashesAreThoseOfPHP(t *testing.T) {
	for _, tt := range []struct{ algorithm, text, want string }{
		{"md5", "abc", "900150983cd24fb0d6963f7d28e17f72"},
		{"sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
		{"SHA256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"sha3-256", "abc", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"},
		{"crc32b", "123456789", "cbf43926"},
		{"adler32", "Wikipedia", "11e60398"},
	} {
		got, err := hashText(tt.algorithm, tt.text)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, tt.algorithm)
	}
}

// The digest is the second test case of RFC 4231.
func TestHMAC(t *testing.T) {
	got, err := hmacText("sha256", "what do ya want for nothing?", "Jefe")
	require.NoError(t, err)
	require.Equal(t, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", got)
}

func TestUnknownHashIsAnError(t *testing.T) {
	_, err := hashText("whirlpool", "")
	require.ErrorContains(t, err, `unknown hash algorithm "whirlpool"; known: adler32, crc32b,`)
	_, err = hmacText("crc32b", "", "") // it has no key
	require.ErrorContains(t, err, `unknown hash algorithm "crc32b"`)
}
