//go:build editor

package lsp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNeovimIsAnswered opens configurations in Neovim with the settings of the guide. The script in testdata says what
// must happen.
func TestNeovimIsAnswered(t *testing.T) {
	folder := t.TempDir()
	command := filepath.Join(folder, "stopwhen")
	out, err := exec.Command("go", "build", "-o", command, "../../cmd/stopwhen").CombinedOutput()
	require.NoError(t, err, "%s", out)
	broken := "{\n  \"api\": {\n    \"baseUrl\": \"https://api.example.com/\",\n    \"pagination\": {\"li\", \"method\": \"offset\",\n  }\n"
	for name, text := range map[string]string{
		"users.yaml":  strings.Replace(users, "{name: one, ", "{name: one, job: users, ", 1),
		"users.har":   tape,
		"broken.json": broken,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	guide, err := os.ReadFile("../../../docs/guide/editors.md")
	require.NoError(t, err)
	_, settings, found := strings.Cut(string(guide), "```lua\n")
	require.True(t, found)
	settings, _, _ = strings.Cut(settings, "```")
	script, err := os.ReadFile("testdata/neovim.lua")
	require.NoError(t, err)
	initLua := filepath.Join(folder, "init.lua")
	require.NoError(t, os.WriteFile(initLua, append([]byte(settings), script...), 0o600))
	nvim := exec.Command("nvim", "--headless", "--clean", "-u", initLua)
	nvim.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "STOPWHEN_FOLDER="+folder,
		"XDG_STATE_HOME="+folder, "XDG_CACHE_HOME="+folder)
	out, err = nvim.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "all is well")
}
