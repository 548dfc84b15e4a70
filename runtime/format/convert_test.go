package format

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// converted returns a body as JSON.
func converted(c *Converter, body []byte) (string, error) {
	var into spool.Buffer
	defer into.Release()
	done, err := c.Convert(Body{Status: 200, Data: body}, &into)
	if err != nil || !done {
		return "", err
	}
	out, _, err := into.Body()
	return string(out), err
}

func csvResponse() rules.ResponseFormat {
	return rules.ResponseFormat{Format: rules.FormatCSV, Header: true}
}

// FuzzLines compares the items with the lines, each read by encoding/json.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "1", "{\"a\": 1}\n\n [2] \r\n\"x\"", "\x1e{}\n", "{\n}", "1,2", "1 2", "[1]]\n[2", "\ufeff1\n"} {
		f.Add([]byte(seed))
	}
	surrogate := regexp.MustCompile(`\\u[dD][89a-fA-F]`) // encoding/json accepts half of a pair
	f.Fuzz(func(t *testing.T, body []byte) {
		if surrogate.Match(body) {
			return
		}
		got, err := converted(NewConverter(Options{Response: rules.ResponseFormat{Format: rules.FormatNDJSON}}), body)
		var want []string
		valid := !scan.IsUTF16(body)
		for line := range bytes.SplitSeq(bytes.TrimPrefix(body, byteOrderMark), []byte("\n")) {
			line = bytes.Trim(bytes.TrimPrefix(line, []byte("\x1e")), " \t\r")
			if len(line) > 0 {
				valid = valid && json.Valid(line) && utf8.Valid(line)
				want = append(want, string(line))
			}
		}
		if looksLikeHTML(beginning(body)) || !valid {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, "["+strings.Join(want, ",")+"]", got)
	})
}

// isNoName reports whether a text cannot be the name of a column.
func isNoName(name string) bool {
	return strings.Contains(name, "\r")
}

// FuzzRows compares the rows with those of encoding/csv.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		"", "a,b\n1,2\n", "a\n\n\"x\"\"y\"\r\n", "a,b\n1\n", "a,a\n", ",\n", "\ufeffa\n1", "a\n\"1", "a\n\x00\xff\\\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := converted(NewConverter(Options{Response: csvResponse()}), body)
		if scan.IsUTF16(body) || looksLikeHTML(beginning(body)) {
			require.Error(t, err)
			return
		}
		rows, failed := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, byteOrderMark))).ReadAll()
		names := slices.Concat(rows[:min(len(rows), 1)]...)
		slices.Sort(names)
		if failed != nil || !utf8.Valid(body) || slices.Contains(names, "") || len(slices.Compact(names)) < len(names) || slices.ContainsFunc(names, isNoName) {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(got)), got)
		var items []map[string]string
		require.NoError(t, json.Unmarshal([]byte(got), &items))
		require.Len(t, items, max(len(rows)-1, 0))
		for i, item := range items {
			for k, name := range rows[0] {
				require.Equal(t, rows[i+1][k], item[name])
			}
		}
	})
}

// A node is an element of a document that is held as a tree.
type node struct {
	name     string
	attrs    []xml.Attr
	text     string
	children []*node
}

// parseTree reads a document with [xml.Decoder.Token], which checks that the elements
// match. It returns nil for one that is not well-formed, or has more than one root.
func parseTree(body []byte) *node {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = charsetReader
	top := &node{}
	stack := []*node{top}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil
		}
		in := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			child := &node{name: qualified(token.Name), attrs: slices.Clone(token.Attr)}
			in.children = append(in.children, child)
			stack = append(stack, child)
		case xml.EndElement:
			if in == top || in.name != qualified(token.Name) {
				return nil
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			in.text += string(token)
		}
	}
	if len(stack) != 1 || len(top.children) != 1 || strings.TrimSpace(top.text) != "" {
		return nil
	}
	return top
}

// value returns an element by the documented mapping. It reports false for an attribute
// that is written twice.
func (n *node) value(root bool) (any, bool) {
	object, seen := map[string]any{}, map[string]bool{}
	for _, a := range n.attrs {
		name := qualified(a.Name)
		if seen[name] {
			return nil, false
		}
		if seen[name] = true; name != "xmlns" && a.Name.Space != "xmlns" {
			object["@"+name] = a.Value
		}
	}
	lists := map[string][]any{}
	for _, child := range n.children {
		v, ok := child.value(false)
		if !ok {
			return nil, false
		}
		lists[child.name] = append(lists[child.name], v)
	}
	for name, list := range lists {
		if object[name] = list; len(list) == 1 {
			object[name] = list[0]
		}
	}
	if len(object) == 0 {
		return n.text, true
	}
	if text := strings.TrimSpace(n.text); text != "" && !root {
		object["#text"] = text
	}
	return object, true
}

