package saved

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/runtime/redact"
)

func concealerOf(secrets map[string]string) *Concealer {
	return NewConcealer(secrets, redact.NewNamed(secrets), nil)
}

func TestASecretIsNotInACheckpointAndItsPresentValueIsUsed(t *testing.T) {
	const secret = `S3cr&t "7f3a"/`
	values := map[string]any{
		"plain": secret, "in a link": "https://api.test/?key=S3cr%26t+%227f3a%22%2F&page=2", "in a path": "/v1/S3cr&t%20%227f3a%22%2F/users",
		"twice": secret + secret, "none": "S3cr", "mark": "a" + delimiter + "b",
		"lower-case escapes": "?key=S3cr%26t%20%227f3a%22%2f", "twice escaped": "?next=" + url.QueryEscape("?key=S3cr%26t+%227f3a%22%2F"),
		"in base64": base64.StdEncoding.EncodeToString([]byte("user:" + secret)), "in JSON": `{"key":"S3cr&t \"7f3a\"/"}`,
		"names": map[string]any{secret: "abc", "numberTag": map[string]any{numberTag: 1.0}}, "short": "key=abc",
	}
	token, err := json.Marshal(values)
	require.NoError(t, err)
	concealed, err := concealerOf(map[string]string{"input.key": secret, "other": "unused-secret", "short": "abc"}).ConcealJSON(token)
	require.NoError(t, err)
	require.True(t, json.Valid(concealed))
	for _, form := range []string{"7f3a", "key=abc", `"abc"`, base64.StdEncoding.EncodeToString([]byte(secret))[:8]} {
		require.NotContains(t, string(concealed), form)
	}

	var got map[string]any
	same, err := concealerOf(map[string]string{"input.key": secret, "short": "abc"}).RevealJSON(concealed)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(same, &got))
	require.Equal(t, values, got)

	rotated, err := concealerOf(map[string]string{"input.key": "new & better", "short": "de"}).RevealJSON(concealed)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(rotated, &got))
	require.Equal(t, "new & better", got["plain"])
	require.Equal(t, "https://api.test/?key=new+%26+better&page=2", got["in a link"])
	require.Equal(t, "/v1/new%20&%20better/users", got["in a path"])
	require.Equal(t, "?key=new%20%26%20better", got["lower-case escapes"])
	require.Equal(t, "key=de", got["short"])

	_, err = concealerOf(nil).RevealJSON(concealed)
	require.ErrorContains(t, err, `it needs the secret "`)
}

func TestANumberThatIsASecretIsConcealedWhereverItStands(t *testing.T) {
	for _, text := range []string{`{"n":8675309}`, `{"n":8675309,"m":"text"}`, `{"m":"text","n":[1,8675309]}`} {
		concealed, err := concealerOf(map[string]string{"pin": "8675309"}).ConcealJSON([]byte(text))
		require.NoError(t, err)
		require.NotContains(t, string(concealed), "8675309", text)
	}
}

func TestANeedlessEscapeBeforeASecretIsKept(t *testing.T) {
	secrets := map[string]string{"key": "~"}
	concealed, err := concealerOf(secrets).ConcealJSON([]byte(`{"values":["\\~"]}`))
	require.NoError(t, err)
	require.NotContains(t, string(concealed), "~")
	same, err := concealerOf(secrets).RevealJSON(concealed)
	require.NoError(t, err)
	require.JSONEq(t, `{"values":["\\~"]}`, string(same))
}

func TestWhatIsConcealedIsRevealedTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\n1ab]{0,8}`))
		token, err := json.Marshal(map[string]any{"values": rapid.SliceOf(text).Draw(t, "values"), "true": []any{true, 11111}})
		require.NoError(t, err)
		secrets := map[string]string{}
		for _, name := range []string{"a", "b", "c?", "d/"} {
			secrets[name] = rapid.OneOf(text, rapid.SampledFrom([]string{"true", "11111", "values"})).Draw(t, name)
		}
		concealed, err := concealerOf(secrets).ConcealJSON(token)
		require.NoError(t, err)
		same, err := concealerOf(secrets).RevealJSON(concealed)
		require.NoError(t, err)
		var want, got any
		require.NoError(t, json.Unmarshal(token, &want))
		require.NoError(t, json.Unmarshal(same, &got))
		require.Equal(t, want, got)
	})
}
