package language

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// A mistake is a common mistake: something that is right in another language, or that
// looks right. The table of mistakes is searched when a source cannot be compiled, so
// that the message proposes the form that is meant.
type mistake struct {
	pattern string // a regular expression, in the source without its strings
	message string
	hint    string // $1 is the first group of the pattern
	instead string // what to write in the place of the first group or, without one, of the match; may be empty

	// near is set if a source with the mistake can be compiled, but does not mean what it seems to
	// mean. Every source is searched for such mistakes, so near has texts that can be found fast: a
	// source with the mistake contains one of them.
	near []string
}

// operand matches a name and the selectors after it, as in body.items[0].id.
const operand = `([A-Za-z_]\w*(?:\.\w+|\?\.\w+|\[[^\[\]]*\])*)`

// mistakes is the table of common mistakes. The first mistake that is found is reported.
var mistakes = []mistake{
	wrong(`\b((?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b`, "a date without quotes is a subtraction",
		`write "$1" to compare text, or date("$1") for a time`, "-0", "-1"),
	method(`length|size|count|len`, `\)`, "lists and strings have no functions of their own", "write len($1)"),
	wrong(operand+`\??\.length\b`, "lists and strings have no length of their own",
		`write len($1); for a key of an object write $1["length"]`, ".length"),
	method(`toLowerCase|lower`, `\)`, "strings have no functions of their own", "write lower($1)"),
	method(`toUpperCase|upper`, `\)`, "strings have no functions of their own", "write upper($1)"),
	method(`contains|includes|indexOf`, ``, "lists and strings have no functions of their own",
		`write $1 contains "text" for a string, and x in $1 for a list`),
	method(`startsWith|startswith|hasPrefix`, ``, "strings have no functions of their own", `write $1 startsWith "text"`),
	method(`endsWith|endswith|hasSuffix`, ``, "strings have no functions of their own", `write $1 endsWith "text"`),
	method(`map|filter|find|some|every|any|all|none|sort|join|split|trim|first|last|keys|values`, ``,
		"values have no functions of their own", "write $2($1, …); the element is #, and its keys begin with a dot: .id"),
	swap(`===`, "unknown operator ===", "==", ""),
	swap(`!==`, "unknown operator !==", "!=", ""),
	swap(`<>`, "unknown operator <>", "!=", ""),
	wrong(`=>`, "unknown operator =>",
		"write >= to compare; a predicate has no name for the element: filter(items, .id > 1), where # is the element itself"),
	wrong(`=~`, "unknown operator =~", `write matches and a string: x matches "^a"`),
	swap(`=<`, "unknown operator =<", "<=", ""),
	wrong(`\bmatches\s*(/)`, "a pattern is a string", `write it in quotes, without slashes: x matches "^a"`),
	wrong(`\+\+|--|[-+*/]=`, "an expression cannot change a value", "write x + 1; state keeps values from page to page"),
	wrong(`(?:^|[^=!<>])(=)(?:[^=]|$)`, "unknown operator =", "write == to compare, and let x = 1; at the beginning for a variable"),
	swap(`(?:^|[^&])(&)(?:[^&]|$)`, "unknown operator &", "and", ", or &&"),
	swap(`(?:^|[^|])(\|)(?:[^|]|$)`, "| passes a value to a function: items | len()", "or", ", or || for a choice of conditions"),
	wrong(`\bis\s+not\s+(?:null|nil|None|NULL|undefined)\b`, "unknown operator is not", "write != nil"),
	wrong(`\bis\s+(?:null|nil|None|NULL|undefined)\b`, "unknown operator is", "write == nil"),
	swap(`\bis\s+(not\s+)?`, "unknown operator is", "==", ", or != for is not"),
	word(`AND|And`, `\b`, "operator", "and", ", or &&"),
	word(`OR|Or`, `\b`, "operator", "or", ", or ||"),
	word(`NOT|Not`, `\b`, "operator", "not", ", or !"),
	word(`LIKE|like`, `\b`, "operator", "contains", `, or matches for a pattern: x matches "^a"`),
	word(`NULL|Null|Nil|NIL|None|undefined`, `\b`, "name", "nil", ""),
	word(`TRUE|True`, `\b`, "name", "true", ""),
	word(`FALSE|False`, `\b`, "name", "false", ""),
	word(`length|size|count_of|strlen`, `\(`, "function", "len", "(…)"),
	word(`exists|isset|defined|isDefined`, `\(`, "function", "", `has("a.b"), or body.a.b != nil`),
	word(`isEmpty|is_empty|isNull|is_null`, `\(`, "function", "empty", "(…), or len(…) == 0 for a list"),
	word(`parseInt|toInt|Number|Int`, `\(`, "function", "number", "(…)"),
	word(`str|String|toString|to_string`, `\(`, "function", "text", "(…)"),
	wrong(`\bitems\??\.(size|count|len)\b`, "items is a list, which has no key $1", "write count, the number of items"),
	wrong(`\bitems\??\.(isEmpty|empty|is_empty)\b`, "items is a list, which has no key $1", "write count == 0"),
	wrong(`\bitems\??\.(first|last)\b`, "items is a list, which has no key $1",
		"write items[-1] for the last item, and items[0] for the first"),
	wrong(`(?:^|[^.\w])page\.([A-Za-z_]\w*)`, "page is the number of the page, which has no key $1",
		"write body.page.$1 for a key of the response"),
	wrong(`(?:^|[^.\w])(total)\s*(?:[<>=!]|$)|[<>=]\s*total\s*(?:[^.\w\s\[]|$)`, "total has several numbers",
		"write total.items or total.pages for what was read, and body.total for a key of the response"),
	wrong(`(?:^|[^.\w])(headers?)\.([A-Za-z_]\w*)`, "header is a function", `write header("$2")`),
	wrong(`(?:^|[^.\w])(headers?)\[["'\x60]([^"'\x60]*)["'\x60]\]`, "header is a function", `write header("$2")`),
	wrong(`(?:^|[^.\w])(response|resp|res|json)\.([A-Za-z_]\w*)`, "unknown name $1", "write body.$2 for a key of the response"),
	wrong(`\b(typeof)\s`, "unknown operator typeof", `write type(…), which is "string" or "int", for example`),
	wrong(`\bitems\??\.([A-Za-z_]\w*)`, "items is a list, which has no key $1",
		"write items[-1].$1 for the last item, and map(items, .$1) for all items"),
	wrong(`(?:^|[^.\w])max\(items, ?["']([^"']*)["']`, "max takes no path",
		`write greatest(items, "$1"), or max(map(items, .$1))`, "max(items,"),
	wrong(`(?:^|[^.\w])min\(items, ?["']([^"']*)["']`, "min takes no path",
		`write least(items, "$1"), or min(map(items, .$1))`, "min(items,"),
	wrong(`\$\.([A-Za-z_][\w.]*)`, "unknown name $", `write body.$1, or jsonpath("$$.$1")`),
	wrong(`(\.)@`, "a key with @ is written in brackets", `write body["@odata.nextLink"]`),
	wrong(operand+`\.(\w+)-([A-Za-z_]\w*)`, "a dash is a subtraction", `write $1["$2-$3"] for a key with a dash`),
	wrong(`^\s*(\{)[^:]*\}\s*$`, "an expression is not written in braces", "leave out the braces"),
}

