package detect

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/value"
)

// somewhere has a value for every placeholder.
var somewhere = map[string]any{
	"at": "a.b", "body": "body.a.b", "param": "p", "name": "N", "first": 1, "limit": 10, "limitParam": "l", "idKey": "id", "counted": true, "honoured": true, "from": "0", "to": "9", "size": "10", "unit": "items=", "endParam": "q",
	"pagesAt": "a.pages", "pagesHeader": "X-Pages", "sendFirst": true, "fromJob": true, "shortEnds": true, "rest": "body.a.c",
	"before": "/a/page/", "after": "/b", "endpoint": "users", "params": value.Object{{Name: "size", Value: 2}},
}

// TestEverySignIsAValidPagination fills in every row of the table, with what it could find
// and with as little as it needs, and compiles it.
func TestEverySignIsAValidPagination(t *testing.T) {
	named := regexp.MustCompile(`\$\{(\w+)\}`)
	for _, sign := range append(slices.Clone(hypotheses), shortPages) {
		t.Run(sign.id, func(t *testing.T) {
			require.NotNil(t, sign.kind.find, "a kind that nothing looks for")
			require.NotEmpty(t, sign.says)
			for _, template := range []value.Object{sign.pagination, inBody, scroll} {
				for _, m := range named.FindAllStringSubmatch(jsonOf(template), -1) {
					require.Contains(t, somewhere, m[1], "a placeholder that nothing fills")
				}
				full, ok := fill(template, somewhere).(value.Object)
				require.True(t, ok)
				requirePagination(t, full)
				for _, m := range sign.ends {
					requirePagination(t, full.With(m.Name, m.Value))
				}
			}
			_, ok := fillText(sign.says, somewhere).(string)
			require.True(t, ok)
		})
	}
}

func requirePagination(t *testing.T, pagination value.Object) {
	t.Helper()
	text := jsonOf(value.Object{
		{Name: "api", Value: value.Object{{Name: "baseUrl", Value: "https://api.test/"}, {Name: "pagination", Value: pagination}}},
		{Name: "config", Value: value.Object{{Name: "jobs", Value: []any{value.Object{
			{Name: "endpoint", Value: "users"}, {Name: "method", Value: "POST"},
			{Name: "params", Value: value.Object{{Name: "variables", Value: value.Object{}}, {Name: "pit", Value: value.Object{}}}},
		}}}}},
	})
	_, err := engine.Load("sign.json", []byte(text))
	require.NoError(t, err, text)
}

// TestTextsWrap keeps words and the width.
func TestTextsWrap(t *testing.T) {
	require.Equal(t, []string{"a bc", "def", "ghijk"}, wrap("a bc def  ghijk ", 4))
	require.Equal(t, []string{""}, wrap("", 4))
	require.Equal(t, []string{"éé é"}, wrap("éé é", 4))
}

// TestListsOfItemsAreFound ranks the lists of typical responses.
func TestListsOfItemsAreFound(t *testing.T) {
	for body, want := range map[string]string{
		`[{"id": 1}]`: ".",
		`{"data": [{"id": 1}], "links": [{"rel": "a"}, {"rel": "b"}, {"rel": "c"}]}`:                       "data",
		`{"users": [{"id": 1}], "errors": []}`:                                                             "users",
		`{"hits": {"total": 1, "hits": [{"_id": "a", "tags": ["x", "y"]}]}}`:                               "hits.hits",
		`{"meta": {"columns": [{"n": "a"}, {"n": "b"}]}, "data": [[1, 2]]}`:                                "data",
		`{"d": {"results": [{"ID": "1"}]}}`:                                                                "d.results",
		`{"schemas": ["a", "b"], "Resources": [{"id": 1}]}`:                                                "Resources",
		`{"data": {"viewer": {"repositories": {"nodes": [{"id": 1}], "pageInfo": {}}}}}`:                   "data.viewer.repositories.nodes",
		`{"results": [], "filters": [{"a": 1}, {"a": 2}, {"a": 3}]}`:                                       "results",
		`{"type": "FeatureCollection", "bbox": [1, 2, 3, 4], "features": [{"id": 1}], "links": [{"a":1}]}`: "features",
	} {
		x := &exchange{Exchange: recording.Exchange{Status: 200, ResponseBody: []byte(body)}}
		p, err := readPage(x)
		require.NoError(t, err, body)
		require.Equal(t, want, p.lists[0].String(), body)
	}
}

// The text after a value is not whitespace: such a text is not JSON, and may be several values.
func TestATextWithMoreThanOneValueIsNotJSON(t *testing.T) {
	for _, text := range []string{`[{"id": 1}]]`, `{"items": []}}`, `{"id": 1} {"id": 2}`, `[1],`, ``} {
		_, err := parseJSON([]byte(text))
		require.Error(t, err, text)
	}
	v, err := parseJSON([]byte(" [1.50]\n "))
	require.NoError(t, err)
	require.Equal(t, []any{json.Number("1.50")}, v)
}
