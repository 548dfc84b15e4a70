package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

func TestScanRefusesInvalidDocuments(t *testing.T) {
	for _, c := range []struct {
		name, body, message string
		offset              int
	}{
		{"empty body", "", "the document is empty", 0},
		{"whitespace only", " \r\n\t", "the document is empty", 4},
		{"byte order mark only", "\ufeff", "the document is empty", 3},
		{"HTML", "<html>", "invalid character '<' where a value should begin", 0},
		{"UTF-16 big endian", "\xfe\xff\x00{\x00}", "the document is UTF-16, not UTF-8", 0},
		{"UTF-16 little endian", "\xff\xfe{\x00}\x00", "the document is UTF-16, not UTF-8", 0},
		{"two byte order marks", "\ufeff\ufeff{}", `invalid character '\ufeff' where a value should begin`, 3},
		{"NDJSON", "{\"a\":1}\n{\"a\":2}\n", "extra data after the document", 8},
		{"trailing garbage", "[1] x", "extra data after the document", 4},
		{"trailing bracket", "[1]]", "extra data after the document", 3},
		{"cut list", `{"v":[1,2`, "unexpected end of the document", 9},
		{"cut string", `["abc`, "unexpected end of the document", 5},
		{"cut escape", `["abc\`, "unexpected end of the document", 6},
		{"cut unicode escape", `["\u00`, "unexpected end of the document", 6},
		{"cut word", `[tru`, "unexpected end of the document", 4},
		{"cut number", `-`, "unexpected end of the document", 1},
		{"brace instead of a comma", `[{"a":{"b":1},"c":{"d":2}},{"a":{"b":1},"c":{"d":2{"d":2}}}]`,
			"invalid character '{' after an object member", 50},
		{"comma instead of a brace", `[{"a":1,"b":2},{"a":1,"b":2},,"b":2}]`, "invalid character ',' where a value should begin", 29},
		{"cut object", `{"a"`, "unexpected end of the document", 4},
		{"raw newline in string", "[\"a\nb\"]", "control character 0x0a in a string", 3},
		{"raw control late", "[\"abcdefghijkl\x01\"]", "control character 0x01 in a string", 14},
		{"NaN", `[NaN]`, "invalid character 'N' where a value should begin", 1},
		{"Infinity", `[-Infinity]`, "invalid character 'I' in a number", 2},
		{"comment", `[1, // one` + "\n2]", "invalid character '/' where a value should begin", 4},
		{"single quotes", `{'a':1}`, `invalid character '\'' where an object key should begin`, 1},
		{"bare key", `{a:1}`, "invalid character 'a' where an object key should begin", 1},
		{"trailing comma, list", `[1,]`, "invalid character ']' where a value should begin", 3},
		{"trailing comma, object", `{"a":1,}`, "invalid character '}' where an object key should begin", 7},
		{"leading zero", `[01]`, "a number with a leading zero", 1},
		{"negative leading zero", `[-01]`, "a number with a leading zero", 2},
		{"plus sign", `[+1]`, "invalid character '+' where a value should begin", 1},
		{"no digit after point", `[1.]`, "invalid character ']' in a number", 3},
		{"no digit before point", `[.5]`, "invalid character '.' where a value should begin", 1},
		{"no digit in exponent", `[1e+]`, "invalid character ']' in a number", 4},
		{"wrong closing bracket", `[1}`, "invalid character '}' after a list element", 2},
		{"no colon", `{"a" 1}`, "invalid character '1' after an object key", 5},
		{"no comma", `{"a":1 "b":2}`, `invalid character '"' after an object member`, 7},
		{"unknown escape", `["\x"]`, "invalid character 'x' in an escape", 3},
		{"short unicode escape", `["\u12g4"]`, `invalid character 'g' in a \u escape`, 6},
		{"misspelt word", `[nul]`, "invalid character ']' in the literal null", 4},
		{"form feed as space", "[1,\f2]", `invalid character '\f' where a value should begin`, 3},
		{"broken UTF-8 outside", "[\xff]", "invalid character 0xff where a value should begin", 1},
		{"after a mark", "\ufeff[1}", "invalid character '}' after a list element", 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newDocument([]byte(c.body), nil, 0)
			syntax := (*scan.SyntaxError)(nil)
			require.ErrorAs(t, err, &syntax)
			require.Equal(t, c.message, syntax.Message)
			require.Equal(t, c.offset, syntax.Offset)
		})
	}
}

func TestScanErrorNamesTheOffset(t *testing.T) {
	_, err := newDocument([]byte(`[1}`), nil, 0)
	require.EqualError(t, err, "invalid character '}' after a list element at byte 2")
}

func TestScanBoundsTheDepth(t *testing.T) {
	nested := func(open, middle, shut string, n int) []byte {
		return []byte(strings.Repeat(open, n) + middle + strings.Repeat(shut, n))
	}
	for _, body := range [][]byte{nested("[", "", "]", 512), nested(`{"a":`, "1", "}", 512)} {
		_, err := newDocument(body, nil, 512)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		name string
		body []byte
	}{
		{"lists", nested("[", "", "]", 513)},
		{"objects", nested(`{"a":`, "1", "}", 513)},
		{"truncated", []byte(strings.Repeat("[", 513))},
		{"ten million levels", []byte(strings.Repeat("[", 10_000_000))},
		{"tracked", nested(`{"a":`, "1", "}", 100_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newDocument(c.body, [][]string{{"a", "a"}}, 512)
			depth := (*DepthError)(nil)
			require.ErrorAs(t, err, &depth)
			require.Contains(t, err.Error(), "more than 512 levels")
		})
	}
	t.Run("the limit can be set", func(t *testing.T) {
		_, err := newDocument([]byte("\ufeff[[[1]]]"), nil, 2)
		require.EqualError(t, err, "nested more than 2 levels deep at byte 5")
	})
	t.Run("but not to exhaust the stack", func(t *testing.T) {
		_, err := newDocument(nested("[", "", "]", scan.MaxDepth+1), nil, 1<<30)
		require.ErrorAs(t, err, new(*DepthError))
	})
}

func TestTextThatIsNotUnicodeIsRefused(t *testing.T) {
	for _, c := range []struct{ name, body, problem string }{
		{"valid", `["é and 日本語", "\ud83d\ude00"]`, ""},
		{"single byte", "[\"\xff\"]", "invalid UTF-8 (0xff) in a string at byte 2, in item 1"},
		{"truncated sequence", "[1, \"cut \xe6\x97\"]", "invalid UTF-8 (0xe6) in a string at byte 9, in item 2"},
		{"Latin-1", "[\"ok\",\"caf\xe9\"]", "invalid UTF-8 (0xe9) in a string at byte 10, in item 2"},
		{"key", "{\"\xff\":1}", "invalid UTF-8 (0xff) in a string at byte 2"},
		{"encoded surrogate", "[\"\xed\xa0\x80\"]", "invalid UTF-8 (0xed) in a string at byte 2, in item 1"},
		{"first half of a pair", `["\ud800"]`, `unpaired surrogate \ud800 in a string at byte 2, in item 1`},
		{"second half of a pair", `{"a":"x\ude00"}`, `unpaired surrogate \ude00 in a string at byte 7`},
		{"halves in the wrong order", `["\ude00\ud83d"]`, `unpaired surrogate \ude00 in a string at byte 2, in item 1`},
		{"first half before another escape", `["\uD83D\n"]`, `unpaired surrogate \uD83D in a string at byte 2, in item 1`},
		{"after an escaped backslash", `["\\ud83d\ude00"]`, `unpaired surrogate \ude00 in a string at byte 9, in item 1`},
		{"after an escape", "[\"a\\n\xff long text\"]", "invalid UTF-8 (0xff) in a string at byte 5, in item 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := &document{scanner: scan.New(scan.Targets{Detect: true})}
			err := doc.parse([]byte(c.body))
			if c.problem == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.problem)
		})
	}
}

