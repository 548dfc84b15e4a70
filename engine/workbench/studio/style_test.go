package studio_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A colour of the style sheet, for light and dark.
type colour [2]string

func colours(t *testing.T) map[string]colour {
	t.Helper()
	sheet, err := os.ReadFile("web/src/style.css")
	require.NoError(t, err)
	all := map[string]colour{}
	definition := regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);`)
	for _, m := range definition.FindAllStringSubmatch(string(sheet), -1) {
		all[m[1]] = colour{m[2], m[3]}
	}
	return all
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// Every text has the contrast that WCAG AA asks of small texts, on every ground on which it stands, and so have the
// marks without text the contrast for graphics.
func TestColoursHaveEnoughContrast(t *testing.T) {
	const forText, forGraphics = 4.5, 3
	all := colours(t)
	require.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 0.01)
	grounds := []string{"canvas", "paper", "raised", "wash"}
	for _, pair := range []struct {
		least float64
		fore  []string
		on    []string
	}{
		{forText, []string{"ink", "dim", "faint", "accent", "good", "warn", "bad", "code-key", "code-string", "code-number"}, grounds},
		{forText, []string{"ink", "dim"}, []string{"wash-strong", "line-active", "good-wash", "warn-wash", "bad-wash"}},
		{forText, []string{"good"}, []string{"good-wash"}},
		{forText, []string{"warn"}, []string{"warn-wash", "bad-wash", "good-wash"}},
		{forText, []string{"bad"}, []string{"bad-wash"}},
		{forText, []string{"on-accent"}, []string{"accent"}},
		{forText, []string{"on-mark"}, []string{"mark"}},
		{forText, []string{"ink", "code-key", "code-string", "code-number"}, []string{"selection", "line-active"}},
		{forGraphics, []string{"accent", "good", "warn", "bad"}, grounds},
	} {
		for _, fore := range pair.fore {
			for _, ground := range pair.on {
				require.Contains(t, all, fore)
				require.Contains(t, all, ground)
				for i, theme := range []string{"light", "dark"} {
					require.GreaterOrEqual(t, contrast(t, all[fore][i], all[ground][i]), pair.least, "%s on %s, %s", fore, ground, theme)
				}
			}
		}
	}
}
