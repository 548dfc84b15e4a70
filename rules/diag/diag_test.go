package diag_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// object returns the mark of an object, or of a list, with those of the values in it.
func object(mark diag.Mark, inner ...diag.Mark) diag.Mark {
	mark.Contain(inner)
	return mark
}

// source is a text of which two values are marked.
func source() *diag.Source {
	s := diag.NewSource("c.json", "{\"a\": 1,\n \"b\": \"x + y\"}")
	s.SetMarks(object(diag.Mark{Key: -1}, diag.Mark{Name: "a", Value: 6, Key: 1}, diag.Mark{Name: "b", Value: 15, Key: 10}))
	return s
}

func TestDiagnosticShowsPathMessageLocationSnippetAndHint(t *testing.T) {
	c := diag.NewCollector(source())
	c.Errorf(diag.Value("b"), "want %s", "a number").WithHint("write it without quotes")
	require.EqualError(t, c.Diagnostics().Err(), `b: want a number (c.json:2:7)
 |  "b": "x + y"}
 |       ^
   write it without quotes`)
}

func TestAPlaceIsWithinAStringThatBeginsWithAQuote(t *testing.T) {
	s := diag.NewSource("c.json", `{"a": "'x' in y"}`)
	s.SetMarks(object(diag.Mark{Key: -1}, diag.Mark{Name: "a", Value: 6, Key: 1}))
	require.Equal(t, "c.json:1:15", diag.NewCollector(s).Errorf(diag.Within("a", "'x' in y", 7), "wrong").Location())
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name  string
		place diag.Place
		want  string
	}{
		{"value", diag.Value("b"), "c.json:2:7"},
		{"key", diag.Key("b"), "c.json:2:2"},
		{"a missing path is at the value around it", diag.Value("b.c[0]"), "c.json:2:7"},
		{"a missing key is at the value around it", diag.Key("b.c"), "c.json:2:7"},
		{"within a string", diag.Within("b", "x + y", 4), "c.json:2:12"},
		{"within a string spelled differently", diag.Within("b", "x - y", 4), "c.json:2:7"},
		{"offset", diag.Offset("b", 6), "c.json:1:7"},
		{"offset beyond the end", diag.Offset("b", 1000), "c.json:2:15"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, diag.NewCollector(source()).Errorf(c.place, "wrong").Location())
		})
	}
}

func TestWithoutASourceThereIsNoLocation(t *testing.T) {
	for _, place := range []diag.Place{diag.Value("a"), diag.Key("a"), diag.Within("a", "x", 0), diag.Offset("a", 1)} {
		d := diag.NewCollector(nil).Errorf(place, "wrong")
		require.Equal(t, "a: wrong", d.Error())
		require.Empty(t, d.Location())
	}
}

func TestWarningsAreNotAnError(t *testing.T) {
	c := diag.NewCollector(source())
	c.Warnf(diag.Value("b"), "odd")
	require.NoError(t, c.Diagnostics().Err())
	require.Len(t, c.Diagnostics().Warnings(), 1)

	c.Errorf(diag.Value("a"), "wrong")
	var found diag.Diagnostics
	require.ErrorAs(t, c.Diagnostics().Err(), &found)
	require.Len(t, found, 1)
	require.Equal(t, "wrong", found[0].Message)
}

func TestDiagnosticsAreOrderedByPosition(t *testing.T) {
	c := diag.NewCollector(source())
	c.Errorf(diag.Value("b"), "third")
	c.Errorf(diag.Key("b"), "second")
	c.Errorf(diag.Value("a"), "first")
	c.Warnf(diag.Value("b"), "fourth")
	var messages []string
	for _, d := range c.Diagnostics() {
		messages = append(messages, d.Message)
	}
	require.Equal(t, []string{"first", "second", "third", "fourth"}, messages)
}

func TestUniqueDropsRepetitions(t *testing.T) {
	c := diag.NewCollector(source())
	c.Errorf(diag.Value("a"), "wrong")
	c.Errorf(diag.Value("a"), "wrong")
	c.Warnf(diag.Value("a"), "wrong")
	c.Errorf(diag.Value("b"), "wrong")
	require.Len(t, c.Diagnostics().Unique(), 3)
}

func TestTheNearestNameIsSuggested(t *testing.T) {
	words := []string{"limit", "offset", "limitParam"}
	for _, c := range []struct{ name, written, want string }{
		{"a letter is missing", "limt", "limit"},
		{"two letters are swapped", "lmiit", "limit"},
		{"another case", "LIMITPARAM", "limitParam"},
		{"too far", "cursor", ""},
		{"one edit in a short word", "se", ""},
		{"longer than any word", strings.Repeat("limit", 100), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, diag.Nearest(c.written, words))
		})
	}
	require.Equal(t, `did you mean "offset"?`, diag.DidYouMean("ofset", words))
	require.Empty(t, diag.DidYouMean("cursor", words))
}

// A configuration of one long line has thousands of positions in it.
func TestPositionsInLongLinesCountCharacters(t *testing.T) {
	text := strings.Repeat("aé€😀\xff", 1000) + "\n" + strings.Repeat("ü", 5000) + "\nx"
	s := diag.NewSource("c.json", text)
	line, column := 1, 1
	for offset, c := range text {
		require.Equal(t, diag.Position{Line: line, Column: column}, s.Position(offset))
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	require.Equal(t, diag.Position{Line: 3, Column: 2}, s.Position(len(text)))
}

func TestSnippetsShowAPartOfALongLine(t *testing.T) {
	s := diag.NewSource("c.json", strings.Repeat("é", 200)+"X"+strings.Repeat("ü", 200))
	require.Equal(t, " | "+strings.Repeat("é", 50)+"X"+strings.Repeat("ü", 49)+"\n | "+strings.Repeat(" ", 50)+"^",
		s.Snippet(diag.Position{Line: 1, Column: 201}))
}

// Ten thousand warnings must not hide an error.
func TestTheFirstThousandDiagnosticsOfEachSeverityAreKept(t *testing.T) {
	c := diag.NewCollector(source())
	for range 10_000 {
		c.Warnf(diag.Value("a"), "odd")
	}
	for range 10_000 {
		c.Errorf(diag.Value("b"), "wrong")
	}
	require.Len(t, c.Diagnostics().Warnings(), 1000)
	require.Len(t, c.Diagnostics().Errors(), 1000)
}
