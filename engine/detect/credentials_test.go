package detect_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// requireUnwritten requires that a result has no secret, and that the test of its configuration passes.
func requireUnwritten(t *testing.T, r *detect.Result, secrets ...string) {
	t.Helper()
	for _, text := range []string{string(r.YAML), string(r.JSON), r.Text(80)} {
		for _, secret := range secrets {
			require.NotContains(t, text, secret)
			require.NotContains(t, text, url.QueryEscape(secret))
		}
	}
	e, err := engine.Load("x.yaml", r.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
	require.NoError(t, err)
	require.Zero(t, e.Test(t.Context()).Failed())
	require.Contains(t, string(r.YAML), "tests:", "no test was made: %v", r.Findings.Advice)
}

// The request has none of these secrets: the API made them.
func TestSecretsOfTheAPIAreNotWritten(t *testing.T) {
	const (
		token     = "q7Zp0Rk2Xv9Lw4Ty"
		signature = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
		github    = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
	)
	page := func(next, file string, more bool) string {
		body := `{"data": [{"id": 1, "download_url": "` + file + `"}], "next": "` + next + `"}`
		if !more {
			body = `{"data": [{"id": 2, "download_url": "` + file + `"}], "next": null}`
		}
		return body
	}
	for _, c := range []struct{ name, next, link, file, header string }{
		{name: "a link in the body", next: "https://api.test/users?page=2&access_token=" + token},
		{name: "a relative link", next: "/users?page=2&user_key=" + token},
		{name: "a signed link", next: "https://api.test/users?page=2&X-Amz-Credential=" + token + "&X-Amz-Signature=" + signature},
		{name: "a code", next: "/users?page=2&code=" + token},
		{name: "a session", next: "/users?page=2&sid=" + token},
		{name: "OAuth 1", next: "/users?page=2&oauth_signature=" + token + "%3D&oauth_nonce=1"},
		{name: "a form", next: "/users?page=2&_csrf=" + token},
		{name: "the Link header", link: `<https://api.test/users?page=2&access_token=` + token + `>; rel="next", <https://api.test/x?sig=` + token + `>; rel="self"`},
		{name: "a link within JSON in a header", next: "/users?page=2", header: `{"nextPageLink":"https://api.test/users?page=2&token=` + token + `"}`},
		{name: "a link with escapes within it", next: "/users?page=2", header: `{"totalCount":2,"next":"https:\/\/api.test\/users?page=2\u0026access_token=` + token + `"}`},
		{name: "the first parameter of a link within it", next: "/users?page=2", header: `{"links":{"nextPageLink":"/users?token\u003d` + token + `"}}`},
		{name: "a secret within JSON in a header", next: "/users?page=2", header: `{"TotalCount":2,"session":{"access_token":"` + token + `"}}`},
		{name: "a file", next: "/users?page=2", file: "https://files.test/a.pdf?token=" + token},
		{name: "a signed file", next: "/users?page=2", file: "https://files.test/a.pdf?X-Amz-Signature=" + signature + "&a=b"},
		{name: "a fragment", next: "/users?page=2", file: "https://files.test/a#access_token=" + token},
		{name: "a well-known token in a path", next: "/users?page=2", file: "https://files.test/" + github + "/a.pdf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve := api(func(q url.Values, _ *http.Request) (int, http.Header, string) {
				header := http.Header{}
				if c.link != "" && q.Get("page") == "" {
					header.Set("Link", c.link)
				}
				if c.header != "" {
					header.Set("X-Pagination", c.header)
				}
				return 200, header, page(c.next, c.file, q.Get("page") == "")
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users"}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			requireUnwritten(t, r, token, signature, github)
		})
	}
}

func TestParametersThatAreCredentialsBecomeVariables(t *testing.T) {
	const text = "q7Zp0Rk2Xv9Lw4Ty"
	for name, variable := range map[string]string{
		"code": "API_CODE", "sid": "API_SID", "user_key": "USER_KEY", "oauth_signature": "OAUTH_SIGNATURE", "_csrf": "API_CSRF",
		"X-Amz-Signature": "AMZ_SIGNATURE", "PHPSESSID": "API_PHPSESSID", "oauth_token": "OAUTH_TOKEN",
		"app_key": "APP_KEY", "wskey": "API_WSKEY", "x-functions-key": "FUNCTIONS_KEY", "crtfc_key": "CRTFC_KEY",
	} {
		t.Run(name, func(t *testing.T) {
			serve := threeItems(func(_ int, items string) string { return `{"data": [` + items + `]}` })
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?page=1&" + name + "=" + text}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.Equal(t, []string{variable}, r.Env)
			requireUnwritten(t, r, text)
		})
	}
	serve := threeItems(func(_ int, items string) string { return `{"data": [` + items + `]}` })
	r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/users?page=1&code=DE&sid=12"}, detect.Options{Transport: serve})
	require.NoError(t, err)
	require.Empty(t, r.Env, "a country and a number")
}

