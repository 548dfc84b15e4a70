package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// term matches the words that the page about the dialects explains.
var term = regexp.MustCompile("the specification|`keboola`|reference implementation")

var fence = regexp.MustCompile("(?s)```.*?```")

// TestTermsAreLinkedWhereTheyAreFirstNamed lets a reader start on any page.
func TestTermsAreLinkedWhereTheyAreFirstNamed(t *testing.T) {
	for _, page := range readPages(t) {
		switch filepath.Base(page.path) {
		case "README.md", "dialects.md": // explain the words
			continue
		case "CHANGELOG.md": // is read from its end
			continue
		}
		t.Run(page.path, func(t *testing.T) {
			text := fence.ReplaceAllString(page.text, "")
			at := term.FindStringIndex(text)
			if at == nil {
				return
			}
			line := strings.IndexByte(text[at[0]:]+"\n", '\n')
			require.Contains(t, text[:at[0]+line], "dialects.md", "the first of %q has no link", text[at[0]:at[1]])
		})
	}
}

// TestEmbeddingListsEveryOption compares the tables of options with the functions of
// package engine that return one.
func TestEmbeddingListsEveryOption(t *testing.T) {
	listed := map[string]string{}
	section := ""
	for line := range strings.Lines(readPage(t, "guide/embedding.md")) {
		switch name, rest, row := strings.Cut(strings.TrimPrefix(line, "| `"), "("); {
		case strings.HasPrefix(line, "These options are for `Load`"):
			section = "Option"
		case strings.HasPrefix(line, "These are for runs"):
			section = "RunOption"
		case row && section != "" && strings.HasPrefix(line, "| `With") && rest != "":
			listed[name] = section
		}
	}
	require.Equal(t, optionsOfEngine(t), listed)
}

// optionsOfEngine returns the result types of the exported functions With….
func optionsOfEngine(t *testing.T) map[string]string {
	t.Helper()
	options := map[string]string{}
	files, err := filepath.Glob("../engine/*.go")
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "With") || f.Type.Results == nil {
				continue
			}
			if result, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && strings.HasSuffix(result.Name, "Option") {
				options[f.Name.Name] = result.Name
			}
		}
	}
	return options
}
