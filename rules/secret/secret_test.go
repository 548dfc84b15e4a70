package secret

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesThatUsuallyCarryCredentials(t *testing.T) {
	for _, name := range []string{
		"X-Api-Key", "x-api.key", "#X-Api.Key", "api_key", "apiKey", "APIKEY", "token", "Authorization", "Proxy-Authorization", "Cookie",
		"Set-Cookie", "password", "db_password", "client_secret", "access_token", "X-Amz-Security-Token", "X-Vault-Token", "sig", "key",
	} {
		require.True(t, IsName(name), name)
	}
	for _, name := range []string{"page", "next_page_token", "pageToken", "cursor", "monkey", "X-Request-Id", "authentication", "author", "keys", ""} {
		require.False(t, IsName(name), name)
	}
}

func TestAValueIsLikeASecret(t *testing.T) {
	require.True(t, IsValue("api_key", "abcd"))
	require.True(t, IsValue("token", "abcdefg1"))
	require.True(t, IsValue("X-Key", "7c9e6679-7425-40de"))
	require.False(t, IsValue("api_key", "abc"), "too short")
	require.False(t, IsValue("key", "updated_at"), "a word")
	require.False(t, IsValue("token", "12345678"), "a position")
	require.False(t, IsValue("cursor", "7c9e6679-7425-40de"))
}

func TestKeysOfManyAPIsAreCredentials(t *testing.T) {
	for _, name := range []string{
		"app_key", "appkey", "application_key", "consumer_key", "client_key", "session_key", "dev_key", "developerKey", "partner_key",
		"license_key", "license", "wskey", "crtfc_key", "x-functions-key", "X-License",
	} {
		for _, value := range []string{"S3CR3Tkey99xyz", "0f3a9c1d5b7e2846a0c9d1e3f5b70824"} {
			require.True(t, IsValue(name, value), name)
			require.True(t, IsParameter(name, value), name)
		}
	}
	require.True(t, IsValue("some_other_key", "0f3a9c1d5b7e2846a0c9d1e3f5b70824"))
	require.True(t, IsHeader("X-License", "abcd"))
	require.True(t, IsParameter("app_key", "abcd"))
	require.False(t, IsValue("license", "apache-2.0"))
	require.False(t, IsValue("sort_key", "created_at_2"))
	require.False(t, IsValue("ExclusiveStartKey", "0f3a9c1d5b7e2846a0c9d1e3f5b70824"))
}

func TestHeadersWithOtherUsesAreCredentialsIfTheirValuesLookRandom(t *testing.T) {
	for _, name := range []string{"X-Sid", "Sid", "X-App-Id", "X-Vendor-Ticket"} {
		require.True(t, IsHeader(name, "7f3a9c21b0e4d5"), name)
		require.False(t, IsHeader(name, "main"), name)
	}
	require.False(t, IsHeader("X-Request-Source", "7f3a9c21b0e4d5"))
}

func TestTokensAreRecognizedByTheirForm(t *testing.T) {
	for _, text := range []string{
		"ghp_0123456789abcdefghijklmnopqrstuvwxyz", "glpat-0123456789abcdefghij", "xoxb-1234567890-abcdef", "sk_live_0123456789abcdef",
		"AKIA0123456789ABCDEF", "shpat_0123456789abcdef0123456789abcdef", "123456789:AAF-0123456789abcdefghijklmnopqrstu",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	} {
		require.True(t, IsIssued(text), text)
		require.False(t, IsIssued("a "+text), "a text with a token in it")
	}
	for _, text := range []string{"", "users", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "2026-01-01T00:00:00", "ghp_users", "bot123", "v1.2.3"} {
		require.False(t, IsIssued(text), text)
	}
}

