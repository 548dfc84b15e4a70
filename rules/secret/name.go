// Package secret recognizes secrets in configurations: names that usually carry
// credentials, and the values in the text of a configuration that must not be shown.
package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// endings are the endings of the names of credentials, without separators and in lower
// case. A name such as next_page_token carries no credential: APIs page with it.
var endings = []string{
	"apikey", "apitoken", "apisecret", "accesskey", "accesskeyid", "accesstoken", "authtoken", "authkey", "bearertoken", "clientsecret",
	"idtoken", "privatekey", "privatetoken", "refreshtoken", "secretkey", "securitytoken", "servicekey", "subscriptionkey", "vaulttoken",
	"authorization", "credential", "credentials", "csrf", "csrftoken", "xsrf", "xsrftoken", "jobtoken", "oauthtoken", "oauthsignature",
	"amzsignature", "googsignature", "sessiontoken", "accountkey", "connectionstring", "passphrase", "passwd", "password", "secret",
}

// A use says how often a name is that of a credential.
type use int

// The uses of names other than those with one of the endings. Only a value that looks random is a
// credential, except as described here.
const (
	seldom      use = iota + 1 // the name itself says nothing
	often                      // hidden where nothing depends on the value, as in an address in the log
	inParameter                // like often; as a parameter of a request, the name has no other use
)

var uses = map[string]use{
	"cookie": often, "key": often, "setcookie": often, "sig": often, "signature": often, "token": often, "xauth": often,
	"xsignature": often, "xtoken": often, "session": often, "sessionid": often, "xkey": often,
	"bearer": often, "phpsessid": often, "jsessionid": often, "connectsid": often,
	"xlicense": often,
	"appkey":   inParameter, "applicationkey": inParameter, "clientkey": inParameter, "consumerkey": inParameter, "crtfckey": inParameter,
	"developerkey": inParameter, "devkey": inParameter, "functionskey": inParameter, "licensekey": inParameter, "partnerkey": inParameter,
	"sessionkey": inParameter, "wskey": inParameter, "xfunctionskey": inParameter,
	"auth": inParameter, "jwt": inParameter, "pass": inParameter, "pw": inParameter, "pwd": inParameter,
	"appid": seldom, "code": seldom, "ticket": seldom, "sid": seldom, "userkey": seldom, "license": seldom,
}

// headerWords are the words by which a request header is taken for a credential. They are more than for
// parameters, because a header with such a name seldom has another use.
var headerWords = []string{"token", "key", "secret", "signature", "session", "auth", "authentication", "csrf", "xsrf", "pw"}

// IsName reports whether a header, parameter or key of that name usually carries a
// credential, whatever its case and separators: X-Api-Key, api_key, apiKey.
func IsName(name string) bool { return IsCredential(name) || uses[plain(name)] >= often }

const (
	shortest       = 4
	shortestRandom = 8
	shortestSeldom = 12 // of a name that seldom is that of a credential
	long           = 16
)

// pagingWords are the words in the names of keys with which APIs page, such as next_key and ExclusiveStartKey.
var pagingWords = []string{"next", "last", "start", "begin", "from", "after", "before", "page", "cursor", "continu", "resume"}

// IsValue reports whether a value under a name is probably a credential. Under a name
// with other uses, such as "key", "token" or "code", only a value that looks random is one, and
// under the name of any other key only a long one.
func IsValue(name, value string) bool {
	plainName := plain(name)
	switch use := uses[plainName]; {
	case IsCredential(name):
		return len(value) >= shortest
	case use == seldom:
		return len(value) >= shortestSeldom && random(value)
	case use >= often:
		return len(value) >= shortestRandom && random(value)
	}
	pages := func(word string) bool { return strings.Contains(plainName, word) }
	return strings.HasSuffix(plainName, "key") && !slices.ContainsFunc(pagingWords, pages) && IsRandom(value)
}

// IsParameter reports whether a parameter of a request is probably a credential. It is less strict than IsValue,
// because a false positive only costs the user an environment variable.
func IsParameter(name, value string) bool {
	return IsValue(name, value) || IsIssued(value) || uses[plain(name)] == inParameter && len(value) >= shortest ||
		IsName(name) && len(value) >= long && !strings.ContainsAny(value, " \t\n")
}

