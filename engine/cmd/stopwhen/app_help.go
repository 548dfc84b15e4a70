package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

const rootHelp = `stopwhen fetches the pages of an HTTP API that a configuration describes. It
writes the items as NDJSON, one item per line, exactly as the API sent them, and
reports why it stopped.

  stopwhen demo                      watch a real extraction, no API needed
  stopwhen detect URL > users.yaml   write a configuration for an address
  stopwhen run users.json            extract
  stopwhen run users.json --explain  print the rules and make no request
  stopwhen check users.json          find mistakes before they cost a run
  stopwhen stress users.json         find out what may lose items
  stopwhen test users.json           run the tests in the configuration

Exit status:

`

// exitMeanings says in the help what the exit statuses mean.
var exitMeanings = []struct {
	status  int
	meaning string
}{
	{0, "every job ended by a rule"},
	{exitInternal, "internal error"},
	{exitUsage, "invalid configuration or command line; no request was made"},
	{failure.API.ExitStatus(), "the API refused a request"},
	{failure.Transient.ExitStatus(), "transient errors outlasted the retries"},
	{failure.Response.ExitStatus(), "unacceptable response, or a rule that failed"},
	{failure.Policy.ExitStatus(), "safety limit or guard"},
	{failure.IO.ExitStatus(), "output cannot be written"},
	{failure.State.ExitStatus(), "the state is locked, damaged or belongs to another run"},
	{exitFailOn, "an outcome or a verdict of --fail-on"},
	{exitTest, "a test of the configuration failed"},
	{failure.Cancelled.ExitStatus(), "interrupted; 143 if terminated, 129 if the terminal was closed"},
}

// helpText returns the help of the command without a subcommand.
func helpText() string {
	lines := make([]string, len(exitMeanings))
	for i, row := range exitMeanings {
		lines[i] = fmt.Sprintf("%5d  %s", row.status, row.meaning)
	}
	return rootHelp + strings.Join(lines, "\n")
}

// A group is a part of the list of commands in the help.
type group struct {
	id, title string
	commands  []func(*app) *cobra.Command // in the order of their names
}

var groups = []group{
	{"begin", "Begin:", []func(*app) *cobra.Command{newDemo, newDetect, newInit, newPeek}},
	{"write", "Write a configuration:", []func(*app) *cobra.Command{
		newCheck, newEval, newExplain, newFixtures, newImport, newLSP, newSchema, newStress, newStudio, newTest,
	}},
	{"run", "Run it:", []func(*app) *cobra.Command{newContract, newRecord, newReplay, newRun, newTrace}},
	{"machines", "Run it on many machines:", []func(*app) *cobra.Command{
		newCancel, newCollect, newDelete, newHub, newRetry, newStatus, newSubmit, newWorker,
	}},
}

// addCommands adds all commands, each to its group.
func (a *app) addCommands(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			cmd := command(a)
			cmd.GroupID = g.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newVersion(a))
}

// showFirst lets the help of a command begin with some of its flags, under a title.
func (a *app) showFirst(cmd *cobra.Command, title string, names ...string) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		first := &cobra.Command{}
		first.Flags().SortFlags = false
		for _, name := range names {
			flag := cmd.Flags().Lookup(name)
			first.Flags().AddFlag(flag)
			defer func() { flag.Hidden = false }()
		}
		usages := first.Flags().FlagUsagesWrapped(a.helpWidth())
		for _, name := range names {
			cmd.Flags().Lookup(name).Hidden = true
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "Usage:\n  %s\n\nExamples:\n%s\n\n%s:\n%s\nOther flags:\n%s",
			cmd.UseLine(), cmd.Example, title, usages, cmd.Flags().FlagUsagesWrapped(a.helpWidth()))
		return err
	})
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, args[len(args)-max(len(rest), 1)])
			}
			return cmd.Help()
		},
	}
}

// helpWidth returns the number of columns that the descriptions of flags may use.
func (a *app) helpWidth() int {
	const widest = 80
	return min(cmp.Or(a.columns(), widest), widest)
}