// FuzzDocument compares the object with one that is made from a tree, whether the
// document is held in memory or in a file.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"<a/>", "<a> x </a>", "<a b='1'><c/>t<c>2</c><d>3</d><c/></a>", "<p:a xmlns:p='u' p:b='&lt;'>&#233;</p:a>",
		"<a><b></a></b>", "<a/><b/>", "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "<a><![CDATA[<]]></a>", "x<a/>", "<a b='1' b='2'/>",
		"<?xml version='1.0' encoding='latin1'?><a/>", "<a>" + strings.Repeat("<b><c>1</c></b><d/>", 20) + "</a>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := NewConverter(Options{Response: rules.ResponseFormat{Format: rules.FormatXML}, MaxDepth: 500})
		got, err := converted(c, body)
		c.held = 16
		spilled, errSpilled := converted(c, body)
		require.Equal(t, got, spilled)
		require.Equal(t, err == nil, errSpilled == nil)
		if errors.As(err, new(*document.DepthError)) || scan.IsUTF16(body) || looksLikeHTML(beginning(body)) {
			require.Error(t, err)
			return
		}
		tree := parseTree(bytes.TrimPrefix(body, byteOrderMark))
		if tree == nil {
			require.Error(t, err)
			return
		}
		want, ok := tree.value(true)
		if !ok {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(got)), got)
		var v any
		require.NoError(t, json.Unmarshal([]byte(got), &v))
		text, err := json.Marshal(want)
		require.NoError(t, err)
		again, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}

