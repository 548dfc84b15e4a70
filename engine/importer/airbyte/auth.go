package airbyte

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/secret"
)

// authenticator reads the credentials of a requester.
func (t *translation) authenticator(n node) error {
	if !n.given() {
		return nil
	}
	var err error
	switch kind := n.kind(); kind {
	case "", "NoAuth":
	case "ApiKeyAuthenticator":
		err = t.apiKey(n)
	case "BearerAuthenticator":
		err = t.credentials("bearer", secretOf{"#token", n.get("api_token")})
	case "BasicHttpAuthenticator":
		err = t.credentials("basic", secretOf{"username", n.get("username")}, secretOf{"#password", n.get("password")})
	case "OAuthAuthenticator":
		err = t.oauth(n)
	case "SessionTokenAuthenticator":
		err = t.session(n)
	case "JwtAuthenticator":
		err = t.jwt(n)
	case "SelectiveAuthenticator":
		return t.selective(n)
	case "Custom":
		t.noCredentials(n,
			"the authenticator (%s) is Python; write api.authentication by hand: its types login, oauth2 and sign cover most of them", n.class())
	default:
		t.noCredentials(n, "the authenticator %s is not translated; write api.authentication by hand", kind)
	}
	if err != nil {
		t.noCredentials(n, "%v; write api.authentication by hand", err)
	}
	return nil
}

// noCredentials leaves the credentials to the user.
func (t *translation) noCredentials(n node, format string, args ...any) {
	t.out.Auth = nil
	t.note(importer.Credentials, n, "api.authentication", format, args...)
	for _, m := range n.members() {
		n.mark(m.name)
	}
}

// A secretOf is a key of the credentials with the template that gives it.
type secretOf struct {
	key string
	node
}

// credentials writes credentials of a type.
func (t *translation) credentials(kind string, keys ...secretOf) error {
	auth := []importer.Member{{Name: "type", Value: importer.Constant(kind)}}
	for _, k := range keys {
		v, err := t.credential(k)
		if err != nil {
			return err
		}
		auth = append(auth, importer.Member{Name: k.key, Value: v})
	}
	t.out.Auth = auth
	return nil
}

// credential returns a value of the credentials. A secret that stands in the manifest becomes an input.
func (t *translation) credential(n secretOf) (importer.Value, error) {
	if !n.given() {
		return importer.Constant(""), nil
	}
	e, err := t.one(n.node)
	switch {
	case err != nil:
		return importer.Value{}, err
	case e.Constant && e.Const == nil:
		return importer.Constant(""), nil
	case e.Constant:
		text := fmt.Sprint(e.Const)
		if strings.HasPrefix(n.key, "#") && n.text() == text && secret.IsValue("password", text) {
			return importer.Computed("input." + t.plainSecret(n.node)), nil
		}
		return importer.Constant(text), nil
	}
	t.secret(e.Source)
	return importer.Computed(e.Source), nil
}

// plainSecret returns the name of an input for a secret that stands in the manifest. It is named after the key.
func (t *translation) plainSecret(n node) string {
	for _, in := range t.inputs {
		if in.Place == n.path {
			return in.Name
		}
	}
	name := importer.FreeName(t.inputs, importer.InputName(n.path[strings.LastIndexByte(n.path, '.')+1:]))
	t.inputs = append(t.inputs, importer.Input{Name: name, Secret: true, Place: n.path})
	t.note(importer.Check, n, "inputs."+name,
		"the manifest has the secret itself, which was not copied: set the input %s, and keep secrets out of documents", name)
	return name
}

// secret marks the inputs of an expression for credentials as secrets, if their names say so or
// nothing is known of them.
func (t *translation) secret(source string) {
	for i, in := range t.inputs {
		if r := t.spec; r == nil && strings.Contains(source, "input."+in.Name) {
			t.inputs[i].Secret = true
		}
	}
}

// apiKey reads an ApiKeyAuthenticator.
func (t *translation) apiKey(n node) error {
	name, kind := t.plain(n.get("header")), "header"
	if option := n.get("inject_into"); option.given() {
		target, _, err := t.option(option)
		if err != nil {
			return err
		}
		name = target.Name
		switch target.In {
		case importer.InParam:
			kind = "query"
		case importer.InHeader:
		default:
			return t.inject(option, t.tokenOf(n.get("api_token")))
		}
	}
	n.mark("header", "inject_into")
	v, err := t.credential(secretOf{"#value", n.get("api_token")})
	if err != nil {
		return err
	}
	t.out.Auth = []importer.Member{
		{Name: "type", Value: importer.Constant(kind)}, {Name: "name", Value: importer.Constant(name)}, {Name: "#value", Value: v},
	}
	return nil
}

func (t *translation) tokenOf(n node) jinja.Expr {
	e, _ := t.one(n)
	return e
}

// selective chooses one of several authenticators: the authenticator that the user names, or the first that
// can be translated.
func (t *translation) selective(n node) error {
	var path []string
	for _, k := range n.get("authenticator_selection_path").list() {
		path = append(path, t.plain(k))
	}
	choices := n.get("authenticators").members()
	if len(choices) == 0 {
		return nil
	}
	setting := strings.Join(path, ".")
	wanted, named := t.options.Set[setting]
	t.reader.set[setting] = true
	chosen := choices[0]
	var names []string
	for _, c := range choices {
		names = append(names, c.name)
		if named && c.name == wanted {
			chosen = c
		}
	}
	if named && !slices.Contains(names, wanted) {
		return fmt.Errorf("%s: %s is one of %s, not %s", n.path, setting, strings.Join(names, ", "), wanted)
	}
	if !named && len(choices) > 1 {
		t.note(importer.Check, n, "api.authentication",
			"the credentials are those of %s; to choose others, import with a value for the setting %s: %s",
			chosen.name, setting, strings.Join(names, ", "))
	}
	chosen.params = withParameters(n.params, chosen.v)
	return t.authenticator(chosen.node)
}