// IsHeader reports whether a header of a request is probably a credential. A word of its name counts as a name, and so does
// the name without X- before it.
func IsHeader(name, value string) bool {
	lower := strings.ToLower(name)
	return IsName(name) || IsIssued(value) || IsValue(strings.TrimPrefix(lower, "x-"), value) ||
		slices.ContainsFunc(strings.Split(lower, "-"), func(word string) bool {
			return slices.Contains(headerWords, word) || IsValue(word, value)
		})
}

// issuedForms are the forms of tokens that well-known services issue: GitHub, GitLab, Slack,
// Stripe, AWS, Google, Shopify, Telegram, and JSON Web Tokens.
const issuedForms = `(?:gh[pousr]_[0-9A-Za-z]{30,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[0-9A-Za-z-]{10,}` +
	`|[sr]k_(?:live|test)_[0-9A-Za-z]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{20,}` +
	`|(?:bot)?[0-9]{6,}:[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]{4,})`

var (
	issued   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + issuedForms + `$`) })
	issuedIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b` + issuedForms) })
)

// IsIssued reports whether a text has the form of a token that a well-known service issues,
// so that it is a credential under any name, and in a path.
func IsIssued(text string) bool { return issued().MatchString(text) }

// ReplaceIssued replaces the tokens in a text that well-known services issue.
func ReplaceIssued(text, by string) string { return issuedIn().ReplaceAllLiteralString(text, by) }

// IsRandom reports whether a text, such as a segment of a path, looks like a key: it is long, has no
// words, and is no UUID, which usually names a resource. Of a pair, as in bot123:KEY, the second is meant.
func IsRandom(text string) bool {
	const shortest, fewestChanges = 20, 6
	text = text[strings.LastIndexByte(text, ':')+1:]
	if len(text) < shortest || uuid().MatchString(text) || !keyLetters().MatchString(text) {
		return false
	}
	changes := 0 // between lower case, upper case and digits
	for i := 1; i < len(text); i++ {
		if a, b := kindOf(text[i-1]), kindOf(text[i]); a != 0 && b != 0 && a != b {
			changes++
		}
	}
	return changes >= fewestChanges
}

var (
	uuid = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	})
	keyLetters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w-]*[0-9][\w-]*$`) })
)

// kindOf returns 'a', 'A' or '0' for a letter or a digit, and 0 for any other byte.
func kindOf(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= 'A' && c <= 'Z':
		return 'A'
	case c >= '0' && c <= '9':
		return '0'
	}
	return 0
}

// KeysIn returns the spans of the texts in an expression that may be keys or passwords, and are not paths, addresses or
// times: each has letters and digits, and is not short. The expression may be written as JSON escapes it.
func KeysIn(source string) (spans [][2]int) {
	for _, at := range literals().FindAllStringSubmatchIndex(source, -1) {
		for group := 2; group < len(at); group += 2 {
			if start, end := at[group], at[group+1]; start >= 0 && isKey(source[start:end]) {
				spans = append(spans, [2]int{start, end})
			}
		}
	}
	return spans
}

// literals matches the texts in an expression.
var literals = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'((?:[^'\\]|\\.)*)'|\\?"((?:[^"\\]|\\[^"])*)\\?"|` + "`([^`]*)`")
})

func isKey(text string) bool {
	return len(text) >= shortestSeldom && random(text) && !strings.ContainsAny(text, ".:/") || IsRandom(text) || IsIssued(text)
}

// IsCredential reports whether a header, parameter or key of that name carries a credential and nothing else: api_key, password.
func IsCredential(name string) bool {
	name = plain(name)
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// plain returns the ASCII letters and digits of a name, in lower case.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}

// random reports whether a text has letters and digits but no spaces, as keys do and
// words do not.
func random(text string) bool {
	letter := strings.ContainsFunc(text, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
	return letter && strings.ContainsAny(text, "0123456789") && !strings.ContainsAny(text, " \t\n{}")
}
