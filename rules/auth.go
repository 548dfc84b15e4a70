package rules

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Auth is one kind of authentication.
type Auth struct {
	Type     string // [AuthBasic], [AuthBearer], [AuthHeader] or [AuthQuery]
	Username string // basic
	Name     string // header and query: the name that carries the key
	Secret   string // password, token or key
}

// The types of authentication.
const (
	AuthBasic  = "basic"  // a user name and a password
	AuthBearer = "bearer" // a token in the Authorization header
	AuthHeader = "header" // a key in a header
	AuthQuery  = "query"  // a key in the query
)

// authTypes are the types of authentication, each with the keys that it needs.
var authTypes = []struct {
	name  string
	needs []string
}{
	{AuthBasic, []string{"username", "#password"}},
	{AuthBearer, []string{"#token"}},
	{AuthHeader, []string{"name", "#value"}},
	{AuthQuery, []string{"name", "#value"}},
}

func authTypeNames() []string {
	var out []string
	for _, t := range authTypes {
		out = append(out, t.name)
	}
	return out
}

var authenticationFields = []Field{
	{Name: "type", Kind: Text, Required: true, Values: authTypeNames(), Doc: "the type; it decides which other keys are needed"},
	{Name: "username", Kind: Secret, Doc: "for `basic`"},
	{Name: "#password", Kind: Secret, Doc: "for `basic`"},
	{Name: "password", Kind: Secret, Doc: "for `basic`; prefer `#password`"},
	{Name: "#token", Kind: Secret, Doc: "for `bearer`"},
	{Name: "token", Kind: Secret, Doc: "for `bearer`; prefer `#token`"},
	{Name: "name", Kind: Text, Doc: "for `header` and `query`: the name that carries the key"},
	{Name: "#value", Kind: Secret, Doc: "for `header` and `query`: the key"},
	{Name: "value", Kind: Secret, Doc: "for `header` and `query`; prefer `#value`"},
}

// authentication reads api.authentication. The reference has the credentials of
// type basic in config.
func (d *decoder) authentication(s settings) *Auth {
	auth := &Auth{Type: s["api.authentication.type"].text()}
	if auth.Type == "" {
		return nil
	}
	sections := []string{"api.authentication"}
	if auth.Type == AuthBasic {
		sections = append(sections, "config")
	}
	for _, t := range authTypes {
		if t.name != auth.Type {
			continue
		}
		for _, key := range t.needs {
			d.credential(auth, s, sections, key)
		}
	}
	if auth.Type == AuthBasic && auth.Secret != "" {
		d.hide(auth.Username + ":" + auth.Secret) // encoded, even a short password is hidden
	}
	return auth
}

// credential reads a credential from the first section that has it. A secret under
// a key without # draws a warning, because other programs may print it.
func (d *decoder) credential(auth *Auth, s settings, sections []string, key string) {
	plain, hidden := strings.CutPrefix(key, "#")
	into := map[string]*string{"username": &auth.Username, "name": &auth.Name}[plain]
	if into == nil {
		into = &auth.Secret
	}
	for _, section := range sections {
		for _, name := range []string{key, plain} {
			one := s[section+"."+name]
			if !one.given() {
				continue
			}
			if _, isText := one.Value.(string); isText && hidden && name == plain {
				d.diags.Warnf(diag.Key(one.Path), "a secret under a key without #").
					WithHint(fmt.Sprintf("write it as %q, or as {\"env\": \"NAME\"}", key))
			}
			if !one.Invalid {
				*into, _ = d.secret(one.Path, one.Value, hidden)
			}
			return
		}
	}
	d.diags.Errorf(diag.Value(s["api.authentication"].Path), "authentication of type %s needs %s", auth.Type, key)
}
