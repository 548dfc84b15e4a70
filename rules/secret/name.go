// Package secret recognizes secrets in configurations: names that usually carry
// credentials, and the values in the text of a configuration that must not be shown.
package secret

import (
	"regexp"
	"slices"
	"strings"
)

// endings are what the names of credentials end with, without separators and in
// lower case. A name such as next_page_token carries no credential: APIs page with it.
var endings = []string{
	"apikey", "apitoken", "apisecret", "accesskey", "accesskeyid", "accesstoken", "authtoken", "authkey", "bearertoken", "clientsecret",
	"idtoken", "privatekey", "privatetoken", "refreshtoken", "secretkey", "securitytoken", "servicekey", "subscriptionkey", "vaulttoken",
	"authorization", "credential", "credentials", "csrftoken", "jobtoken", "passphrase", "passwd", "password", "secret",
}

// ambiguous are names that often carry credentials, but have other uses, too.
var ambiguous = map[string]bool{
	"auth": true, "cookie": true, "key": true, "pass": true, "pw": true, "pwd": true, "setcookie": true, "sig": true, "signature": true,
	"token": true, "xauth": true, "xsignature": true, "xtoken": true, "session": true, "sessionid": true, "jwt": true, "xkey": true,
}

// Name reports whether a header, parameter or key of that name usually carries a
// credential, whatever its case and separators: X-Api-Key, api_key, apiKey.
func Name(name string) bool { return sure(name) || ambiguous[plain(name)] }

// Like reports whether a value under a name is probably a credential. Under a name
// with other uses, such as "key" or "token", only a value that looks random is one.
func Like(name, value string) bool {
	const shortest, shortestRandom = 4, 8
	switch {
	case sure(name):
		return len(value) >= shortest
	case ambiguous[plain(name)]:
		return len(value) >= shortestRandom && random(value)
	}
	return false
}

// issued are the forms of tokens that well-known services issue: GitHub, GitLab, Slack,
// Stripe, AWS, Google, Shopify, Telegram, and JSON Web Tokens.
var issued = regexp.MustCompile(`^(?:gh[pousr]_[0-9A-Za-z]{30,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[0-9A-Za-z-]{10,}` +
	`|[sr]k_(?:live|test)_[0-9A-Za-z]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{20,}` +
	`|(?:bot)?[0-9]{6,}:[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]{4,})$`)

// Issued reports whether a text has the form of a token that a well-known service issues,
// so that it is a credential under any name, and in a path.
func Issued(text string) bool { return issued.MatchString(text) }

func sure(name string) bool {
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
