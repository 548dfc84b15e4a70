package keboola

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// authentication reads the credentials. If they cannot be translated, a note says so.
func (r *reader) authentication(o value.Object) []importer.Member {
	var out []importer.Member
	var err error
	switch kind, _ := memberOf(o, "type").(string); kind {
	case "":
		out = r.aws(objectAt(r.root, "aws", "signature", "credentials"))
	case rules.AuthBasic:
		out = r.basic(o)
	case "query", "url.query":
		if out, err = r.inQuery(objectAt(o, "query")); len(objectAt(o, "query")) == 0 {
			out = r.written(o)
		}
	case "login":
		out, err = r.login(o)
	case "oauth10", "oauth20", "oauth20.login":
		err = fmt.Errorf("credentials of type %s come from Keboola's own OAuth broker", kind)
	default:
		out = r.written(o)
	}
	if err != nil {
		r.everywhere(importer.Credentials, "api.authentication", "%s. Write api.authentication by hand", wording.Capital(err.Error()))
		return nil
	}
	return out
}

// kindOf begins credentials of a type.
func kindOf(kind string) []importer.Member {
	return []importer.Member{{Name: "type", Value: importer.Constant(kind)}}
}

// written returns credentials of a type of this engine as they are. Their secrets are marked.
func (r *reader) written(o value.Object) []importer.Member {
	var out []importer.Member
	for _, m := range o {
		if strings.Contains(r.without[r.at("api.authentication."+m.Name)], "secret") {
			m.Name = "#" + m.Name
		}
		out = append(out, importer.Member{Name: m.Name, Value: importer.Constant(m.Value)})
	}
	return out
}

// secret returns a value of the credentials: the variable of the environment that it names, or an
// input.
func (r *reader) secret(name string, v any) importer.Value {
	object, _ := value.Members(v)
	if environment(object) != "" {
		return importer.Constant(v)
	}
	short := name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(name, "iterations.") {
		short = fmt.Sprintf("%s %d", short, r.iteration)
	}
	return importer.Computed(r.input(short, importer.Input{Secret: true, Place: r.at(name), Sample: "example"}))
}

// basic reads the user name and the password, which stand in config.
func (r *reader) basic(o value.Object) []importer.Member {
	out := kindOf(rules.AuthBasic)
	for _, key := range []string{"username", "#password"} {
		plain := strings.TrimPrefix(key, "#")
		var v any
		for _, section := range []value.Object{o, r.config} {
			for _, name := range []string{"#" + plain, plain} {
				if one := memberOf(section, name); v == nil && isGiven(one) {
					v = one
				}
			}
		}
		place := "config." + plain
		for _, name := range []string{plain, "#" + plain} {
			if _, own := r.over.Get(name); own {
				place = fmt.Sprintf("iterations.%d.%s", r.iteration-1, name)
			} else if _, own := r.config.Get(name); own && !strings.HasPrefix(place, "iterations") {
				place = "config." + name
			}
		}
		out = append(out, importer.Member{Name: key, Value: r.secret(place, v)})
	}
	return out
}

// inQuery reads the parameters that authenticate.
func (r *reader) inQuery(query value.Object) ([]importer.Member, error) {
	var params []importer.Member
	simple := len(query) == 1
	for _, m := range query {
		object, isObject := value.Members(m.Value)
		if !isObject || environment(object) != "" {
			params = append(params, importer.Member{Name: m.Name, Value: r.secret("api.authentication.query."+m.Name, m.Value)})
			continue
		}
		e, err := r.expression(object, r.request())
		if err != nil {
			return nil, err
		}
		simple = simple && len(object) == 1 && object[0].Name == "attr"
		params = append(params, importer.Member{Name: m.Name, Value: importer.Constant(e.source)})
	}
	if simple {
		v := params[0].Value
		if source, isText := v.Const.(string); isText {
			v = importer.Computed(source)
		}
		return append(kindOf(rules.AuthQuery), importer.Member{Name: "name", Value: importer.Constant(params[0].Name)},
			importer.Member{Name: "#value", Value: v}), nil
	}
	if text := fmt.Sprint(query); len(query) > 1 && strings.Contains(text, "{request ") {
		r.everywhere(importer.Approximate, "api.authentication.params", "An expression sees the parameters that those before it add to the "+
			"request; in the extractor, it does not")
	}
	for i, p := range params {
		if p.Value.Source != "" {
			params[i].Value = importer.Constant(p.Value.Source)
		}
	}
	return append(kindOf(rules.AuthSign), importer.Member{Name: "params", Value: importer.Value{Object: params}}), nil
}

// request are the references to the request that is signed.
func (r *reader) request() references {
	sources := map[string]string{
		"url": "request.url", "path": "request.path", "queryString": "request.query", "method": "request.method",
		"hostname": `phpAddress(request.url, "hostname")`, "port": `phpAddress(request.url, "port")`,
		"resource": `phpAddress(request.url, "resource")`,
	}
	return references{
		"query":   func(name string) (string, error) { return "query(request.query, " + importer.Quote(name) + ")", nil },
		"request": func(name string) (string, error) { return sources[name], nil },
	}
}

