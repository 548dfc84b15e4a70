package scan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// twinMarks are what the scanner looks for when it is compared: items at a path, the only
// list of the root, with and without compaction, limits, and paths that lead into items.
func twinMarks() []Targets {
	paths := [][]string{{"a", "b"}, {"data"}, {"c", "1", "id"}, {"é"}, {""}, {"a", ""}}
	columns := NewColumns([][]string{{"id"}, {"n", "a"}, {"n", "b"}, {"l", "0"}, {"k", "1", "a"}})
	var all []Targets
	for _, compact := range []bool{true, false} {
		body := NewTree(paths, [][]string{nil})
		inside := NewTree(append([][]string{{"data", "1", "id"}}, paths...), nil)
		all = append(all,
			Targets{Body: body, Items: body.Root.At("data"), Columns: columns, Compact: compact, MaxDepth: 500},
			Targets{Body: inside, Items: inside.Root.At("data"), Columns: columns, Compact: compact, MaxDepth: 500},
			Targets{Body: body, Detect: true, Columns: columns, Compact: compact, MaxDepth: 500},
			Targets{Body: NewTree(nil, nil), Detect: true, Compact: compact, MaxDepth: 4, MaxItems: 2},
		)
	}
	return all
}

// requireTwin compares the scanner with its slow twin on pages that it reads one after the
// other, so that it knows their keys.
func requireTwin(t *testing.T, body []byte) {
	t.Helper()
	for n, m := range twinMarks() {
		s := New(m)
		for round := range 2 {
			name := fmt.Sprintf("marks %d, round %d, of %.300q", n, round, body)
			want, wantErr := slowly(m, body)
			err := s.Scan(bytes.Clone(body))
			require.Equal(t, wantErr, err, name)
			if err != nil {
				continue
			}
			require.Equal(t, string(want.Data), string(s.Data), name)
			require.Equal(t, []any{want.Root, want.Size, want.Begins}, []any{s.Root, s.Size, s.Begins}, name)
			require.Equal(t, []any{want.Duplicate, want.Respelt, want.Surplus}, []any{s.Duplicate, s.Respelt, s.Surplus}, name)
			requireSpans(t, want.Row, s.Row, name)
			requireSpans(t, want.Cells, s.Cells, name)
			require.Equal(t, fmt.Sprint(want.Breaks), fmt.Sprint(s.Breaks), name)

			row := make([]Span, m.Body.Width)
			require.Equal(t, s.Root.End, Walk{Data: s.Data}.Locate(s.Root.Start, m.Body, row), name)
			requireSpans(t, s.Row, row, "located by "+name)
		}
	}
}

// pieces is a source that gives a document in pieces of a size.
type pieces struct {
	rest []byte
	size int
	done []byte // document after the scan
}

func (p *pieces) Next(done, rest []byte) (data []byte, more bool, err error) {
	p.done = append(p.done, done...)
	data = bytes.Clone(rest)
	for i := range rest { // it becomes invalid
		rest[i] = 0xff
	}
	n := min(p.size, len(p.rest))
	data, p.rest = append(data, p.rest[:n]...), p.rest[n:]
	return slices.Clip(data), n > 0, nil
}

// requireParts requires that a scan of a document in two pieces, and then pieces of a size, has the
// same result as a scan of the whole document. It returns the number of separators that were replaced
// in lists that are not the last.
func requireParts(t *testing.T, m Targets, body []byte, first, size int) (replaced int) {
	t.Helper()
	m.Columns = nil
	name := fmt.Sprintf("%d bytes, then %d at a time, of %.300q", first, size, body)
	whole, parts := New(m), New(m)
	for range 2 { // the second time, it knows the keys
		source := &pieces{rest: bytes.Clone(body[first:]), size: size}
		wantErr := whole.Scan(bytes.Clone(body))
		err := parts.ScanParts(bytes.Clone(body[:first]), source)
		require.Equal(t, wantErr, err, name)
		if err != nil {
			continue
		}
		want := bytes.Clone(whole.Data)
		for n, at := range whole.Breaks {
			require.Equal(t, n < len(whole.Breaks)-1, want[at] == ',', name)
			want[at] = '\n'
		}
		replaced += len(parts.Replaced())
		for _, list := range parts.Replaced() {
			for i := list.Start; i < list.End; i++ {
				if source.done[i] == '\n' {
					source.done[i] = ','
				}
			}
			source.done[list.End-1] = ']'
		}
		require.Equal(t, string(want), string(source.done), name)
		require.Equal(t, len(whole.Breaks), whole.Count, name)
		found := whole.Found
		found.Data, found.Breaks = nil, parts.Breaks
		require.Equal(t, found, parts.Found, name)
		require.Empty(t, parts.Breaks, name)
	}
	return replaced
}

