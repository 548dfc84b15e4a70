package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

// TestManPages writes a man page for every command. A release takes them from the folder that
// STOPWHEN_MAN names. Only tests link the package that writes them.
func TestManPages(t *testing.T) {
	folder := cmp.Or(os.Getenv("STOPWHEN_MAN"), t.TempDir())
	var out bytes.Buffer
	root := newApp(strings.NewReader(""), &out, &out).rootCommand()
	root.DisableAutoGenTag = true
	require.NoError(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "stopwhen", Manual: "stopwhen"}, folder))
	for _, command := range root.Commands() {
		if !command.IsAvailableCommand() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(folder, "stopwhen-"+command.Name()+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), "SYNOPSIS")
		require.Contains(t, strings.ReplaceAll(string(page), `\-`, "-"), command.Short)
	}
}
