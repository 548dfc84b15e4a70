package php

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImplodeCastsMembers(t *testing.T) {
	require.Equal(t, "1,1,,1.5,a,", join(",", []any{1, true, nil, 1.5, "a", false}))
	require.Equal(t, "HenOrEgg", join("", []any{"Hen", "Or", "Egg"}))
	require.Empty(t, join(",", nil))
}

// Texts are compared as numbers if both are numeric: the manual, "Numeric strings".
func TestTextsAreComparedAsByPHP(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"10", "9", 1},
		{"10", "9a", -1}, // as bytes
		{"1e1", "10", 0},
		{"1.0", "1", 0},
		{" 5", "4", 1},
		{".5", "0.5", 0},
		{"-10", "-9", -1},
		{"-0", "0", 0},
		{"", "5", -1},
		{"abc", "abd", -1},
		{"0x1A", "26", -1}, // not numeric
		{"2018-01-01", "2017-12-31", 1},
		{"9223372036854775808", "9223372036854775807", 1}, // equal as floats
		{"1e400", "2e400", -1},                            // both infinite
	} {
		t.Run(tt.a+" and "+tt.b, func(t *testing.T) {
			require.Equal(t, tt.want, Compare(tt.a, tt.b))
			require.Equal(t, -tt.want, Compare(tt.b, tt.a))
		})
	}
}

func TestLikeTakesAPercentSignForAnyCharacters(t *testing.T) {
	for _, tt := range []struct {
		text, pattern string
		want          bool
	}{
		{"administrator", "%min%", true},
		{"min", "%min%", true},
		{"user", "%min%", false},
		{"admin", "admin", true},
		{"admin", "Admin", false},
		{"admin", "adm", false},
		{"a.c", "a.c", true},
		{"abc", "a.c", false},
		{"a\nb", "a%b", false},
		{"", "%", true},
	} {
		require.Equal(t, tt.want, Like(tt.text, tt.pattern), "%q like %q", tt.text, tt.pattern)
	}
}

func TestURLEncode(t *testing.T) {
	require.Equal(t, "a+b%7Ec%2Fd%3F%C3%A9-_.%2A", escape("a b~c/d?é-_.*"))
}

func TestNumbersWithManyDigitsAreCompared(t *testing.T) {
	nines := strings.Repeat("9", 500)
	require.Equal(t, -1, Compare(nines, "1"+nines), "as integers")
	require.Equal(t, 1, Compare("-"+nines, "-1"+nines))
	require.Zero(t, Compare("+007", "7"))
	huge := strings.Repeat("9", 2000)
	require.Equal(t, 1, Compare(huge, "1"+huge), "as bytes")
}
