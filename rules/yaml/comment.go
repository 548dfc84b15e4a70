package yaml

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A Comment is about a value of a YAML text.
type Comment struct {
	Path string // config path of the value; "" is the whole text
	Text string // without a mark; it is wrapped

	// Last puts the comment at the end of the object that it is about, instead of above its
	// key: it is about something that the object does not have.
	Last bool
}

// Mark begins the lines of the comments that [Annotate] adds.
const Mark = "#:"

// Annotate adds comments to a YAML text, which keeps its own. Their lines begin with [Mark] and
// have at most width characters, as far as their words allow it. A comment about a value that
// does not begin a line is above the line, and begins with the path of the value, relative to
// the value that begins the line. Lines that an earlier call added are removed. [Parse] must
// accept the text; otherwise its error is returned. Parse reads the result as the same values: if
// comments within the text would change them, all are above it. A result that is too large to be
// read is refused with [ErrTooLarge].
func Annotate(text string, comments []Comment, width int) (string, error) {
	text = withoutMarked(text)
	source := diag.NewSource("", text)
	before, err := Parse(source)
	if err != nil {
		return "", err
	}
	for _, place := range []func(*annotator, Comment){(*annotator).add, (*annotator).above} {
		a := &annotator{source: source}
		for _, c := range comments {
			place(a, c)
		}
		out := a.insert(width)
		if len(out) > rules.MaxConfigBytes {
			return "", fmt.Errorf("%w: %d bytes, and the limit is %d", ErrTooLarge, len(out), rules.MaxConfigBytes)
		}
		if after, err := Parse(diag.NewSource("", out)); err == nil && reflect.DeepEqual(before, after) {
			return out, nil
		}
	}
	return "", errNoComments
}

// ErrTooLarge is the error for a text that would be too large a configuration with the comments.
var ErrTooLarge = errors.New("the configuration would be too large with comments")

// errNoComments is the error for a text that cannot have a comment above it.
var errNoComments = errors.New("comments would change how this YAML is read")

// markedLines matches the lines of comments that follow each other.
var markedLines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(^[ \t]*` + Mark + `.*(\r?\n|\z))+`) })

// withoutMarked returns a text without the lines of an earlier call, unless they are part of a
// value.
func withoutMarked(text string) string {
	before, err := Parse(diag.NewSource("", text))
	if err != nil {
		return text
	}
	isKey := func(bare string) bool {
		after, err := Parse(diag.NewSource("", bare))
		return err == nil && reflect.DeepEqual(before, after)
	}
	if bare := markedLines().ReplaceAllString(text, ""); isKey(bare) {
		return bare
	}
	found := markedLines().FindAllStringIndex(text, -1)
	for _, at := range slices.Backward(found[:min(len(found), maxMarked)]) { // some are part of a value
		if bare := text[:at[0]] + text[at[1]:]; isKey(bare) {
			text = bare
		}
	}
	return text
}

// maxMarked is how many comments are looked at one by one.
const maxMarked = 1000

// annotator collects the lines to insert, by the offset of the line that they precede.
type annotator struct {
	source *diag.Source
	added  []insertion
}

// An insertion is a comment at its place.
type insertion struct {
	at, indent int
	text       string
	last       bool // it belongs to the object before it
}

// rank orders insertions at one place: those at the ends of objects come before the rest, and
// those of inner objects before those of outer ones.
func (i insertion) rank() int {
	if i.last {
		return -i.indent - 1
	}
	return 0
}

// beginning matches what may precede a key in its line.
var beginning = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^( *)((?:[-?][ ]+)*)$`) })

