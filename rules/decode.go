package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Decode turns a parsed configuration, with or without the outer `parameters`
// object, into a Config. It reports every fault it finds, as [diag.Diagnostics] in order
// of position.
func Decode(source *diag.Source, root any, options Options) (*Config, error) {
	faults := diag.NewCollector(source)
	d := &decoder{reader: reader{faults}, env: options.Env, cfg: &Config{Source: source}}
	d.root(root)
	shape := faults.Diagnostics().Errors()
	if options.Dialect != "" {
		d.cfg.Dialect = options.Dialect
	}
	if options.BaseURL != "" {
		d.cfg.BaseURL = options.BaseURL
	}
	if len(shape) == 0 { // what is missing would be reported twice else
		d.cfg.check(faults)
	}
	d.cfg.Warnings = faults.Diagnostics().Warnings()
	return d.cfg, faults.Diagnostics().Errors().Err()
}

// decoder fills a Config from checked values.
type decoder struct {
	reader
	env func(string) (string, bool)
	cfg *Config
}

func (d *decoder) root(root any) {
	if object, ok := value.Members(root); ok {
		if inner, wrapped := object.Get("parameters"); wrapped {
			root, d.cfg.Path = inner, "parameters"
			if extra := object.Without("parameters").Without("$schema"); len(extra) > 0 {
				for _, name := range extra.Names() {
					d.faults.Warnf(diag.Key(name), "%s stands beside parameters and has no effect", name)
				}
			}
		}
	}
	b := d.block(d.cfg.Path, root, rootFields)
	config := block{}
	if b.has("config") {
		config = d.config(diag.Join(d.cfg.Path, "config"), b.values["config"])
	}
	if b.has("api") {
		d.api(diag.Join(d.cfg.Path, "api"), b.values["api"], config)
	}
	d.tests(diag.Join(d.cfg.Path, "tests"), b.list("tests"))
}

func (d *decoder) api(path string, v any, config block) {
	b := d.block(path, v, apiFields)
	c := d.cfg
	c.BaseURL, c.Dialect = b.text("baseUrl"), b.text("dialect")
	c.Pagination = b.values["pagination"]
	c.AllowedOrigins = d.texts(b, "allowedOrigins")
	if b.has("http") {
		d.http(d.block(path+".http", b.values["http"], httpFields))
	}
	if b.has("retryConfig") {
		d.retries(d.block(path+".retryConfig", b.values["retryConfig"], retryFields))
	}
	if more := config.object("http"); more != nil {
		inner := d.block(config.path+".http", more, configHTTPFields())
		d.headers(inner.path+".headers", inner.object("headers"), &c.HTTP.Headers, &c.HTTP.SecretHeaders)
	}
	if b.has("authentication") {
		d.authentication(d.block(path+".authentication", b.values["authentication"], authenticationFields), config)
	}
}

func configHTTPFields() []Field {
	f, _ := find(configFields, "http")
	return f.Fields
}

func (d *decoder) http(b block) {
	h := &d.cfg.HTTP
	d.headers(b.path+".headers", b.object("headers"), &h.Headers, &h.SecretHeaders)
	d.retries(b)
	if b.has("rateLimit") {
		limit := d.block(b.path+".rateLimit", b.values["rateLimit"], rateLimitFields)
		h.RateRemaining, h.RateReset = limit.text("remaining"), limit.text("reset")
	}
	h.IgnoreErrors = d.statuses(b, "ignoreErrors")
	h.MaxBodyBytes, h.MaxDepth, h.MaxItems = b.whole("maxBodyBytes", 0), b.whole("maxDepth", 0), b.whole("maxItemsPerPage", 0)
	if b.has("defaultOptions") {
		f, _ := find(httpFields, "defaultOptions")
		o := d.block(b.path+".defaultOptions", b.values["defaultOptions"], f.Fields)
		h.Params = d.params(o.path+".params", o.object("params"))
		d.headers(o.path+".headers", o.object("headers"), &h.Headers, &h.SecretHeaders)
	}
}

func (d *decoder) retries(b block) {
	h := &d.cfg.HTTP
	if b.has("maxRetries") {
		if h.MaxRetries = b.whole("maxRetries", 0); h.MaxRetries == 0 {
			h.MaxRetries = -1
		}
	}
	if b.has("codes") {
		h.RetryCodes = d.statuses(b, "codes")
	}
	if b.has("retryHeader") {
		h.RetryHeader = b.text("retryHeader")
	}
	if f, ok := find(retryFields, "http"); ok && b.has("http") {
		d.retries(d.block(b.path+".http", b.values["http"], f.Fields))
	}
}

func (d *decoder) config(path string, v any) block {
	b := d.block(path, v, configFields)
	d.cfg.Debug = b.flag("debug")
	for i, v := range b.list("jobs") {
		d.cfg.Jobs = append(d.cfg.Jobs, d.job(diag.Index(path+".jobs", i), v))
	}
	return b
}

func (d *decoder) job(path string, v any) Job {
	b := d.block(path, v, jobFields)
	j := Job{
		Path: path, ID: b.text("id"), Endpoint: b.text("endpoint"), Method: b.text("method"),
		DataType: b.text("dataType"), Scroller: b.text("scroller"),
		Params: d.params(path+".params", b.object("params")),
	}
	d.headers(path+".headers", b.object("headers"), &j.Headers, &j.SecretHeaders)
	j.DataField = d.dataField(path+".dataField", b.values["dataField"])
	return j
}

