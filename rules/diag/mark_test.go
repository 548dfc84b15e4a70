package diag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/diag"
)

func TestPathsOfNamesWithDotsAndBracketsAreFound(t *testing.T) {
	// Each value is at ten times its number, and its key just before it.
	at := func(name string, n int, inner ...diag.Mark) diag.Mark {
		return object(diag.Mark{Name: name, Value: 10 * n, Key: 10*n - 1}, inner...)
	}
	element := func(n int, inner ...diag.Mark) diag.Mark { return object(diag.Mark{Value: 10 * n, Key: -1}, inner...) }
	s := diag.NewSource("c.json", "")
	s.SetMarks(element(0,
		at("a", 1,
			at("b", 2),
			at("", 3),
			at("x[0]", 4),
			at("later", 5),
		),
		at("list", 6, element(7, at("c.d", 8)), element(9)),
		at("a.later", 10),
		at("list[1]", 11),
		at("[0]", 12),
		at("", 13, at("in", 14)),
		at("e.f.g", 15, at("h", 16)),
	))
	for path, want := range map[string]int{
		"a": 1, "a.b": 2, "a.": 3, "a.x[0]": 4, "a.x[0].y": 4, "a.x": 1,
		"list": 6, "list[0]": 7, "list[0].c.d": 8, "list[0].c": 7, "list[2]": 6, "list[-1]": 6, "list[01]": 6, "list[": 6,
		"a.later": 10, "list[1]": 11, "[0]": 12, "": 13, "in": 14, "e.f.g": 15, "e.f.g.h": 16, "e.f": 13, "nothing": 13,
	} {
		require.Equal(t, 10*want, s.ValueAt(path), path)
	}
	require.Equal(t, 149, s.KeyAt("e.f.g"))
	require.Equal(t, 70, s.KeyAt("list[0]"), "an element has no key")
	require.False(t, s.Has("e.f"))
	require.Equal(t, "list[0].c.d", s.PathAt(85))
	require.Equal(t, "e.f.g.h", s.PathAt(1000))
}

func TestMembersOfLargeObjectsAreFound(t *testing.T) {
	var members []diag.Mark
	for i := range 1000 {
		members = append(members, diag.Mark{Name: fmt.Sprintf("k%d", i), Value: i + 1, Key: i})
	}
	s := diag.NewSource("c.json", "")
	s.SetMarks(object(diag.Mark{Key: -1}, members...))
	for i := range 1000 {
		require.Equal(t, i+1, s.ValueAt(fmt.Sprintf("k%d", i)))
	}
	require.False(t, s.Has("k1000"))
}
