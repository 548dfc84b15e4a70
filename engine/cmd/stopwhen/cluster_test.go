package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stopwhen/stopwhen/fixtures"
)

// serveScript serves the API of a case for the rest of the script, to requests in any
// order, and writes its configuration to a file: `serve orders.txtar` writes orders.json.
func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve CASE.txtar")
	}
	c, err := fixtures.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	c.AnyOrder = true
	server, err := fixtures.Serve(c)
	ts.Check(err)
	ts.Defer(server.Close)
	name := strings.TrimSuffix(args[0], filepath.Ext(args[0])) + filepath.Ext(c.ConfigName)
	ts.Check(os.WriteFile(ts.MkAbs(name), server.ConfigText(), 0o600))
}
