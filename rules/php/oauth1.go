package php

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// OAuth1 are the credentials of OAuth 1.0 (RFC 5849).
type OAuth1 struct{ Key, Secret, Token, TokenSecret string }

// Header returns the header Authorization of a request, with signature method HMAC-SHA1:
// of its method, its address, and the body of a form, which is empty for any other body. The
// time is in seconds since 1970.
func (o OAuth1) Header(method, address, form, nonce string, seconds int) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	own := [][2]string{
		{"oauth_consumer_key", o.Key}, {"oauth_nonce", nonce}, {"oauth_signature_method", "HMAC-SHA1"},
		{"oauth_timestamp", strconv.Itoa(seconds)}, {"oauth_token", o.Token}, {"oauth_version", "1.0"},
	}
	var pairs []string
	for _, p := range slices.Concat(own, parameters(u.RawQuery), parameters(form)) {
		pairs = append(pairs, rawURLEncode(p[0])+"="+rawURLEncode(p[1]))
	}
	slices.Sort(pairs)
	u.RawQuery, u.Fragment = "", ""
	base := strings.ToUpper(method) + "&" + rawURLEncode(u.String()) + "&" + rawURLEncode(strings.Join(pairs, "&"))
	h := hmac.New(sha1.New, []byte(rawURLEncode(o.Secret)+"&"+rawURLEncode(o.TokenSecret)))
	h.Write([]byte(base))
	own = slices.Insert(own, 2, [2]string{"oauth_signature", base64.StdEncoding.EncodeToString(h.Sum(nil))})
	parts := make([]string, len(own))
	for i, p := range own {
		parts[i] = p[0] + `="` + rawURLEncode(p[1]) + `"`
	}
	return "OAuth " + strings.Join(parts, ", "), nil
}

// parameters returns the names and values of a query.
func parameters(query string) [][2]string {
	var out [][2]string
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			name, text, _ := strings.Cut(pair, "=")
			out = append(out, [2]string{unescape(name), unescape(text)})
		}
	}
	return out
}

// rawURLEncode is PHP's rawurlencode (RFC 3986).
func rawURLEncode(text string) string {
	return strings.NewReplacer("+", "%20", "%7E", "~").Replace(escape(text))
}
