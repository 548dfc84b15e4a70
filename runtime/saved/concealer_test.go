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

func TestASecretIsNotInACheckpoint(t *testing.T) {
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

func TestASavedValueWithASecretThatHasChangedIsRefused(t *testing.T) {
	const text = `{"after":"item-letmein-7"}`
	before := map[string]string{"config 0": "letmein", "config 1": "another"}
	concealed, err := concealerOf(before).ConcealJSON([]byte(text))
	require.NoError(t, err)
	require.NotContains(t, string(concealed), "letmein")
	for name, now := range map[string]map[string]string{
		"another value": {"config 0": "letmeout", "config 1": "another"},
		"moved":         {"config 0": "user", "config 1": "letmein"},
	} {
		_, err := concealerOf(now).RevealJSON(concealed)
		require.ErrorContains(t, err, `contains the secret "config 0", which has changed`, name)
	}

	fragment := redact.NewNamed(map[string]string{"config 0": "user:letmein"})
	fragment.HideFragments("letmein")
	concealed, err = NewConcealer(map[string]string{"config 0": "user:letmein"}, fragment, nil).ConcealJSON([]byte(text))
	require.NoError(t, err)
	_, err = concealerOf(map[string]string{"config 0": "user:letgone"}).RevealJSON(concealed)
	require.ErrorContains(t, err, "which has changed")

	// An earlier build wrote no digest.
	got, err := concealerOf(map[string]string{"config 0": "letmeout"}).RevealJSON([]byte(`{"after":"item-` + delimiter + "config 0" + delimiter + `-7"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"after":"item-letmeout-7"}`, string(got))
}

func TestTheCurrentTextOfAFetchedSecretIsUsed(t *testing.T) {
	concealed, err := NewConcealer(nil, redact.NewNamed(map[string]string{"token": "old-token"}), nil).ConcealJSON([]byte(`{"next":"/?t=old-token"}`))
	require.NoError(t, err)
	require.NotContains(t, string(concealed), "old-token")
	fetch := func(name string) (string, bool, error) { return "new-token", name == "token", nil }
	got, err := NewConcealer(nil, redact.New(nil), fetch).RevealJSON(concealed)
	require.NoError(t, err)
	require.JSONEq(t, `{"next":"/?t=new-token"}`, string(got))
}

func TestATimeStaysInSavedValues(t *testing.T) {
	for secret, text := range map[string]string{
		"2026-01-05": `{"until":"2026-01-05T00:00:00Z"}`, "2026-01-05T00:00:00Z": `{"until":"2026-01-05T00:00:00Z"}`,
	} {
		concealed, err := concealerOf(map[string]string{"config 0": secret}).ConcealJSON([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, string(concealed), secret)
	}
	for _, secret := range []string{"1020", "01234567891", "2026-01-05x", "102a"} {
		concealed, err := concealerOf(map[string]string{"config 0": secret}).ConcealJSON([]byte(`{"after":"` + secret + `"}`))
		require.NoError(t, err)
		require.NotContains(t, string(concealed), secret)
	}
}

func TestAKeyInACheckpointMayChangeButNotInAKeptValue(t *testing.T) {
	before, now := map[string]string{"config 0": "k7F3a9Xq2Lm8Zt4Rv1Bn"}, map[string]string{"config 0": "w2Rt8Kp5Hd1Mc6Yq9Zs3"}
	concealed, err := concealerOf(before).ConcealJSON([]byte(`{"next":"/?key=k7F3a9Xq2Lm8Zt4Rv1Bn"}`))
	require.NoError(t, err)
	got, err := concealerOf(now).RevealJSON(concealed)
	require.NoError(t, err)
	require.JSONEq(t, `{"next":"/?key=w2Rt8Kp5Hd1Mc6Yq9Zs3"}`, string(got))
	_, err = concealerOf(map[string]string{"config 0": "a-user"}).RevealJSON(concealed) // the names of secrets are positions
	require.ErrorContains(t, err, "which has changed")

	_, err = concealerOf(now).RevealValue(concealerOf(before).ConcealValue("k7F3a9Xq2Lm8Zt4Rv1Bn"))
	require.ErrorContains(t, err, "which has changed")
}
