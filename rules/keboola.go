package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A keboolaConfig is a configuration in dialect keboola. Values that the
// reference implementation has in other places or in other forms than the tables of fields are
// read before the tables are applied.
type keboolaConfig struct {
	*decoder
	config         Object   // the section config, as written
	iterations     []Object // for each iteration, the members that it overrides in config
	authType       string   // the type of api.authentication
	ownBasic       bool     // the iterations have credentials of type basic
	attributes     *attributes
	authorized     Object // authorization, next to parameters
	awsCredentials Object // aws.signature.credentials, next to api

	inChild         bool // a child is being read
	childReadsTimes bool // a child of the present job reads the times of runs

	signsIndependently bool   // the expressions that sign a request do not see each other's results
	loginFormat        string // the format of the response of a login

	unknown Object // the members of config that have no meaning of their own
}

// keboolaConfigOf splits the object that holds api and config: it returns the keys that only the
// reference implementation reads, and the object without them.
func (d *decoder) keboolaConfigOf(root any) (*keboolaConfig, any) {
	object, _ := value.Members(root)
	config, _ := object.Get("config")
	members, ok := value.Members(config)
	if !ok {
		return nil, root
	}
	k := &keboolaConfig{decoder: d, config: members, iterations: d.iterations(object)}
	k.attributes = d.newAttributes(members.Without("jobs"), func(name string) string { return name })
	k.attributes.shared = k.iterations
	object = object.Without("iterations")
	k.awsCredentials = value.ObjectAt(object, "aws", "signature", "credentials")
	k.authorized, _ = value.Members(d.authorized)
	k.authType, _ = value.ObjectAt(object, "api", "authentication").Value("type").(string)
	for i, m := range object {
		switch m.Name {
		case "config":
			object[i].Value = k.known(members)
		case "api":
			object[i].Value = k.api(diag.Join(d.cfg.path, "api"), m.Value)
		}
	}
	object = object.Without("aws")
	return k, object
}

// iterations returns the objects that override values of config, one for each iteration.
func (d *decoder) iterations(root Object) []Object {
	written, _ := root.Get("iterations")
	if php.EmptyConfig(written) {
		return nil
	}
	place := diag.Join(d.cfg.path, "iterations")
	list, ok := written.([]any)
	if !ok {
		d.diags.Errorf(diag.Value(place), "want a list of objects, got %s", describe(written))
	}
	var overrides []Object
	for i, element := range list {
		members, ok := value.Members(element)
		if _, isList := element.([]any); !ok && !isList {
			d.diags.Errorf(diag.Value(diag.Index(place, i)), "want an object, got %s", describe(element))
		}
		overrides = append(overrides, members)
	}
	return overrides
}

// known returns the members of config that have a meaning of their own.
func (k *keboolaConfig) known(config Object) Object {
	var known Object
	config = k.basicCredentials(config)
	for _, m := range config {
		if _, ok := fieldNamed(configFields, m.Name); ok {
			known = append(known, m)
		} else if _, had := k.unknown.Get(m.Name); !had {
			k.unknown = append(k.unknown, m)
		}
	}
	return known
}

// basicCredentials returns config with the user name and the password of type basic under the keys that
// they have in other dialects: # marks a secret, and may be there or not.
func (k *keboolaConfig) basicCredentials(config Object) Object {
	if k.authType != AuthBasic {
		return config
	}
	for _, key := range []string{"username", "#password"} {
		name := strings.TrimPrefix(key, "#")
		v, marked := config.Value(name), config.Value("#"+name)
		config = config.Without(name).Without("#" + name)
		if php.EmptyConfig(v) {
			text, _ := value.Text(marked)
			k.hide(text)
			v = marked
		} else if key != name {
			k.diags.Warnf(diag.Key(diag.Join(diag.Join(k.cfg.path, "config"), name)), "a secret under a key without #").
				WithHint(fmt.Sprintf("write it as %q", key))
		}
		if !php.EmptyConfig(v) {
			config = config.With(key, v)
		}
	}
	return config
}

// api takes functions out of baseUrl, and leaves the address that they yield at present.
func (k *keboolaConfig) api(path string, api any) any {
	object, _ := value.Members(api)
	k.checkPages(diag.Join(path, "pagination"), value.ObjectAt(object, "pagination").Value("pages"))
	if len(k.iterations) > 0 && k.authType == AuthBasic {
		k.ownBasic, object = true, object.Without("authentication")
		api = object
	}
	if auth := k.credentials(diag.Join(path, "authentication"), object.Value("authentication")); auth != nil {
		object = object.With("authentication", auth)
		api = object
	}
	base := object.Value("baseUrl")
	computed, ok := k.functions(nil).value(diag.Join(path, "baseUrl"), base).(Computed)
	if !ok {
		return api
	}
	k.cfg.baseSource = computed
	address, err := k.constant(base)
	if err != nil {
		k.diags.Errorf(diag.Value(computed.Path), "%v", err)
		address = "https://invalid.invalid/"
	}
	return object.With("baseUrl", php.String(address))
}

