package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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
	for _, command := range root.Commands() { // GenManTree reads Markdown, in which <dataType> is a tag of HTML
		command.Long = regexp.MustCompile(`(?m)^(\S.*?)<`).ReplaceAllString(command.Long, `$1\<`)
	}
	require.NoError(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "stopwhen", Manual: "stopwhen"}, folder))
	for _, command := range root.Commands() {
		if !command.IsAvailableCommand() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(folder, "stopwhen-"+command.Name()+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), "SYNOPSIS")
		require.Contains(t, strings.ReplaceAll(string(page), `\-`, "-"), command.Short)
		if command.Name() == "run" || command.Name() == "collect" {
			require.Contains(t, string(page), "DIR/<dataType>.ndjson")
		}
	}
}

// TestBillOfMaterials writes the modules of a binary as CycloneDX 1.6. A release takes the list from the
// file that STOPWHEN_SBOM names; the binary is that of STOPWHEN_BINARY, or the one of the test.
func TestBillOfMaterials(t *testing.T) {
	own, err := os.Executable()
	require.NoError(t, err)
	info, err := buildinfo.ReadFile(cmp.Or(os.Getenv("STOPWHEN_BINARY"), own))
	require.NoError(t, err)
	type component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref"`
		Name    string `json:"name"`
		Version string `json:"version"`
		PURL    string `json:"purl"`
	}
	describe := func(kind, name, version string) component {
		purl := "pkg:golang/" + name + "@" + version
		return component{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl}
	}
	list := []component{describe("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, describe("library", m.Path, m.Version))
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": list,
		"metadata": map[string]any{"component": describe("application", info.Main.Path, info.Main.Version)},
	}, "", "  ")
	require.NoError(t, err)
	for _, name := range []string{"github.com/expr-lang/expr", "github.com/nats-io/nats-server/v2", "github.com/spf13/cobra"} {
		require.Contains(t, string(text), "pkg:golang/"+name+"@v")
	}
	if path := os.Getenv("STOPWHEN_SBOM"); path != "" {
		require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o644))
	}
}
