package jinja

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// The limits of a template. Longer or deeper ones are refused.
const (
	maxTemplate = 16 << 10
	maxNesting  = 60
	maxTokens   = 4000
)

// conditional is the name of the call that takes the place of "a if c else b", with the arguments
// c, a and b.
const conditional = "__if__"

// stringMark begins the value of a token that stands for a string, by its index.
const stringMark = "\x01"

// A template is a parsed template, with its strings.
type template struct {
	nodes   []nodes.Node
	strings []string
}

// parse parses a template. The parser of the library knows conditional expressions only at the top of an
// output, and reads the backslashes of Python's strings as Go does. So, before the parser sees them, a
// conditional expression becomes a call, and a string becomes the index of its value.
func parse(text string) (_ *template, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the template cannot be parsed: %v", reason)
		}
	}()
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("the template has more than %d bytes", maxTemplate)
	}
	cfg := config.New()
	stream := tokens.LexAll(text, cfg)
	t := &template{}
	var list []*tokens.Token
	nesting := 0
	for !stream.End() {
		token := stream.Next()
		switch token.Type {
		case tokens.String:
			token.Val = t.keep(token.Val)
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace, tokens.BlockBegin, tokens.Not, tokens.Subtraction:
			nesting++
		}
		list = append(list, token)
		if nesting > maxNesting*4 || len(list) > maxTokens {
			return nil, errors.New("the template is too complex")
		}
	}
	if stream.IsError() {
		return nil, errors.New(stream.Current().Val)
	}
	list, err = conditionals(list)
	if err != nil {
		return nil, err
	}
	p := parser.NewParser("template", tokens.NewStream(list), cfg, nil, structures{})
	parsed, err := p.Parse()
	if err != nil {
		return nil, err
	}
	t.nodes = parsed.Nodes
	return t, nil
}

// keep keeps the value of a string, and returns the text that stands for it.
func (t *template) keep(raw string) string {
	t.strings = append(t.strings, unescape(raw))
	return fmt.Sprintf("%s%d", stringMark, len(t.strings)-1)
}

// text returns the value of a string.
func (t *template) text(n *nodes.String) string {
	var i int
	if _, err := fmt.Sscanf(n.Val, stringMark+"%d", &i); err != nil || i >= len(t.strings) {
		return n.Val
	}
	return t.strings[i]
}

// unescape replaces the escapes of Python. An unknown escape stays.
func unescape(raw string) string {
	known := map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '\'': "'", '"': `"`}
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			if text, ok := known[raw[i+1]]; ok {
				b.WriteString(text)
				i++
				continue
			}
		}
		b.WriteByte(raw[i])
	}
	return b.String()
}

