package rules

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/secret"
)

// hide makes values secrets, and the credentials in them: an API may repeat these alone.
func (r *reader) hide(secrets ...string) {
	for _, text := range secrets {
		if text != "" {
			r.cfg.Secrets = append(r.cfg.Secrets, text)
			r.cfg.Identities = slices.DeleteFunc(r.cfg.Identities, func(other string) bool { return other == text })
		}
		r.cfg.Secrets = append(r.cfg.Secrets, secret.CredentialsIn(text)...)
	}
}

// hidePlainSecret hides the value of a header or a parameter that looks like a secret,
// although its key has no #, and warns of it: other programs may print it.
func (r *reader) hidePlainSecret(path, name string, v any) {
	if text, _ := v.(string); secret.IsValue(name, text) {
		r.hide(text)
		r.warnOfPlainSecret(path, name)
	}
}

// computedSecret returns the computed value of a header or a parameter as a secret, if its key has a # or the name of a
// credential. The texts in its expression that look like keys are secrets, too: an expression is printed.
func (r *reader) computedSecret(path, name string, c Computed, hidden bool) Computed {
	named := secret.IsCredential(name) && !r.dialect.Switches().markedSecrets
	if c.Secret = c.Secret || hidden || named; !c.Secret {
		return c
	}
	if found := r.hideKeysIn(c.Source); found && named && !hidden {
		r.warnOfPlainSecret(path, name)
	}
	return c
}

// hideKeysIn hides the texts in an expression that look like keys. It reports whether there are any.
func (r *reader) hideKeysIn(source string) (found bool) {
	for _, span := range secret.KeysIn(source) {
		r.hide(source[span[0]:span[1]])
		found = true
	}
	return found
}

func (r *reader) warnOfPlainSecret(path, name string) {
	r.diags.Warnf(diag.Key(path), "%s looks like a secret under a key without #", name).
		WithHint(fmt.Sprintf("write it as %q, or as {\"env\": \"NAME\"}", "#"+name))
}

// hideSecretsInEndpoint hides the parameters of an endpoint that look like secrets, and
// warns of them. It reports whether there are any.
func (d *decoder) hideSecretsInEndpoint(s setting) (found bool) {
	if !strings.Contains(s.text(), "?") {
		return false
	}
	for _, m := range requests.ParseQuery(s.text()) {
		if text, _ := m.Value.(string); secret.IsValue(m.Name, text) {
			d.hide(text)
			d.diags.Warnf(diag.Value(s.path()), "%s looks like a secret in an address", m.Name).
				WithHint(fmt.Sprintf("write it under params, as %q", "#"+m.Name))
			found = true
		}
	}
	return found
}

// extractUser takes the user name and the password out of baseUrl. They are
// credentials, and an address is printed.
func (d *decoder) extractUser(place diag.Place) {
	base, err := url.Parse(sampleBase(d.cfg.BaseURL))
	if err != nil || base.User == nil {
		return
	}
	if strings.ContainsAny(d.cfg.BaseURL, "{}") {
		d.diags.Errorf(place, "an address with expressions cannot have a user name or a password").
			WithHint("write them under api.authentication, with type basic")
		return
	}
	d.cfg.User = base.User
	name := base.User.Username()
	password, _ := base.User.Password()
	d.hide(name, password, name+":"+password, base.User.String())
	base.User = nil
	d.cfg.BaseURL = base.String()
	d.diags.Warnf(place, "an address with a user name and a password").
		WithHint(`write them under api.authentication, with type "basic", "username" and "#password"`)
}
