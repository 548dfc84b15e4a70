package stress_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/value"
)

func TestAChangeIsWrittenAsJSONThatCanBeRead(t *testing.T) {
	v := value.Object{{Name: "a", Value: []any{1, "x", value.Object{}}}, {Name: "b", Value: nil}}
	text := stress.Change{Path: []string{"api", "http"}, Value: v}.String()
	require.Equal(t, `api.http: {"a": [1, "x", {}], "b": null}`, text)
	require.True(t, json.Valid([]byte(strings.TrimPrefix(text, "api.http: "))))
}

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
