package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// Settings are the settings of [Options.Set]. They note which of them the source has.
type Settings struct {
	values map[string]string
	known  map[string]bool
}

// NewSettings returns the settings of options.
func NewSettings(o Options) *Settings { return &Settings{o.Set, map[string]bool{}} }

// Get returns the value of a setting that the source has. It reports false if it is not set.
func (s *Settings) Get(name string) (string, bool) {
	v, set := s.values[name]
	s.known[name] = true
	return v, set
}

// Unknown returns the first setting, by name, that was never asked for, so that the source does not have it.
// It reports false if all settings were asked for.
func (s *Settings) Unknown() (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		if !s.known[name] {
			return name, true
		}
	}
	return "", false
}

var (
	wordBegins = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])`) })
	notInInput = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })
)

// InputName converts a name to the form of input names: account_id for accountId.
func InputName(name string) string {
	name = strings.ToLower(wordBegins().ReplaceAllString(name, "${1}_$2"))
	name = strings.Trim(notInInput().ReplaceAllString(name, "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "value_" + name
	}
	return name
}

// FreeName returns a name that no input has: the given one or, if it is taken, one with a number after it.
func FreeName(inputs []Input, name string) string {
	free := name
	for i := 2; slices.ContainsFunc(inputs, func(in Input) bool { return in.Name == free }); i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	return free
}

// FirstSentence returns the first sentence of the first line of a description, as the documentation of
// an input has it: without its full stop, and with a small letter, unless it begins with an abbreviation.
func FirstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i]
	}
	text = strings.TrimSuffix(strings.ToValidUTF8(text, ""), ".")
	_, size := utf8.DecodeRuneInString(text)
	if rest := text[size:]; rest != "" && (rest[0] < 'A' || rest[0] > 'Z') {
		text = strings.ToLower(text[:size]) + rest
	}
	return wording.Clip(text, 100)
}

// Singular returns the singular of a word: order of orders, company of companies.
func Singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "ches"), strings.HasSuffix(word, "shes"):
		return strings.TrimSuffix(word, "es")
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && len(word) > 2:
		return strings.TrimSuffix(word, "s")
	}
	return word
}
