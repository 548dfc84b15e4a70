package odata

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/importertest"
)

func TestMetadataBecomesConfigurations(t *testing.T) { importertest.Run(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, "metadata.xml") }

// Elements and attributes that are read. All others describe types and relations, which requests and
// items do not depend on.
func TestEveryNameHasACase(t *testing.T) {
	documents := importertest.Documents(t)
	for _, element := range []string{"Edmx", "DataServices", "Schema", "EntityType", "Key", "PropertyRef", "Property", "EntityContainer", "EntitySet"} {
		require.Regexp(t, `<(edmx:)?`+element+`[ />]`, documents)
	}
	for _, attribute := range []string{
		"Version", "DataServiceVersion", "MaxDataServiceVersion", "Namespace", "Alias", "Name", "BaseType", "Type", "EntityType",
		"addressable", "requires-filter",
	} {
		require.Regexp(t, `[ :]`+attribute+`="`, documents)
	}
}

func TestHostileDocumentsAreRefused(t *testing.T) {
	text := func(s string) importer.File { return importer.File{Name: "metadata.xml", Text: []byte(s)} }
	importertest.Refuses(t, Format, "the limit is", importer.File{Name: "metadata.xml", Text: make([]byte, 100<<20)})
	importertest.Refuses(t, Format, "one metadata document", text("<Edmx/>"), text("<Edmx/>"))
	importertest.Refuses(t, Format, "unexpected EOF", text("<Edmx>"+strings.Repeat("<a>", 100_000)))
	importertest.Refuses(t, Format, "invalid character entity", text(`<!DOCTYPE x [<!ENTITY a "aaa"><!ENTITY b "&a;&a;">]><Edmx>&b;</Edmx>`))
	var b strings.Builder
	b.WriteString(`<Edmx Version="4.0"><DataServices><Schema Namespace="N">`)
	for i := range 1000 {
		fmt.Fprintf(&b, `<EntityType Name="T%d" BaseType="N.T%d"/>`, i, (i+1)%1000)
	}
	b.WriteString(`<EntityContainer Name="C"><EntitySet Name="S" EntityType="N.T0"/></EntityContainer></Schema></DataServices></Edmx>`)
	source, err := Read([]importer.File{text(b.String())}, importer.Options{})
	require.NoError(t, err)
	require.Empty(t, source.Streams[0].Key)
}
