package redact

import (
	"encoding/base64"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const secret = `p@ss "w&rd+/=ä`

func TestSecretsAreHiddenInEveryForm(t *testing.T) {
	r := New([]string{secret})
	for _, c := range []struct{ name, form string }{
		{"plain", secret},
		{"query", url.QueryEscape(secret)},
		{"query with %20", strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")},
		{"path", url.PathEscape(secret)},
		{"JSON", `p@ss \"w&rd+/=ä`},
		{"JSON for HTML", `p@ss \"w\u0026rd+/=ä`},
		{"base64", base64.StdEncoding.EncodeToString([]byte(secret))},
		{"base64 for URLs, without padding", base64.RawURLEncoding.EncodeToString([]byte(secret))},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, "x***y", r.String("x"+c.form+"y")) })
	}
}

func TestShortSecretsAreNotHidden(t *testing.T) {
	r := New([]string{"abc", "longer-than-abc"})
	require.Equal(t, "abc stays: it is too short to hide", r.String("abc stays: it is too short to hide"))
}

func TestASecretThatContainsAnotherIsHiddenCompletely(t *testing.T) {
	r := New([]string{"token", "token-of-a-user"})
	require.Equal(t, "a *** and a ***", r.String("a token-of-a-user and a token"))
}

func TestWhatUsuallyIsASecretIsHidden(t *testing.T) {
	r := New(nil)
	for _, c := range []struct{ name, got, want string }{
		{"user, password and parameters", r.URL("https://u:pw@h/?token=t&a=1&API_KEY=k"), "https://***@h/?token=***&a=1&API_KEY=***"},
		{"header", r.Header("X-Api-Key", "k"), "***"},
		{"address in another header", r.Header("Location", "https://h/?sig=s&page=2"), "https://h/?sig=***&page=2"},
		{"other header", r.Header("X-Request-Id", "7"), "7"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.got) })
	}
}

func TestAWriterHidesSecretsThatAreWrittenInPieces(t *testing.T) {
	var out strings.Builder
	w := New([]string{"abc", "longer-than-abc"}).Writer(&out)
	for _, piece := range []string{"a longer-th", "an-abc b\nlonger-than-", "abc"} {
		_, err := io.WriteString(w, piece)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Equal(t, "a *** b\n***", out.String())
}

func TestAnExcerptEndsWithACompleteCharacter(t *testing.T) {
	r := New([]string{"secret"})
	for _, c := range []struct{ name, body, want string }{
		{"empty", "", `""`},
		{"short", "my secret\n", `"my ***\n"`},
		{"long", strings.Repeat("é", ExcerptBytes), `"` + strings.Repeat("é", 80) + `…"`},
		{"cut in a character", "x" + strings.Repeat("é", ExcerptBytes), `"x` + strings.Repeat("é", 79) + `…"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, r.Excerpt([]byte(c.body)[:min(len(c.body), ExcerptBytes)], len(c.body)))
		})
	}
}