// A long random part of the path may be a key. What names a resource by words, a number or a UUID stays.
func TestARandomPartOfThePathBecomesAnInput(t *testing.T) {
	for segment, input := range map[string]bool{
		"9f86d081884c7d659a2feaa0c55ad015":         true,
		"xK7pQ2mZ9wR4tY6uB1nC":                     true,
		"a3F-9kL_2mN-8pQ_4rS-7tU":                  true,
		"bot123456789:zz88yy77xx66ww55vv44uu33":    true,
		"7c9e6679-7425-40de-944b-e07fc1f90ae7":     false,
		"a-long-title-with-the-year-2026-in-it":    false,
		"2026-01-01T00-00-00-000000000":            false,
		"12345678901234567890123":                  false,
		"InternationalAccountingStandardsRegister": false,
		"iphone-13-pro-max-128gb-blue":             false,
	} {
		t.Run(segment, func(t *testing.T) {
			pages := threeItems(func(_ int, items string) string { return `{"data": [` + items + `], "self": "/feeds/` + segment + `"}` })
			sent := 0
			serve := api(func(q url.Values, r *http.Request) (int, http.Header, string) {
				if strings.Contains(r.URL.Path, segment) {
					sent++
				}
				return pages(q, r)
			})
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/feeds/" + segment + "/users?page=1"}, detect.Options{Transport: serve})
			require.NoError(t, err)
			require.Equal(t, r.Requests, sent)
			doubts := strings.Join(r.Findings.Doubts, " ")
			if !input {
				require.Empty(t, r.Inputs)
				require.NotContains(t, doubts, "looks like a key")
				return
			}
			require.Equal(t, []string{"token"}, r.Inputs)
			require.Contains(t, doubts, "A part of the path looks like a key, so it is the input token")
			requireUnwritten(t, r, segment)
		})
	}
}

// The path of a bot has a colon, which a configuration escapes.
func TestARecordingOfABotIsRead(t *testing.T) {
	for _, token := range []string{"bot123456789:AAF-0123456789abcdefghijklmnopqrstu", "bot123:TOKEN", "bot123:abcdef", "123:a:b"} {
		t.Run(token, func(t *testing.T) {
			archive := &recording.Recording{}
			for page := 1; page <= 3; page++ {
				archive.Exchanges = append(archive.Exchanges, recording.Exchange{
					Method: "GET", URL: fmt.Sprintf("https://api.test/%s/getUsers?page=%d", token, page), Status: 200,
					ResponseBody: fmt.Appendf(nil, `{"result": [{"id": %d}, {"id": %d}], "has_more": %t}`, 2*page, 2*page+1, page < 3),
				})
			}
			r, err := detect.FromRecording(t.Context(), archive, "")
			require.NoError(t, err)
			require.True(t, r.Paged, r.Findings)
			if len(token) > 30 {
				requireUnwritten(t, r, token)
			}
		})
	}
}

// Whatever a recording has, an error says what is wrong with it; none is an error of the program.
func TestARecordingThatCannotBeWrittenIsNoInternalError(t *testing.T) {
	for _, address := range []string{
		"https://api.test/a%2Fb/users?page=1", "https://api.test//users?page=1", "https://api.test/users?page=1&x=%ff", "https://api.test/a;b/users?;=1",
		"https://api.test/%7Bx%7D/users?page=1", "https://API.test:443/users?page=1", "https://u:p@api.test/users?page=1", "https://api.test/../users?page=1",
		"https://api.test/./users/?page=1", "https://api.test/a b?page=1", "https://api.test/users?page=1&page=2", "https://api.test/bot1:2/a:b/c:d?x",
	} {
		t.Run(address, func(t *testing.T) {
			archive := &recording.Recording{Exchanges: []recording.Exchange{
				{Method: "GET", URL: address, Status: 200, ResponseBody: []byte(`{"data": [{"id": 1}, {"id": 2}], "next_page": 2}`)},
			}}
			_, err := detect.FromRecording(t.Context(), archive, "")
			require.NotErrorIs(t, err, engine.ErrInternal)
			failed, mistake := new(engine.Error), new(detect.RequestError)
			require.True(t, err == nil || errors.As(err, &failed) || errors.As(err, &mistake), "%v", err)
		})
	}
}
