package botocore

import (
	"fmt"
	"strconv"
	"strings"
)

// A query is an expression of JMESPath as paginators have them: alternatives of paths.
//
//	NextMarker || Contents[-1].Key
type query []path

// A path is the steps from the root of a response to a value.
type path []step

// A step is the name of a member, an index of a list, or all elements of a list.
type step struct {
	name  string
	index int
	kind  stepKind
}

type stepKind int

const (
	member stepKind = iota
	element
	each
)

// parseQuery parses an expression. It knows names, quoted names, indexes, [] and [*], and
// alternatives; filters, functions and the like are errors.
func parseQuery(text string) (query, error) {
	p := &queryParser{text: text}
	var out query
	for {
		one, err := p.path()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, one)
		p.space()
		if p.rest() == "" {
			return out, nil
		}
		if !p.take("||") {
			return nil, fmt.Errorf("%q: %q is not supported; a path such as List[-1].Key, and alternatives after || are", text, p.rest())
		}
	}
}

type queryParser struct {
	text string
	at   int
}

func (p *queryParser) rest() string { return p.text[p.at:] }

func (p *queryParser) space() {
	p.at = len(p.text) - len(strings.TrimLeft(p.rest(), " \t\r\n"))
}

func (p *queryParser) take(token string) bool {
	if !strings.HasPrefix(p.rest(), token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *queryParser) path() (path, error) {
	p.space()
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	out := path{{name: name}}
	for {
		switch {
		case p.take("."):
			name, err := p.name()
			if err != nil {
				return nil, err
			}
			out = append(out, step{name: name})
		case p.take("[]"), p.take("[*]"):
			out = append(out, step{kind: each})
		case p.take("["):
			digits, _, closed := strings.Cut(p.rest(), "]")
			i, err := strconv.Atoi(digits)
			if err != nil || !closed {
				return nil, fmt.Errorf("%q is not supported", "["+p.rest())
			}
			p.at += len(digits) + 1
			out = append(out, step{kind: element, index: i})
		default:
			return out, nil
		}
	}
}

// name reads an identifier, or a name in quotes.
func (p *queryParser) name() (string, error) {
	if p.take(`"`) {
		name, _, closed := strings.Cut(p.rest(), `"`)
		if !closed || name == "" || strings.Contains(name, `\`) {
			return "", fmt.Errorf("%q is not supported", `"`+p.rest())
		}
		p.at += len(name) + 1
		return name, nil
	}
	n := 0
	for i, c := range p.rest() {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			break
		}
		n = i + 1
	}
	if n == 0 {
		return "", fmt.Errorf("want the name of a member instead of %q", p.rest())
	}
	name := p.rest()[:n]
	p.at += n
	return name, nil
}

// prefixOf reports whether a path is the beginning of another one.
func (q path) prefixOf(other path) bool {
	if len(q) > len(other) {
		return false
	}
	for i, s := range q {
		if other[i] != s {
			return false
		}
	}
	return true
}
