package main

import (
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// A versionCommand is stopwhen version.
type versionCommand struct {
	*app
	reporting
}

func newVersion(a *app) *cobra.Command {
	c := &versionCommand{app: a}
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return c.write(readBuild()) },
	}
	c.formatFlag(cmd, formatText, formatJSON)
	return cmd
}

// A buildInfo describes how the command was built.
type buildInfo struct {
	Version  string `json:"version"`            // "v1.2.3", or "development"
	Revision string `json:"revision,omitempty"` // commit
	Time     string `json:"time,omitempty"`     // time of the commit
	Modified bool   `json:"modified,omitempty"` // whether files were changed after the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// readBuild returns what the build recorded about itself.
func readBuild() buildInfo {
	b := buildInfo{Version: "unknown", Go: goruntime.Version(), OS: goruntime.GOOS, Arch: goruntime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version = info.Main.Version; b.Version == "" || b.Version == "(devel)" {
		b.Version = "development"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// version describes the build in one line.
func version() string {
	b := readBuild()
	if len(b.Revision) >= 12 && !strings.Contains(b.Version, b.Revision[:12]) {
		b.Version += " (" + b.Revision[:12] + ")"
	}
	return b.Version + " " + b.Go
}

func (c *versionCommand) write(b buildInfo) error {
	if c.format == formatJSON {
		return c.writeJSON(b)
	}
	return c.writeText(fmt.Sprintf("stopwhen %s %s/%s\n", version(), b.OS, b.Arch))
}
