package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Decode reads a parsed configuration, with or without the outer `parameters`
// object. It reports all mistakes and warnings in order of position. [Config.Lower] reports
// the mistakes in pagination objects. The Config is usable if there are no errors.
func Decode(source *diag.Source, root any, options Options) (*Config, diag.Diagnostics) {
	diags := diag.NewCollector(source)
	cfg := &Config{Source: source, catalog: options.Catalog, pages: options.Pages}
	if cfg.catalog == nil {
		cfg.catalog = Builtin()
	}
	cfg.pagingDiags = diag.NewCollector(source)
	d := &decoder{reader: &reader{
		diags: diags, pagingDiags: cfg.pagingDiags, catalog: cfg.catalog, cfg: cfg,
		env: &environment{lookup: options.Env, placeholders: options.Placeholders, overridden: options.BaseURL},
	}}
	inner := d.parameters(root, options)
	if d.dialect = dialectOf(inner, options); d.dialect.Switches().ownForms {
		d.keboola, inner = d.keboolaConfigOf(inner)
	}
	d.root(inner)
	if d.keboola != nil {
		d.keboola.warnOfUnread()
	}
	cfg.Env, cfg.UnsetEnv, cfg.EnvPaths = d.env.names()
	d.applyOptions(options)
	if len(diags.Diagnostics().Errors()) == 0 { // otherwise a missing value would be reported twice
		cfg.finish(diags)
		if d.keboola != nil {
			d.keboola.checkFormats()
		}
	}
	return cfg, diags.Diagnostics()
}

// decoder fills a Config from settings.
type decoder struct {
	*reader
	keboola *keboolaConfig // nil in another dialect

	authorized any // authorization, next to parameters
}

// dialectOf returns the dialect of a configuration. It reports no mistakes, which are found later.
func dialectOf(root any, options Options) Dialect {
	object, _ := value.Members(root)
	api, _ := object.Get("api")
	members, _ := value.Members(api)
	written, _ := members.Get("dialect")
	text, _ := written.(string)
	return cmp.Or(options.Dialect, Dialect(text))
}

// applyOptions applies the options that override the configuration.
func (d *decoder) applyOptions(options Options) {
	if options.Dialect != "" {
		field, _ := fieldNamed(apiFields, "dialect")
		dialect, err := field.oneOf(string(options.Dialect))
		if err != nil {
			d.diags.Errorf(diag.Option(remedy.Dialect), "%v", err).WithNearest(string(options.Dialect), DialectNames())
		}
		d.cfg.Dialect = Dialect(dialect)
	}
	place := diag.Value(d.cfg.Path("api.baseUrl"))
	if options.BaseURL != "" {
		d.cfg.BaseURL, place = options.BaseURL, diag.Option(remedy.BaseURL)
	}
	if d.cfg.BaseURL != "" {
		if err := checkBaseURL(sampleBase(d.cfg.BaseURL)); err != nil {
			hint := "write it like https://api.example.com/v1/"
			if strings.HasPrefix(d.cfg.BaseURL, "{") {
				hint += ", or {+input.url} for an address that an input gives as a whole"
			}
			d.diags.Errorf(place, "%v", err).WithHint(hint)
		}
		d.cfg.checkBasePath(d.diags, place)
		d.extractUser(place)
	}
	d.cfg.base = requests.NewBase(d.cfg.BaseURL)
}

// parameters returns the object that holds api and config.
func (d *decoder) parameters(root any, options Options) any {
	object, _ := value.Members(root)
	inner, wrapped := object.Get("parameters")
	if !wrapped {
		return root
	}
	d.cfg.path = "parameters"
	d.authorized = object.Value("authorization")
	if dialectOf(inner, options).Switches().ownForms {
		object = object.Without("authorization")
	}
	for _, name := range object.Without("parameters").Without("$schema").Names() {
		if strings.HasPrefix(name, sharedPrefix) {
			continue
		}
		d.diags.Warnf(diag.Key(name), "%s next to parameters has no effect", name)
	}
	return inner
}

func (d *decoder) root(root any) {
	s := d.object(d.cfg.path, root, rootFields)
	c := d.cfg
	c.BaseURL, c.Dialect = s.get("api.baseUrl").text(), Dialect(s.get("api.dialect").text())
	d.warnOfAddressTemplate(s.get("api.baseUrl"))
	c.pagination = s.get("api.pagination").pagination()
	c.AllowedOrigins = s.get("api.allowedOrigins").texts()
	c.Debug = s.get("config.debug").flag()
	c.MaxPartitions = s.get("config.limits.partitions").number()
	api := s.inner("api")
	if d.keboola != nil {
		d.keboola.jobs(s)
	} else {
		list := s.get("config.jobs").list()
		c.Jobs = slices.Grow(c.Jobs, len(list))
		for _, element := range list {
			own, _ := element.settings()
			job := d.job(own, api)
			d.checkResponse(&job, own)
			c.Jobs = append(c.Jobs, job)
		}
	}
	c.Properties = properties(s, "", rootFields)
	d.checkTables(api)
	c.HTTP = d.http(s)
	c.Auth, c.TLS = d.authentication(s), d.certificates(s)
	for _, element := range s.get("inputs").list() {
		c.Inputs = append(c.Inputs, d.input(element))
	}
	for _, element := range s.get("tests").list() {
		test, _ := element.settings()
		c.Tests = append(c.Tests, d.test(element.path(), test))
	}
}

// A Property is a value of a configuration that becomes no rule.
type Property struct {
	Heading string // see [Field].Heading
	Path    string // without "parameters"
	Value   any
}

// properties returns the properties among the settings of an object, or of the objects in it.
func properties(s settings, path string, fields []Field) []Property {
	var list []Property
	for i := range fields {
		f := &fields[i]
		if f.Heading == "" && f.Kind != KindBlock {
			continue
		}
		switch fieldPath := diag.Join(path, f.Name); f.Kind {
		case KindBlock:
			list = append(list, properties(s, fieldPath, f.Fields)...)
		case KindList:
			texts := slices.Sorted(slices.Values(s.get(fieldPath).texts())) // their order does not matter
			list = append(list, Property{f.Heading, fieldPath, strings.Join(texts, ", ")})
		default:
			list = append(list, Property{f.Heading, fieldPath, s.get(fieldPath).Value})
		}
	}
	return list
}

// Object is an ordered JSON object; see package value.
type Object = value.Object

// Member is one name and value of an [Object].
type Member = value.Member
