package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/contract"
)

// A contractCommand is stopwhen contract.
type contractCommand struct {
	*app
	dataType string
}

func newContract(a *app) *cobra.Command {
	c := &contractCommand{app: a}
	cmd := &cobra.Command{
		Use:   "contract FILE",
		Short: "Print the contract of a run as a JSON Schema",
		Long: `Print the JSON Schema (2020-12) of the items that a contract describes. A run
with --contract FILE writes the contract, and later runs are compared with it.

If the contract describes several outputs, the schema is that of an item of any
of them; --data-type selects one.`,
		Example: `  stopwhen contract users.contract.json > users.schema.json
  stopwhen contract shop.contract.json --data-type orders`,
		Args: arguments(1, 1, "one contract"),
		RunE: c.Run,
	}
	cmd.Flags().StringVar(&c.dataType, "data-type", "", "print the schema of the items of this `TYPE`")
	return cmd
}

// Run prints the schema.
func (c *contractCommand) Run(_ *cobra.Command, args []string) error {
	found, err := contract.Read(args[0])
	if err != nil {
		return err
	}
	if found == nil {
		return &usageError{fmt.Sprintf("%s does not exist; stopwhen run --contract %s writes it", args[0], args[0])}
	}
	schema, err := found.Schema(c.dataType)
	if err != nil {
		return &usageError{fmt.Sprintf("%s: %v", args[0], err)}
	}
	return c.writeJSON(schema)
}

// contractFlags adds the flags of a contract.
func (x *extraction) contractFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&x.contract, "contract", "",
		"`FILE` that describes the data: written by the first run, and compared by later ones")
	choice(cmd, &x.contractMode, "contract-mode", "`MODE` for data that differ from the contract: evolve (they are added to it, with a hint) "+
		"or freeze (status 9)", contract.Modes()...)
}

// contractPath returns the path of the file of --contract without symbolic links, or "".
func (x *extraction) contractPath() string {
	if x.contract == "" {
		return ""
	}
	file, err := resolve(x.contract)
	if err != nil {
		file = x.contract
	}
	return filepath.Clean(file)
}

// lockContract locks the file of --contract for this run.
func (x *extraction) lockContract(s *runState) error {
	path := x.contractPath()
	if path == "" {
		return nil
	}
	return s.lock(path, x.contract, "--contract")
}