// dataField reads a path, or {"path", "delimiter"}. What the reference calls
// empty is no dataField.
func (d *decoder) dataField(path string, v any) *DataField {
	delimiter := "."
	if object, ok := value.Members(v); ok && len(object) == 0 {
		return nil
	} else if ok {
		b := d.block(path, object, dataFieldFields)
		v = b.values["path"]
		if b.text("delimiter") != "" {
			delimiter = b.text("delimiter")
		}
	}
	text, ok := value.Text(v)
	if _, flag := v.(bool); v != nil && (!ok || flag) {
		d.faults.Errorf(diag.Value(path), "want a path, got %s", found(v)).WithHint("write a path like data.items, or . for the whole response")
		return nil
	}
	if text == "" {
		return nil
	}
	return &DataField{Keys: splitBy(text, delimiter), Text: text}
}

// splitBy splits a path at a delimiter of the user's; the path that is the
// delimiter itself is the root.
func splitBy(path, delimiter string) []string {
	if path == delimiter {
		return nil
	}
	if delimiter == "." {
		return SplitPath(path)
	}
	return strings.Split(path, delimiter)
}

// headers reads header values, which are scalars, over those already there.
func (d *decoder) headers(path string, object Object, headers *Object, secret *[]string) {
	for _, m := range object {
		inner := diag.Join(path, m.Name)
		name, hidden := strings.CutPrefix(m.Name, "#")
		text, ok := d.secret(inner, m.Value, hidden)
		if !ok {
			continue
		}
		if hidden {
			*secret = append(*secret, name)
		}
		*headers = headers.With(name, text)
	}
}

// params reads parameters; a `#` before a name makes its value a secret, at any
// depth.
func (d *decoder) params(path string, object Object) Object {
	if object == nil {
		return nil
	}
	out := make(Object, 0, len(object))
	for _, m := range object {
		out = append(out, d.param(diag.Join(path, m.Name), m))
	}
	return out
}

// functionKeys mark the reference's user functions in a parameter's place.
var functionKeys = []string{"function", "attr", "time", "date"}

func (d *decoder) param(path string, m Member) Member {
	if name, hidden := strings.CutPrefix(m.Name, "#"); hidden {
		text, _ := d.secret(path, m.Value, true)
		return Member{Name: name, Value: text}
	}
	if object, ok := value.Members(m.Value); ok {
		if len(object) > 0 && slices.Contains(functionKeys, object[0].Name) {
			d.faults.Errorf(diag.Value(path), "functions as parameters are not supported yet").WithHint("write the value itself")
		}
		return Member{Name: m.Name, Value: d.params(path, object)}
	}
	return m
}

// secret reads a scalar as text, or the environment's value where the
// configuration says {"env": "NAME"}. With hidden, or from the environment, it
// is kept out of all that is printed.
func (d *decoder) secret(path string, v any, hidden bool) (string, bool) {
	text, ok := value.Text(v)
	if object, isObject := value.Members(v); isObject {
		name, _ := object.Get("env")
		variable, isText := name.(string)
		if !isText || len(object) != 1 {
			d.faults.Errorf(diag.Value(path), `want a string or {"env": "NAME"}, got an object`)
			return "", false
		}
		if d.env != nil {
			text, ok = d.env(variable)
		}
		if !ok {
			d.faults.Errorf(diag.Value(path), "the environment variable %s is not passed to this configuration", variable).
				WithHint(fmt.Sprintf("set it, and pass it on with --env %s", variable))
			return "", false
		}
		hidden = true
	}
	if !ok {
		d.faults.Errorf(diag.Value(path), `want a string or {"env": "NAME"}, got %s`, found(v))
		return "", false
	}
	if hidden && text != "" {
		d.cfg.Secrets = append(d.cfg.Secrets, text)
	}
	return text, true
}

var authTypes = []string{"basic", "bearer", "header", "query"}

// authNeeds says which fields each type of authentication needs.
var authNeeds = map[string][]string{
	"basic": {"username", "#password"}, "bearer": {"#token"},
	"header": {"name", "#value"}, "query": {"name", "#value"},
}

func (d *decoder) authentication(b block, config block) {
	kind := b.text("type")
	needs, ok := authNeeds[kind]
	if !ok {
		if b.has("type") {
			d.faults.Errorf(diag.Value(b.path+".type"), "no authentication of type %q; there are %s", kind, strings.Join(authTypes, ", ")).
				WithHint(diag.DidYouMean(kind, authTypes))
		}
		return
	}
	auth := &Auth{Type: kind}
	for _, name := range needs {
		plain, hidden := strings.CutPrefix(name, "#")
		text, written := d.credential(b, name, plain, hidden)
		if !written && kind == "basic" {
			text, written = d.credential(config, name, plain, hidden)
		}
		if !written {
			d.faults.Errorf(diag.Value(b.path), "authentication of type %s needs %s", kind, name)
			continue
		}
		switch plain {
		case "username":
			auth.Username = text
		case "name":
			auth.Name = text
		default:
			auth.Secret = text
		}
	}
	d.cfg.Auth = auth
}

// credential reads name, or its plain spelling, which draws a warning when the
// value should be hidden. It reports whether either is written; what is wrong
// with the value has been reported then.
func (d *decoder) credential(b block, name, plain string, hidden bool) (string, bool) {
	for _, key := range []string{name, plain} {
		if !b.has(key) {
			continue
		}
		path := diag.Join(b.path, key)
		if hidden && key == plain {
			if _, isText := b.values[key].(string); isText {
				d.faults.Warnf(diag.Key(path), "a secret under a plain key").WithHint(fmt.Sprintf("write it as %q, or as {\"env\": \"NAME\"}", name))
			}
		}
		text, _ := d.secret(path, b.values[key], hidden)
		return text, true
	}
	return "", false
}
