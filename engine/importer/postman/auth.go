package postman

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// sent reports whether an authorization adds something to requests.
func (a *auth) sent() bool { return a != nil && a.Type != "noauth" && a.Type != "" }

// credentials sets the authentication.
func (t *translation) credentials() {
	if !t.auth.sent() {
		return
	}
	err := t.authorize()
	if err != nil {
		t.out.Auth = nil
		t.note(importer.Credentials, "request.auth", "api.authentication",
			"%v; write api.authentication: its types login, oauth2 and sign cover most APIs", err)
	}
}

func (t *translation) authenticate(kind string, members ...importer.Member) {
	t.out.Auth = append([]importer.Member{importer.Named("type", importer.Constant(kind))}, members...)
}

func (t *translation) authorize() error {
	switch kind := t.auth.Type; kind {
	case "bearer":
		token, err := t.secret("token", "token")
		t.authenticate("bearer", importer.Named("#token", token))
		return err
	case "basic":
		user, err := t.open("username", "username")
		password, err2 := t.secret("password", "password")
		t.authenticate("basic", importer.Named("username", user), importer.Named("#password", password))
		return errors.Join(err, err2)
	case "apikey":
		return t.apiKey()
	case "awsv4":
		return t.aws()
	case "oauth2":
		return t.oauth2()
	default:
		return fmt.Errorf("the authorization %s is not translated", kind)
	}
}

// secret returns the value of a setting that is a secret. Its text is not copied: it is an input, if no
// variable has it.
func (t *translation) secret(key, input string) (importer.Value, error) {
	text := t.auth.Settings[key]
	if strings.Contains(text, "{{") {
		if name := reference().FindStringSubmatch(text); name != nil && name[0] == strings.TrimSpace(text) && !t.isSet(name[1]) {
			if v := t.lookup(name[1]); !strings.Contains(v.text(), "{{") {
				v.Type = "secret"
				t.known[name[1]] = v
			}
		}
		return t.value(strings.TrimSpace(text))
	}
	source := t.input("auth "+key+" "+text, importer.Input{Name: input, Secret: true, Place: "auth." + t.auth.Type})
	return importer.Computed("input." + source), nil
}

// open returns the value of a setting that is not a secret; without one, it is an input.
func (t *translation) open(key, input string) (importer.Value, error) {
	if text := t.auth.Settings[key]; text != "" {
		return t.value(text)
	}
	source := t.input("auth "+key, importer.Input{Name: input, Place: "auth." + t.auth.Type})
	return importer.Computed("input." + source), nil
}

func (t *translation) apiKey() error {
	place := cmp.Or(t.auth.Settings["in"], "header")
	if place != "header" && place != "query" {
		return fmt.Errorf("the key of the API is in %s, which is unknown", place)
	}
	name, err := t.open("key", "key_name")
	if err != nil {
		return err
	}
	input := "api_key"
	if text, isText := name.Const.(string); isText {
		input = importer.InputName(text)
	}
	v, err := t.secret("value", input)
	t.authenticate(place, importer.Named("name", name), importer.Named("#value", v))
	return err
}

func (t *translation) aws() error {
	var members []importer.Member
	for _, s := range []struct {
		name, key, input string
		secret           bool
	}{
		{"region", "region", "region", false},
		{"service", "service", "service", false},
		{"accessKeyId", "accessKey", "access_key", true},
		{"#secretAccessKey", "secretKey", "secret_key", true},
		{"#sessionToken", "sessionToken", "session_token", true},
	} {
		if s.key == "sessionToken" && t.auth.Settings[s.key] == "" {
			continue
		}
		get := t.open
		if s.secret {
			get = t.secret
		}
		v, err := get(s.key, s.input)
		if err != nil {
			return err
		}
		members = append(members, importer.Named(s.name, v))
	}
	t.authenticate("aws4", members...)
	return nil
}

// oauth2 translates the grants that a program can use. Of others, the token is an input.
func (t *translation) oauth2() error {
	set := t.auth.Settings
	if set["addTokenTo"] == "queryParams" {
		return errors.New("the token is sent in the query")
	}
	if prefix := strings.TrimSpace(cmp.Or(set["headerPrefix"], "Bearer")); !strings.EqualFold(prefix, "Bearer") {
		return fmt.Errorf("the token is sent after %s", preview(prefix))
	}
	grant := set["grant_type"]
	if set["accessTokenUrl"] == "" || grant != "client_credentials" && grant != "password_credentials" {
		token, err := t.secret("accessToken", "access_token")
		t.authenticate("bearer", importer.Named("#token", token))
		t.note(importer.Check, "request.auth", "api.authentication",
			"The access token is an input. For a run without you, authorize once and write type oauth2 with the refresh token")
		return err
	}
	members, err := t.oauth2Client()
	if err == nil && grant == "password_credentials" {
		members, err = t.addOAuth2User(members)
	}
	if err == nil {
		members, err = t.addOAuth2Request(members)
	}
	t.authenticate("oauth2", members...)
	return err
}

// oauth2Client returns the address of the tokens, and the client that requests them.
func (t *translation) oauth2Client() ([]importer.Member, error) {
	url, err := t.addressed(t.auth.Settings["accessTokenUrl"], true)
	if err != nil {
		return nil, err
	}
	id, err := t.open("clientId", "client_id")
	if err != nil {
		return nil, err
	}
	client, err := t.secret("clientSecret", "client_secret")
	if err != nil {
		return nil, err
	}
	members := []importer.Member{importer.Named("tokenUrl", importer.Constant(url)), importer.Named("clientId", id),
		importer.Named("#clientSecret", client)}
	if t.auth.Settings["client_authentication"] == "body" {
		members = append(members, importer.Named("clientAuth", importer.Constant("body")))
	}
	return members, nil
}

// addOAuth2User adds the user of the grant of passwords.
func (t *translation) addOAuth2User(members []importer.Member) ([]importer.Member, error) {
	user, err := t.open("username", "username")
	if err != nil {
		return nil, err
	}
	password, err := t.secret("password", "password")
	return append(members, importer.Named("username", user), importer.Named("#password", password)), err
}

// addOAuth2Request adds the scopes and the further parameters of the request for a token.
func (t *translation) addOAuth2Request(members []importer.Member) ([]importer.Member, error) {
	set := t.auth.Settings
	if scopes := strings.Fields(set["scope"]); len(scopes) > 0 && !strings.Contains(set["scope"], "{{") {
		members = append(members, importer.Named("scopes", importer.Constant(lists.Map(scopes, func(s string) any { return s }))))
	} else if len(scopes) > 0 {
		v, err := t.value(set["scope"])
		if err != nil {
			return nil, err
		}
		members = append(members, importer.Named("scopes", v))
	}
	var params []importer.Member
	for _, key := range []string{"audience", "resource"} {
		if set[key] != "" {
			v, err := t.value(set[key])
			if err != nil {
				return nil, err
			}
			params = append(params, importer.Named(key, v))
		}
	}
	if params != nil {
		members = append(members, importer.Named("params", importer.Value{Object: params}))
	}
	return members, nil
}
