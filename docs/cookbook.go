package docs

import (
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
	number         int
	api, how       string
	method, config string
	file           string // the case, relative to fixtures/cases
}

// recipeTable lists the APIs of the cookbook.
func recipeTable() (string, error) {
	recipes, err := loadRecipes()
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

// recipeSections shows the configuration of every API in fixtures/cases/zoo.
func recipeSections() (string, error) {
	recipes, err := loadRecipes()
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	for _, r := range recipes {
		how := strings.ToUpper(r.how[:1]) + r.how[1:]
		link := fmt.Sprintf("[%s](../fixtures/cases/%[1]s)", r.file)
		fmt.Fprintf(b, "\n## %s\n\n%s The case: %s.\n\n```json\n%s```\n", r.heading(), how, link, r.config)
	}
	return b.String(), nil
}

func (r recipe) heading() string { return fmt.Sprintf("%d. %s", r.number, r.api) }

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

// loadRecipes reads the cases of fixtures/cases/zoo, in the order of their
// numbers.
func loadRecipes() ([]recipe, error) {
	cases, err := fixtures.All()
	if err != nil {
		return nil, err
	}
	var recipes []recipe
	for _, c := range cases {
		name, ok := strings.CutPrefix(c.Name, "zoo/")
		if !ok {
			continue
		}
		r := recipe{file: c.Name + ".txtar"}
		if _, err := fmt.Sscanf(name, "%d-", &r.number); err != nil {
			return nil, fmt.Errorf("case %s: the name does not begin with a number", c.Name)
		}
		var found bool
		if r.api, r.how, found = strings.Cut(c.Title, ": "); !found {
			return nil, fmt.Errorf("case %s: want a first paragraph of the form `API: how it pages`", c.Name)
		}
		if r.method, err = methodOf(c); err != nil {
			return nil, fmt.Errorf("case %s: %w", c.Name, err)
		}
		r.config = strings.NewReplacer("{base}", "https://api.example.com", "FIXTURE_", "API_").Replace(string(c.Config))
		recipes = append(recipes, r)
	}
	return recipes, nil
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
