package secret

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ShortestPart is the length of the shortest part of an address or a cookie that counts as
// a secret. Shorter parts, such as v1, are words that occur elsewhere.
const ShortestPart = 8

// CredentialsIn returns the parts of a secret that are secrets of their own: the text after
// the scheme of an Authorization header, the password in the credentials of scheme Basic,
// and the values of cookies and of the parameters of an address.
func CredentialsIn(text string) []string {
	var found []string
	if name, credential, ok := strings.Cut(text, " "); ok && authorizationPattern().MatchString(text) {
		found = append(found, credential)
		if pair, err := base64.StdEncoding.DecodeString(credential); err == nil && strings.EqualFold(name, "basic") {
			_, password, _ := strings.Cut(string(pair), ":")
			found = append(found, string(pair), password)
		}
	}
	for _, m := range assignmentPattern().FindAllStringSubmatch(text, -1) {
		value, err := url.QueryUnescape(m[1])
		if err != nil {
			value = m[1]
		}
		if len(value) >= ShortestPart {
			found = append(found, value)
		}
	}
	return slices.DeleteFunc(found, func(text string) bool { return text == "" })
}

// authorizationPattern matches the value of an Authorization header (RFC 9110, 11.6.2).
var authorizationPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:basic|bearer|token|apikey|key|oauth|dpop) \S+$`)
})

// assignmentPattern matches the value of a cookie (RFC 6265, 4.2.1) or of a parameter of an
// address.
var assignmentPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[?&;])\s*[\w.\[\]-]+=([^&;#\s]+)`) })
