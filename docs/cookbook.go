package docs

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// notExpressed are the APIs of the cookbook's list that cannot be extracted, and
// why: nothing is left out silently.
var notExpressed = []struct {
	Number   int
	API, Why string
}{
	{28, "AWS S3 ListObjectsV2", "answers in XML, which is not read"},
	{31, "AWS Route 53, S3 versions", "answer in XML, which is not read; several tokens at once are method `response.params`"},
}

// recipe is one case of fixtures/cases/zoo.
type recipe struct {
	number           int
	api, how, method string
	config           string
	file             string
}

// Cookbook is docs/cookbook.md: the configuration of every API in
// fixtures/cases/zoo, whose tests play it against a server that pages alike.
func Cookbook() (string, error) {
	recipes, err := recipes()
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s# Cookbook\n\nHow %d real APIs page, and the configuration that extracts from each. Every row is a case that the tests play against a server which answers as the API does, end markers and quirks included; so what stands here works. An address and a token of yours take the place of `https://api.example.com` and `API_TOKEN` (`--env API_TOKEN`).\n\n| # | API | how it pages | method |\n|--:|---|---|---|\n", generated, len(recipes))
	next := 0
	for number := 1; number <= 79; number++ {
		switch {
		case next < len(recipes) && recipes[next].number == number:
			r := recipes[next]
			fmt.Fprintf(b, "| %d | [%s](#%s) | %s | `%s` |\n", number, r.api, anchor(r), cell(r.how), r.method)
			next++
		default:
			for _, n := range notExpressed {
				if n.Number == number {
					fmt.Fprintf(b, "| %d | %s | not possible: %s | |\n", number, n.API, n.Why)
				}
			}
		}
	}
	for _, r := range recipes {
		fmt.Fprintf(b, "\n## %s\n\n%s The case: [%s](../fixtures/cases/%s).\n\n```json\n%s```\n", heading(r), strings.ToUpper(r.how[:1])+r.how[1:], r.file, r.file, r.config)
	}
	return b.String(), nil
}

func heading(r recipe) string { return fmt.Sprintf("%d. %s", r.number, r.api) }

// anchor is where a heading of GitHub's pages is linked to.
func anchor(r recipe) string {
	kept := func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case c == '-' || c == '_' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			return c
		}
		return -1
	}
	return strings.Map(kept, strings.ToLower(heading(r)))
}

func recipes() ([]recipe, error) {
	cases, err := fixtures.All()
	if err != nil {
		return nil, err
	}
	var out []recipe
	for _, c := range cases {
		name, ok := strings.CutPrefix(c.Name, "zoo/")
		if !ok {
			continue
		}
		r := recipe{file: c.Name + ".txtar"}
		if _, err := fmt.Sscanf(name, "%d-", &r.number); err != nil {
			return nil, fmt.Errorf("case %s: its name begins with no number", c.Name)
		}
		var found bool
		if r.api, r.how, found = strings.Cut(c.Title, ": "); !found {
			return nil, fmt.Errorf("case %s: its first paragraph is not `API: how it pages`", c.Name)
		}
		if r.method, err = methodOf(c); err != nil {
			return nil, fmt.Errorf("case %s: %w", c.Name, err)
		}
		r.config = strings.NewReplacer("{base}", "https://api.example.com", "FIXTURE_", "API_").Replace(string(c.Config))
		out = append(out, r)
	}
	return out, nil
}

// methodOf is the method that a case's configuration names.
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
