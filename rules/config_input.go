package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Input is a value that a configuration takes from each run, so that one compiled
// configuration serves many tenants. Expressions read it as input.<Name>.
type Input struct {
	Name     string
	Doc      string
	Default  any    // a scalar, or nil
	Optional bool   // without a value, it is nil
	Secret   bool   // it is never printed
	Pattern  string // a regular expression that the whole value must match; empty for any value
}

// Required reports whether each run must set the input.
func (in Input) Required() bool { return in.Default == nil && !in.Optional }

var inputFields = []Field{
	{Name: "doc", Kind: KindText, Doc: "what the input is for"},
	{Name: "default", Kind: KindAny, Env: true,
		Doc: "the value if a run does not set one; without a default, every run must set a value, unless the input is `optional`"},
	{Name: "optional", Kind: KindFlag, Default: false,
		Doc: "if true, a run need not set a value: without one, the input is nil, and a parameter that is nil is not sent"},
	{Name: "secret", Kind: KindFlag, Default: false, Doc: "if true, the value is never printed"},
	{Name: "pattern", Kind: KindText, Doc: "a regular expression that must match the complete value"},
}

// input reads one input.
func (d *decoder) input(s setting) Input {
	read, _ := s.settings()
	in := Input{
		Name: s.Name, Doc: read.get("doc").text(), Default: read.get("default").Value,
		Optional: read.get("optional").flag(), Secret: read.get("secret").flag(), Pattern: read.get("pattern").text(),
	}
	if !keypath.IsExpressionName(in.Name) {
		d.diags.Errorf(diag.Key(s.path()), "an input needs a name that expressions can use, such as tenant_id")
	}
	if _, err := in.regexp(); err != nil {
		d.diags.Errorf(diag.Value(read.get("pattern").path()), "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		in.Pattern = ""
	}
	if in.Default != nil {
		if err := in.check(in.Default); err != nil {
			d.diags.Errorf(diag.Value(read.get("default").path()), "%v", err)
		}
		if in.Optional {
			d.diags.Errorf(diag.Key(read.get("optional").path()), "an input with a default always has a value, so it is not optional").
				WithHint("remove optional, or the default")
		}
	}
	if text, ok := value.Text(in.Default); ok && in.Secret && text != "" {
		d.hide(text)
	}
	return in
}

// maxPattern is the length of the longest pattern, in bytes.
const maxPattern = 1000

// regexp returns the pattern of the whole value.
func (in Input) regexp() (*regexp.Regexp, error) {
	if in.Pattern == "" {
		return regexp.MustCompile(""), nil
	}
	if len(in.Pattern) > maxPattern {
		return nil, fmt.Errorf("want a pattern of at most %d bytes, got %d", maxPattern, len(in.Pattern))
	}
	if _, err := regexp.Compile(in.Pattern); err != nil { // names the pattern as it is written
		return nil, err
	}
	return regexp.Compile(`^(?:` + in.Pattern + `)$`)
}

// check describes the mistake in a value of the input.
func (in Input) check(v any) error {
	text, ok := value.Text(v)
	if !ok {
		return fmt.Errorf("want text, a number or a boolean, got %s", describe(v))
	}
	if pattern, err := in.regexp(); err != nil || !pattern.MatchString(text) {
		if in.Secret {
			return fmt.Errorf("the value does not match the pattern %s", in.Pattern)
		}
		return fmt.Errorf("%s does not match the pattern %s", value.Preview(v), in.Pattern)
	}
	return nil
}

// InputPath returns the path of diagnostics about the value of an input.
func InputPath(name string) string { return "input " + name }

// BindInputs returns the inputs of a run: the values that are given, and the
// defaults of the others. The diagnostics name all inputs that are unknown,
// invalid or missing; the values include the invalid ones.
func (c *Config) BindInputs(given map[string]any) (map[string]any, diag.Diagnostics) {
	found := diag.NewCollector(nil)
	var names []string
	values := map[string]any{}
	for _, in := range c.Inputs {
		names = append(names, in.Name)
		v, ok := given[in.Name]
		place := diag.Outside(InputPath(in.Name))
		switch {
		case !ok && in.Required():
			in.propose(found.Errorf(place, "not set"))
		case !ok && !in.Optional:
			values[in.Name] = in.Default
		case !ok:
		default:
			if err := in.check(v); err != nil {
				found.Errorf(place, "%v", err)
			}
			values[in.Name] = in.likeDefault(v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			found.Errorf(diag.Outside(InputPath(name)), "the configuration does not declare it").WithNearest(name, names)
		}
	}
	return values, found.Diagnostics()
}

// likeDefault reads text as a number or a boolean if the default is a number or a boolean,
// because the command line has only text. A number is a text if the default is one.
func (in Input) likeDefault(v any) any {
	text, ok := v.(string)
	if !ok {
		_, ofText := in.Default.(string)
		if text, isScalar := value.Text(v); ofText && isScalar && v != true && v != false {
			return text
		}
		return v
	}
	switch in.Default.(type) {
	case bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case int, int64, float64, json.Number:
		if n, err := value.Number(json.Number(text)); err == nil && json.Valid([]byte(text)) {
			return n
		}
	}
	return v
}

// propose adds to a diagnostic how to set the input.
func (in Input) propose(d *diag.Diagnostic) {
	d.WithRemedy("set it with %s%s", remedy.InputValue.Of(in.Name), strings.TrimSuffix(": "+in.Doc, ": "))
}