// login reads a request that logs in, and the parts of other requests that its response gives.
func (r *reader) login(o value.Object) ([]importer.Member, error) {
	isText := memberOf(o, "format") == rules.LoginText
	request, err := r.loginRequest(objectAt(o, "loginRequest"))
	if err != nil {
		return nil, err
	}
	response := func(name string) string {
		if isText && name == "data" {
			return "login.body"
		}
		return keypath.Format("login.body", strings.Split(name, "."))
	}
	given, err := r.loginParts(objectAt(o, "apiRequest"), response)
	if err != nil {
		return nil, err
	}
	out := append(kindOf(rules.AuthLogin), importer.Member{Name: "loginRequest", Value: importer.Value{Object: request}},
		importer.Member{Name: "apiRequest", Value: importer.Value{Object: given}})
	if len(objectAt(r.root, "api", "http", "defaultOptions", "params")) > 0 {
		r.everywhere(importer.Approximate, "api.authentication", "The login has the parameters of all requests, too (defaultOptions)")
	}
	if isText {
		r.everywhere(importer.Approximate, "api.authentication", "A response of the login that is JSON is not read as a text")
	}
	if o, isObject := value.Members(memberOf(o, "expires")); isObject {
		r.everywhere(importer.Approximate, "api.authentication.expires", "A login that lasts no time by %s of its response is not repeated "+
			"before each request", value.Preview(memberOf(o, "response")))
	}
	expires, err := r.expires(memberOf(o, "expires"), response)
	if expires != "" {
		out = append(out, importer.Member{Name: "expires", Value: importer.Constant(expires)})
	}
	return out, err
}

// loginRequest reads the request that logs in.
func (r *reader) loginRequest(o value.Object) (request []importer.Member, err error) {
	for _, m := range o {
		object, isObject := value.Members(m.Value)
		v := importer.Constant(m.Value)
		switch {
		case isObject && (m.Name == "params" || m.Name == "headers"):
			members := []importer.Member{}
			for _, member := range object {
				inner, err := r.value(member.Value, nil)
				if err != nil {
					return nil, err
				}
				members = append(members, importer.Member{Name: marked(member.Name, inner), Value: inner})
			}
			v = importer.Value{Object: members}
		case !isGiven(m.Value):
			continue
		}
		request = append(request, importer.Member{Name: m.Name, Value: v})
	}
	return request, nil
}

// loginParts reads the headers and parameters of other requests. response returns the expression for a value
// of the response of the login.
func (r *reader) loginParts(o value.Object, response func(name string) string) (given []importer.Member, err error) {
	for _, names := range [][2]string{{"headers", "headers"}, {"query", "params"}} {
		var parts []importer.Member
		for _, m := range objectAt(o, names[0]) {
			var source string
			if text, isPath := m.Value.(string); isPath {
				source = response(text) + " ?? " + importer.Quote(text)
			} else if e, err := r.expression(m.Value,
				references{"response": func(name string) (string, error) { return response(name), nil }}); err != nil {
				return nil, err
			} else {
				source = e.source
			}
			parts = append(parts, importer.Member{Name: m.Name, Value: importer.Constant(source)})
			if names[0] == "query" && r.sends(m.Name) {
				r.everywhere(importer.Approximate, "api.authentication",
					"The parameter %s of the login replaces that of a request; the extractor sends a list of both", m.Name)
			}
		}
		if parts != nil {
			given = append(given, importer.Member{Name: names[1], Value: importer.Value{Object: parts}})
		}
	}
	return given, nil
}

// sends reports whether any request may have a parameter of its own.
func (r *reader) sends(name string) bool {
	if _, has := objectAt(r.root, "api", "http", "defaultOptions", "params").Get(name); has {
		return true
	}
	return slices.ContainsFunc(listOf(memberOf(r.config, "jobs")), func(one any) bool {
		job, _ := value.Members(one)
		_, has := objectAt(job, "params").Get(name)
		return has
	})
}

// expires returns the expression for the time when a login ends; "" if it does not say.
func (r *reader) expires(v any, response func(string) string) (string, error) {
	object, isObject := value.Members(v)
	if !isObject {
		if !isGiven(v) {
			return "", nil
		}
		n, isNumber := whole(v)
		if !isNumber {
			return "", fmt.Errorf("the login ends at once (expires is %s)", value.Preview(v))
		}
		return strconv.Itoa(n), nil
	}
	name, _ := value.Text(memberOf(object, "response"))
	place := response(name)
	if memberOf(object, "relative") == true {
		return "number(" + place + ")", nil
	}
	return fmt.Sprintf("(phpNumeric(%[1]s) ? phpInt(%[1]s) : phpStrtotime(%[1]s, %[2]s)) - %[2]s", place, now), nil
}

// aws reads aws.signature.credentials, next to api.
func (r *reader) aws(o value.Object) []importer.Member {
	if o == nil {
		return nil
	}
	return append(kindOf(rules.AuthAWS4),
		importer.Member{Name: "region", Value: importer.Constant(memberOf(o, "regionName"))},
		importer.Member{Name: "service", Value: importer.Constant(memberOf(o, "serviceName"))},
		importer.Member{Name: "accessKeyId", Value: r.secret("aws.signature.credentials.accessKeyId", memberOf(o, "accessKeyId"))},
		importer.Member{Name: "#secretAccessKey", Value: r.secret("aws.signature.credentials.#secretKey", memberOf(o, "#secretKey"))})
}
