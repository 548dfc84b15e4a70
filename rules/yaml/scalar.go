package yaml

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// Numbers of the core schema (YAML 1.2.2, section 10.3.2). The parser's own
// schema is older and wider: it has 0b1, 1_000 and an octal 017.
var (
	decimalForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?[0-9]+$`) })
	prefixForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`) })
	floatForm   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	})
	// ambiguousForm matches the numbers among these that often are identifiers, and would be sent in another spelling.
	ambiguousForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(0[ox].+|\+.+|-?0[0-9].*|-?\..+|.+\.([eE].*)?)$`)
	})
	noNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`) })
)

// scalar returns the value of a scalar. A tag !!str makes it the text as written. A number such as 0x1F, 007, .5 or 1.,
// without a tag, is refused: it may be an identifier whose spelling matters.
func (r *reader) scalar(node *yaml.Node, path string, offset int) (any, error) {
	text := restoreSurrogates(node.Value, node.Style&yaml.DoubleQuotedStyle != 0)
	if !isPlain(node) || isTagged(node) && node.Tag == "!!str" {
		return text, r.complete(node, text, path)
	}
	v, problem := plain(text)
	if problem != "" {
		return nil, r.fault(path, offset, "", "%s", problem)
	}
	if _, isText := v.(string); !isText && !isTagged(node) && ambiguousForm().MatchString(text) {
		number, _ := value.Text(v)
		return nil, r.fault(path, offset, "put it in quotes if it is text, or write "+wording.Clip(number, 40)+" if it is a number",
			"%s is read as the number %s", wording.Clip(text, 40), wording.Clip(number, 40))
	}
	return v, r.complete(node, v, path)
}

func isPlain(node *yaml.Node) bool {
	const others = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return node.Kind == yaml.ScalarNode && node.Style&others == 0
}

// plain returns the value of a plain scalar, or the problem with it.
func plain(text string) (v any, problem string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, ""
	case "true", "True", "TRUE":
		return true, ""
	case "false", "False", "FALSE":
		return false, ""
	}
	switch {
	case decimalForm().MatchString(text), prefixForm().MatchString(text):
		if err := value.CheckDigits(text); err != nil {
			return nil, err.Error()
		}
		return integer(text), ""
	case floatForm().MatchString(text):
		f, err := strconv.ParseFloat(text, 64)
		if err == nil {
			if json.Valid([]byte(text)) {
				return value.Spelled(json.Number(text)), ""
			}
			return f, ""
		}
		if json.Valid([]byte(text)) {
			return json.Number(text), "" // as the JSON reader does
		}
		return nil, "the number " + wording.Clip(text, 40) + " is too large"
	case noNumber().MatchString(text):
		return nil, "the number " + text + " is not supported; put it in quotes if it is text"
	}
	return text, ""
}

// integer keeps every digit, however long the integer is.
func integer(text string) any {
	base, digits := 10, text
	switch {
	case strings.HasPrefix(text, "0x"):
		base, digits = 16, text[2:]
	case strings.HasPrefix(text, "0o"):
		base, digits = 8, text[2:]
	}
	if i, err := strconv.ParseInt(digits, base, strconv.IntSize); err == nil {
		return int(i)
	}
	long, _ := new(big.Int).SetString(digits, base)
	return json.Number(long.String())
}

// coreTags are the tags of the core schema. Each function reports whether a value
// has the kind that the tag names.
var coreTags = map[string]func(v any) bool{
	"!!str":   is[string],
	"!!bool":  is[bool],
	"!!null":  func(v any) bool { return v == nil },
	"!!int":   func(v any) bool { return is[int](v) || is[json.Number](v) },
	"!!float": func(v any) bool { return is[float64](v) || is[int](v) || is[json.Number](v) },
	"!!seq":   is[[]any],
	"!!map":   is[rules.Object],
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// isTagged reports whether a node has a tag. The parser sets no style for the tag "!".
func isTagged(node *yaml.Node) bool { return node.Style&yaml.TaggedStyle != 0 || node.Tag == "!" }
