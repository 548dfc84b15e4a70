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

func newInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration to start from",
		Long: `Write a configuration with comments, by default to ` + starterName + `. It
works as it is: its test passes, and it can be explained. A file that exists is
not overwritten. A name that ends with .json gets JSON, which has no comments.`,
		Example: `  stopwhen init
  stopwhen init users.yaml`,
		Args: arguments(0, 1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := starterName
			if len(args) > 0 {
				path = args[0]
			}
			return a.init(path)
		},
	}
}

func (a *app) init(path string) error {
	text := starterYAML
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
	case ".json":
		text = starterJSON
	default:
		if path != "-" {
			return &usageError{fmt.Sprintf("%s: want a name that ends with .yaml, .yml or .json", path)}
		}
	}
	if path == "-" {
		return a.writeText(text)
	}
	if err := checkNew(path); err != nil {
		return err
	}
	if err := writeNew(path, []byte(text)); err != nil {
		return err
	}
	return a.writeText(fmt.Sprintf(`wrote %[1]s

Next:
  %[2]s
  stopwhen test %[1]s       # its test passes; change both together
  stopwhen explain %[1]s    # what it would request, and when it would stop
  stopwhen run %[1]s --max-pages 3

Is there an address that answers with a list? stopwhen detect URL writes a
configuration for it.
`, path, writeSchema))
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
