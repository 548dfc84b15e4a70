// Package annotate writes a configuration as YAML with comments on each of its parts: the rules that it has
// become, the effect of these rules in each job, and the defaults that are in force.
// The result is a configuration that compiles to the same rules.
package annotate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// Config is a configuration to annotate.
type Config struct {
	Name        string // file name; its ending says whether a text in JSON is converted
	Text        []byte
	Explanation *explain.Explanation
	Redact      func(string) string // replaces secrets in a text; nil if there are no secrets
	Catalog     *rules.Catalog      // if nil, [rules.Builtin]
	Width       int                 // columns of the comments, from 40 to 120; 0 is 100
}

const (
	defaultWidth = 100
	minWidth     = 40
	maxWidth     = 120
)

// YAML returns the configuration as YAML, with comments. A text in YAML keeps its order and its
// own comments; the comments of an earlier call are replaced. Values that are secrets are left
// out: {"env": "NAME"} takes their place, and names are the variables, in the order of their
// paths. The error names a value that cannot be written.
func YAML(c Config) (text []byte, names []string, err error) {
	a := &annotation{Config: c, variables: map[string]string{}, texts: map[string]string{}}
	if a.Catalog == nil {
		a.Catalog = rules.Builtin()
	}
	if a.Redact == nil {
		a.Redact = func(text string) string { return text }
	}
	a.Width = min(max(cmp.Or(a.Width, defaultWidth), minWidth), maxWidth)
	if err := a.prepare(); err != nil {
		return nil, nil, err
	}
	out, err := yaml.Annotate(a.text, append(a.head(), a.comments()...), a.Width)
	if err != nil {
		return nil, nil, err
	}
	return []byte(out), a.names(), nil
}

// annotation is the work on one configuration.
type annotation struct {
	Config
	text    string            // YAML, without secrets
	root    any               // the values of the text
	texts   map[string]string // the texts in root, by their config paths
	source  *diag.Source
	secrets []hiddenValue

	variables map[string]string // names by secrets
}

// prepare reads the configuration and leaves out its secrets. A text in JSON becomes YAML,
// unless its name says that it is YAML.
func (a *annotation) prepare() error {
	a.text = string(bytes.TrimPrefix(a.Text, []byte("\xef\xbb\xbf")))
	root, err := yaml.Parse(diag.NewSource(a.Name, a.text))
	if err != nil {
		return err
	}
	a.root = a.hide("", root)
	ending := strings.ToLower(filepath.Ext(a.Name))
	if json.Valid([]byte(a.text)) && ending != ".yaml" && ending != ".yml" {
		text, err := yaml.Format(a.root)
		if err != nil {
			return err
		}
		a.text = string(text)
	} else if a.text, err = a.withoutSecrets(a.text); err != nil {
		return err
	}
	a.source = diag.NewSource("", a.text)
	_, err = yaml.Parse(a.source)
	return err
}

// head are the comments on the whole configuration.
func (a *annotation) head() []yaml.Comment {
	text := fmt.Sprintf("The lines that begin with %s say what this configuration does (dialect %s). They have no effect; "+
		"stopwhen explain --annotate writes them, and replaces them when it is run again.", yaml.Mark, a.Explanation.Dialect)
	comments := []yaml.Comment{{Text: text}}
	if names := a.names(); names != nil {
		comments = append(comments, yaml.Comment{Text: "Values of secrets are left out: pass them with --env " + strings.Join(names, ",") + "."})
	}
	return comments
}

// comments returns the comments on the parts of the configuration. They say what a part does or,
// if nothing is known about that, what it is for.
func (a *annotation) comments() []yaml.Comment {
	var out []yaml.Comment
	said := map[string]bool{}
	for _, n := range a.Explanation.Notes(func(path string) string { return a.texts[path] }) {
		c := yaml.Comment{Path: n.Path, Text: a.Redact(n.Text), Last: n.Absent}
		for c.Last && c.Path != "" && !a.source.Has(c.Path) {
			c.Path = diag.Parent(c.Path)
		}
		out = append(out, c)
		said[n.Path] = said[n.Path] || !n.Absent
	}
	told := map[string]bool{}
	inEffect := a.Explanation.DefaultsInEffect()
	for _, s := range a.Catalog.ConfiguredKeys(a.root, a.Explanation.Dialect) {
		switch {
		case s.Written && s.Leaf && !said[s.Path] && !told[s.Doc] && s.Doc != "":
			told[s.Doc] = true
			out = append(out, yaml.Comment{Path: s.Path, Text: clause(s.Doc)})
		case !s.Written && inEffect(s.Path):
			out = append(out, a.byDefault(s, told[s.Doc]))
			told[s.Doc] = true
		}
	}
	return out
}

// byDefault returns the comment on a default, at the end of the nearest object that is written. told says
// whether another comment has explained the key.
func (a *annotation) byDefault(s rules.ConfiguredKey, told bool) yaml.Comment {
	parent := diag.Parent(s.Path)
	for parent != "" && !a.source.Has(parent) {
		parent = diag.Parent(parent)
	}
	text := fmt.Sprintf("%s: %s by default", strings.TrimPrefix(strings.TrimPrefix(s.Path, parent), "."), inline(s.Default))
	if !told {
		text += ": " + clause(s.Doc)
	}
	return yaml.Comment{Path: parent, Text: text, Last: true}
}

// clause returns the first clause of a description.
func clause(doc string) string {
	for _, end := range []string{"; ", ". "} {
		doc, _, _ = strings.Cut(doc, end)
	}
	return doc
}

// inline returns a value as it is written on one line.
func inline(v any) string {
	if list, ok := v.([]any); ok {
		var texts []string
		for _, e := range list {
			texts = append(texts, inline(e))
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// names returns the environment variables that take the place of secrets.
func (a *annotation) names() []string {
	var names []string
	for _, s := range a.secrets {
		if s.name != "" && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}