// add finds the place of a comment.
func (a *annotator) add(c Comment) {
	if c.Last {
		if at, indent, ok := a.end(c.Path); ok {
			a.added = append(a.added, insertion{at, indent, c.Text, true})
			return
		}
	}
	for path := c.Path; path != ""; path = diag.Parent(path) {
		if !a.source.Has(path) {
			continue
		}
		key := a.source.KeyAt(path)
		start := a.lineOf(key)
		if m := beginning().FindStringSubmatch(a.source.Text[start:key]); m != nil && !a.inAlias(path) {
			text := c.Text
			if rest := strings.TrimPrefix(c.Path, path); rest != "" {
				if rest[0] == '[' { // the value is an element of the list that begins the line
					rest = path[strings.LastIndexByte(path, '.')+1:] + rest
				}
				text = strings.TrimPrefix(rest, ".") + ": " + text
			}
			a.added = append(a.added, insertion{start, len(m[1]), text, false})
			return
		}
	}
	a.above(c)
}

// above puts a comment above the whole text.
func (a *annotator) above(c Comment) {
	text := c.Text
	if c.Path != "" {
		text = c.Path + ": " + text
	}
	a.added = append(a.added, insertion{a.top(), 0, text, false})
}

// inAlias reports whether a value is reached through an alias, so that its text is elsewhere, at
// the anchor.
func (a *annotator) inAlias(path string) bool {
	at := a.source.ValueAt(path)
	for path = diag.Parent(path); path != ""; path = diag.Parent(path) {
		if outer := a.source.ValueAt(path); outer > at {
			return true
		}
	}
	return false
}

// top is the place of comments about the whole text: before all else.
func (a *annotator) top() int {
	if strings.HasPrefix(a.source.Text, string(byteOrderMark)) {
		return len(string(byteOrderMark))
	}
	return 0
}

// lineOf returns the offset at which the line of an offset begins.
func (a *annotator) lineOf(offset int) int {
	return strings.LastIndexByte(a.source.Text[:offset], '\n') + 1
}

// end returns the place after the last line of an object whose first key begins a line.
func (a *annotator) end(path string) (after, indent int, ok bool) {
	first := a.source.ValueAt(path)
	if !a.source.Has(path) || a.inAlias(path) {
		return 0, 0, false
	}
	start := a.lineOf(first)
	if first == len(a.source.Text) || beginning().FindStringIndex(a.source.Text[start:first]) == nil ||
		strings.IndexByte("{[*\"'|>", a.source.Text[first]) >= 0 {
		return 0, 0, false
	}
	indent = utf8.RuneCountInString(a.source.Text[start:first])
	end, next := start, start
	for line := range strings.Lines(a.source.Text[start:]) {
		next += len(line)
		content := strings.TrimLeft(line, " ")
		switch depth := len(line) - len(content); {
		case end == start:
			end = next
		case strings.TrimSpace(content) == "":
		case strings.HasPrefix(line, "...") || strings.HasPrefix(line, "---"):
			return end, indent, true
		case depth >= indent:
			end = next
		case content[0] != '#':
			return end, indent, true
		}
	}
	return end, indent, true
}

// insert returns the text with the comments.
func (a *annotator) insert(width int) string {
	slices.SortStableFunc(a.added, func(x, y insertion) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.rank(), y.rank()))
	})
	b := &strings.Builder{}
	last := 0
	for _, in := range a.added {
		b.WriteString(a.source.Text[last:in.at])
		last = in.at
		if s := b.String(); s != "" && in.at > a.top() && !strings.HasSuffix(s, "\n") {
			b.WriteString("\n")
		}
		for i, line := range wording.Wrap(printableLine(in.text), width-in.indent-len(Mark)-3) {
			gap := " "
			if i > 0 {
				gap = "   "
			}
			b.WriteString(strings.TrimRight(strings.Repeat(" ", in.indent)+Mark+gap+line, " ") + "\n")
		}
	}
	b.WriteString(a.source.Text[last:])
	return b.String()
}

// printableLine returns a text on one line, without characters that no comment may have.
func printableLine(text string) string {
	clean := func(r rune) rune {
		if _, problem, _ := unreadable(string(r)); problem != "" || r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}
	return strings.Join(strings.Fields(strings.Map(clean, text)), " ")
}
