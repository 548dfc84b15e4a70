package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Format is a format of responses.
type Format string

// The formats.
const (
	FormatJSON   Format = "json"   // one document (RFC 8259)
	FormatNDJSON Format = "ndjson" // one JSON value per line
	FormatCSV    Format = "csv"    // a table (RFC 4180)
	FormatXML    Format = "xml"    // XML 1.0
	FormatAuto   Format = "auto"   // the format that the response names or shows
)

// IsLines reports whether each line of a response is an item.
func (f Format) IsLines() bool { return f == FormatNDJSON || f == FormatCSV }

var formats = []string{string(FormatJSON), string(FormatNDJSON), string(FormatCSV), string(FormatXML), string(FormatAuto)}

// ResponseFormat says how the responses of a job are read.
type ResponseFormat struct {
	Format    Format
	Header    bool     // CSV: the first row has the names of the columns
	Delimiter rune     // CSV: the character between fields; 0 is a comma, or a tab where the content type says so
	Columns   []string // CSV: the names of the columns, which replace the header; may be nil

	path string // config path of Format; empty for the default
}

var responseFields = []Field{
	{Name: "format", Kind: KindText, Default: string(FormatJSON), Values: formats, Doc: "`json`, `ndjson` (one JSON value per line), `csv`, " +
		"`xml`, or `auto`: by the content type of the response, then by its first byte"},
	{Name: "header", Kind: KindFlag, Default: true, DefaultWith: "format",
		Doc: "of CSV: whether the first row has the names of the columns"},
	{Name: "delimiter", Kind: KindText, Doc: "of CSV: the character between fields (`\\t` is a tab); default: a comma, or a tab " +
		"for `text/tab-separated-values`"},
	{Name: "columns", Kind: KindList, Each: &Field{Kind: KindText},
		Doc: "of CSV: the names of the columns, instead of the names in the header. " +
			"Without either, each row is a list of texts"},
}

// response reads the format of a job's responses. The keys of the job override the keys of the API.
func (d *decoder) response(job, api settings) ResponseFormat {
	r := ResponseFormat{Format: FormatJSON, Header: true}
	for _, s := range []settings{api, job} {
		if !s.get("response").given() {
			continue
		}
		if format := s.get("response.format"); format.given() {
			r.Format, r.path = Format(format.text()), format.path()
		}
		if header := s.get("response.header"); header.given() {
			r.Header = header.flag()
		}
		if delimiter := s.get("response.delimiter"); delimiter.given() {
			r.Delimiter = d.delimiter(delimiter)
		}
		if columns := s.get("response.columns"); columns.given() {
			r.Columns = d.columnNames(columns)
		}
	}
	return r
}

// delimiter reads the character between fields.
func (d *decoder) delimiter(s setting) rune {
	r, size := utf8.DecodeRuneInString(s.text())
	if s.Invalid {
		return 0
	}
	if size != len(s.text()) || strings.ContainsRune("\"\r\n\x00\uFEFF", r) || r == utf8.RuneError {
		d.diags.Errorf(diag.Value(s.path()), "want one character that is neither a quote nor a line end, got %q", s.text()).
			WithHint(`"\t" is a tab`)
		return 0
	}
	return r
}

// columnNames reads the names of columns, and reports a name that occurs twice.
func (d *decoder) columnNames(s setting) []string {
	names := s.texts()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			d.diags.Errorf(diag.Value(diag.Index(s.path(), i)), "the column %q is named twice", name)
		}
	}
	return names
}

// checkResponse reports a format that does not fit the other settings of a job.
func (d *decoder) checkResponse(j *Job, own settings) {
	if !j.Response.mayBeCSV() {
		d.refuseTableOptions(j.Response, own)
	}
	d.checkPath(j, own.get("dataField"))
}

// checkTables reports settings of the API for CSV that no job needs.
func (d *decoder) checkTables(api settings) {
	if !slices.ContainsFunc(d.cfg.Jobs, func(j Job) bool { return j.Response.mayBeCSV() }) {
		d.refuseTableOptions(ResponseFormat{Format: cmp.Or(Format(api.get("response.format").text()), FormatJSON)}, api)
	}
}

// refuseTableOptions reports settings of CSV in the response object of a job, or of the API, that has
// another format.
func (d *decoder) refuseTableOptions(r ResponseFormat, s settings) {
	if !s.get("response").given() {
		return
	}
	for _, name := range []string{"header", "delimiter", "columns"} {
		if entry := s.get("response." + name); entry.given() {
			d.diags.Errorf(diag.Key(entry.path()), "%s needs the format csv, and the format is %s", name, r.Format).
				WithHint(`add "format": "csv", or remove it`)
		}
	}
}

// checkPath reports a dataField that the format of a job cannot have, or lacks.
func (d *decoder) checkPath(j *Job, field setting) {
	problem := j.Response.PathProblem(j.ItemPaths())
	switch {
	case problem == "" || field.Invalid:
	case field.given():
		d.diags.Errorf(diag.Value(field.path()), "%s", problem).WithHint("remove dataField")
	default:
		d.diags.Errorf(diag.Value(j.path), "%s", problem).WithHint(`write it like "dataField": "feed.entry"`)
	}
}

// mayBeCSV reports whether responses may be CSV.
func (r ResponseFormat) mayBeCSV() bool { return r.Format == FormatCSV || r.Format == FormatAuto }

// ItemPaths returns the paths of the items, with * for every element or member; without a
// dataField it returns nil.
func (j Job) ItemPaths() [][]string {
	if j.DataField == nil {
		return nil
	}
	var paths [][]string
	for _, l := range j.DataField.Lists {
		var keys []string
		for _, s := range l.Steps {
			if s.All {
				s.Key = "*"
			}
			keys = append(keys, s.Key)
		}
		paths = append(paths, keys)
	}
	if paths == nil {
		paths = [][]string{j.DataField.Keys}
	}
	return paths
}

// PathProblem says why the paths of items (dataField) do not fit the format; "" if they
// do. Without a path, paths is empty; a path without keys is the root.
func (r ResponseFormat) PathProblem(paths [][]string) string {
	switch {
	case r.Format.IsLines():
		for _, path := range paths {
			if len(path) > 0 {
				return fmt.Sprintf("each line of %s is an item, so dataField has no meaning", strings.ToUpper(string(r.Format)))
			}
		}
	case r.Format == FormatXML:
		if len(paths) == 0 {
			return "the format xml needs dataField: the path of the elements that are the items, from the root element on"
		}
	}
	return ""
}