// In these texts, S marks what must be masked, and nothing else may be.
func TestSecretsInTheTextOfAConfigurationAreMasked(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"a string", `{"#token": "S", "a": "b"}`},
		{"keys of any spelling", `{"#X-Api.Key": "S", "# a b": "S", "X-Api-Key":"S", '#c': 'S'}`},
		{"the key of items is a path", `{"key": "id", 'x': 1, "key": ["order.id", 'line'], key: at}`},
		{"the key of items in YAML", "- key: order.id\n  page: 2\n- key: [id, at]\n- key:\n  - id\n"},
		{"plain credentials", `{"authentication": {"type": "header", "name": "X", "value": "S"}, "value": 1}`},
		{"values of another type", `{"#n": S, "#b": S, "#l": ["S", S, {"S": "S"}], "x": [1, 2]}`},
		{"a reference to the environment", `{"#token": {"env": "NAME"}, "a": {"b": "c"}}`},
		{"a string that does not end", "{\"#token\": \"S\n \"a\": \"b\"}"},
		{"no comma", `{"#token": "S" "x": 1}`},
		{"a bracket that does not end", `{"#token": ["S", "S"`},
		{"no value", `{"#token": `},
		{"only a key", `"#token":`},
		{"an address", `{"baseUrl": "https://S@api.test/v1/?api_key=S&page=2", "time": "12:30"}`},
		{"plain YAML", "api:\n  baseUrl: https://S@api.test/\n  \"#token\": S\n  password: S\n  page: 2\n"},
		{"YAML in braces", "a: {\"#token\": S, b: c}\nd: e"},
		{"a block of YAML", "'#token': |\n  S\n  S\n\n  S\nother: x\n"},
		{"a list of YAML", "\"#token\":\n  - S\n  - S\nother: x"},
		{"a list of YAML without indentation", "\"#token\":\n- S\nother: x"},
		{"the environment in YAML", "\"#token\":\n  env: NAME\nother: x"},
		{"authentication in YAML", "authentication:\n  type: header\n  name: X\n  value: S\n"},
		{"a comment that begins with a colon", "#: rule page: \"token\"\n#:   and: more\n\"#token\": S\n"},
		{"an object of that name", `{"scrollers": {"token": {"method": "cursor"}}, "password": {"S": "S"}}`},
		{"an expression", `{"#token": {"expr": "'a' + input.b"}, "a": {"b": "c"}}`},
		{"a key in an expression", `{"#token": {"expr": "'S' + input.b + \"S\""}, "a": {"expr": "'x23456789012'"}}`},
		{"a key in an expression of YAML", "'#token':\n  expr: input.b + 'S'\nother: x\n"},
		{"an expression and a secret", `{"#a": {"expr": "input.b"}, "#b": ["S", {"expr": "input.c"}, "S"]}`},
		{"an input that is secret", `{"inputs": {"k": {"secret": true, "doc": "all of it"}, "l": {"secret":false}}}`},
		{"an input whose name is that of a secret", `{"inputs": {"client_secret": {"doc": "the secret", "default": "S", "pattern": "[a-z]+", "secret": true}}}`},
		{"an input that is secret in YAML", "inputs:\n  client_secret:\n    doc: the secret\n    default: S\n    secret: true\n  other: {secret: true}\n"},
		{"an expression in YAML", "\"#token\":\n  expr: input.token\nother: x\n'#b': {expr: input.b}\n'#c': S\n"},
		{"a string over two lines", "\"#token\": \"S\n   S\"\nother: x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			const value = "MARK-é-7f3a"
			text := strings.ReplaceAll(c.text, "S", value)
			masked, secrets := Mask(text)
			require.NotContains(t, masked, "MARK")
			require.NotContains(t, masked, "7f3a")
			for rest := range strings.SplitSeq(c.text, "S") {
				require.Contains(t, strings.ReplaceAll(masked, "*", ""), strings.Trim(rest, " -|\n\""))
			}
			require.Len(t, []rune(masked), len([]rune(text)))
			require.Equal(t, strings.Count(text, "\n"), strings.Count(masked, "\n"))
			if strings.Contains(c.text, "S") {
				require.Contains(t, strings.Join(secrets, "\n"), value)
			}
		})
	}
}

func FuzzMask(f *testing.F) {
	for _, text := range []string{`{"#a": "b"}`, "\"#a\":\n  - b\n", `{"#a": [`, "'", "#", ":", "{]", "\"#\":|\n a", "\xff\"#a\":\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		masked, _ := Mask(text)
		require.Len(t, []rune(masked), len([]rune(text)))
		masked, _ = Mask(`{"#k": "MARK-7f3a", "x": ` + text)
		require.NotContains(t, masked, "MARK")
	})
}
