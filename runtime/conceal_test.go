package runtime

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestASecretIsNotInACheckpointAndItsPresentValueIsUsed(t *testing.T) {
	const secret = `S3cr&t "7f3a"/`
	values := map[string]any{
		"plain": secret, "in a link": "https://api.test/?key=S3cr%26t+%227f3a%22%2F&page=2", "in a path": "/v1/S3cr&t%20%227f3a%22%2F/users",
		"twice": secret + secret, "none": "S3cr", "mark": "a" + mark + "b",
	}
	token, err := json.Marshal(values)
	require.NoError(t, err)
	concealed, err := newConcealer(map[string]string{"input.key": secret, "other": "unused-secret", "short": "abc"}).conceal(token)
	require.NoError(t, err)
	require.True(t, json.Valid(concealed))
	require.NotContains(t, string(concealed), "7f3a")

	var got map[string]any
	same, err := newConcealer(map[string]string{"input.key": secret}).reveal(concealed)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(same, &got))
	require.Equal(t, values, got)

	rotated, err := newConcealer(map[string]string{"input.key": "new & better"}).reveal(concealed)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(rotated, &got))
	require.Equal(t, "new & better", got["plain"])
	require.Equal(t, "https://api.test/?key=new+%26+better&page=2", got["in a link"])

	_, err = newConcealer(nil).reveal(concealed)
	require.ErrorContains(t, err, `it needs the secret "input.key`)
}

func TestWhatIsConcealedIsRevealedTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\n1ab%]{0,8}`))
		token, err := json.Marshal(map[string]any{"values": rapid.SliceOf(text).Draw(t, "values"), "true": []any{true, 11111}})
		require.NoError(t, err)
		secrets := map[string]string{}
		for _, name := range []string{"a", "b", "c?", "d/"} {
			secrets[name] = rapid.OneOf(text, rapid.SampledFrom([]string{"true", "11111", "values"})).Draw(t, name)
		}
		concealed, err := newConcealer(secrets).conceal(token)
		require.NoError(t, err)
		same, err := newConcealer(secrets).reveal(concealed)
		require.NoError(t, err)
		var want, got any
		require.NoError(t, json.Unmarshal(token, &want))
		require.NoError(t, json.Unmarshal(same, &got))
		require.Equal(t, want, got)
	})
}
