package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const marker = `p@ss "w&rd+/=ä`

func TestSecretsAreHiddenInEveryForm(t *testing.T) {
	r := New([]string{marker})
	for _, c := range []struct{ name, form string }{
		{"plain", marker},
		{"query", url.QueryEscape(marker)},
		{"query with %20", strings.ReplaceAll(url.QueryEscape(marker), "+", "%20")},
		{"path", url.PathEscape(marker)},
		{"JSON", `p@ss \"w&rd+/=ä`},
		{"JSON for HTML", `p@ss \"w\u0026rd+/=ä`},
		{"base64", base64.StdEncoding.EncodeToString([]byte(marker))},
		{"base64 for URLs, without padding", base64.RawURLEncoding.EncodeToString([]byte(marker))},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, "x***y", r.Text("x"+c.form+"y")) })
	}
}

func TestASecretIsHiddenInEveryEscape(t *testing.T) {
	const text = `pä/s <w&r"d`
	escaped := map[string]string{
		"lower-case percent escapes":      `p%c3%a4%2fs%20%3cw%26r%22d`,
		"mixed percent escapes":           `p%C3%a4/s+%3cw&r%22d`,
		"every character percent-encoded": `%70%c3%A4%2F%73%20%3C%77%26%72%22%64`,
		"twice in a URL":                  `p%25C3%25A4%252Fs%2520%253Cw%2526r%2522d`,
		"JSON":                            `pä/s <w&r\"d`,
		"JSON of PHP":                     `p\u00e4\/s <w&r\"d`,
		"upper-case JSON escapes":         `p\u00E4\/s \u003Cw\u0026r\u0022d`,
		"JSON within JSON":                `p\\u00e4\\/s <w&r\\\"d`,
		"JSON in a URL":                   `p%5Cu00e4%5C%2Fs%20%3Cw%26r%5C%22d`,
		"named entities":                  `p&auml;/s &lt;w&amp;r&quot;d`,
		"decimal entities":                `p&#228;&#47;s &#60;w&#38;r&#34;d`,
		"hexadecimal entities":            `p&#xE4;&#x2f;s &#x3C;w&#x26;r&#x22;d`,
		"PHP string":                      `p\xc3\xa4/s <w&r\"d`,
		"URL escapes of old browsers":     `p%u00e4/s%20%3Cw%26r%22d`,
		"hexadecimal digits":              hex.EncodeToString([]byte(text)),
		"upper-case hexadecimal digits":   strings.ToUpper(hex.EncodeToString([]byte(text))),
	}
	for name, form := range escaped {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "x=***;", New([]string{text}).Text("x="+form+";"))
			require.True(t, New([]string{text}).Contains(form))
		})
	}
	for _, unlike := range []string{"", "pä/s", `pä/s <w&r'd`, "%", `\`, "&", "%zz", `\u12`, "&nothing;", "100% & more \\ than"} {
		require.Equal(t, unlike, New([]string{text}).Text(unlike))
	}
}

func TestASecretIsHiddenWithinBase64(t *testing.T) {
	for _, text := range []string{"s3cr", "s3cret", "s3cret~~~???>>>", "p\xc3\xa4ss"} {
		for _, before := range []string{"", "u", "us", "use", "user:"} {
			for _, after := range []string{"", ":", "::", ":::"} {
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
					form := encoding.EncodeToString([]byte(before + text + after))
					shown := New([]string{text}).Text("Basic " + form)
					kept, rest, hidden := strings.Cut(strings.TrimPrefix(shown, "Basic "), "***")
					require.True(t, hidden, shown)
					require.Equal(t, form[:len(before)*8/6], kept, "what the text before the secret decides remains")
					require.LessOrEqual(t, len(rest), len(form)-(len(before+text)*8+5)/6, "nothing else of the secret remains")
				}
			}
		}
	}
}

// A client's id and secret are escaped before they become base64 (RFC 6749, 2.3.1), and an
// API may repeat them in the description of an error.
func TestASecretThatIsEscapedWithinBase64IsHidden(t *testing.T) {
	const text = "s3cret+/=&key"
	for _, id := range []string{"i", "id", "id7"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			form := encoding.EncodeToString([]byte(id + ":" + url.QueryEscape(text)))
			shown := New([]string{text}).Text("error: Basic " + form + " is unknown")
			require.Regexp(t, `^error: Basic \w{1,5}\*\*\* is unknown$`, shown)
			require.Contains(t, New([]string{text}).Text("error: Basic "+form[:20]+"…"), "***…")
		}
	}
}

func TestTheBeginningOfASecretIsHiddenWhereATextWasClipped(t *testing.T) {
	long := strings.Repeat("s3cret-", 200)
	r := New([]string{long, "äöü/äöü", "t0ken/0123"})
	for _, c := range []struct{ text, want string }{
		{`token = "` + long[:60] + `…`, `token = "***…`},
		{url.QueryEscape("äöü/ä")[:16] + "…", "***…"},
		{url.QueryEscape("äöü/ä")[:17] + "…", "***…"},
		{`\u00e4\u00f6\u00f…`, "***…"},
		{base64.StdEncoding.EncodeToString([]byte(long))[:60] + "…", "***…"},
		{"k=t0ken%26%23x2…", "k=***…"}, // a slash as an entity, in an address
		{"k=t0ken%26%2…", "k=***…"},
		{"k=t0ken%2526%252…", "k=***…"},
		{"an unrelated text…", "an unrelated text…"},
		{"s3c…", "s3c…"},
	} {
		require.Equal(t, c.want, r.Text(c.text))
	}
	require.Equal(t, `"the token ***"`, r.Excerpt([]byte("the token " + long)[:ExcerptBytes], len(long)+10))
}

func TestAShortSecretIsHiddenWhereItStandsAlone(t *testing.T) {
	r := New([]string{"abc", "longer-than-abc", "7", ""})
	require.Equal(t, "key=***&x=abcd, *** and *** of 17", r.Text("key=abc&x=abcd, abc and 7 of 17"))
	require.Equal(t, "***", r.Text("%61bc"))
}

func TestJSONRemainsJSON(t *testing.T) {
	r := New([]string{"12345", "true", "a\"b"})
	require.Equal(t, `{"n":"***","***":[1,"***"],"s":"x ***"}`, r.JSON(`{"n":12345,"true":[1,true],"s":"x a\"b"}`))
	require.Equal(t, `{"n":6}`, r.JSON(`{"n":6}`))
	require.Equal(t, "no JSON: ***", r.JSON("no JSON: 12345"))
}

func TestAFoundSecretCanBeSpelledAgain(t *testing.T) {
	const text = "s3cret key/1"
	r := NewNamed(map[string]string{"api": text})
	for _, encode := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.ReplaceAll(s, " ", "+") },
		func(s string) string { return hex.EncodeToString([]byte(s)) },
		func(s string) string { return base64.StdEncoding.EncodeToString([]byte("ab" + s + "c")) },
		func(s string) string { return base64.URLEncoding.EncodeToString([]byte("a" + s)) },
	} {
		whole := encode(text)
		found := r.Find(whole)
		require.Len(t, found, 1)
		require.Equal(t, "api", found[0].Name)
		again, ok := Spell(found[0].Form, text)
		require.True(t, ok)
		require.Equal(t, whole[found[0].Start:found[0].End], again)
	}
	found := r.Find("s3cret%20key/1")
	require.Len(t, found, 1)
	require.Equal(t, Match{Start: 0, End: 14, Name: "api", Secret: text, Escaped: true}, found[0])
	require.Empty(t, r.Find("s3cret k…"), "a clipped text cannot be restored")
}

func TestASecretThatContainsAnotherIsHiddenCompletely(t *testing.T) {
	r := New([]string{"token", "token-of-a-user"})
	require.Equal(t, "a *** and a ***", r.Text("a token-of-a-user and a token"))
}

func TestAPartOfASecretIsHidden(t *testing.T) {
	for _, c := range []struct{ name, part, text, want string }{
		{"a part", "hunter22zz", "p=hunter22zz", "p=***"},
		{"a part in base64", "aHVudGVyMjJ6eg==", "p=hunter22zz&q=aHVudGVyMjJ6eg==", "p=***&q=***"},
		{"a part of a secret in base64", "swordfish", "p=swordfish", "p=***"},
		{"a part of a secret with escapes", "key/one", "p=key/one", "p=***"},
		{"a part that the secret has in base64", "one:pass1", "p=one:pass1", "p=***"},
		{"too short", "use", "use it", "use it"},
		{"a word of JSON", "true", "true", "true"},
		{"no part", "production", "production", "production"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New([]string{"user7:hunter22zz", "YWRtaW46c3dvcmRmaXNo", // admin:swordfish
				`{"key": "key\/one", "on": true}`, "b25lOnBhc3Mx,dHdvOnBhc3My"}) // one:pass1, two:pass2
			r.HideFragments(c.part)
			require.Equal(t, c.want, r.Text(c.text))
		})
	}
}

func TestAPartOfASecretIsRestoredFromItsName(t *testing.T) {
	for _, part := range []string{"hunter22zz", "swordfish", "key/one", "one:pass1"} {
		t.Run(part, func(t *testing.T) {
			secrets := map[string]string{
				"pair": "user7:hunter22zz", "encoded": "YWRtaW46c3dvcmRmaXNo", "json": `{"key": "key\/one"}`, "list": "b25lOnBhc3Mx,dHdvOnBhc3My",
			}
			r := NewNamed(secrets)
			r.HideFragments(map[string]any{"list": []any{part}})
			found := r.Find(part)
			require.NotEmpty(t, found)
			secret, place, ok := ParseFragmentName(found[0].Name)
			require.True(t, ok)
			restored, ok := Fragment(secrets[secret], place)
			require.True(t, ok)
			require.Equal(t, part, restored)
			_, ok = Fragment(secrets[secret]+"more", place)
			require.False(t, ok, "the secret has changed")
		})
	}
}

func TestEveryPartOfASecretStaysHidden(t *testing.T) {
	var parts []any
	for i := range 100 { // more than the tokens that are remembered
		parts = append(parts, fmt.Sprintf("key-%d", i+100))
	}
	r := New([]string{fmt.Sprint(parts...)})
	r.HideFragments(parts...)
	require.Equal(t, "***, ***", r.Text("key-100, key-199"))
}

func TestWhatUsuallyIsASecretIsHidden(t *testing.T) {
	r := New(nil)
	for _, c := range []struct{ name, got, want string }{
		{"user, password and parameters", r.Shown("https://u:pw@h/?token=t&a=1&API_KEY=k"), "https://***@h/?token=***&a=1&API_KEY=***"},
		{"header", r.Header("X-Api-Key", "k"), "***"},
		{"address in another header", r.Header("Location", "https://h/?sig=s&page=2"), "https://h/?sig=***&page=2"},
		{"names with separators", r.Shown("https://h/?x-api.key=k&Client%5FSecret=s&page_token=t&next_key=n"),
			"https://h/?x-api.key=***&Client%5FSecret=***&page_token=t&next_key=n"},
		{"an address in a parameter", r.Shown("https://h/?to=https://g/?sig=s1&page=2#access_token=t"),
			"https://h/?to=https://g/?sig=***&page=2#access_token=***"},
		{"addresses in a text", Parameters(`next = "https://h/?page=2&amp;api_key=k", <https://h/?jwt=j>; no=thing, a?b, token=t`),
			`next = "https://h/?page=2&amp;api_key=***", <https://h/?jwt=***>; no=thing, a?b, token=t`},
		{"a form", Parameters("&grant=code&client_secret=s"), "&grant=code&client_secret=***"},
		{"parameters without a value or a name", Parameters("https://h/?token&key=&=x&sig"), "https://h/?token&key=&=x&sig"},
		{"user and password in a text", r.Text("GET https://u:p%40w@h/x, then ftp://me@h and https:\\/\\/a:b@h; a@b stays"),
			"GET https://***@h/x, then ftp://***@h and https:\\/\\/***@h; a@b stays"},
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

func TestEverySecretCanBeSpelledInEveryForm(t *testing.T) {
	for _, f := range forms {
		for _, text := range []string{"", "a", "ab", "abc", "abcd"} {
			_, ok := Spell(f.name, text)
			require.True(t, ok, "%s of %q", f.name, text)
		}
	}
	_, ok := Spell("unknown", "abcd")
	require.False(t, ok)
}

func BenchmarkString(b *testing.B) {
	r := New([]string{marker, strings.Repeat("long", 300)})
	for name, text := range map[string]string{
		"message": `Job 'users' stopped: the response to page 3 has no next link`,
		"address": "https://api.test/v1/users?limit=100&cursor=eyJpZCI6MTIzfQ%3D%3D&page=3",
		"body":    strings.Repeat(`{"id": 1, "name": "a \"quoted\" name", "link": "https:\/\/api.test\/1"},`, 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Text(text)
			}
		})
	}
}
