package jinja

import (
	"errors"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/nodes"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// filtered translates a | b | c.
func (t *translator) filtered(n *nodes.FilteredExpression) (Expr, error) {
	e, err := t.expr(n.Expression)
	for _, f := range n.Filters {
		if err != nil {
			return Expr{}, err
		}
		var args []Expr
		if args, err = t.exprs(f.Args); err != nil {
			return Expr{}, err
		}
		named := map[string]Expr{}
		for _, name := range slices.Sorted(maps.Keys(f.Kwargs)) {
			if named[name], err = t.expr(f.Kwargs[name]); err != nil {
				return Expr{}, err
			}
		}
		e, err = filter(e, f.Name, args, named)
	}
	return e, err
}

// same are the filters that are functions here, with the kinds of their results.
var same = map[string]struct {
	name string
	kind Kind
	args int
}{
	"lower": {"lower", Text, 0}, "upper": {"upper", Text, 0}, "trim": {"trim", Text, 0}, "abs": {"abs", Number, 0}, "round": {"round",
		Number, 0},
	"sum": {"sum", Number, 0}, "sort": {"sort", List, 0}, "unique": {"uniq", List, 0}, "reverse": {"reverse", List, 0},
	"min": {"min", Any, 0}, "max": {"max", Any, 0}, "first": {"first", Any, 0}, "last": {"last", Any, 0},
	"startswith": {"hasPrefix", Bool, 1}, "endswith": {"hasSuffix", Bool, 1}, "split": {"split", List, 1},
	"base64encode": {"base64", Text, 0}, "urlencode": {"segment", Text, 0}, "tojson": {"toJSON", Text, 0}, "items": {"toPairs", List, 0},
	"removeprefix": {"trimPrefix", Text, 1}, "removesuffix": {"trimSuffix", Text, 1},
}

// filter translates a filter, or a method of a text that does the same.
func filter(e Expr, name string, args []Expr, named map[string]Expr) (Expr, error) {
	switch name {
	case "default", "d":
		return defaultFilter(e, args, named), nil
	case "string":
		return e.asText(), nil
	case "int":
		return integer(e), nil
	case "float":
		if e.Constant {
			return e, nil
		}
		return call("number", Number, e), nil
	case "bool":
		return e.True(), nil
	case "list", "safe":
		return e, nil
	case "escape", "e":
		if text, ok := e.asText().Const.(string); ok {
			return Literal(html.EscapeString(text)), nil
		}
	case "length", "count":
		return call("len", Number, e), nil
	case "join":
		return join(e, args)
	case "replace":
		if len(args) >= 2 {
			return call("replace", Text, e, args[0], args[1]), nil
		}
	case "hash":
		return hash(e, args)
	case "hmac":
		return hmac(e, args, named)
	case "base64decode":
		return call("fromBase64", Text, e), nil
	case "map":
		if attribute, ok := named["attribute"]; ok && attribute.Constant {
			return mapped(e, fmt.Sprint(attribute.Const))
		}
	case "regex_search":
		return regexSearch(e, args)
	case "rstrip", "lstrip":
		if len(args) == 1 {
			return stripped(e, args[0], name == "lstrip")
		}
	case "capitalize":
		if text, ok := e.Const.(string); ok {
			return Literal(wording.Capital(strings.ToLower(text))), nil
		}
	case "title":
		if text, ok := e.Const.(string); ok && !strings.ContainsFunc(text, isNeitherLetterNorSpace) {
			words := strings.Split(strings.ToLower(text), " ")
			return Literal(strings.Join(lists.Map(words, wording.Capital), " ")), nil
		}
	case "trim":
		if len(args) == 1 {
			return call("trim", Text, e, args[0]), nil
		}
	case "split":
		if len(args) == 0 {
			args = []Expr{Literal(" ")}
		}
	}
	return sameFilter(e, name, args)
}

// isNeitherLetterNorSpace reports whether the filter title and the method of this name may differ in
// the words that the character separates.
func isNeitherLetterNorSpace(r rune) bool { return r != ' ' && !unicode.IsLetter(r) }

// stripped removes all characters of a constant text from the end or, if left is true, from the beginning of e.
// The function trim removes them from both, so a character that is not among them protects the other end.
func stripped(e, chars Expr, left bool) (Expr, error) {
	set, ok := chars.Const.(string)
	if !ok {
		return Expr{}, errors.New("rstrip and lstrip with computed characters have no counterpart")
	}
	guard := strings.TrimLeft("|.x", set)
	if guard == "" {
		return Expr{}, fmt.Errorf("rstrip and lstrip of %s have no counterpart", value.Preview(set))
	}
	text, known := e.Const.(string)
	end := Literal(guard[:1])
	switch {
	case known && left:
		return Literal(strings.TrimLeft(text, set)), nil
	case known:
		return Literal(strings.TrimRight(text, set)), nil
	case left:
		return call("trimSuffix", Text, call("trim", Text, concat(e, end), chars), end), nil
	}
	return call("trimPrefix", Text, call("trim", Text, concat(end, e), chars), end), nil
}

// sameFilter translates a filter of the table.
func sameFilter(e Expr, name string, args []Expr) (Expr, error) {
	f, ok := same[name]
	if !ok || len(args) != f.args {
		return Expr{}, fmt.Errorf("the filter or method %s has no counterpart", name)
	}
	if f.kind == Bool {
		out := binary(map[string]string{"startswith": "startsWith", "endswith": "endsWith"}[name], precCompare, Bool, e, args[0])
		return out, nil
	}
	if f.kind == Text && e.Constant && len(args) == 0 {
		text, _ := e.Const.(string)
		switch name {
		case "lower":
			return Literal(strings.ToLower(text)), nil
		case "upper":
			return Literal(strings.ToUpper(text)), nil
		case "trim":
			return Literal(strings.TrimSpace(text)), nil
		}
	}
	out := call(f.name, f.kind, append([]Expr{e}, args...)...)
	if name == "tojson" {
		out.json = &e
	}
	return out, nil
}

func defaultFilter(e Expr, args []Expr, named map[string]Expr) Expr {
	other := Literal("")
	if v, ok := arg(args, named, 0, "default_value"); ok {
		other = v
	}
	always, ok := arg(args, named, 1, "boolean")
	if ok && always.Const == true {
		return or(e, other)
	}
	return Default(e, other)
}

func integer(e Expr) Expr {
	switch v := e.Const.(type) {
	case int:
		return e
	case float64:
		return Literal(int(v))
	case string:
		var n int
		if _, err := fmt.Sscanf(v, "%d", &n); err == nil {
			return Literal(n)
		}
	}
	if e.Kind == Number && !strings.Contains(e.Source, "/") {
		return e
	}
	if strings.Contains(e.Source, "/") && e.Kind == Number {
		return call("int", Number, e)
	}
	return call("number", Number, e)
}

func join(e Expr, args []Expr) (Expr, error) {
	glue := Literal("")
	if len(args) > 0 {
		glue = args[0]
	}
	if e.list != nil {
		out := Literal("")
		for i, element := range e.list {
			if i > 0 {
				out = concat(out, glue)
			}
			out = concat(out, element)
		}
		return out, nil
	}
	if inner, ok := strings.CutPrefix(e.Source, "split("); ok && glue.Const == "," {
		if text, ok := strings.CutSuffix(inner, ", ',')"); ok {
			out := Name(text, Text)
			out.Absent = e.Absent
			return out, nil
		}
	}
	return call("join", Text, e, glue), nil
}

func mapped(e Expr, attribute string) (Expr, error) {
	out := Expr{Source: "map(" + e.Source + ", ." + attribute + ")", Kind: List, Page: e.Page, prec: precMember}
	return out, nil
}

func hash(e Expr, args []Expr) (Expr, error) {
	name := "md5"
	if len(args) > 0 {
		name, _ = args[0].Const.(string)
	}
	switch name {
	case "md5", "sha1", "sha256", "sha512":
	default:
		return Expr{}, fmt.Errorf("the hash %s has no counterpart", name)
	}
	if len(args) > 1 {
		e = concat(e, args[1]) // the salt
	}
	return call("hex", Text, call(name, Any, e)), nil
}

func hmac(e Expr, args []Expr, named map[string]Expr) (Expr, error) {
	key, ok := arg(args, named, 0, "key")
	if !ok {
		return Expr{}, fmt.Errorf("the filter hmac needs a key")
	}
	algorithm, ok := arg(args, named, 1, "hash_type")
	if !ok {
		algorithm = Literal("sha256")
	}
	return call("hex", Text, call("hmac", Any, algorithm, key, e)), nil
}

// parameterPattern matches regular expressions that take a parameter out of an address.
var parameterPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(?:\(\?<=)?(?:\.\*\??)?(?:\[\?&\]|\[&\?\]|\(\?:\\\?\|&\)|\\\?|\?|&)?` + // what is before the name
			`([A-Za-z_\[\]\\]+)=\)?\(?(?:\[\^&(?:#|\\s|>|")*\]\+|\[\^&\]\*|\\d\+|\[0-9\]\+|\[\\w-\]\+|\\w\+|\.\*\??|\.\+)\)?(?:&.*)?\$?$`)
})

// regexSearch translates the search for a parameter of an address.
func regexSearch(e Expr, args []Expr) (Expr, error) {
	pattern, _ := Literal(nil).Const.(string)
	if len(args) > 0 {
		pattern, _ = args[0].Const.(string)
	}
	m := parameterPattern().FindStringSubmatch(pattern)
	if m == nil {
		return Expr{}, fmt.Errorf("the regular expression %s has no counterpart", pattern)
	}
	out := call("query", Text, e, Literal(strings.ReplaceAll(m[1], `\`, "")))
	out.Absent = true
	return out, nil
}