// requireAnyParts requires the same for other pieces: of one byte, of two sizes, and two that meet at
// any byte. stride is the distance of these bytes.
func requireAnyParts(t *testing.T, body []byte, stride int) {
	t.Helper()
	for _, m := range twinMarks() {
		for _, size := range []int{1, 7, 4096 + 13} {
			requireParts(t, m, body, 0, size)
		}
		for first := 0; first < len(body); first += stride {
			requireParts(t, m, body, first, len(body))
		}
	}
}

func TestADocumentInPartsIsScannedAsAWhole(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, seed := range twinSeeds {
		requireAnyParts(t, []byte(seed), 1)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		page := randomPage(r)
		requireAnyParts(t, page, 1+len(page)/50)
		broken := bytes.Clone(page)
		at := r.IntN(len(broken))
		broken[at] = "\"{}[],:\\ 0x\x01\xff"[r.IntN(13)]
		requireAnyParts(t, broken, 1+len(page)/50)
		requireAnyParts(t, page[:at], 1+len(page)/50)
	}
}

// spread puts space between the tokens of a document, so that no two of them are in one part.
func spread(body string) []byte {
	var out []byte
	inText := false
	for i := range len(body) {
		c := body[i]
		if inText = inText != (c == '"' && (i == 0 || body[i-1] != '\\')); !inText && strings.IndexByte("{}[],:", c) >= 0 {
			out = append(append(out, c), strings.Repeat(" ", blockBytes+100)...)
			continue
		}
		out = append(out, c)
	}
	return out
}

func TestTheTokensOfADocumentAreInDifferentParts(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	replaced := 0
	for _, seed := range append(twinSeeds, `{"data":[1,2],"data":3}`, `{"data":[1,2],"data":[3],"x":[4],"data":[]}`) {
		for _, m := range twinMarks() {
			replaced += requireParts(t, m, spread(seed), 0, 997)
		}
	}
	require.Positive(t, replaced)
}

// The stops of strings are found in blocks, which here begin anywhere in a string, in an escape or in a
// character, or after a long space without strings.
func TestADocumentInPartsHasBlocksAnywhere(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, text := range []string{
		`\ud83d\ude00`, `é`, "日本", `\\`, `\"`, `\\\"`, `\ud83d`, `\ude00`, "\xff", "\xe6\x97", "\n", `\x`, `\u00e`,
	} {
		for _, length := range []int{blockBytes - 14, 2 * blockBytes} {
			fill := strings.Repeat("a", length)
			for _, body := range []string{
				`["` + fill + text + fill + `"]`, `["` + fill + text + `"]`, `[` + strings.Repeat("1,", length) + `"` + text + `"]`,
				`{"` + fill + text + `":1}`, `["a"` + strings.Repeat(" ", length) + `,"b` + text + `"  ]`, `[` + strings.Repeat("1", length) + `,"` + text + `"]`,
			} {
				m := Targets{Body: NewTree([][]string{{"a"}}, nil), Detect: true, Compact: true}
				for back := range 20 {
					requireParts(t, m, []byte(body), max(0, len(body)-back), 1000)
					requireParts(t, m, []byte(body), min(len(body), blockBytes+2-back), blockBytes)
				}
			}
		}
	}
}

// FuzzScanParts compares scans of a document in parts with a scan of the whole document.
func FuzzScanParts(f *testing.F) {
	for n, seed := range twinSeeds {
		f.Add([]byte(seed), n, n+1)
	}
	f.Fuzz(func(t *testing.T, body []byte, first, size int) {
		for _, m := range twinMarks() {
			requireParts(t, m, body, min(max(first, 0), len(body)), max(size, 1))
		}
	})
}

func requireSpans(t *testing.T, want, got []Span, name string) {
	t.Helper()
	require.Equal(t, append([]Span{}, want...), append([]Span{}, got...), name)
}

