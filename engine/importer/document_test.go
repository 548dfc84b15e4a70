package importer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// TestScalarsAreThoseOfYAML11 has the values that PyYAML reads, which Airbyte and dlt use. Times and numbers
// that are out of range are texts.
func TestScalarsAreThoseOfYAML11(t *testing.T) {
	for text, want := range map[string]any{
		"123": 123, "0123": 83, "-017": -15, "0": 0, "089": "089", "0o17": "0o17",
		"0x1f": 31, "-0xFF": -255, "0b101": 5, "1_000": 1000, "+7": 7, "1__0_": 10, "_1": "_1", "0x_": "0x_",
		"1:30": 90, "-1:30": -90, "12:30:45": 45045, "1:75": "1:75", "99999999999999999999": "99999999999999999999",
		"999999999999999999:59": "999999999999999999:59",
		"1.5":                   1.5, "1_0.5": 10.5, "1.5e+3": 1500.0, ".5": .5, "1e3": "1e3", "1.2.3": "1.2.3",
		"yes": true, "Off": false, "~": nil, "'0123'": "0123", `"1_000"`: "1_000", "!!str 017": "017", "2024-01-02": "2024-01-02",
	} {
		v, err := importer.ParseYAML(importer.File{Name: "a.yaml", Text: []byte(text)}, 100)
		require.NoError(t, err, text)
		require.Equal(t, want, v, text)
	}
}

// TestScalarsAreThoseOfYAML12 has the values that readers of OpenAPI take, for which off is a name like any other.
func TestScalarsAreThoseOfYAML12(t *testing.T) {
	for text, want := range map[string]any{
		"off": "off", "Yes": "Yes", "no": "no", "y": "y", "true": true, "False": false, "null": nil, "~": nil, "'true'": "true",
		"123": 123, "-7": -7, "0x1f": 31, "1_000": "1_000", "1:30": "1:30", "012": "012", "1.5": 1.5, "1.5e+3": 1500.0, "2024-01-02": "2024-01-02",
	} {
		v, err := importer.ParseCoreYAML(importer.File{Name: "a.yaml", Text: []byte(text)}, 100)
		require.NoError(t, err, text)
		require.Equal(t, want, v, text)
	}
}

func TestAnAliasThatMayBeASecretIsNotPrinted(t *testing.T) {
	_, err := importer.ParseYAML(importer.File{Name: "a.yaml", Text: []byte("client:\n  token: *Pa55-ABCDEFGHIJ\n")}, 100)
	require.EqualError(t, err, "a.yaml: line 2, column 10: no anchor of this name is defined before this alias; put the value in quotes if it is text")
}

func TestFirstSentenceOfADescription(t *testing.T) {
	for text, want := range map[string]string{
		"The key of the API. It is secret.": "the key of the API", "API key": "API key", "Écoute du client.": "écoute du client", "É": "É", "": "",
	} {
		require.Equal(t, want, importer.FirstSentence(text))
	}
}
