package airbyte

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
)

// authenticator reads the credentials of a requester.
func (b *builder) authenticator(n node) error {
	if !n.given() {
		return nil
	}
	var err error
	switch kind := n.kind(); kind {
	case "", "NoAuth":
	case "ApiKeyAuthenticator":
		err = b.apiKey(n)
	case "BearerAuthenticator":
		err = b.credentials("bearer", secretOf{"#token", n.get("api_token")})
	case "BasicHttpAuthenticator":
		err = b.credentials("basic", secretOf{"username", n.get("username")}, secretOf{"#password", n.get("password")})
	case "OAuthAuthenticator":
		err = b.oauth(n)
	case "SessionTokenAuthenticator":
		err = b.session(n)
	case "JwtAuthenticator":
		err = b.jwt(n)
	case "SelectiveAuthenticator":
		return b.selective(n)
	case "Custom":
		b.noCredentials(n,
			"the authenticator (%s) is Python; write api.authentication by hand: its types login, oauth2 and sign cover most of them", n.class())
	default:
		b.noCredentials(n, "the authenticator %s is not translated; write api.authentication by hand", kind)
	}
	if err != nil {
		b.noCredentials(n, "%v; write api.authentication by hand", err)
	}
	return nil
}

// noCredentials leaves the credentials to the user.
func (b *builder) noCredentials(n node, format string, args ...any) {
	b.out.Auth = nil
	b.note(importer.Credentials, n, "api.authentication", format, args...)
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
func (b *builder) credentials(kind string, keys ...secretOf) error {
	auth := []importer.Member{{Name: "type", Value: importer.Constant(kind)}}
	for _, k := range keys {
		v, err := b.credential(k.node)
		if err != nil {
			return err
		}
		auth = append(auth, importer.Member{Name: k.key, Value: v})
	}
	b.out.Auth = auth
	return nil
}

// credential returns a value of the credentials.
func (b *builder) credential(n node) (importer.Value, error) {
	if !n.given() {
		return importer.Constant(""), nil
	}
	e, err := b.one(n)
	switch {
	case err != nil:
		return importer.Value{}, err
	case e.Known && e.Const == nil:
		return importer.Constant(""), nil
	case e.Known:
		return importer.Constant(fmt.Sprint(e.Const)), nil
	}
	b.secret(e.Source)
	return importer.Computed(e.Source), nil
}

// secret marks the inputs of an expression for credentials as secrets, if their names say so or
// nothing is known of them.
func (b *builder) secret(source string) {
	for i, in := range b.inputs {
		if r := b.spec; r == nil && strings.Contains(source, "input."+in.Name) {
			b.inputs[i].Secret = true
		}
	}
}

// apiKey reads an ApiKeyAuthenticator.
func (b *builder) apiKey(n node) error {
	name, kind := b.plain(n.get("header")), "header"
	if option := n.get("inject_into"); option.given() {
		target, _, err := b.option(option)
		if err != nil {
			return err
		}
		name = target.Name
		switch target.In {
		case importer.InParam:
			kind = "query"
		case importer.InHeader:
		default:
			return b.inject(option, b.tokenOf(n.get("api_token")))
		}
	}
	n.mark("header", "inject_into")
	v, err := b.credential(n.get("api_token"))
	if err != nil {
		return err
	}
	b.out.Auth = []importer.Member{
		{Name: "type", Value: importer.Constant(kind)}, {Name: "name", Value: importer.Constant(name)}, {Name: "#value", Value: v},
	}
	return nil
}

func (b *builder) tokenOf(n node) jinja.Expr {
	e, _ := b.one(n)
	return e
}

// selective chooses one of several authenticators: the authenticator that the user names, or the first that
// can be translated.
func (b *builder) selective(n node) error {
	var path []string
	for _, k := range n.get("authenticator_selection_path").list() {
		path = append(path, b.plain(k))
	}
	choices := n.get("authenticators").members()
	if len(choices) == 0 {
		return nil
	}
	setting := strings.Join(path, ".")
	wanted, named := b.options.Set[setting]
	b.reader.set[setting] = true
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
		b.note(importer.Check, n, "api.authentication",
			"the credentials are those of %s; to choose others, import with a value for the setting %s: %s",
			chosen.name, setting, strings.Join(names, ", "))
	}
	chosen.params = withParameters(n.params, chosen.v)
	return b.authenticator(chosen.node)
}
