package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/airbyte"
	"github.com/stopwhen/stopwhen/engine/importer/botocore"
	"github.com/stopwhen/stopwhen/engine/importer/dlt"
	"github.com/stopwhen/stopwhen/engine/importer/google"
	"github.com/stopwhen/stopwhen/engine/importer/keboola"
	"github.com/stopwhen/stopwhen/engine/importer/nango"
	"github.com/stopwhen/stopwhen/engine/importer/odata"
	"github.com/stopwhen/stopwhen/engine/importer/openapi"
	"github.com/stopwhen/stopwhen/engine/importer/postman"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// importFormats are the formats that are read.
var importFormats = []importer.Format{airbyte.Format, botocore.Format, dlt.Format, google.Format, keboola.Format, nango.Format,
	odata.Format, openapi.Format, postman.Format}

// An importCommand is stopwhen import.
type importCommand struct {
	loader
	streams []string
	out     string
	report  string
	strict  bool
}

func newImport(a *app) *cobra.Command {
	c := &importCommand{loader: loader{app: a}}
	var formats strings.Builder
	for _, f := range importFormats {
		fmt.Fprintf(&formats, "  %-10s %s\n", f.Name, f.Doc)
	}
	cmd := &cobra.Command{
		Use:   "import FORMAT FILE…",
		Short: "Turn the description of another program into a configuration",
		Long: `Read a description of an API that another program uses, and write a
configuration: one for all of its streams, each with tests. The formats are

` + formats.String() + `
The configuration goes to standard output or to --out, and a report to standard
error. The report grades each stream:

  exact         the same requests and the same items
  approximate   it differs in a case that the report names
  partial       a part of the list or of its items is missing
  credentials   all but the credentials was translated
  refused       it was not translated, and the report says why

It ends with what must be checked by hand. The exit status is 0 if anything was
written, and otherwise 2.`,
		Example: `  stopwhen import airbyte manifest.yaml > github.yaml
  stopwhen import airbyte manifest.yaml --stream issues --out issues.yaml
  stopwhen import airbyte manifest.yaml --out configs/ --report html > r.html
  stopwhen import airbyte manifest.yaml --set credentials.auth_type=oauth2.0
  stopwhen import airbyte manifest.yaml --strict --out github.yaml`,
		Args: c.checkArguments,
		RunE: c.Run,
	}
	f := cmd.Flags()
	f.Var(listFlag{to: &c.streams}, "stream", "`NAME` of a stream to import; may be repeated; default: all")
	f.StringVarP(&c.out, "out", "o", "", "`PATH` to write to: a new file, or a directory with a slash at its end; default: standard output")
	f.Var(listFlag{to: &c.set}, "set", "`NAME=VALUE` of a setting of the source that the configuration has as a constant; may be repeated")
	choice(cmd, &c.report, "report", "`FORMAT` of the report: text, json or html", formatText, formatJSON, formatHTML)
	f.BoolVar(&c.strict, "strict", false, "write nothing, and end with status 2, unless all streams are exact")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "write no report in text")
	return cmd
}

// checkArguments wants a format and files.
func (c *importCommand) checkArguments(_ *cobra.Command, args []string) error {
	var names []string
	for _, f := range importFormats {
		names = append(names, f.Name)
	}
	if len(args) == 0 {
		return &usageError{"want a format and a file; the formats are " + strings.Join(names, ", ")}
	}
	if !slices.Contains(names, args[0]) {
		return &usageError{fmt.Sprintf("unknown format %q; %s", args[0],
			cmp.Or(diag.DidYouMean(args[0], names), "the formats are "+strings.Join(names, ", ")))}
	}
	if len(args) == 1 {
		return &usageError{"want a file: stopwhen import " + args[0] + " FILE"}
	}
	return nil
}

// Run reads the files and writes configurations.
func (c *importCommand) Run(_ *cobra.Command, args []string) error {
	format := importFormats[slices.IndexFunc(importFormats, func(f importer.Format) bool { return f.Name == args[0] })]
	options := importer.Options{Streams: c.streams, Set: map[string]string{}}
	for _, pair := range c.set {
		name, text, err := splitSetting(pair)
		if err != nil {
			return err
		}
		options.Set[name] = text
	}
	files, err := c.importFiles(args[1:])
	if err != nil {
		return err
	}
	src, err := format.Read(files, options)
	if err != nil {
		return &usageError{err.Error()}
	}
	result, err := importer.Write(format.Name, src)
	if err != nil {
		return err
	}
	return c.write(result)
}

