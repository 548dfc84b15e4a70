package requests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

func TestAnAddressIsResolvedAgainstItsBase(t *testing.T) {
	const base = "https://api.test/v1/users?key=1#top"
	for _, c := range []struct{ ref, want string }{
		{"orders", "https://api.test/v1/orders"},
		{"/orders", "https://api.test/orders"},
		{"?page=2", "https://api.test/v1/users?page=2"},
		{"#f", "https://api.test/v1/users?key=1"},
		{"https://other.test", "https://other.test/"},
		{"a b?x=100%&y=%41", "https://api.test/v1/a%20b?x=100%25&y=%41"},
	} {
		got, err := requests.NewBase(base).Resolve(c.ref)
		require.NoError(t, err, c.ref)
		require.Equal(t, c.want, got)
	}
	_, err := requests.Resolve("http://[", "orders")
	require.EqualError(t, err, "not an address: http://[")
	_, err = requests.Resolve(base, strings.Repeat("a", requests.MaxURLBytes+1))
	require.ErrorAs(t, err, new(*requests.LengthError))
}

// A base that was parsed once resolves plain addresses without parsing them. The function Resolve parses all of them.
func TestAPlainAddressIsResolvedLikeAnyOther(t *testing.T) {
	part := rapid.StringOfN(rapid.RuneFrom([]rune("ab1~_-.:@/?#%&= é")), 0, 8, -1)
	base := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"https://api.test", "http://u:p@api.test:80/", "HTTP://API.test/v1/", "//api.test/", "/v1/", ""}).
			Draw(t, "origin") + part.Draw(t, "path")
	})
	rapid.Check(t, func(t *rapid.T) {
		base, ref := base.Draw(t, "base"), rapid.SampledFrom([]string{"", "orders", "v1/orders?", "orders?page="}).Draw(t, "ref")+part.Draw(t, "rest")
		want, failed := requests.Resolve(base, ref)
		got, err := requests.NewBase(base).Resolve(ref)
		require.Equal(t, failed, err)
		require.Equal(t, want, got)
	})
}

func TestParametersReplaceThoseOfTheEndpoint(t *testing.T) {
	r := requests.Request{Method: "GET", Base: requests.NewBase("https://api.test/"), Endpoint: "users?page=1&q=%20x"}
	r.Params = value.ObjectOf("page", 2, "list", []any{"a", true}, "none", nil)
	address, err := r.URL()
	require.NoError(t, err)
	require.Equal(t, "https://api.test/users?page=2&q=%20x&list%5B0%5D=a&list%5B1%5D=true", address)

	r.Encoding = requests.PHP
	address, err = r.URL()
	require.NoError(t, err)
	require.Equal(t, "https://api.test/users?page=2&q=+x&list%5B0%5D=a&list%5B1%5D=1", address)
}

func TestTheMethodDecidesWhatIsTheBody(t *testing.T) {
	params := value.ObjectOf("filter", value.ObjectOf("a", 1), "path", "x/y")
	for _, c := range []struct {
		method, kind, want string
		encoding           requests.Encoding
	}{
		{"POST", "application/json", `{"filter":{"a":1,"b":2},"path":"x/y"}`, requests.Standard},
		{"POST", "application/json", `{"filter":{"a":1,"b":2},"path":"x\/y"}`, requests.PHP},
		{"FORM", "application/x-www-form-urlencoded", "filter%5Ba%5D=1&filter%5Bb%5D=2&path=x%2Fy", requests.Standard},
		{"GET", "application/json", `{"filter":{"b":2}}`, requests.Standard},
	} {
		r := requests.Request{Method: c.method, Params: params, Body: value.ObjectOf("filter", value.ObjectOf("b", 2)), Encoding: c.encoding}
		body, kind, err := r.Payload()
		require.NoError(t, err)
		require.Equal(t, []string{c.kind, c.want}, []string{kind, string(body)})
	}
	body, _, err := requests.Request{Method: "GET", Params: params}.Payload()
	require.NoError(t, err)
	require.Nil(t, body)
}

func TestAQueryIsReadInItsOrder(t *testing.T) {
	require.Equal(t, value.ObjectOf("b", []any{"1", "2"}, "a", "x y"), requests.ParseQuery("https://api.test/?b=1&a=x+y&b=2#f"))
	require.Nil(t, requests.ParseQuery("https://api.test/users"))
}