func TestALargeDocumentOfXMLIsHeldInAFile(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	body, versions, markers := &strings.Builder{}, []string{}, []string{}
	body.WriteString("<list>")
	for i := range 100_000 {
		fmt.Fprintf(body, "<version><key>%d</key></version><marker>%d</marker>\n", i, i)
		versions, markers = append(versions, fmt.Sprintf(`{"key":"%d"}`, i)), append(markers, fmt.Sprintf(`"%d"`, i))
	}
	body.WriteString("</list>")
	c := NewConverter(Options{Response: rules.ResponseFormat{Format: rules.FormatXML}})
	c.held = 256 << 10
	got, err := converted(c, []byte(body.String()))
	require.NoError(t, err)
	want := fmt.Sprintf(`{"list":{"version":[%s],"marker":[%s]}}`, strings.Join(versions, ","), strings.Join(markers, ","))
	require.Equal(t, document.DigestOf([]byte(want), document.Digest{}), document.DigestOf([]byte(got), document.Digest{}))
	for _, e := range c.open {
		for _, m := range e.members[:cap(e.members)] {
			require.True(t, m == nil || cap(m.value.tail) < 4*c.held)
		}
	}
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		name, path, body, want, err string
	}{
		{"one", "a.b", "<a><b>1</b></a>", `{"a":{"b":["1"]}}`, ""},
		{"none", "a.b", "<a/>", `{"a":{"b":[]}}`, ""},
		{"none next to text", "a.b", "<a>x</a>", `{"a":{"b":[],"#text":"x"}}`, ""},
		{"none, and no element around it", "a.b.c", "<a><d/></a>", `{"a":{"d":""}}`, ""},
		{"another root", "a.b", "<Error><b/></Error>", `{"Error":{"b":""}}`, ""},
		{"the root element", "a", "<a>1</a>", `{"a":["1"]}`, ""},
		{"every element of a list", "a.b.*.c", "<a><b><c>1</c></b><b/></a>", `{"a":{"b":[{"c":["1"]},{"c":[]}]}}`, ""},
		{"a repeated element around it", "a.b.c", "<a>\n<b/>\n<b/></a>", "", "line 3: <b> is repeated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Response: rules.ResponseFormat{Format: rules.FormatXML}, Lists: [][]string{strings.Split(c.path, ".")}}
			got, err := converted(NewConverter(o), []byte(c.body))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhatWouldNeedTooMuchMemoryIsRefused(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, c := range []struct {
		name   string
		format rules.Format
		body   string
		limit  int64
		want   string
	}{
		{"a quote that is never closed", rules.FormatCSV, "a\n\"" + strings.Repeat("x", maxRowBytes+1<<20), 0, "a row has more than 67.1 MB"},
		{"names that each row repeats", rules.FormatCSV, strings.Repeat("n", 1000) + "\n" + strings.Repeat("1\n", 1000), 10_000, "more than 10.0 kB"},
		{"elements of many names", rules.FormatXML, "<a>" + manyNames(maxMembers+1) + "</a>", 0, "elements of more than 100000 names"},
		{"elements in elements", rules.FormatXML, strings.Repeat("<a>", 20_000), 0, "nested more than 10000 levels deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Response: csvResponse(), MaxBytes: c.limit}
			o.Response.Format = c.format
			_, err := converted(NewConverter(o), []byte(c.body))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A file that is not a table must not become a header without rows: the list would be empty,
// and look complete.
func TestAHeaderThatCannotBeOneIsAnError(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"a zip file", "PK\x03\x04\xff\xfe,\x00\n", "column 1 of the header is not text in UTF-8"},
		{"a gzip file in a gzip file", "\x1f\x8b\x08\x00", "column 1 of the header is not text in UTF-8"},
		{"lines that end in CR", "id,name\r1,Ann\r", "column 2 of the header has a CR without LF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := converted(NewConverter(Options{Response: rules.ResponseFormat{Format: rules.FormatCSV, Header: true}}), []byte(c.body))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTextThatIsNotUTF8IsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		format     rules.Format
		body, want string
	}{
		{rules.FormatCSV, "a,b\n1,2\n3,\"x\n\xff\"\n", "line 3, field 2 is not text in UTF-8"},
		{rules.FormatNDJSON, "{\"a\":1}\n{\"a\":\"\xff\"}\n", "line 2 is not a JSON value: invalid UTF-8 (0xff) in a string at byte 6"},
		{rules.FormatNDJSON, `"\ud83d"` + "\n", `line 1 is not a JSON value: unpaired surrogate \ud83d in a string at byte 1`},
		{rules.FormatXML, "<a>\n\xff</a>", "line 2: invalid UTF-8"},
		{rules.FormatXML, "<a b='\xff'/>", "line 1: invalid UTF-8"},
		{rules.FormatXML, "<a\xff/>", "line 1"},
	} {
		o := Options{Response: csvResponse()}
		o.Response.Format = c.format
		_, err := converted(NewConverter(o), []byte(c.body))
		require.ErrorContains(t, err, c.want)
	}
}

func TestAnElementWhoseNameBeginsWithHTMLIsNoWebPage(t *testing.T) {
	c := NewConverter(Options{Response: rules.ResponseFormat{Format: rules.FormatXML}})
	got, err := converted(c, []byte("<htmls/>"))
	require.NoError(t, err)
	require.Equal(t, `{"htmls":""}`, got)
	for _, page := range []string{"<html>", "<HTML lang='en'>", "\n<!DOCTYPE html>", "<html\n>"} {
		_, err := converted(c, []byte(page))
		require.ErrorContains(t, err, "a web page", page)
	}
}

func manyNames(n int) string {
	b := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(b, "<n%d/>", i)
	}
	return b.String()
}

func TestACSVFileStatesItsDelimiter(t *testing.T) {
	for _, c := range []struct{ body, want, err string }{
		{"sep=;\r\nid;name\r\n1;a\r\n", `[{"id":"1","name":"a"}]`, ""},
		{"\ufeffSEP=\t\nid\tname\n1\ta\n", `[{"id":"1","name":"a"}]`, ""},
		{"sep=x\na\n", `[{"sep=x":"a"}]`, ""},
		{"id|name\n1|a\n", "", `set response.delimiter to "|"`},
		{"id|name\n1\n", `[{"id|name":"1"}]`, ""},
		{"a;b,c\n1;2,3\n", `[{"a;b":"1;2","c":"3"}]`, ""},
	} {
		t.Run(c.body, func(t *testing.T) {
			got, err := converted(NewConverter(Options{Response: rules.ResponseFormat{Format: rules.FormatCSV, Header: true}}), []byte(c.body))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// A file of NDJSON may have a single line, with or without a line end. Many APIs send a document in one line, too.
func TestAutoDoesNotGuessWhatASingleLineIs(t *testing.T) {
	for _, c := range []struct{ body, contentType, dataField, err string }{
		{"{\"id\": 1, \"lines\": [{\"n\": 2}]}\n", "application/octet-stream", "", "set response.format to json or ndjson"},
		{"\n{\"id\": 1, \"lines\": []}\r\n", "text/plain; charset=utf-8", "", "one object in one line"},
		{"{\"id\": 1, \"lines\": []}\n", "text/plain", "lines", ""},
		{"{\"id\": 1, \"lines\": []}\n", "application/json", "", ""},
		{"{\"id\": 1, \"lines\": []}\n{\"id\": 2}\n", "text/plain", "", ""},
		{"{\"id\": 1, \"lines\": []}", "text/plain", "", "one object in one line"},
		{"{\"id\": 1, \"lines\": []}", "", "lines", ""},
		{" \n", "text/plain", "", ""},
		{"{\n\"lines\": []}\n", "text/plain", "", ""},
		{"[{\"id\": 1}]\n", "text/plain", "", ""},
		{"\n", "text/plain", "", ""},
	} {
		o := Options{Response: rules.ResponseFormat{Format: rules.FormatAuto}}
		if c.dataField != "" {
			o.Lists = [][]string{{c.dataField}}
		}
		var into spool.Buffer
		_, err := NewConverter(o).Convert(Body{Status: 200, ContentType: c.contentType, Data: []byte(c.body)}, &into)
		into.Release()
		if c.err == "" {
			require.NoError(t, err, c.body)
		} else {
			require.ErrorContains(t, err, c.err, c.body)
		}
	}
}
