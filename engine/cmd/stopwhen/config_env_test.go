package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The expected values are those that a POSIX shell gives for the same lines.
func TestAFileOfVariablesIsReadLikeAShellReadsIt(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"A=1\nB=two\n", map[string]string{"A": "1", "B": "two"}},
		{"# comment\n\n  A=1 # comment\nB=#x\n", map[string]string{"A": "1", "B": "#x"}},
		{"export A=1\nexport\tB=2", nil},
		{"export A=1\n", map[string]string{"A": "1"}},
		{"A='a $b \\c'\nB=\"a \\\"b\\\" \\$c \\n\"\n", map[string]string{"A": `a $b \c`, "B": `a "b" $c \n`}},
		{"A=a'b c'\"d e\"f\\ g\n", map[string]string{"A": "ab cd ef g"}},
		{"A=\nB=''\n", map[string]string{"A": "", "B": ""}},
		{"A=\"line 1\nline 2\"\nB=2\n", map[string]string{"A": "line 1\nline 2", "B": "2"}},
		{"A=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}},
		{"A=1\nA=2\n", map[string]string{"A": "2"}},
		{"\xef\xbb\xbfA=1", map[string]string{"A": "1"}},
		{"A=x=y\n", map[string]string{"A": "x=y"}},
	} {
		got, err := parseEnv(c.text)
		if c.want == nil {
			require.Error(t, err, c.text)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
}

func TestAMistakeInAFileOfVariablesNamesItsLineAndNoValue(t *testing.T) {
	for text, want := range map[string]string{
		"A=1\nhunter2\n":          "line 2: want NAME=VALUE",
		"=hunter2\n":              "line 1: want NAME=VALUE",
		"A B=hunter2\n":           "line 1: want NAME=VALUE",
		"1A=hunter2":              "line 1: want NAME=VALUE",
		"\n\nA=hunter2 x\n":       "line 3: A: a value with spaces needs quotes",
		"A='hunter2\n":            "line 1: A: the quote ' has no end",
		"B=1\nA=\"hunter2\n\n":    `line 2: A: the quote " has no end`,
		"A='x\ny'\nB=hunter2 y\n": "line 3: B: a value with spaces needs quotes",
	} {
		_, err := parseEnv(text)
		require.EqualError(t, err, want, text)
	}
}

func FuzzParseEnv(f *testing.F) {
	f.Add("A=1\nexport B='x y' # c\nC=\"a\\\"b\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if values, err := parseEnv(text); err == nil {
			for name := range values {
				require.NotEmpty(t, name)
			}
		}
	})
}
