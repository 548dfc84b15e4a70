package document

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// pages returns the bodies of responses: large and small lists, with and without whitespace,
// and bodies that are not pages.
func pages() []string {
	list := func(from, n int, space string) string {
		var items []string
		for id := from; id < from+n; id++ {
			items = append(items, fmt.Sprintf(`{%[2]s"id":%[2]s%[1]d, "name": "n\u00e9%[1]d", "at": {"x": [%[1]d]}}`, id, space))
		}
		return `{"data": [` + strings.Join(items, ", ") + `], "meta": {"next": ` + fmt.Sprint(from+n) + `}}`
	}
	return []string{
		list(0, 100, ""), list(100, 300, "\n  "), list(400, 3, ""), `{"data": [], "meta": {}}`, `{"data": {"id": 7}}`, `{"data": null}`, "", " ",
		list(403, 100, "")[:2000], `{"data": [1, 2}`, "<html>", "\ufeff" + list(503, 10, " "), "\xfe\xff\x00{", `{"dta": [1]}`, `[{"id": 1}, {"id": 2}]`,
		`{"data": [{"id": "` + "\xff" + `"}], "errors": ["e"]}`, `{"data": [{"id": 1, "id": 2}], "data": [{"id": 3}]}`, list(513, 200, ""), "1", list(713, 1, ""),
	}
}

// A response that another goroutine has scanned is read like any other, and what is read of a
// response stays valid while the next ones are scanned.
func TestAScannedResponseIsReadLikeAnyOther(t *testing.T) {
	data := &rules.DataField{Keys: []string{"data"}, Text: "data"}
	lists := &rules.DataField{Text: "data.*", Lists: []rules.ItemList{{Text: "data.*", Steps: []rules.PathStep{{Key: "data"}, {All: true}}}}}
	for name, o := range map[string]Options{
		"a path":          {DataField: data, Paths: [][]string{{"meta", "next"}, {"data", "1"}}, Items: [][]string{{"id"}, {"at", "x"}}},
		"detected":        {Ignore: [][]string{{"meta"}}, Items: [][]string{{}}},
		"several lists":   {DataField: lists, Items: [][]string{{"name"}}, Members: true},
		"decoded, few":    {DataField: data, Decode: true, MaxItems: 250},
		"shallow, volume": {DataField: data, MaxDepth: 3, Switches: rules.Switches{PHPVolume: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var warned, wantWarned []string
			o.Warn = func(code, _ string) { wantWarned = append(wantWarned, code) }
			plain := NewReader(o)
			o.Warn = func(code, _ string) { warned = append(warned, code) }
			ahead := NewReader(o)

			all := pages()
			responses := make([]Response, len(all))
			var scanning sync.WaitGroup
			scan := func(i int) {
				if i >= len(all) {
					return
				}
				responses[i] = Response{Status: 200, Body: []byte(all[i])}
				scanning.Go(func() { responses[i].Scan = ahead.Scan(responses[i]) })
			}
			scan(0)
			scan(1)
			for i, body := range all {
				want, wantErr := plain.Read(Response{Status: 200, Body: []byte(body)})
				scanning.Wait()
				got, err := ahead.Read(responses[i])
				scan(i + 2)
				require.Equal(t, wantErr, err, body)
				require.Equal(t, outcome(t, want), outcome(t, got), body)
			}
			require.Equal(t, wantWarned, warned)
			require.NotEmpty(t, warned)
		})
	}
}

// outcome returns all that a reading has.
func outcome(t *testing.T, r Reading) []any {
	t.Helper()
	spelling, err := r.Spelling.MarshalJSON()
	require.NoError(t, err)
	all := []any{
		string(r.Items.Bytes()), r.Items.Len(), r.Members, r.Decoded, r.Body, r.Bytes, r.Content, r.ItemsDigest, string(spelling), r.Found, r.HasField, r.Stray, r.HasErrors,
	}
	for _, list := range r.Lists {
		all = append(all, string(list.Items.Bytes()))
	}
	for _, end := range r.Compared {
		all = append(all, string(end))
	}
	if r.Values != nil {
		for _, path := range [][]string{{"id"}, {"at", "x"}, {"name"}} {
			column, known, err := r.Values.Column(path)
			all = append(all, column, known, err)
		}
		items, err := r.Values.Items()
		all = append(all, len(items), err)
	}
	if r.Names != nil {
		found, err := r.Lookup(NewPaths([][]string{{"meta"}, {"errors"}}))
		all = append(all, r.Names(nil), r.Names([]string{"meta"}), found, err, string(r.Items.Bytes()))
	}
	return all
}
