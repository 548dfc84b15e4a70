package main

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// starterName is the file that init writes by default.
const starterName = "stopwhen.yaml"

// An initCommand is stopwhen init.
type initCommand struct {
	*app
	recipe string // the name of a complete configuration
	list   bool
}

func newInit(a *app) *cobra.Command {
	c := &initCommand{app: a}
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration to start from",
		Long: `Write a configuration with comments, by default to ` + starterName + `. It
works as it is: its test passes, and it can be explained. A file that exists is
not overwritten. A name that ends with .json gets JSON, which has no comments.

With --for NAME, it is the complete configuration of the cookbook for that API:
with its credentials, children, increments, page sizes and rate limits. The file
is NAME.yaml by default. --list shows the names, with the APIs and their hosts.`,
		Example: `  stopwhen init
  stopwhen init users.yaml
  stopwhen init --list
  stopwhen init --for stripe
  stopwhen init --for shopify orders.json`,
		Args: arguments(0, 1, "one file"),
		RunE: c.Run,
	}
	cmd.Flags().StringVar(&c.recipe, "for", "", "`NAME` of an API of the cookbook, whose complete configuration is written")
	cmd.Flags().BoolVar(&c.list, "list", false, "list the names for --for, with their APIs and hosts")
	complete(cmd, "for", recipeNames)
	return cmd
}

// Run writes a configuration, or lists the configurations that --for can write.
func (c *initCommand) Run(cmd *cobra.Command, args []string) error {
	named := cmd.Flags().Changed("for")
	if err := refuse([]misuse{
		{c.list && named, "--list shows the names for --for; leave one of them out"},
		{c.list && len(args) > 0, "--list writes no file; leave out " + strings.Join(args, " ")},
	}); err != nil {
		return err
	}
	switch {
	case c.list:
		return c.listRecipes()
	case named:
		return c.writeRecipe(args)
	}
	path := starterName
	if len(args) > 0 {
		path = args[0]
	}
	return c.write(path, starterYAML, starterJSON, fmt.Sprintf(`  %[2]s
  stopwhen test %[1]s       # its test passes; change both together
  stopwhen explain %[1]s    # what it would request, and when it would stop
  stopwhen run %[1]s --max-pages 3

Is there an address that answers with a list? stopwhen detect URL writes a
configuration for it. A well-known API? stopwhen init --list
`, path, writeSchema))
}

// writeRecipe writes a complete configuration of the cookbook.
func (c *initCommand) writeRecipe(args []string) error {
	r, err := recipeOf(c.recipe)
	if err != nil {
		return err
	}
	path := r.Name + ".yaml"
	if len(args) > 0 {
		path = args[0]
	}
	text, err := r.yaml()
	if err != nil {
		return err
	}
	return c.write(path, text, string(r.Case.Pasted()), r.nextSteps(path))
}

// write writes a configuration in the format that the ending of its path names, and then the next
// steps to standard output.
func (c *initCommand) write(path, inYAML, inJSON, next string) error {
	text := inYAML
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
	case ".json":
		text = inJSON
	default:
		if path != "-" {
			return &usageError{fmt.Sprintf("%s: want a name that ends with .yaml, .yml or .json", path)}
		}
	}
	if path == "-" {
		return c.writeText(text)
	}
	if err := writeNew(path, []byte(text)); err != nil {
		return err
	}
	return c.writeText("wrote " + path + "\n\nNext:\n" + next)
}

// writeSchema is the command that writes the schema which a new configuration names.
const writeSchema = "stopwhen schema > stopwhen.schema.json   # for completion in the editor"

// The configurations that init writes.
var (
	//go:embed starter.yaml
	starterYAML string

	//go:embed starter.json
	starterJSON string
)
