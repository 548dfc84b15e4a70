package rules

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// Templates and paths in the notation of other tools have no meaning here: a run would send them
// unchanged, or find nothing at a path. They are reported, with the form that has the meaning.

// placeholderPattern matches ${VAR}, {{ expression }}, and {kept.x} or {now()} in braces that are read in
// addresses only. The groups are the name of the variable and the expressions.
var placeholderPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_]\w*)\}|\{\{-?\s*([^{}]*?)\s*-?\}\}|` +
		`\{((?:[A-Za-z_]\w*\.)+\w+|(?:now|date)\([^{}]*\)[^{}]*)\}`)
})

// warnOfTemplate warns of a placeholder in a text that is sent as it is written. An expression may stand
// for the text if it is computable.
func (r *reader) warnOfTemplate(path string, v any, computable bool) {
	text, _ := v.(string)
	found := placeholderPattern().FindStringSubmatch(text)
	if found == nil || r.dialect.Switches().plainTexts {
		return
	}
	hint := `a computed value is written {"expr": "…"}`
	switch variable, template, inBraces := found[1], found[2], found[3]; {
	case variable != "":
		hint = fmt.Sprintf(`the value of an environment variable is written {"env": %q}`, variable)
	case !computable:
		hint = `write {"env": "NAME"}, or the value`
	case expressionOf(template) == "now()":
		hint = `write {"expr": "now()"}`
	case inBraces != "" && found[0] == text:
		hint = fmt.Sprintf(`write {"expr": %q}`, inBraces)
	}
	r.notReplaced(path, found[0]).WithHint(hint)
}

// bracesPattern matches the innermost braces with a text in them.
var bracesPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$?\{[^{}]+\}`) })

// warnOfBraces warns of braces in a text that no expression computes.
func (r *reader) warnOfBraces(s setting) {
	if found := bracesPattern().FindString(s.text()); found != "" && !r.dialect.Switches().plainTexts && !s.Default && !s.fromEnv {
		r.notReplaced(s.path(), found).WithHint(s.Name + " is the same in all requests")
	}
}

// templateInAddress matches an expression in doubled braces, which are braces in an address.
var templateInAddress = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{-?(\s+[^{}]+?\s+|[A-Za-z_]\w*(?:\.\w+)+)-?\}\}`)
})

// warnOfAddressTemplate warns of a template in an address, which has expressions in single braces.
func (r *reader) warnOfAddressTemplate(s setting) {
	if found := templateInAddress().FindStringSubmatch(s.text()); found != nil && !r.dialect.Switches().plainTexts && !s.fromEnv {
		r.diags.Warnf(diag.Value(s.path()), "%s is not replaced: doubled braces are braces in an address", found[0]).
			WithHint(fmt.Sprintf("write {%s}", expressionOf(found[1])))
	}
}

// expressionOf translates an expression in a template of another tool.
func expressionOf(template string) string {
	if template = strings.TrimSpace(template); template == "now" {
		return "now()"
	}
	return template
}

func (r *reader) notReplaced(path, found string) *diag.Diagnostic {
	return r.diags.Warnf(diag.Value(path), "%s is not replaced: the text is used as it is written", found)
}

// warnOfJSONPath warns of a path in JSONPath. A path of items may have stars.
func (r *reader) warnOfJSONPath(place, path string, stars bool) {
	if r.dialect.Switches().plainTexts || !jsonPathPattern().MatchString(path) {
		return
	}
	hint := "write keys with dots between them: a.b"
	if keys, ok := keysOfJSONPath(path, stars); ok {
		hint = "write " + keypath.Join(keys...)
	} else if !stars {
		hint += "; a path leads to one value"
	}
	r.diags.Warnf(diag.Value(place), "%s is read as keys with dots between them, not as JSONPath", path).WithHint(hint)
}

// jsonPathPattern matches a path that begins with $, or has an index or a filter in brackets.
var jsonPathPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(\.|\[|$)|\[(\d+|\*|\?.*|'[^']*'|"[^"]*")\]`) })

// jsonPathStep matches one step of a JSONPath that leads to a key, an element, or all of them.
var jsonPathStep = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\.?([^.\[\]*]+)|\.?\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]|(\.?\[\*\]|\.?\*))`)
})

// keysOfJSONPath returns the keys of a JSONPath as a path has them. It reports false if no path has
// its meaning. Stars at the end are left out: the items are the elements of the list.
func keysOfJSONPath(path string, stars bool) ([]string, bool) {
	rest := strings.TrimPrefix(path, "$")
	var keys []string
	for rest != "" {
		step := jsonPathStep().FindStringSubmatch(rest)
		switch {
		case step == nil, step[5] != "" && !stars:
			return nil, false
		case step[5] != "":
			keys = append(keys, "*")
		default:
			keys = append(keys, step[1]+step[2]+step[3]+step[4]) // only one group matched
		}
		rest = rest[len(step[0]):]
	}
	for len(keys) > 0 && keys[len(keys)-1] == "*" {
		keys = keys[:len(keys)-1]
	}
	return keys, true
}