// Dialect keboola leaves invalid bytes out, as its reference implementation does.
func TestBytesThatAreNotUTF8MayBeLeftOut(t *testing.T) {
	for _, compact := range []bool{false, true} {
		long := strings.Repeat("日", 3000)
		body := " [ 1 , \"a\xff" + long + "\xe6\" ,  {\"\xed\xa0\x80k\": 2} ] "
		doc := &document{scanner: scan.New(scan.Targets{Detect: true, Compact: compact}), dropsInvalid: true}
		require.NoError(t, doc.parse([]byte(body)))
		require.True(t, doc.dropped)
		require.JSONEq(t, `[1, "a`+long+`", {"k": 2}]`, string(doc.raw))
		require.NoError(t, doc.parse([]byte(`["é"]`)))
		require.False(t, doc.dropped)
		require.EqualError(t, doc.parse([]byte("[\"\xff\", \"\\ud800\"]")), `unpaired surrogate \ud800 in a string at byte 6, in item 2`)
	}
}

func TestScanAllocatesNothingThatGrows(t *testing.T) {
	count := func(n int) float64 {
		body := []byte(`{"a":[` + strings.Repeat(`{"k":"v","l":[1,2.5e3,null]},`, n) + `0],"b":1}`)
		return testing.AllocsPerRun(5, func() {
			_, err := newDocument(body, [][]string{{"a", "0", "k"}, {"b"}}, 0)
			require.NoError(t, err)
		})
	}
	require.Equal(t, count(10), count(10_000))
}

