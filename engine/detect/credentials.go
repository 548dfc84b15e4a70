package detect

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/format"
)

// hiddenText replaces a secret in recordings.
const hiddenText = "***"

// isSecret reports whether a parameter is probably a credential.
func isSecret(name, text string) bool {
	return secret.IsParameter(name, text) || text == hiddenText && secret.IsName(name) // a recording has the hidden text
}

// withoutTokens replaces the tokens in the path of an address by inputs: /bot123456:AB…/getUpdates. It
// also returns the inputs whose values only look like tokens.
func (r Request) withoutTokens() (_ Request, guessed []string) {
	address, rest := r.URL, ""
	if end := strings.IndexAny(r.URL, "?#"); end >= 0 {
		address, rest = r.URL[:end], r.URL[end:]
	}
	_, after, _ := strings.Cut(address, "://")
	segments := strings.Split(address, "/")
	inputs := maps.Clone(r.Inputs)
	for i, segment := range segments {
		text, err := url.PathUnescape(segment)
		isIssued := secret.IsIssued(text)
		if err != nil || !strings.Contains(after, "/"+segment) || !isIssued && !secret.IsRandom(text) {
			continue
		}
		name := "token"
		for n := 2; inputs[name] != "" && inputs[name] != text; n++ {
			name = "token" + strconv.Itoa(n)
		}
		if inputs == nil {
			inputs = map[string]string{}
		}
		segments[i], inputs[name] = "{"+name+"}", text
		if !isIssued {
			guessed = lists.AppendNew(guessed, name)
		}
	}
	r.URL, r.Inputs = strings.Join(segments, "/")+rest, inputs
	return r, guessed
}

// withoutSecrets replaces secrets in a body by references to the environment.
func (c *call) withoutSecrets(o value.Object) value.Object {
	out := value.Object{}
	for _, m := range o {
		switch v := m.Value.(type) {
		case value.Object:
			out = append(out, value.Member{Name: m.Name, Value: c.withoutSecrets(v)})
			continue
		case string:
			if isSecret(m.Name, v) {
				out = append(out, value.Member{Name: "#" + m.Name, Value: c.reference(m.Name, v)})
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// noise are headers that a browser or a client adds to every request. They are neither
// needed nor wanted in a configuration.
var noise = []string{
	"Accept-Encoding", "Accept-Language", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Dnt", "Host", "If-Modified-Since",
	"If-None-Match", "Keep-Alive", "Origin", "Pragma", "Priority", "Referer", "Te", "Upgrade-Insecure-Requests", "User-Agent",
}

// setCredentials sorts the headers: credentials become the authentication, other secrets
// headers of the API, and the rest headers of the job.
func (c *call) setCredentials(user *url.Userinfo, header http.Header) {
	if user != nil {
		password, _ := user.Password()
		c.auth = c.basic(user.Username(), password)
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		key, text := textproto.CanonicalMIMEHeaderKey(name), strings.Join(header[name], ", ")
		hides := secret.IsHeader(name, text)
		switch {
		case slices.Contains(noise, key) && (key != "Content-Type" || isOwnType(text)):
		case strings.HasPrefix(name, ":"), strings.HasPrefix(key, "Sec-"): // a pseudo-header of HTTP/2, or a header that only browsers send
		case hides && c.auth == nil:
			c.auth = c.authentication(name, text)
		case hides:
			c.hidden = append(c.hidden, value.Member{Name: "#" + name, Value: c.reference(name, text)})
		case text == "*/*", name == "Accept" && text == format.Accept(rules.FormatJSON):
		default:
			c.headers = append(c.headers, value.Member{Name: name, Value: text})
		}
	}
}

// isOwnType reports whether the engine sends a content type by itself.
func isOwnType(text string) bool {
	media, _, _ := strings.Cut(text, ";")
	return slices.Contains([]string{"application/json", "application/x-www-form-urlencoded"}, strings.TrimSpace(media))
}

// authentication returns the settings for a header with a credential.
func (c *call) authentication(name, text string) value.Object {
	scheme, token, _ := strings.Cut(text, " ")
	if textproto.CanonicalMIMEHeaderKey(name) == "Authorization" {
		switch strings.ToLower(scheme) {
		case "bearer":
			return value.Object{{Name: "type", Value: rules.AuthBearer}, {Name: "#token", Value: c.reference("token", token)}}
		case "basic":
			if decoded, err := base64.StdEncoding.DecodeString(token); err == nil {
				user, password, _ := strings.Cut(string(decoded), ":")
				return c.basic(user, password)
			}
		}
	}
	return value.Object{{Name: "type", Value: rules.AuthHeader}, {Name: "name", Value: name}, {Name: "#value", Value: c.reference(name, text)}}
}

func (c *call) basic(user, password string) value.Object {
	auth := value.Object{{Name: "type", Value: rules.AuthBasic}, {Name: "username", Value: c.reference("user", user)}}
	if password == "" {
		return auth.With("#password", "")
	}
	return auth.With("#password", c.reference("password", password))
}

// reference stores a secret, and returns the reference to it that a configuration has.
func (c *call) reference(name, text string) value.Object {
	words := strings.FieldsFunc(name, func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') })
	variable := strings.ToUpper(strings.TrimPrefix(strings.ToLower(strings.Join(words, "_")), "x_"))
	if variable == "" || variable[0] <= '9' || !strings.Contains(variable, "_") {
		variable = "API_" + variable
	}
	for n := 2; c.env[variable] != "" && c.env[variable] != text; n++ {
		variable = strings.TrimRight(variable, "0123456789") + strconv.Itoa(n)
	}
	c.env[variable] = text
	return value.Object{{Name: "env", Value: variable}}
}

// secrets returns the values that must not be written.
func (c *call) secrets() []string {
	var out []string
	for _, text := range c.env {
		out = append(append(out, text), parts(text)...)
	}
	for name, text := range c.values {
		if secret.IsName(name) {
			out = append(out, text)
		}
	}
	return slices.DeleteFunc(out, func(text string) bool { return text == "" })
}

// parts returns the words of a credential that are secrets by themselves: the token after a
// scheme, and the values of cookies.
func parts(text string) []string {
	const shortest = 8
	return slices.DeleteFunc(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ;,=\"", r) }),
		func(part string) bool { return len(part) < shortest || part == text })
}
