package transport

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// Auth is the credentials of every request to the origin. They are added when
// a request is sent, so that no log or trace ever holds them.
type Auth struct {
	Header [][2]string // name and value
	Query  [][2]string // name and value
}

// BasicAuth is a user name and a password (RFC 7617).
func BasicAuth(username, password string) Auth {
	return HeaderAuth("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
}

// BearerAuth is a bearer token (RFC 6750).
func BearerAuth(token string) Auth { return HeaderAuth("Authorization", "Bearer "+token) }

// HeaderAuth is a key in a header.
func HeaderAuth(name, value string) Auth { return Auth{Header: [][2]string{{name, value}}} }

// QueryAuth is a key in the query.
func QueryAuth(name, value string) Auth { return Auth{Query: [][2]string{{name, value}}} }

func (a Auth) headers(h http.Header) {
	for _, pair := range a.Header {
		h.Set(pair[0], pair[1])
	}
}

// address adds the query's credentials to an address, in the place of a
// parameter of the same name.
func (a Auth) address(address string) string {
	for _, pair := range a.Query {
		path, query, _ := strings.Cut(address, "?")
		var kept []string
		for part := range strings.SplitSeq(query, "&") {
			name, _, _ := strings.Cut(part, "=")
			if plain, err := url.QueryUnescape(name); part != "" && (err != nil || plain != pair[0]) {
				kept = append(kept, part)
			}
		}
		kept = append(kept, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
		address = path + "?" + strings.Join(kept, "&")
	}
	return address
}
