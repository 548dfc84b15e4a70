package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// itemFlags adds the flags that say how items are written.
func (x *extraction) itemFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&x.itemFormat, "format", string(output.NDJSON), "`FORMAT` of the items: "+output.FormatHelp())
	f.StringVar(&x.csvNested, "csv-nested", ".", fmt.Sprintf("with --format %s: `TEXT` that joins the names of nested members",
		wording.OrList(output.Kinds(output.Format.IsTable))))
	f.StringVar(&x.catalog, "singer-catalog", "", "with --format singer: `FILE` with schemas and keys of streams, a Singer catalog")
	complete(cmd, "format", output.Formats)
}

// parseItemFlags reads the flags of itemFlags.
func (x *extraction) parseItemFlags(cmd *cobra.Command) error {
	format, err := output.ParseFormat(x.itemFormat)
	if err != nil {
		return &usageError{fmt.Sprintf("--format: %v", err)}
	}
	x.items = output.Options{Format: format, Nested: x.csvNested}
	if x.discardItems && cmd.Flags().Changed("format") {
		return &usageError{"--format requires --out: items are written nowhere without it"}
	}
	for _, f := range []struct {
		flag  string
		kinds []string
	}{
		{"csv-nested", output.Kinds(output.Format.IsTable)},
		{"singer-catalog", []string{string(output.Singer)}},
	} {
		if cmd.Flags().Changed(f.flag) && !slices.Contains(f.kinds, string(format.Kind)) {
			return &usageError{fmt.Sprintf("--%s requires --format %s", f.flag, wording.OrList(f.kinds))}
		}
	}
	if x.csvNested == "" {
		return &usageError{"--csv-nested: want a text, such as . or _"}
	}
	if x.catalog == "" {
		return nil
	}
	text, err := files.ReadAtMost(x.catalog, maxCatalog)
	if err != nil {
		return &usageError{fmt.Sprintf("--singer-catalog: %v", err)}
	}
	if x.items.Catalog, err = output.ParseCatalog(text); err != nil {
		return &usageError{fmt.Sprintf("--singer-catalog: %s is not a Singer catalog: %v", x.catalog, err)}
	}
	return nil
}

// maxCatalog is the size of the largest catalog, in bytes.
const maxCatalog = 16 << 20

// checkFormatOfItems checks that items can be written in their format to where they go.
func (x *extraction) checkFormatOfItems(l *loaded) error {
	var dataTypes []string
	for _, f := range output.Destinations(l.Engine, "", x.items.Format) {
		dataTypes = append(dataTypes, f.DataType)
	}
	if err := x.checkCatalog(l); err != nil {
		return err
	}
	if !x.items.Format.IsTable() || x.writesFiles() || x.writesNowhere() {
		return nil
	}
	stream := "standard output"
	if !toStdout(x.out) {
		stream = x.out
	}
	switch {
	case len(dataTypes) > 1:
		return &usageError{fmt.Sprintf("--format %s: a table has the items of one dataType, and %s would get those of %s; "+
			"use --out DIR, or --job", x.items.Format, stream, strings.Join(dataTypes, ", "))}
	case x.state != "":
		return &usageError{fmt.Sprintf("--format %s with --state needs --out DIR: the columns are known at the end, "+
			"so nothing can be written to %s page by page", x.items.Format, stream)}
	}
	return nil
}

// checkCatalog refuses streams that the configuration does not have: a misspelt one would
// be written without its keys.
func (x *extraction) checkCatalog(l *loaded) error {
	var dataTypes []string
	for _, job := range l.AllJobs() {
		dataTypes = append(dataTypes, l.Job(job).DataTypes...)
	}
	for _, stream := range x.items.Catalog.Streams() {
		if !slices.Contains(dataTypes, stream) {
			return &usageError{fmt.Sprintf("--singer-catalog: no job has the dataType %q of a stream; %s", stream,
				cmp.Or(diag.DidYouMean(stream, dataTypes), "the dataTypes are "+strings.Join(dataTypes, ", ")))}
		}
	}
	return nil
}

// writesFiles reports whether items are written to files below --out.
func (x *extraction) writesFiles() bool {
	return !x.writesNowhere() && !toStdout(x.out) && !files.IsStream(x.out)
}

// writesNowhere reports whether the items of the run are discarded: by --discard-items, or because the
// output is /dev/null.
func (x *extraction) writesNowhere() bool { return x.discardItems || x.out == os.DevNull }
