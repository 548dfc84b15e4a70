package wording_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/wording"
)

func TestNumbersAndListsAreWorded(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{wording.Counted(1, "page"), "1 page"},
		{wording.Counted(0, "page"), "0 pages"},
		{wording.Counted(2, "page"), "2 pages"},
		{wording.OrList(nil), ""},
		{wording.OrList([]string{"text"}), "text"},
		{wording.OrList([]string{"text", "json", "mermaid"}), "text, json or mermaid"},
		{wording.Size(999), "999 B"},
		{wording.Size(1500), "1.5 kB"},
		{wording.Size(2_000_000), "2.0 MB"},
	} {
		t.Run(c.want, func(t *testing.T) { require.Equal(t, c.want, c.got) })
	}
}

func TestClipReadsNoMoreThanItShows(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"shorter", "añb", "añb"},
		{"as long", "añbc", "añbc"},
		{"longer", "añbcd", "añbc…"},
		{"bytes that are not UTF-8", "a\xff\xfebcd", "a\ufffd\ufffdb…"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, wording.Clip(c.text, 4)) })
	}
	long := strings.Repeat("x", 64<<20)
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = wording.Clip(long[:3], 4) }))
}

func TestOnlyTheFirstLetterBecomesACapital(t *testing.T) {
	for text, want := range map[string]string{"": "", "a b": "A b", "éa": "Éa", "1a": "1a"} {
		require.Equal(t, want, wording.Capital(text))
	}
}
