package compile

import (
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// Message is a text with expressions in braces.
type Message struct {
	text  []string               // the texts before, between and after the holes
	holes []*language.Expression // the expressions in braces
}

// message compiles the expressions in a rule's message. Braces that hold no
// expression are text, and so are all after [rules.MaxHoles].
func (c *compilation) message(rule rules.Rule) *Message {
	key := messageKey{c.set.Path, rule.ID, rule.Message, rule.Role, strings.Join(c.set.ForNames, ","), strings.Join(c.set.KeptNames, ",")}
	m := c.messages[key]
	if m == nil {
		m = c.newMessage(rule)
		c.messages[key] = m
	}
	return m
}

// A messageKey holds everything on which a message depends. Jobs that page in the same way share
// their messages.
type messageKey struct {
	path, id, text      string
	role                rules.Role
	forNames, keptNames string // names that expressions of the message may read
}

func (c *compilation) newMessage(rule rules.Rule) *Message {
	m := &Message{}
	text, rest := "", rule.Message
	for range rules.MaxHoles {
		before, after, found := strings.Cut(rest, "{")
		text += before
		rest = after
		if !found {
			break
		}
		hole, tail := c.hole(rule, after)
		if hole == nil {
			text, rest = text+"{", after
			continue
		}
		m.text, m.holes = append(m.text, text), append(m.holes, hole)
		text, rest = "", tail
	}
	m.text = append(m.text, text+rest)
	return m
}

// hole compiles the expression that a text begins with, up to the closing brace,
// and returns it with the rest of the text. It returns nil if the text begins with no expression.
func (c *compilation) hole(rule rules.Rule, text string) (*language.Expression, string) {
	source, tail, closed := strings.Cut(text, "}")
	if !closed {
		return nil, text
	}
	// The role of a parameter allows any value. The scope is that of the rule.
	hole, err := c.expression(rules.Rule{ID: rule.ID, Role: rules.RoleParam, Source: source}, rule.Role.Scope())
	if err != nil {
		return nil, text
	}
	return hole, tail
}

// usualBytes is the room for a message: few are longer.
const usualBytes = 128

// Text returns the message for a page.
func (m *Message) Text(machine *language.Machine, c *rules.Context) string {
	var b strings.Builder
	b.Grow(usualBytes)
	for i, text := range m.text {
		b.WriteString(text)
		if i < len(m.holes) {
			b.WriteString(m.holes[i].Show(machine, c))
		}
	}
	return b.String()
}
