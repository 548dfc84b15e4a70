package language

import (
	"testing"

	"github.com/ohler55/ojg/jp"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// TestAJSONPathSelectsWhatTheLibrarySelects compares our evaluation with that of the
// library, which visits the members of an object in any order.
func TestAJSONPathSelectsWhatTheLibrarySelects(t *testing.T) {
	body := decoded(t, `{
		"links": [{"rel": "self", "href": "a"}, {"rel": "next", "href": "b", "tags": ["x", "y"]}, {"href": null}],
		"n": [0, 1, 2, 3, 4, 5], "one": {"two": {"three": [{"id": 1}, {"id": 2}]}}, "id": 3, "text": "abc", "nested": [[1, [2]], [3]]}`)
	for _, path := range []string{
		`$`, `$.id`, `$.none`, `$.text.x`, `$.links[0].href`, `$.links[-1].href`, `$.links[9]`, `$.links[*].href`, `$.links[*].tags[*]`, `$.links.href`,
		`$.n[1:3]`, `$.n[::2]`, `$.n[-2:]`, `$.n[:-4]`, `$.n[4:1:-1]`, `$.n[0,2,-1]`, `$.links[1]['rel','href']`, `$['one']['two']`,
		`$..id`, `$..three[*].id`, `$..href`, `$.nested[*][*]`, `$.nested..[0]`, `@.id`,
		`$.links[?(@.rel == 'next')].href`, `$.links[?(@.rel =~ /^n/)].href`, `$.links[?(@.tags[0] == 'x')].rel`, `$.links[?(@.href)].rel`, `$.n[?(@ > 3)]`,
	} {
		t.Run(path, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, `jsonpath("`+path+`")`)
			require.Empty(t, faults)
			got, err := e.Eval(&Machine{}, &rules.Context{Body: body})
			require.NoError(t, err)
			require.ElementsMatch(t, jp.MustParseString(path).Get(body), got)
		})
	}
}

func TestAJSONPathIsInDocumentOrder(t *testing.T) {
	got, err := eval(t, `{"b": {"id": 2, "a": {"id": 1}}, "id": 0, "list": [{"id": 3}, {"id": 4}]}`, `jsonpath("$..id")`)
	require.NoError(t, err)
	require.Equal(t, []any{0, 2, 1, 3, 4}, got, "an object before what is in it, and its members by name")
}

func TestAJSONPathThatCannotBeLimitedIsRefused(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{`$..a..b`, "a JSONPath has at most one .."},
		{`$.a[?(@..b == 1)]`, "a filter may read paths like @.a.b"},
		{`$.a[?(@.b[?(@.c == 1)].d == 1)]`, "a filter may read paths like @.a.b"},
		{`$.a[?(@.b == $.c)]`, "a filter may read paths like @.a.b"},
		{`$.a[?(@.b[*] == 1)]`, "a filter may read paths like @.a.b"},
		{`$.a[?(match(@.b, @.c))]`, "takes its pattern as a literal"},
		{`$.a[`, "not a JSONPath"},
	} {
		t.Run(c.path, func(t *testing.T) {
			_, faults := one(t, rules.RoleParam, `jsonpath("`+c.path+`")`)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0].Message, c.want)
		})
	}
}
