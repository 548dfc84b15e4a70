package stress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/stress"
)

func TestASpecIsReadOrRefused(t *testing.T) {
	for _, good := range []string{"10,10,3", "0", " 5 , 0,5", "cappedPages", "fullPages+cutOnce", "CAPPEDPAGES"} {
		_, err := stress.ParseSpec(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{"", ",", "1,", "-1", "1.5", "9999999999999999999999", "+", "cappedPages+", "fullPages+noItems"} {
		_, err := stress.ParseSpec(bad)
		require.Error(t, err, bad)
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{"10,10,3", "cappedPages", "fullPages+cutOnce", "-", "0,0", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, err := stress.ParseSpec(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}
