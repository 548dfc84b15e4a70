package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/botocore"
	"github.com/stopwhen/stopwhen/engine/importer/dlt"
	"github.com/stopwhen/stopwhen/engine/importer/google"
	"github.com/stopwhen/stopwhen/engine/importer/keboola"
	"github.com/stopwhen/stopwhen/engine/importer/nango"
	"github.com/stopwhen/stopwhen/engine/importer/odata"
	"github.com/stopwhen/stopwhen/engine/importer/openapi"
	"github.com/stopwhen/stopwhen/engine/importer/postman"
)

// yamlBlock matches the first configuration of a page.
var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// topComment matches the comment above a configuration.
var topComment = regexp.MustCompile(`^(#.*\n)+`)

// TestTheGuidesOfImportShowWhatIsImported imports the documents of the script import-NAME.txtar of each format, and
// compares the configuration, without its comment and its tests, with the one that the guide shows.
func TestTheGuidesOfImportShowWhatIsImported(t *testing.T) {
	formats := []importer.Format{botocore.Format, dlt.Format, google.Format, keboola.Format, nango.Format, odata.Format, openapi.Format,
		postman.Format}
	for _, format := range formats {
		t.Run(format.Name, func(t *testing.T) {
			page, err := os.ReadFile("guide/import-" + format.Name + ".md")
			require.NoError(t, err)
			script, err := txtar.ParseFile(filepath.FromSlash("../engine/cmd/stopwhen/testdata/script/import-" + format.Name + ".txtar"))
			require.NoError(t, err)
			var documents []importer.File
			for _, f := range script.Files {
				documents = append(documents, importer.File{Name: f.Name, Text: f.Data})
			}
			source, err := format.Read(documents, importer.Options{})
			require.NoError(t, err)
			result, err := importer.Write(format.Name, source)
			require.NoError(t, err)
			text, _, _ := strings.Cut(string(result.Configs[0].Text), "tests:\n")
			text = topComment.ReplaceAllString(text, "")
			require.Equal(t, text, yamlBlock.FindStringSubmatch(string(page))[1])
		})
	}
}
