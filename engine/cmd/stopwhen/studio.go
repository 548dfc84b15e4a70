package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/session"
	"github.com/stopwhen/stopwhen/engine/workbench/studio"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A studioCommand is stopwhen studio.
type studioCommand struct {
	loader
	listen    string
	static    string
	noBrowser bool
}

func newStudio(a *app) *cobra.Command {
	c := &studioCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "studio [CONFIG]",
		Short: "See on a page in the browser what each rule does on each page",
		Long: `Open a page in the browser: the configuration in an editor and, next to it, the
pages of its lists with every verdict, the rules, the items, the tests and the
stress test. A run requests ten pages unless you say more, and records them:
from then on every edit shows at once where the list would end, and why, without
another request. A recording beside the configuration (NAME.har) is opened, too.

The page has a loopback address, which is the first line on standard output. Its
token lets nobody else use it. The command writes CONFIG and NAME.har, and only
when you save. It ends with Ctrl+C.

With --static DIR, write the playground instead: the same page as files for any
web server, with the engine as WebAssembly. It works on recordings and built-in
cases, makes no request, and sends nothing anywhere.`,
		Example: `  stopwhen studio users.yaml --env TOKEN
  stopwhen studio --fixture demo/orders
  stopwhen studio --static public`,
		Args: arguments(0, 1, "at most one configuration"),
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "127.0.0.1:0", "loopback `HOST:PORT` of the page; port 0 is any free one")
	f.StringVar(&c.static, "static", "", "write the playground to the files of `DIR` and end")
	f.BoolVar(&c.noBrowser, "no-browser", false, "print the address and open no browser")
	return cmd
}

// Run serves the page until a signal ends it.
func (c *studioCommand) Run(cmd *cobra.Command, args []string) error {
	if c.static != "" {
		return c.writeStatic(cmd.Context(), args)
	}
	desk, err := c.desk(args)
	if err != nil {
		return err
	}
	server, err := studio.Listen(c.listen, desk)
	if err != nil {
		return &usageError{"--listen: " + err.Error()}
	}
	ctx, stop := c.catchSignals()
	defer stop()
	if err := c.writeText(server.Address() + "\n"); err != nil {
		return err
	}
	if !c.noBrowser {
		openBrowser(ctx, server.Launch())
	}
	if err := server.Serve(ctx); err != nil {
		return err
	}
	return nil // the user has ended it
}

// desk returns what the page works on.
func (c *studioCommand) desk(args []string) (*studio.Desk, error) {
	env, err := c.environment(nil)
	if err != nil {
		return nil, err
	}
	inputs, err := c.inputs()
	if err != nil {
		return nil, err
	}
	bench := workbench.New(append(env.options(), engine.WithDialect(rules.Dialect(c.dialect)), engine.WithBaseURL(c.baseURL),
		engine.WithInputs(inputs), engine.WithJobs(c.jobs...))...)
	desk := &studio.Desk{
		Session: session.New(bench, session.Live(transport.Default())), Case: c.fixture, Live: true, Version: version(), Words: c.word,
	}
	if c.fixture != "" {
		if _, err := fixtures.Find(c.fixture); err != nil {
			return nil, &usageError{"--fixture: " + err.Error()}
		}
	}
	if len(args) == 0 {
		return desk, nil
	}
	if desk.Path, err = filepath.Abs(args[0]); err != nil {
		return nil, err
	}
	if info, err := os.Stat(desk.Path); err == nil && !info.Mode().IsRegular() {
		return nil, &usageError{args[0] + " is not a file"}
	}
	return desk, nil
}

// openBrowser opens an address in the browser of the user. The address is printed as well, so that a failure
// does not matter.
func openBrowser(ctx context.Context, address string) {
	var name string
	var args []string
	switch goruntime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
		name = "xdg-open"
	}
	cmd := exec.CommandContext(ctx, name, append(args, address)...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
