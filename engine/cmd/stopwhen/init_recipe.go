package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// recipeColumns is the width of the comments above a configuration from the cookbook.
const recipeColumns = 96

// listRecipes prints the names of the complete configurations, with their APIs and hosts.
func (a *app) listRecipes() error {
	recipes, err := fixtures.Recipes()
	if err != nil {
		return err
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "NAME\tAPI\tHOST\n")
	for _, r := range recipes {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Name, r.API, r.Host())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return a.writeText(b.String())
}

// recipeNames returns the names for --for.
func recipeNames() (names []string) {
	recipes, _ := fixtures.Recipes()
	for _, r := range recipes {
		names = append(names, r.Name)
	}
	return names
}

// A recipe is a complete configuration, with the values that a user must give it.
type recipe struct {
	*fixtures.Recipe
	root   value.Object
	env    []string     // the environment variables that it reads
	inputs value.Object // the definitions of its inputs
	kept   bool         // it keeps values for the next run
}

// recipeOf returns the complete configuration with a name.
func recipeOf(name string) (*recipe, error) {
	found, err := fixtures.FindRecipe(name)
	if err != nil {
		return nil, &usageError{"--for: " + err.Error() + "; stopwhen init --list shows all"}
	}
	r := &recipe{Recipe: found}
	root, err := yaml.Parse(diag.NewSource(found.Name, string(found.Case.Pasted())))
	if err != nil {
		return nil, err
	}
	r.root, _ = root.(value.Object)
	inputs, _ := r.root.Get("inputs")
	r.inputs, _ = inputs.(value.Object)
	value.Scalars(r.root, func(keys []string, v any) {
		if name, isText := v.(string); isText && keys[len(keys)-1] == "env" {
			r.env = append(r.env, name)
		}
		r.kept = r.kept || slices.Contains(keys, "keep")
	})
	slices.Sort(r.env)
	r.env = slices.Compact(r.env)
	return r, nil
}

// yaml writes the configuration with comments that say what it extracts and needs.
func (r *recipe) yaml() (string, error) {
	b := &strings.Builder{}
	b.WriteString("# yaml-language-server: $schema=./stopwhen.schema.json\n")
	for _, text := range append([]string{r.API + ": " + r.Gives}, r.Case.Notes...) {
		b.WriteString("#\n")
		for _, line := range wording.Wrap(text, recipeColumns) {
			b.WriteString("# " + line + "\n")
		}
	}
	fmt.Fprintf(b, "#\n# It reads %s: stopwhen run --env %s\n", variables(r.env), strings.Join(r.env, ","))
	for _, m := range r.inputs {
		if line := inputLine(m); line != "" {
			b.WriteString("# " + line + "\n")
		}
	}
	text, err := yaml.Format(r.root)
	b.WriteString(keyAtRoot().ReplaceAllString(string(text), "\n$0"))
	return b.String(), err
}

// keyAtRoot matches the beginning of a key at the root of a YAML text.
var keyAtRoot = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[A-Za-z]`) })

// variables names environment variables in a sentence.
func variables(names []string) string {
	if len(names) == 1 {
		return "the environment variable " + names[0]
	}
	last := len(names) - 1
	return "the environment variables " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// inputLine says how to give an input, and what it is. An input whose default is an environment
// variable needs no line.
func inputLine(m value.Member) string {
	input, ok := settable(m)
	if !ok {
		return ""
	}
	line := "Input: --set " + input
	definition, _ := m.Value.(value.Object)
	if doc, _ := definition.Get("doc"); doc != nil {
		line += fmt.Sprintf("   %v", doc)
	}
	return line
}

// settable returns NAME=DEFAULT of an input, unless its default is an environment variable.
func settable(m value.Member) (string, bool) {
	definition, _ := m.Value.(value.Object)
	fallback, _ := definition.Get("default")
	if _, fromEnvironment := fallback.(value.Object); fromEnvironment {
		return "", false
	}
	return fmt.Sprintf("%s=%v", m.Name, fallback), true
}

// nextSteps are commands for the configuration in a file.
func (r *recipe) nextSteps(path string) string {
	b := &strings.Builder{}
	for _, name := range r.env {
		fmt.Fprintf(b, "  export %s=…\n", name)
	}
	options := []string{"--env", strings.Join(r.env, ",")}
	for _, m := range r.inputs {
		if input, ok := settable(m); ok && strings.Contains(r.Base, "{"+m.Name+"}") {
			options = append(options, "--set", input)
		}
	}
	fmt.Fprintf(b, "  stopwhen explain %s    # what it requests, and when it stops\n", path)
	fmt.Fprintf(b, "  stopwhen run %s %s --max-pages 3\n", path, strings.Join(options, " "))
	b.WriteString("\n")
	if r.kept {
		b.WriteString("Every run takes what is new if it has --state or --kept. ")
	}
	b.WriteString("How to run it every night: docs/guide/production.md\n")
	return b.String()
}