// FuzzScan compares the scanner with encoding/json.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		``, ` `, `{}`, `[]`, `[1,2,{"a":[]}]`, `{"a":{"b":1},"a":{"c":2}}`, ` [ 1 , "x\u00e9\/" , { } ] `,
		`[9007199254740993,-0,1.10,1e400]`, "[\"\xff\",\"\\ud800\"]", `{"a":1}{"b":2}`, `[01]`, `[1.]`, `["\x"]`, "[\"\n\"]", `{"v":[1,2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc := &document{scanner: scan.New(scan.Targets{Body: scan.NewTree([][]string{nil, {"a"}, {"a", "b"}, {"0"}}, nil), Detect: true})}
		err := doc.parse(body)
		if errors.As(err, new(*DepthError)) {
			return
		}
		plain := bytes.TrimPrefix(body, byteOrderMark)
		if err == nil || isUnicode(plain) { // encoding/json replaces text that is not Unicode
			require.Equal(t, json.Valid(plain), err == nil, "%q: %v", body, err)
		}
		if syntax, ok := errors.AsType[*scan.SyntaxError](err); ok {
			require.LessOrEqual(t, syntax.Offset, len(body))
			return
		}
		compact := compactOf(t, plain)
		require.Len(t, compact, doc.scanner.Size)

		var elements []json.RawMessage
		switch doc.rootKind() {
		case scan.List:
			require.NoError(t, json.Unmarshal(plain, &elements))
			requireItems(t, elements, splitItems(compact))
			if first, present := lookupRaw(doc, []string{"0"}); len(elements) > 0 {
				require.True(t, present)
				require.Equal(t, string(elements[0]), string(first))
			}
		case scan.Object:
			requireMembers(t, plain, doc)
		}
	})
}

// isUnicode reports whether a document has no invalid UTF-8 and no escape of a surrogate.
func isUnicode(raw []byte) bool {
	return utf8.Valid(raw) && !regexp.MustCompile(`\\u[dD][89a-fA-F]`).Match(raw)
}

// compactOf returns valid JSON without insignificant whitespace.
func compactOf(t *testing.T, raw []byte) []byte {
	t.Helper()
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, raw))
	return compact.Bytes()
}

func requireItems(t *testing.T, elements []json.RawMessage, items Items) {
	t.Helper()
	require.Equal(t, len(elements), items.Len())
	n := 0
	for item := range items.All() {
		require.Equal(t, string(compactOf(t, elements[n])), string(item))
		n++
	}
	require.Equal(t, len(elements), n)
}

// requireMembers compares the root members with those of encoding/json.
func requireMembers(t *testing.T, body []byte, doc *document) {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &members))
	require.Len(t, doc.names(nil), len(members))
	want, present := members["a"]
	raw, found := lookupRaw(doc, []string{"a"})
	require.Equal(t, present, found)
	require.Equal(t, string(want), string(raw))
	var below map[string]json.RawMessage
	if present && scan.KindOf(raw) == scan.Object {
		require.NoError(t, json.Unmarshal(raw, &below))
	}
	want, present = below["b"]
	raw, found = lookupRaw(doc, []string{"a", "b"})
	require.Equal(t, present, found)
	require.Equal(t, string(want), string(raw))
	lists := map[string]string{}
	for name, raw := range members {
		if raw[0] == '[' {
			lists[name] = string(raw)
		}
	}
	for _, list := range rootListsOf(doc) {
		require.Equal(t, lists[list.name], list.raw)
		delete(lists, list.name)
		var elements []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(list.raw), &elements))
		requireItems(t, elements, splitItems(compactOf(t, []byte(list.raw))))
	}
	require.Empty(t, lists)
}
