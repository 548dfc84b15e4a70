package importer

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// The limits of a document in YAML.
const (
	maxDepth  = 200
	maxValues = 400_000 // aliases count as often as they are used
)

// ParseYAML reads YAML or JSON as the readers of YAML 1.1 do, in which yes and no are booleans.
// Objects are [value.Object], lists []any, numbers int or float64, and times texts. The document
// may have at most limit bytes; aliases that repeat too much are an error.
func ParseYAML(f File, limit int) (any, error) { return parseYAML(f, limit, scalar) }

// ParseCoreYAML is ParseYAML for readers of YAML 1.2, in which yes, no, on and off are texts, as are 1:30 and 1_000.
func ParseCoreYAML(f File, limit int) (any, error) { return parseYAML(f, limit, coreScalar) }

func parseYAML(f File, limit int, scalar func(*yaml.Node) any) (any, error) {
	if len(f.Text) > limit {
		return nil, fmt.Errorf("%s: the document has %s; the limit is %s", f.Name, wording.Size(len(f.Text)), wording.Size(limit))
	}
	if len(bytes.TrimSpace(f.Text)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty", f.Name)
	}
	if err := shallow(f.Text); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	var root yaml.Node
	err := yaml.Load(f.Text, &root)
	if e, ok := errors.AsType[*yaml.LoadError](err); ok && strings.HasPrefix(e.Message, "unknown anchor") { // its name may be a password
		err = fmt.Errorf("line %d, column %d: no anchor of this name is defined before this alias; put the value in quotes if it is text",
			e.Mark.Line, e.Mark.Column)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	d := &yamlReader{scalar: scalar, left: maxValues, open: map[*yaml.Node]bool{}}
	v, err := d.value(&root, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return v, nil
}

// shallow refuses a text whose brackets are nested too deeply for a parser that recurses.
func shallow(text []byte) error {
	depth := 0
	for _, c := range text {
		switch c {
		case '[', '{':
			if depth++; depth > 10*maxDepth {
				return errors.New("the document is nested too deeply")
			}
		case ']', '}', '\n':
			if c != '\n' {
				depth = max(depth-1, 0)
			}
		}
	}
	return nil
}

type yamlReader struct {
	scalar func(*yaml.Node) any
	left   int
	open   map[*yaml.Node]bool // the aliases that are being read
}

func (d *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if d.left--; d.left < 0 {
		return nil, fmt.Errorf("line %d: the document is too large, counting what its aliases repeat", n.Line)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: the document is nested too deeply", n.Line)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return d.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		if d.open[n.Alias] {
			return nil, fmt.Errorf("line %d: the alias %s contains itself", n.Line, n.Value)
		}
		d.open[n.Alias] = true
		defer delete(d.open, n.Alias)
		return d.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := []any{}
		for _, e := range n.Content {
			v, err := d.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		return d.object(n, depth)
	}
	return d.scalar(n), nil
}

// object reads an object with its merge keys, whose members do not replace others.
func (d *yamlReader) object(n *yaml.Node, depth int) (any, error) {
	out, index := value.Object{}, map[string]int{}
	var merges value.Object
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := d.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if key.Value == "<<" && key.Style == 0 {
			merges = append(merges, value.Member{Value: v})
			continue
		}
		if j, known := index[key.Value]; known {
			out[j].Value = v
			continue
		}
		index[key.Value] = len(out)
		out = append(out, value.Member{Name: key.Value, Value: v})
	}
	for _, m := range merges {
		list, isList := m.Value.([]any)
		if !isList {
			list = []any{m.Value}
		}
		for _, one := range list {
			members, _ := value.Members(one)
			for _, m := range members {
				if _, has := index[m.Name]; !has {
					index[m.Name] = len(out)
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

var (
	intForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*(:[0-5]?[0-9])*)$`)
	})
	floatForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?$`)
	})
)

// coreForm matches the texts that YAML 1.2 takes for other values as YAML 1.1 does, or nearly so.
var coreForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(|~|null|Null|NULL|true|True|TRUE|false|False|FALSE` +
		`|[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+|[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?)$`)
})

// coreScalar is scalar for YAML 1.2.
func coreScalar(n *yaml.Node) any {
	if !coreForm().MatchString(n.Value) {
		return n.Value
	}
	return scalar(n)
}

// scalar returns the value of a scalar. A text in quotes is a text.
func scalar(n *yaml.Node) any {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Tag == "!!str" &&
		n.Style&yaml.TaggedStyle != 0 {
		return n.Value
	}
	switch strings.ToLower(n.Value) {
	case "", "~", "null":
		return nil
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	digits := strings.ReplaceAll(n.Value, "_", "")
	if intForm().MatchString(n.Value) {
		if v, ok := integer(digits); ok {
			return v
		}
	}
	if floatForm().MatchString(n.Value) {
		if v, err := strconv.ParseFloat(digits, 64); err == nil {
			return v
		}
	}
	return n.Value
}

// integer reads an integer, which is octal after a 0. The digits between colons are to base 60: 1:30 is 90.
func integer(text string) (int, bool) {
	if !strings.Contains(text, ":") {
		v, err := strconv.ParseInt(text, 0, strconv.IntSize)
		return int(v), err == nil
	}
	v := 0
	for part := range strings.SplitSeq(strings.TrimLeft(text, "-+"), ":") {
		n, err := strconv.Atoi(part)
		if err != nil || v > math.MaxInt/60-1 {
			return 0, false
		}
		v = 60*v + n
	}
	if text[0] == '-' {
		v = -v
	}
	return v, true
}