// wrong returns a mistake.
func wrong(pattern, message, hint string, near ...string) mistake {
	return mistake{pattern: pattern, message: message, hint: hint, near: near}
}

// swap returns the mistake of writing one thing instead of another. more is what the hint says after that.
func swap(pattern, message, instead, more string) mistake {
	m := wrong(pattern, message, "write "+instead+more)
	m.instead = instead
	return m
}

// method returns the mistake of calling a function on a value, as in x.len(). The names are separated
// by |, and the end is a pattern for the text after the parenthesis.
func method(names, end, message, hint string) mistake {
	m := wrong(operand+`\.(`+names+`)\(`+end, message, hint)
	for name := range strings.SplitSeq(names, "|") {
		m.near = append(m.near, "."+name+"(")
	}
	return m
}

// word returns the mistake of writing a word that does not exist, as in x AND y. The words are
// separated by |, the end is a pattern for the text after the word, and the kind names the thing
// that the user takes the word for. See [swap].
func word(words, end, kind, instead, more string) mistake {
	return swap(`(?:^|[^.\w])(`+words+`)`+end, "unknown "+kind+" $1", instead, more)
}

// mistakePatterns returns the patterns of the table. They are compiled when the first
// source needs them: most never do.
var mistakePatterns = sync.OnceValue(func() []*regexp.Regexp {
	return lists.Map(mistakes, func(m mistake) *regexp.Regexp { return regexp.MustCompile(m.pattern) })
})

// mistakeIn returns the reason why a source could not be compiled: the first common mistake in it, or
// the error itself.
func mistakeIn(source string, err error) error {
	s, to := findMistake(source, func(mistake) bool { return true })
	if s == nil {
		return err
	}
	if known, ok := errors.AsType[*Fault](err); ok && (known.at < s.at || known.at > to) && known.Hint != "" {
		return err // another mistake, which is explained
	}
	return s
}

// mayHave returns a function that reports whether a mistake may be in the source, although the source
// can be compiled.
func mayHave(source string) func(mistake) bool {
	return func(m mistake) bool {
		return slices.ContainsFunc(m.near, func(part string) bool { return strings.Contains(source, part) })
	}
}

// findMistake returns the first of the possible mistakes in a source, and where it ends, or nil.
func findMistake(source string, possible func(mistake) bool) (found *Fault, end int) {
	blank := ""
	for i, s := range mistakes {
		if !possible(s) {
			continue
		}
		if blank == "" {
			blank = masked(source)
		}
		pattern := mistakePatterns()[i]
		place := pattern.FindStringSubmatchIndex(blank)
		if place == nil {
			continue
		}
		start := place[0]
		if len(place) > 2 && place[2] >= 0 {
			start = place[2]
		}
		expand := func(template string) string { return string(pattern.ExpandString(nil, template, source, place)) }
		fault := &Fault{Message: expand(s.message), Hint: expand(s.hint), Instead: s.instead, at: len([]rune(source[:start]))}
		return fault, len([]rune(source[:place[1]]))
	}
	return nil, 0
}

// masked returns a source of the same length with spaces in place of the parts that may look like
// mistakes although they are correct: strings, comments, variables and pipes.
func masked(source string) string {
	return harmlessParts().ReplaceAllStringFunc(source, func(part string) string {
		if strings.ContainsAny(part[:1], "\"'`") {
			return part[:1] + strings.Repeat(" ", len(part)-2) + part[:1]
		}
		return strings.Repeat(" ", len(part))
	})
}

var harmlessParts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|` + "`[^`]*`" + // strings
		`|//[^\n]*|/\*.*?\*/` + // comments
		`|\blet\s+\w+\s*=` + // variables
		`|\|\|?\s*[A-Za-z_]\w*\s*\(`) // pipes
})