// importFiles reads the files.
func (c *importCommand) importFiles(paths []string) ([]importer.File, error) {
	var files []importer.File
	for _, path := range paths {
		text, err := readInput(c.app, "document", path, readDocument)
		if err != nil {
			return nil, err
		}
		name := path
		if path == "-" {
			name = stdinName
		}
		files = append(files, importer.File{Name: name, Text: text})
	}
	return files, nil
}

// readDocument reads a document of at most [importer.MaxFileBytes].
func readDocument(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, importer.MaxFileBytes+1))
	if err == nil && len(text) > importer.MaxFileBytes {
		err = fmt.Errorf("the document has more than %s", wording.Size(importer.MaxFileBytes))
	}
	return text, err
}

// write writes the configurations and the report.
func (c *importCommand) write(r *importer.Result) error {
	exact := r.Report.Count(importer.Exact) == len(r.Report.Streams)
	if c.strict && !exact {
		r.Configs = nil
		r.Report.Unwritten()
	}
	if err := c.writeConfigs(r); err != nil {
		return err
	}
	if err := c.writeImportReport(r); err != nil {
		return err
	}
	switch {
	case c.strict && !exact:
		return &usageError{fmt.Sprintf("--strict: %d of %s are exact; nothing was written",
			r.Report.Count(importer.Exact), wording.Counted(len(r.Report.Streams), "stream"))}
	case len(r.Configs) == 0:
		return &usageError{"nothing could be translated"}
	}
	return nil
}

// writeConfigs writes the configurations to standard output, to a file, or to a directory.
func (c *importCommand) writeConfigs(r *importer.Result) error {
	if len(r.Configs) == 0 {
		return nil
	}
	if !c.toDirectory() && len(r.Configs) > 1 {
		var names []string
		for _, cfg := range r.Configs {
			names = append(names, cfg.Name+" ("+strings.Join(cfg.Jobs, ", ")+")")
		}
		return &usageError{"the streams have different addresses or credentials, and need several configurations: " +
			strings.Join(names, "; ") + "; name a directory with --out, or a stream with --stream"}
	}
	if toStdout(c.out) {
		return c.writeText(string(r.Configs[0].Text))
	}
	paths := map[string]string{}
	for _, cfg := range r.Configs {
		paths[cfg.Name] = c.out
		if c.toDirectory() {
			paths[cfg.Name] = filepath.Join(c.out, cfg.Name)
		}
		if err := checkNew(paths[cfg.Name]); err != nil {
			return err
		}
	}
	if c.toDirectory() { // which may be new
		if err := os.MkdirAll(c.out, 0o755); err != nil {
			return files.WriteError(err)
		}
	}
	for _, cfg := range r.Configs {
		if err := writeNew(paths[cfg.Name], cfg.Text); err != nil {
			return err
		}
	}
	r.Report.Rename(func(name string) string { return paths[name] })
	return nil
}

// toDirectory reports whether --out names a directory.
func (c *importCommand) toDirectory() bool {
	if c.out == "" || c.out == "-" {
		return false
	}
	info, err := os.Stat(c.out)
	return strings.HasSuffix(c.out, "/") || err == nil && info.IsDir()
}

// writeImportReport writes the report: text to standard error, and JSON and HTML to standard output if
// the configurations are not there.
func (c *importCommand) writeImportReport(r *importer.Result) error {
	var text strings.Builder
	var err error
	switch c.report {
	case formatJSON:
		err = writeJSONTo(&text, r.Report)
	case formatHTML:
		err = report.ImportHTML(&text, &r.Report)
	default:
		if c.quiet {
			return nil
		}
		err = report.ImportText(&text, &r.Report, c.errorColumns())
	}
	if err != nil {
		return err
	}
	if c.report != formatText && !toStdout(c.out) {
		return c.writeText(text.String())
	}
	_, _ = io.WriteString(c.guard(c.stderr), text.String())
	return nil
}
