package redact

import (
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsAreHiddenInEveryForm(t *testing.T) {
	const secret = `p@ss "w&rd+/=ä`
	r := New([]string{secret, "abc", "longer-than-abc"})
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), `p@ss \"w&rd+/=ä`, "cEBzcyAid8Om"} {
		require.NotContains(t, r.String("x"+form+"y"), "p@ss")
		if !strings.HasPrefix(form, "cE") {
			require.Equal(t, "x***y", r.String("x"+form+"y"), form)
		}
	}
	require.Equal(t, "abc stays: it is too short to hide", r.String("abc stays: it is too short to hide"))
	require.Equal(t, "https://***@h/?token=***&a=1&API_KEY=***", r.URL("https://u:pw@h/?token=t&a=1&API_KEY=k"))
	var out strings.Builder
	w := r.Writer(&out)
	for _, piece := range []string{"a longer-th", "an-abc b\nlonger-than-", "abc"} {
		_, err := io.WriteString(w, piece)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Equal(t, "a *** b\n***", out.String())
}