// checkPages reports a value of the key pages of the pagination that the reference implementation
// refuses, although the key has no effect.
func (k *keboolaConfig) checkPages(pagination string, written any) {
	switch v := withoutSpelling(written).(type) {
	case nil, int:
		return
	case string:
		if v != "" && strings.Trim(v, "0123456789") == "" {
			return
		}
	}
	k.diags.Errorf(diag.Value(diag.Join(pagination, "pages")), "want a whole number, got %s", describe(written)).
		WithHint("the limit of pages is forceStop.pages; this key has no effect")
}

// warnOfUnread warns of the attributes that nothing reads. They have no effect, and may be
// misspelt keys.
func (k *keboolaConfig) warnOfUnread() {
	for _, m := range k.unknown {
		name := m.Name
		if slices.ContainsFunc(k.cfg.Inputs, func(in Input) bool {
			read := attributeOf(in.Name)
			return read == name || strings.HasPrefix(read, name+".")
		}) {
			continue
		}
		k.diags.Warnf(diag.Key(diag.Join(diag.Join(k.cfg.path, "config"), name)), "no function reads %s, so it has no effect", name).
			WithNearest(name, supportedKeys(configFields))
	}
}

// attributeOf returns the name of the attribute that an input is for.
func attributeOf(input string) string {
	if _, name, ok := strings.Cut(input, "]."); ok && strings.HasPrefix(input, "iterations[") {
		return name
	}
	return input
}

// params computes the functions in the parameters of a job.
func (k *keboolaConfig) params(s setting) setting { return k.evaluated(s, k.times(sourceOfNow)) }

// evaluated replaces the function objects in an object by their values. The functions may refer to the
// attributes and to the values in references.
func (k *keboolaConfig) evaluated(s setting, references map[string]resolver) setting {
	if k == nil {
		return s
	}
	return k.functions(references).evaluated(s)
}

// iterates reports whether there are iterations.
func (k *keboolaConfig) iterates() bool { return k != nil && len(k.iterations) > 0 }

// functions returns a reader of function objects, which may refer to the attributes and to more.
func (k *keboolaConfig) functions(more map[string]resolver) functions {
	references := map[string]resolver{"attr": k.attributes.refer}
	maps.Copy(references, more)
	return functions{decoder: k.decoder, references: references}
}

// constant evaluates a value whose functions depend on attributes alone. It returns "" for a call that
// [functions.call] reports.
func (k *keboolaConfig) constant(v any) (any, error) {
	object, isObject := value.Members(v)
	list, isList := v.([]any)
	switch {
	case len(object) == 1 && object[0].Name == "attr":
		name, _ := value.Text(object[0].Value)
		attribute, _ := k.attributes.values.Get(name)
		if env, ok := attribute.(envVariable); ok {
			text, _ := k.envText(string(env), "")
			return text, nil
		}
		return withoutSpelling(attribute), nil
	case isObject:
		list, _ = object.Value("args").([]any)
	case !isList:
		return withoutSpelling(v), nil
	}
	values := make([]any, len(list))
	for i, e := range list {
		var err error
		if values[i], err = k.constant(e); err != nil {
			return nil, err
		}
	}
	if isList {
		return values, nil
	}
	name, _ := object.Value("function").(string)
	function, _ := php.FunctionNamed(name)
	if function.Timed && len(values) == function.Min-1 {
		values = append(values, 0)
	}
	if function.Call == nil || len(values) < function.Min {
		return "", nil
	}
	return function.Call(values)
}

// checkFormats reports jobs with another format than JSON.
func (k *keboolaConfig) checkFormats() {
	for _, job := range k.cfg.Jobs {
		if job.Response.Format != FormatJSON {
			k.diags.Errorf(diag.Value(job.path), "dialect %s reads JSON only, and response.format is %s", Keboola, job.Response.Format).
				WithHint("use dialect " + string(Spec))
		}
	}
}

// times returns the references to the times of runs. current is the expression for the current time.
func (k *keboolaConfig) times(current string) map[string]resolver {
	return map[string]resolver{"time": func(path, name string) (string, bool) {
		if k.inChild && (name == startVariable || name == previousStart) {
			k.childReadsTimes = true
			return sharedTimes + "." + name, false
		}
		switch name {
		case startVariable:
			return current, false
		case previousStart:
			return "(kept." + previousStart + " ?? 0)", false
		}
		nearest(k.diags.Errorf(diag.Value(path), "unknown time %q", name), name, []string{startVariable, previousStart})
		return "", false
	}}
}