// conditionals replaces the conditional expressions in tokens by calls.
func conditionals(list []*tokens.Token) ([]*tokens.Token, error) {
	var out []*tokens.Token
	for i := 0; i < len(list); {
		token := list[i]
		out = append(out, token)
		i++
		end := tokens.VariableEnd
		switch token.Type {
		case tokens.VariableBegin:
		case tokens.BlockBegin:
			end = tokens.BlockEnd
			if i < len(list) { // if, elif, set, for
				out = append(out, list[i])
				i++
			}
		default:
			continue
		}
		inner, used, err := sequence(list[i:], end, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
		i += used
	}
	return out, nil
}

var closing = map[tokens.Type]tokens.Type{
	tokens.LeftParenthesis: tokens.RightParenthesis, tokens.LeftBracket: tokens.RightBracket, tokens.LeftBrace: tokens.RightBrace,
}

// sequence reads expressions with separators between them, up to a token that it leaves.
func sequence(list []*tokens.Token, end tokens.Type, depth int) (out []*tokens.Token, used int, err error) {
	if depth > maxNesting {
		return nil, 0, errors.New("the template is nested too deeply")
	}
	begin := 0 // of the expression in out
	finish := func() { out = append(out[:begin:begin], chosen(out[begin:])...) }
	for used < len(list) {
		token := list[used]
		if token.Type == end {
			finish()
			return out, used, nil
		}
		used++
		switch token.Type {
		case tokens.Comma, tokens.Assign, tokens.Colon:
			finish()
			out = append(out, token)
			begin = len(out)
			continue
		}
		out = append(out, token)
		if last, opens := closing[token.Type]; opens {
			inner, n, err := sequence(list[used:], last, depth+1)
			if err != nil {
				return nil, 0, err
			}
			out = append(out, inner...)
			used += n
			if used < len(list) {
				out = append(out, list[used])
				used++
			}
		}
	}
	finish()
	return out, used, nil
}

// chosen writes "a if c else b" as a call. Expressions in brackets have been written already.
func chosen(list []*tokens.Token) []*tokens.Token {
	depth, at, other := 0, -1, -1
	for i, token := range list {
		switch token.Type {
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			depth++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			depth--
		}
		if depth > 0 || token.Type != tokens.Name {
			continue
		}
		if token.Val == "if" && at < 0 {
			at = i
		} else if token.Val == "else" && at >= 0 && other < 0 {
			other = i
		}
	}
	if at < 0 {
		return list
	}
	condition, rest := list[at+1:], []*tokens.Token(nil)
	if other >= 0 {
		condition, rest = list[at+1:other], chosen(list[other+1:])
	}
	token := func(kind tokens.Type, text string) *tokens.Token {
		return &tokens.Token{Type: kind, Val: text, Pos: list[at].Pos, Line: list[at].Line, Col: list[at].Col}
	}
	out := []*tokens.Token{token(tokens.Name, conditional), token(tokens.LeftParenthesis, "(")}
	out = append(append(out, condition...), token(tokens.Comma, ","))
	out = append(out, list[:at]...)
	if rest != nil {
		out = append(append(out, token(tokens.Comma, ",")), rest...)
	}
	return append(out, token(tokens.RightParenthesis, ")"))
}

// structures are the statements that are translated: if and set.
type structures struct{}

// Get returns the parser of a statement.
func (structures) Get(name string) (parser.ControlStructureParser, bool) {
	switch name {
	case "if":
		return parseIf, true
	case "set":
		return parseSet, true
	}
	return nil, false
}

// ifNode is the statement if: the body of the first condition that is true. A last body without a condition
// belongs to else.
type ifNode struct {
	location   *tokens.Token
	conditions []nodes.Expression
	bodies     []*nodes.Wrapper
}

func (n *ifNode) Position() *tokens.Token { return n.location }
func (n *ifNode) String() string          { return "if" }

func parseIf(p, args *parser.Parser) (nodes.ControlStructure, error) {
	n := &ifNode{location: p.Current()}
	condition, err := args.ParseExpression()
	if err != nil {
		return nil, err
	}
	n.conditions = append(n.conditions, condition)
	for {
		body, rest, err := p.WrapUntil("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		n.bodies = append(n.bodies, body)
		switch body.EndTag {
		case "endif":
			return n, nil
		case "elif":
			condition, err := rest.ParseExpression()
			if err != nil {
				return nil, err
			}
			n.conditions = append(n.conditions, condition)
		}
		if len(n.bodies) > maxNesting {
			return nil, errors.New("too many branches")
		}
	}
}

// setNode is the statement set.
type setNode struct {
	location *tokens.Token
	name     string
	value    nodes.Expression
}

func (n *setNode) Position() *tokens.Token { return n.location }
func (n *setNode) String() string          { return "set" }

func parseSet(_, args *parser.Parser) (nodes.ControlStructure, error) {
	name := args.Match(tokens.Name)
	if name == nil || args.Match(tokens.Assign) == nil {
		return nil, errors.New("want set NAME = VALUE")
	}
	v, err := args.ParseExpression()
	if err != nil {
		return nil, err
	}
	return &setNode{name, name.Val, v}, nil
}
