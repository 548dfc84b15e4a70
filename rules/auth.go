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
	{Name: "type", Kind: Text, Required: true, Values: authTypeNames(), Doc: "`basic`, `bearer`, `header` or `query`"},
	{Name: "username", Kind: Secret, Doc: "of `basic`"},
	{Name: "#password", Kind: Secret, Doc: "of `basic`"},
	{Name: "password", Kind: Secret, Doc: "of `basic`; better written `#password`"},
	{Name: "#token", Kind: Secret, Doc: "of `bearer`"},
	{Name: "token", Kind: Secret, Doc: "of `bearer`; better written `#token`"},
	{Name: "name", Kind: Text, Doc: "of `header` and `query`: the name that carries the key"},
	{Name: "#value", Kind: Secret, Doc: "of `header` and `query`: the key"},
	{Name: "value", Kind: Secret, Doc: "of `header` and `query`; better written `#value`"},
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
	return auth
}

// credential reads a credential from the first section that has it. A secret
// under a plain key, which other programs may print, draws a warning.
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
				d.faults.Warnf(diag.Key(one.Path), "a secret under a plain key").
					WithHint(fmt.Sprintf("write it as %q, or as {\"env\": \"NAME\"}", key))
			}
			if !one.Invalid {
				*into, _ = d.secret(one.Path, one.Value, hidden)
			}
			return
		}
	}
	d.faults.Errorf(diag.Value(s["api.authentication"].Path), "authentication of type %s needs %s", auth.Type, key)
}
