package scan

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzMembers compares the reader of members and elements with encoding/json.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{"a":1,"b":[1,"]",{"c":"}"}],"\u0061\"":null}`, `[]`, ` { "a" : [ 1 , 2 ] , "b" : "\\" } `, `[1,-2e3,true]`, "{\"\x9e\x9e\":null}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text)
		if !json.Valid(text) || text[0] != '{' && text[0] != '[' {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		_, err := dec.Token()
		require.NoError(t, err)
		next := func(value []byte) {
			var want json.RawMessage
			require.NoError(t, dec.Decode(&want))
			require.Equal(t, string(want), string(value))
		}
		for name, member := range Members(text) {
			require.Equal(t, text[0] == '{', name.Present())
			if name.Present() {
				want, err := dec.Token()
				require.NoError(t, err)
				require.Equal(t, want, string([]rune(string(Unquote(name.Of(text)))))) // each byte that is not UTF-8 becomes U+FFFD
			}
			next(member.Of(text))
		}
		require.False(t, dec.More())
	})
}
