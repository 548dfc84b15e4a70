package dlt

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestConfigurationsBecomeConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "config.yaml") }

func config(text string) importer.File {
	return importer.File{Name: "config.yaml", Text: []byte(text)}
}

// Each stream that is written has a test in its configuration.
func TestEveryStreamHasATest(t *testing.T) {
	cases, err := os.ReadDir("testdata")
	require.NoError(t, err)
	seen := 0
	for _, c := range cases {
		if !strings.HasSuffix(c.Name(), ".txtar") {
			continue
		}
		text, err := os.ReadFile("testdata/" + c.Name())
		require.NoError(t, err)
		jobs := strings.Count(string(text), "\n  - id: ") - strings.Count(string(text), "\n    emit: false")
		seen += jobs
		require.GreaterOrEqual(t, strings.Count(string(text), "\n- name: "), jobs, c.Name())
	}
	require.Greater(t, seen, 20)
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	bomb := "client: {base_url: 'https://x'}\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c, *%[3]c]\n", c, c, c-1)
	}
	importertest.Refuses(t, Format, "too large", config(bomb))
	importertest.Refuses(t, Format, "contains itself", config("client: {base_url: 'https://x'}\nresources: &p [*p]\n"))
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "config.json", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "nested too deeply", config("a: "+strings.Repeat("[", 100_000)))
	importertest.Refuses(t, Format, "nested too deeply", config(strings.Repeat(`{"a":`, 100_000)))
	importertest.Refuses(t, Format, "one configuration", config("a: b"), config("a: b"))
	importertest.Refuses(t, Format, "is Python", importer.File{Name: "pipeline.py", Text: []byte("import dlt")})
}

// Resources that are each other's parents, and chains of them, end.
func TestParentsInACircleAreRefused(t *testing.T) {
	var b strings.Builder
	b.WriteString("client: {base_url: 'https://x.example.com'}\nresources:\n")
	const n = 1000
	for i := range n {
		fmt.Fprintf(&b, "- {name: r%d, endpoint: 'a/{resources.r%d.id}/b'}\n", i, (i+1)%n)
	}
	source, err := Read([]importer.File{config(b.String())}, importer.Options{})
	require.NoError(t, err)
	result, err := importer.Write("dlt", source)
	require.NoError(t, err)
	require.Empty(t, result.Configs)
	require.Equal(t, n, result.Report.Count(importer.Refused))
}
