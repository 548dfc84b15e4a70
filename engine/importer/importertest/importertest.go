// Package importertest checks the configurations that a format makes of documents, for the tests of formats.
//
// A case is a file testdata/NAME.txtar. Its comment says what it shows; a line "stream: NAME" there
// imports one stream, and a line "set: NAME=VALUE" sets a setting. Its files are the documents, the expected
// configurations (out/NAME.yaml), and the report (report.txt), or the error (error.txt).
package importertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

var update = flag.Bool("update", false, "rewrite what is expected of the cases in testdata")

// Run runs all cases in testdata.
func Run(t *testing.T, format importer.Format) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { runCase(t, format, name) })
	}
}

// Documents returns the first document of each case, or all documents with the names, one after another.
func Documents(t *testing.T, names ...string) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		require.NoError(t, err)
		for i, f := range archive.Files {
			if len(names) == 0 && i == 0 || slices.Contains(names, f.Name) {
				all.Write(f.Data)
			}
		}
	}
	return all.String()
}

func runCase(t *testing.T, format importer.Format, name string) {
	archive, err := txtar.ParseFile(name)
	require.NoError(t, err)
	var documents []importer.File
	got := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if !isExpected(f.Name) {
			documents = append(documents, importer.File{Name: f.Name, Text: f.Data})
			got.Files = append(got.Files, f)
		}
	}
	inputs := len(got.Files)
	got.Files = append(got.Files, imported(t, format, documents, options(string(archive.Comment)))...)
	if *update {
		require.NoError(t, os.WriteFile(name, txtar.Format(got), 0o644))
		return
	}
	for i := range max(len(archive.Files), len(got.Files)) - inputs {
		require.Equal(t, fileText(archive, inputs+i), fileText(got, inputs+i))
	}
}

// fileText returns the name and the text of a file, which may be missing.
func fileText(a *txtar.Archive, i int) string {
	if i >= len(a.Files) {
		return ""
	}
	return a.Files[i].Name + "\n" + string(a.Files[i].Data)
}

func isExpected(name string) bool {
	return strings.HasPrefix(name, "out/") || name == "report.txt" || name == "error.txt"
}

// options reads the options in the comment of a case.
func options(comment string) importer.Options {
	var o importer.Options
	for line := range strings.Lines(comment) {
		if stream, is := strings.CutPrefix(line, "stream: "); is {
			o.Streams = append(o.Streams, strings.TrimSpace(stream))
		}
		if set, is := strings.CutPrefix(line, "set: "); is {
			if o.Set == nil {
				o.Set = map[string]string{}
			}
			name, v, _ := strings.Cut(strings.TrimSpace(set), "=")
			o.Set[name] = v
		}
	}
	return o
}

// imported returns the result of an import, as the files of a case.
func imported(t *testing.T, format importer.Format, documents []importer.File, o importer.Options) []txtar.File {
	source, err := format.Read(documents, o)
	if err != nil {
		return []txtar.File{{Name: "error.txt", Data: []byte(err.Error() + "\n")}}
	}
	result, err := importer.Write(format.Name, source)
	require.NoError(t, err)
	var out []txtar.File
	for _, c := range result.Configs {
		Check(t, c)
		out = append(out, txtar.File{Name: "out/" + c.Name, Data: c.Text})
	}
	return append(out, txtar.File{Name: "report.txt", Data: []byte(reportText(result.Report))})
}

// Check checks a configuration: it must have no mistakes, draw no warnings, and pass its tests.
func Check(t *testing.T, c importer.Config) {
	t.Helper()
	e, err := engine.Load(c.Name, c.Text, engine.WithPlaceholders(), engine.WithFormat(".yaml", yaml.Parse))
	require.NoError(t, err, "%s", c.Text)
	require.Empty(t, e.Warnings(), "%s", c.Text)
	require.Zero(t, e.Test(context.Background()).Failed(), "%s", c.Text)
}

// reportText returns a report with one line for each stream and each note.
func reportText(r importer.Report) string {
	var b strings.Builder
	for _, s := range r.Streams {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Grade)
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "  %s %s -> %s: %s\n", n.Grade, n.Source, n.Target, n.Text)
		}
	}
	return b.String()
}

// Fuzz feeds documents to a format. It must neither panic nor take long, and the engine must load the
// configurations that it writes. The documents of the cases are the first inputs.
func Fuzz(f *testing.F, format importer.Format, names ...string) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		require.NoError(f, err)
		texts := make([][]byte, 2)
		for _, file := range archive.Files {
			for i, n := range names {
				if file.Name == n {
					texts[i] = file.Data
				}
			}
		}
		f.Add(texts[0], texts[1])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var documents []importer.File
		for i, text := range [][]byte{first, second}[:len(names)] {
			if text != nil {
				documents = append(documents, importer.File{Name: names[i], Text: text})
			}
		}
		if len(documents) == 0 {
			return
		}
		source, err := format.Read(documents, importer.Options{})
		if err != nil {
			return
		}
		_, err = importer.Write(format.Name, source)
		require.NoError(t, err)
	})
}

// Refuses checks that documents are refused soon, with an error that has a text. A second is promised;
// the test allows more, since the machine may be busy.
func Refuses(t *testing.T, format importer.Format, want string, documents ...importer.File) {
	t.Helper()
	begin := time.Now()
	source, err := format.Read(documents, importer.Options{})
	require.ErrorContains(t, err, want, "%v", source)
	require.Less(t, time.Since(begin), 10*time.Second)
}