var twinSeeds = []string{
	``, ` `, `{}`, `[]`, `[1,2,{"a":[]}]`, `{"a":{"b":1},"a":{"c":2}}`, ` [ 1 , "x\u00e9\/" , { } ] `,
	`[9007199254740993,-0,1.10,1e400]`, "[\"\xff\",\"\\ud800\"]", `{"a":1}{"b":2}`, `[01]`, `[1.]`, `["\x"]`, "[\"\n\"]", `{"v":[1,2`,
	`{"data":[{"id":1,"n":{"a":2}},{"id":2,"n":{"a":3}},{"idx":2,"n":{}},` +
		`{"i":1,"a long key of more than sixteen":2, "k" : 3,"k":4,"l":5,"m":6},{"i":1}]}`,
	`[{"id":1,"n":{"a":1}},{"id":1,"n":{"a":1}},{"id":1}]`, `{"data":[{"id":1}],"data":[{"n":{"b":[2]},"l":[1,[2]]}],"c":[0,{"id":3}]}`,
	`[{"a":1,"b":"c"},{"a": 1,"b": "c"},{"a":1,"b":  "c"},{"a":  1, "b":"c"}]`, `{"\u00e9":1,"":{"":2},"a":{"\u0062":3,"":4}}`,
	`{"data": [ {"id" : [ 1 ]} , 2 ], "x": [3], "x": 4, "\u0078": [5]}`, `["\ud83d\ude00\u002f\u0022\u0008\u0001"]`,
	`["\ud83d\ude00\ud800"]`, `["\ud83d\ude00\ude00"]`, `["\ude00\ud83d"]`, `{"data":[1,{"a":"\\ud83d\ude00"}]}`, `{"data":[1],"a":"\ud83d\u0041"}`,
	`{"data":[{"l":[{"a":1},2],"k":[0,{"a":[1]}],"l":[]},{"k":[1,{"b":2}],"n":{"a":1,"a":2},"n":{"b":3}}]}`,
}

func TestTheScannerFindsWhatItsSlowTwinFinds(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, seed := range twinSeeds {
		requireTwin(t, []byte(seed))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		page := randomPage(r)
		requireTwin(t, page)
		for range 3 { // a byte is wrong, or missing
			broken := bytes.Clone(page)
			at := r.IntN(len(broken))
			broken[at] = "\"{}[],:\\ 0x\x01\xff"[r.IntN(13)]
			requireTwin(t, broken)
			requireTwin(t, page[:at])
		}
	}
}

// randomPage returns a page whose items have the same keys most of the time.
func randomPage(r *rand.Rand) []byte {
	space := func() string { return strings.Repeat([]string{"", "", " ", "\n\t"}[r.IntN(4)], r.IntN(4)) }
	texts := []string{`"a"`, `"a \" b"`, `"\u00e9\/"`, `"` + strings.Repeat("long ", 30) + `"`, `"日本"`, `-1.5e3`, `7`, `true`, `null`, `[]`, `{}`, `[1, {"a": 2}]`}
	keys := []string{"id", "n", "l", "k", "a rather long key of an item", `\u006e`, "a", "b", "x"}
	var object func(depth int) string
	object = func(depth int) string {
		var members []string
		for n := range 1 + r.IntN(6) {
			key := keys[n]
			if r.IntN(6) == 0 {
				key = keys[r.IntN(len(keys))]
			}
			value := texts[r.IntN(len(texts))]
			if depth < 3 && r.IntN(4) == 0 {
				value = object(depth + 1)
			}
			members = append(members, space()+`"`+key+`"`+space()+":"+space()+value+space())
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	var items []string
	for range 1 + r.IntN(12) {
		items = append(items, space()+object(0)+space())
	}
	list := "[" + strings.Join(items, ",") + "]"
	if r.IntN(2) == 0 {
		return []byte(space() + list + space())
	}
	return []byte(`{"a":` + object(1) + `,"data":` + space() + list + `,"c":[0,` + object(1) + `]}`)
}

// FuzzScan compares the scanner with its slow twin.
func FuzzScan(f *testing.F) {
	for _, seed := range twinSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { requireTwin(t, body) })
}

func TestTrimGivesUpWhatALargeDocumentHasMade(t *testing.T) {
	var body strings.Builder
	body.WriteString(`[0`)
	for i := range 2 * KeptElements {
		fmt.Fprintf(&body, `,{"key%d":1}`, i)
	}
	body.WriteString(`]`)
	s := New(Targets{Detect: true})
	require.NoError(t, s.Scan([]byte(body.String())))
	require.Equal(t, maxPrefixes, s.prefixes.count)
	s.Trim()
	s.Release()
	require.Zero(t, s.prefixes.count)
	require.LessOrEqual(t, cap(s.Breaks), KeptElements)
	require.Nil(t, s.Data)
}
