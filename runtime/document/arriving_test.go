package document

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// receive puts a body into a buffer, as if it were large.
func receive(t *testing.T, b *spool.Buffer, consumer spool.Consumer, body string) Response {
	t.Helper()
	b.ReadBy(consumer)
	b.Reset(10 << 20)
	_, err := io.Copy(b, strings.NewReader(body))
	require.NoError(t, err)
	data, mapping, err := b.Body()
	require.NoError(t, err)
	result, _ := b.Consumed()
	scan, _ := result.(*Scan)
	return Response{Status: 200, Body: data, Mapping: mapping, Scan: scan}
}

// A response that is scanned while it arrives, or that is in a file, is read like one in memory.
func TestALargeResponseIsReadLikeASmallOne(t *testing.T) {
	fixtures.SkipUnderRace(t, "it allocates much")
	data := &rules.DataField{Keys: []string{"data"}, Text: "data"}
	nested := &rules.DataField{Keys: []string{"a", "data"}, Text: "a.data"}
	lists := &rules.DataField{Text: "data.*", Lists: []rules.ItemList{{Text: "data.*", Steps: []rules.PathStep{{Key: "data"}, {All: true}}}}}
	bodies := append(pages(),
		`{"a": {"data": [{"id": 1}, {"id": 2}], "n": 1}, "meta": {"next": 2}, "data": [3]}`,
		`{"a": {"data": [1, 2]}, "a": {"x": [1]}, "meta": {}}`, `{"data": [1, 2], "data": null, "meta": [1]}`,
		`{"data": [1, 2], "data": {"id": 3}}`, `{"data": [1, [2]], "other": [4, 5], "data": [6]}`, `[[1, 2], [3]]`, `{"data": [[1, 2], {"data": [3]}]}`,
		"{\"data\": [\"a\xff\", \"b\"]}", `{"data": ["é\/", "\ud83d\ude00"]}`, `{"data": [1, 2], "data": [`, `{"data": [1,,2]}`,
	)
	for name, o := range map[string]Options{
		"a path":         {DataField: data, Paths: [][]string{{"meta", "next"}, {"meta"}}, Items: [][]string{{"id"}, {"at", "x"}}},
		"nested":         {DataField: nested, Paths: [][]string{{"a", "n"}}},
		"the items":      {DataField: data, Paths: [][]string{{"data"}}},
		"an item":        {DataField: data, Paths: [][]string{{"data", "1"}}, Ignore: [][]string{{"meta"}}},
		"the whole body": {DataField: data, Paths: [][]string{{}}},
		"detected":       {Ignore: [][]string{{"meta"}}, Items: [][]string{{}}},
		"several lists":  {DataField: lists, Items: [][]string{{"name"}}, Members: true},
		"decoded, few":   {DataField: data, Decode: true, MaxItems: 250},
		"keboola":        {DataField: data, Switches: rules.Switches{PHPVolume: true, DropInvalid: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var warned [3][]string
			var readers [3]*Reader
			for i := range readers {
				o.Warn = func(_, message string) { warned[i] = append(warned[i], message) }
				readers[i] = NewReader(o)
			}
			var buffers [2][2]spool.Buffer
			for n, body := range bodies {
				body = strings.Repeat(" ", 300<<10) + body
				want, wantErr := readers[0].Read(Response{Status: 200, Body: []byte(body)})
				for i, r := range readers[1:] {
					consumer := spool.Consumer(nil)
					if i == 0 {
						consumer = r.ScansArriving()
					}
					response := receive(t, &buffers[i][n%2], consumer, body)
					require.Equal(t, consumer != nil, response.Scan != nil)
					got, err := r.Read(response)
					require.Equal(t, wantErr, err, body[300<<10:])
					require.Equal(t, outcome(t, want), outcome(t, got), body[300<<10:])
					if got.Visit == nil {
						continue
					}
					require.Equal(t, visited(t, want), visited(t, got))
				}
			}
			require.Equal(t, warned[0], warned[1])
			require.Equal(t, warned[0], warned[2])
			for i := range buffers {
				buffers[i][0].Release()
				buffers[i][1].Release()
			}
			readers[2].Close()
		})
	}
}

// visited returns the values in a body, and what further paths lead to.
func visited(t *testing.T, r Reading) []any {
	t.Helper()
	var all []any
	err := r.Visit(func(path []string) (value, members bool) { return len(path) == 2, true }, func(path []string, v any) {
		all = append(all, path, v)
	})
	require.NoError(t, err)
	for _, path := range [][]string{{"data"}, {"data", "1"}, {"a", "data", "0"}, {"a", "n"}, {}} {
		v, err := r.Lookup(NewPaths([][]string{path}))
		all = append(all, v, err, r.Names(path))
	}
	return append(all, string(bytes.Clone(r.Items.Bytes())))
}
