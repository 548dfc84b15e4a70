package docs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// recipe is one row of the cookbook: an API, how it pages, and the configuration
// that extracts from it.
type recipe struct {
	number         int // 0: a complete configuration
	api, how       string
	method, config string
	file           string   // the case, relative to fixtures/cases
	notes          []string // of a complete configuration
	of             *fixtures.Case
}

// The folders of the cases: lists of single APIs, each with its number, and complete
// configurations.
const (
	zooFolder      = "zoo/"
	completeFolder = "cookbook/"
)

// recipeTable lists the APIs of the cookbook.
func recipeTable() (string, error) {
	recipes, err := loadRecipes(zooFolder)
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	b.WriteString("| # | API | how it pages | method |\n|--:|---|---|---|\n")
	for _, r := range recipes {
		fmt.Fprintf(b, "| %d | [%s](#%s) | %s | `%s` |\n", r.number, r.api, anchor(r.heading()), cell(r.how), r.method)
	}
	return b.String(), nil
}

// completeTable lists the APIs with complete configurations.
func completeTable() (string, error) {
	recipes, err := loadRecipes(completeFolder)
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	b.WriteString("| API | what the configuration extracts |\n|---|---|\n")
	for _, r := range recipes {
		fmt.Fprintf(b, "| [%s](#%s) | %s |\n", r.api, anchor(r.heading()), cell(r.how))
	}
	return b.String(), nil
}

// recipeSections shows the configuration of every API in a folder of cases.
func recipeSections(folder string) (string, error) {
	recipes, err := loadRecipes(folder)
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	for _, r := range recipes {
		how := strings.ToUpper(r.how[:1]) + r.how[1:]
		link := fmt.Sprintf("[%s](../fixtures/cases/%[1]s)", r.file)
		fmt.Fprintf(b, "\n## %s\n\n%s The case: %s.\n\n", r.heading(), how, link)
		for _, note := range r.notes {
			fmt.Fprintf(b, "%s\n\n", note)
		}
		table, err := stressTable(r.of)
		if err != nil {
			return "", fmt.Errorf("case %s: %w", r.of.Name, err)
		}
		fmt.Fprintf(b, "```json\n%s```\n%s", r.config, table)
	}
	return b.String(), nil
}

func (r recipe) heading() string {
	if r.number == 0 {
		return r.api
	}
	return fmt.Sprintf("%d. %s", r.number, r.api)
}

// anchor is the fragment by which GitHub's Markdown links to a heading.
func anchor(heading string) string {
	fragment := func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return -1
	}
	return strings.Map(fragment, strings.ToLower(heading))
}

// loadRecipes reads the cases of a folder, in the order of their names.
func loadRecipes(folder string) ([]recipe, error) {
	cases, err := fixtures.All()
	if err != nil {
		return nil, err
	}
	var recipes []recipe
	for _, c := range cases {
		name, ok := strings.CutPrefix(c.Name, folder)
		if !ok {
			continue
		}
		r, err := newRecipe(c)
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", c.Name, err)
		}
		if _, err := fmt.Sscanf(name, "%d-", &r.number); err != nil && folder == zooFolder {
			return nil, fmt.Errorf("case %s: the name does not begin with a number", c.Name)
		}
		recipes = append(recipes, r)
	}
	return recipes, nil
}

// newRecipe reads a case whose first paragraph has the form `API: how it pages`.
func newRecipe(c *fixtures.Case) (recipe, error) {
	r := recipe{file: c.Name + ".txtar", of: c}
	var found bool
	if r.api, r.how, found = strings.Cut(c.Title, ": "); !found {
		return r, errors.New("want a first paragraph of the form `API: how it pages`")
	}
	var err error
	if r.method, err = methodOf(c); err != nil {
		return r, err
	}
	if strings.HasPrefix(c.Name, completeFolder) {
		r.notes = c.Notes
	}
	r.config = string(c.Pasted())
	return r, nil
}

// methodOf returns the method that the configuration of a case names.
func methodOf(c *fixtures.Case) (string, error) {
	parse := rules.ParseJSON
	if strings.HasSuffix(c.ConfigName, "ml") {
		parse = yaml.Parse
	}
	v, err := parse(diag.NewSource(c.ConfigName, string(c.Config)))
	if err != nil {
		return "", err
	}
	for _, key := range []string{"api", "pagination", "method"} {
		object, _ := v.(rules.Object)
		if inner, ok := object.Get("parameters"); ok {
			object, _ = inner.(rules.Object)
		}
		v, _ = object.Get(key)
	}
	method, _ := v.(string)
	return method, nil
}
