//go:build !race

// These tests read the source, so they have nothing to race with.

package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// mayImport says which packages of the module, and which libraries, the code of a folder may
// import. A package stands for those below it, too, but engine only for itself.
var mayImport = map[string][]string{
	"rules/lists":     {},
	"rules/wording":   {},
	"rules/value":     {module + "rules/lists", module + "rules/wording"},
	"rules/php":       {module + "rules/value", module + "rules/lists"},
	"rules/apinames":  {module + "rules/value", module + "rules/lists"},
	"rules/requests":  {module + "rules/secret", module + "rules/value", module + "rules/lists", module + "rules/wording", module + "rules/php"},
	"rules/secret":    {},
	"rules/printable": {},
	"rules/panics":    {},
	"rules/remedy":    {module + "rules/lists"},
	"rules/keypath":   {module + "rules/lists"},
	"rules/times":     {module + "rules/value", module + "rules/wording"},
	"rules/diag":      {module + "rules/secret", module + "rules/remedy"},
	"rules": {
		module + "rules/diag", module + "rules/remedy", module + "rules/secret", module + "rules/value", module + "rules/php",
		module + "rules/requests", module + "rules/apinames", module + "rules/lists", module + "rules/wording",
		module + "rules/keypath", module + "rules/times",
	},
	"rules/yaml":          {module + "rules", "go.yaml.in/yaml/v4"},
	"compile/language":    {module + "rules", "github.com/expr-lang/expr", "github.com/ohler55/ojg"},
	"compile":             {module + "rules", module + "compile/language"},
	"compile/compiletest": {module + "rules", module + "compile", "github.com/stretchr/testify"},
	"runtime/failure":     {module + "rules/panics", module + "rules/remedy"},
	"runtime/redact":      {module + "rules/value", module + "rules/lists", module + "rules/wording", module + "rules/secret", module + "rules/remedy"},
	"runtime/spool":       {module + "runtime/failure"},
	"runtime/transport": {
		module + "rules/requests", module + "rules/secret", module + "rules/value", module + "runtime/failure", module + "runtime/redact",
		module + "rules/wording", module + "runtime/spool", "golang.org/x/time/rate", "github.com/klauspost/compress",
	},
	"runtime/document/scan": {module + "runtime/spool"},
	"runtime/document":      {module + "rules", module + "runtime/document/scan", module + "runtime/spool"},
	"runtime/credential": {
		module + "rules", module + "compile", module + "runtime/failure", module + "runtime/redact",
		module + "runtime/transport",
	},
	"runtime/format": {module + "rules", module + "runtime/document", module + "runtime/spool"},
	"runtime/saved":  {module + "rules", module + "rules/value", module + "compile", module + "runtime/document", module + "runtime/redact"},
	"runtime/ahead": {
		module + "rules", module + "compile", module + "runtime/document", module + "runtime/failure",
		module + "runtime/spool", module + "runtime/transport",
	},
	"runtime/trace": {module + "rules", module + "runtime/failure", module + "runtime/redact", module + "runtime/transport"},
	"runtime/evidence": {
		module + "rules", module + "compile", module + "runtime/document", module + "runtime/redact",
		module + "runtime/trace",
	},
	"runtime":           {module + "rules", module + "compile", module + "runtime"},
	"runtime/partition": {module + "rules", module + "compile", module + "runtime"},
	"engine/config":     {module + "rules"},
	"engine/configtest": {module + "rules", module + "compile", module + "runtime"},
	"engine/stress":     {module + "rules", module + "compile", module + "runtime"},
	"engine/explain":    {module + "rules", module + "compile", module + "runtime"},
	"engine": {
		module + "rules", module + "compile", module + "runtime", module + "engine/config",
		module + "engine/configtest", module + "engine/explain", module + "engine/stress",
	},
	"engine/annotate":   {module + "rules", module + "compile", module + "engine/explain"},
	"engine/files":      {module + "runtime/failure"},
	"engine/checkpoint": {module + "rules/remedy", module + "runtime", module + "engine/files", "github.com/cespare/xxhash/v2"},
	"engine/contract": {
		module + "rules", module + "engine", module + "engine/files", module + "engine/shape",
		module + "runtime/failure", module + "runtime/trace",
	},
	"engine/output": {
		module + "rules", module + "engine", module + "engine/checkpoint", module + "engine/contract", module + "engine/files",
		module + "engine/shape", module + "runtime/document", module + "runtime/failure", module + "runtime/saved",
		module + "runtime/spool", module + "runtime/trace", "github.com/klauspost/compress", "github.com/parquet-go/parquet-go",
	},
	"engine/shape": {module + "rules", module + "runtime/document/scan"},
	"engine/recording": {
		module + "engine", module + "engine/stress", module + "runtime", module + "rules/requests", module + "rules/value", module + "rules/wording",
	},
	"engine/report": {
		module + "engine", module + "engine/cluster/status", module + "engine/importer/grade", module + "engine/stress",
		module + "runtime", module + "rules",
	},
	"engine/importer/grade":            {},
	"engine/workbench/internal/syntax": {module + "rules"},
	"engine/workbench": {
		module + "rules", module + "compile", module + "runtime", module + "engine", module + "engine/configtest",
		module + "engine/explain", module + "engine/recording", module + "engine/shape", module + "engine/stress",
		module + "engine/workbench/internal/syntax", module + "fixtures",
	},
	"engine/importer": {
		module + "engine", module + "engine/importer/grade", module + "rules", module + "compile/language",
		"go.yaml.in/yaml/v4",
	},
	"engine/detect": {
		module + "engine", module + "engine/recording", module + "rules", module + "runtime", "go.yaml.in/yaml/v4",
	},
	"engine/otelstopwhen": {module + "engine", "go.opentelemetry.io/otel"},
	"engine/cluster": {
		module + "rules", module + "engine", module + "engine/cluster", module + "runtime",
		"github.com/nats-io/nats.go/jetstream", "github.com/nats-io/nuid",
	},
	"engine/cluster/status": {module + "rules/remedy"},
	"engine/cluster/hub":    {module + "engine/cluster/internal/store", module + "runtime/failure", "github.com/nats-io/nats-server/v2", "github.com/gofrs/flock"},
	"fixtures":              {module + "rules", "golang.org/x/tools/txtar"},

	"engine/workbench/lsp": {
		module + "engine", module + "engine/configtest", module + "engine/recording", module + "engine/stress",
		module + "engine/workbench", "github.com/creachadair/jrpc2",
	},
	"engine/workbench/session": {
		module + "engine/workbench", module + "engine", module + "engine/recording", module + "engine/stress",
		module + "fixtures", module + "rules", module + "runtime/trace",
	},
	"engine/workbench/playground": {module + "engine/workbench", module + "engine/workbench/session"},
	"engine/workbench/studio":     {module + "engine/workbench", module + "engine/files", module + "rules"},

	"engine/cmd/stopwhen": {""},

	"fixtures/programs":       {},
	"fixtures/programs/bench": {"github.com/klauspost/compress"},
	"fixtures/programs/chaos": {
		module + "engine", module + "engine/cluster", module + "runtime", "github.com/nats-io/nats.go",
	},
	"fixtures/programs/combine": {"github.com/klauspost/compress", "github.com/apache/arrow-go/v18"},
	"fixtures/programs/scale":   {module + "engine", module + "engine/cluster", "github.com/nats-io/nats.go"},

	"engine/cluster/internal/record": {
		module + "engine", module + "engine/cluster/internal/store", module + "engine/cluster/status", module + "rules", module + "runtime",
	},
	"engine/cluster/internal/survey": {
		module + "engine", module + "engine/cluster/internal/record", module + "engine/cluster/internal/store", module + "engine/cluster/status",
		module + "rules/lists", module + "rules/remedy", module + "rules/value", module + "rules/wording", module + "runtime/failure",
	},

	// The importers. No other package may link the libraries that they need.
	"engine/importer/jinja":    {module + "rules", module + "engine/importer", "github.com/nikolalohinski/gonja/v2"},
	"engine/importer/airbyte":  {module + "rules", module + "engine/importer"},
	"engine/importer/botocore": {module + "rules", module + "engine/importer"},
	"engine/importer/dlt":      {module + "rules", module + "engine/importer"},
	"engine/importer/google":   {module + "rules", module + "engine/importer"},
	"engine/importer/keboola":  {module + "rules", module + "engine", module + "engine/importer"},
	"engine/importer/nango":    {module + "rules", module + "engine/importer"},
	"engine/importer/odata":    {module + "rules", module + "engine/importer"},
	"engine/importer/openapi":  {module + "rules", module + "engine/importer"},
	"engine/importer/postman":  {module + "rules", module + "engine/detect", module + "engine/importer", module + "engine/recording"},
	"engine/importer/importertest": {
		module + "engine", module + "engine/importer", module + "rules/yaml", "github.com/stretchr/testify",
		"golang.org/x/tools/txtar",
	},

	// Only these may know NATS, and only the hub and tests its server.
	"engine/cluster/internal/pace": {module + "engine/cluster/internal/store", module + "rules/value", module + "runtime/transport", "github.com/nats-io/nats.go"},
	"engine/cluster/internal/store": {
		module + "rules/remedy", module + "rules/value", module + "runtime/document", module + "runtime/failure", module + "runtime/spool",
		"github.com/nats-io/nats.go",
	},
}

// goFiles parses the Go files of the repository, except tests.
func goFiles(t *testing.T, visit func(folder, name string, file *ast.File, set *token.FileSet)) {
	t.Helper()
	goFilesNamed(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }, visit)
}

// goFilesNamed parses the Go files whose names are wanted.
func goFilesNamed(t *testing.T, wanted func(name string) bool, visit func(folder, name string, file *ast.File, set *token.FileSet)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || !wanted(path) {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		require.NoError(t, err)
		folder, _ := filepath.Rel("..", filepath.Dir(path))
		visit(filepath.ToSlash(folder), path, file, set)
		return nil
	})
	require.NoError(t, err)
}

// readingOrder returns the positions of the packages in the table of docs/ARCHITECTURE.md.
func readingOrder(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("../docs/ARCHITECTURE.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Packages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	order := map[string]int{}
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for i, name := range strings.Split(strings.Split(line, "|")[1], "`") {
			if i%2 == 1 {
				order[name] = len(order) + 1
			}
		}
	}
	return order
}

func TestImportsRunOneWay(t *testing.T) {
	order := readingOrder(t)
	goFiles(t, func(folder, name string, file *ast.File, _ *token.FileSet) {
		allowed, known := mayImport[folder]
		require.True(t, known, "%s: add the folder to mayImport", name)
		require.Contains(t, order, folder, "add it to the table of packages in docs/ARCHITECTURE.md")
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if path == "runtime" {
				require.Equal(t, "goruntime", spec.Name.String(),
					"%s imports the standard library's runtime under the name of a package of this module", name)
			}
			if !strings.Contains(path, ".") {
				continue // the standard library
			}
			if imported, ours := strings.CutPrefix(path, module); ours {
				require.Less(t, order[imported], order[folder], "docs/ARCHITECTURE.md lists %s before %s", folder, imported)
			}
			ok := false
			for _, one := range allowed {
				parts := one != module+"engine" // the folders below engine are not parts of it
				ok = ok || path == one || parts && strings.HasPrefix(path, one+"/") || one == ""
			}
			require.True(t, ok, "%s must not import %s", name, path)
		}
	})
}

// TestTheRootHasTheseFoldersAndFiles finds what was left there by accident.
func TestTheRootHasTheseFoldersAndFiles(t *testing.T) {
	known := strings.Fields("compile docs engine fixtures rules runtime go.mod go.sum CHANGELOG.md LICENSE README.md " +
		"stopwhen dist node_modules") // the last ones are made by builds, and are in .gitignore
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."), strings.HasSuffix(name, ".test"), strings.HasSuffix(name, ".out"):
		default:
			require.Contains(t, known, name)
		}
	}
}

// TestOnlyRulesNameAMethod requires the names of methods to be in the tables of
// package rules only, and in what is generated from them.
func TestOnlyRulesNameAMethod(t *testing.T) {
	methods := map[string]bool{}
	for _, m := range rules.Builtin().Methods(rules.Keboola) {
		methods[m.Name] = m.Name != "cursor" && m.Name != "expression" // these are ordinary words, too
	}
	require.True(t, methods["offset"])
	exempt := []string{
		"engine/detect/hypotheses.go",          // a hypothesis proposes the settings of a method
		"engine/importer/dlt/paging.go",        // its words are those of the format
		"engine/importer/nango/paging.go",      // its words are those of Nango
		"engine/importer/keboola/paging.go",    // its words are those of the extractor
		"engine/importer/openapi/extension.go", // its words are those of an extension
		"engine/importer/postman/pages.go",     // it reads the methods that detect writes
		"engine/importer/pagination.go",        // it writes what a source says as the method that does it
		"fixtures/programs/bench", "fixtures/programs/chaos", "fixtures/programs/combine",
	}
	goFiles(t, func(folder, name string, file *ast.File, set *token.FileSet) {
		exempted := slices.Contains(exempt, folder) || slices.Contains(exempt, folder+"/"+filepath.Base(name))
		if strings.HasPrefix(folder, "rules") || exempted || ast.IsGenerated(file) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				require.False(t, methods[text], "%s names the method %s", set.Position(literal.Pos()), text)
			}
			return true
		})
	})
}

// TestOnlyTheTableOfDialectsComparesTheirNames requires that what a dialect does differently is a row or a switch of
// its table, and not a condition with its name.
func TestOnlyTheTableOfDialectsComparesTheirNames(t *testing.T) {
	goFiles(t, func(_, _ string, file *ast.File, set *token.FileSet) {
		ast.Inspect(file, func(n ast.Node) bool {
			comparison, ok := n.(*ast.BinaryExpr)
			if !ok {
				return true
			}
			for _, side := range []ast.Expr{comparison.X, comparison.Y} {
				if selector, ok := side.(*ast.SelectorExpr); ok {
					side = selector.Sel
				}
				name, ok := side.(*ast.Ident)
				named := ok && (name.Name == "Keboola" || name.Name == "Spec")
				require.False(t, named, "%s: make it a field of rules.Switches", set.Position(comparison.Pos()))
			}
			return true
		})
	})
}

// TestOnlyTheCommandNamesFlags requires messages of libraries to name options by the values of package
// remedy, whose table has the flags. What explain prints has its layout before the command sees it, so it
// names flags, and so does the JSON Schema.
func TestOnlyTheCommandNamesFlags(t *testing.T) {
	flag := regexp.MustCompile(`(^|[^\x60])--[a-z]`) // backquotes are in the documentation of keys
	goFiles(t, func(folder, name string, file *ast.File, set *token.FileSet) {
		for _, exempt := range []string{"/engine/cmd/", "/fixtures/", "/engine/explain/", "/engine/annotate/", "/rules/remedy/", "/rules/field_schema.go"} {
			if strings.Contains(filepath.ToSlash(name), exempt) {
				return
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				require.False(t, flag.MatchString(text), "%s: name it with package remedy: %s", set.Position(literal.Pos()), text)
			}
			return true
		})
	})
}

// mayWrite lists the files that create, open or rename a file with package os, and why they do not
// use engine/files, whose files are complete or as they were before, whatever ends the process.
var mayWrite = map[string]string{
	"engine/files/system.go":                       "is the one place that does",
	"runtime/spool/buffer.go":                      "creates temporary files, which nobody else reads",
	"engine/output/stream.go":                      "opens pipes and devices, which cannot be replaced",
	"engine/cmd/stopwhen/app_terminal.go":          "writes to pipes and devices",
	"engine/cmd/stopwhen/record.go":                "opens pipes and devices",
	"engine/cmd/stopwhen/extract_paths.go":         "opens a file to find whether it can be written",
	"engine/cmd/stopwhen/extract_tokens.go":        "gives the tokens that a killed run has left their name",
	"engine/importer/importertest/importertest.go": "rewrites the expectations of tests",

	"engine/cluster/hub/hub.go": "finds whether the disk has room, in a directory that it has locked",
}

// TestWordsOfFileNamesAreJoined requires underscores between the words of a file's name, so that a name
// that continues that of another file in its folder is separated from it: collect_page.go next to
// collect.go. The names in words are single words.
func TestWordsOfFileNamesAreJoined(t *testing.T) {
	words := []string{"partition", "document", "diagnostic", "scanned"}
	names := map[string][]string{}
	goFiles(t, func(folder, name string, _ *ast.File, _ *token.FileSet) {
		names[folder] = append(names[folder], strings.TrimSuffix(filepath.Base(name), ".go"))
	})
	for folder, files := range names {
		for _, file := range files {
			first, _, _ := strings.Cut(file, "_")
			for _, other := range files {
				rest, continues := strings.CutPrefix(first, other)
				require.False(t, continues && len(other) > 2 && len(rest) > 2 && !slices.Contains(words, first),
					"%s/%s.go: write %s_%s", folder, file, other, rest)
			}
		}
	}
}

// TestFilesAreWrittenInOnePlace requires all files to be written by package
// engine/files. Programs that measure and break runs write as they like.
func TestFilesAreWrittenInOnePlace(t *testing.T) {
	writers := map[string]bool{"Create": true, "CreateTemp": true, "WriteFile": true, "OpenFile": true, "Rename": true, "Link": true, "Symlink": true}
	found := map[string]bool{}
	goFiles(t, func(folder, name string, file *ast.File, set *token.FileSet) {
		if strings.HasPrefix(folder, "fixtures/programs") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := call.X.(*ast.Ident); ok && from.Name == "os" && writers[call.Sel.Name] {
				at := folder + "/" + filepath.Base(name)
				require.Contains(t, mayWrite, at, "%s: os.%s: use files.Write or files.Replace",
					set.Position(call.Pos()), call.Sel.Name)
				found[at] = true
			}
			return true
		})
	})
	require.Len(t, found, len(mayWrite), "a file of mayWrite does not write any more")
}

// TestDocumentsNameWhatIsDeclared requires the Go names in docs/ARCHITECTURE.md, in the table of additions of
// docs/CONTRIBUTING.md and in the tables of doc.go files to be declared somewhere: names that are exported, and names
// with a dot, such as Rule.ID and compile.Compile. In docs/CONTRIBUTING.md, they may be names of links, too.
func TestDocumentsNameWhatIsDeclared(t *testing.T) {
	declared := map[string]bool{}
	tables := map[string]string{} // the documentation of packages, by the name of the file
	goFiles(t, func(_, name string, file *ast.File, _ *token.FileSet) {
		declared[file.Name.Name] = true
		if filepath.Base(name) == "doc.go" {
			tables[name] = file.Doc.Text()
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				declared[f.Name.Name] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				declared[n.Name.Name] = true
			case *ast.Field:
				for _, id := range n.Names {
					declared[id.Name] = true
				}
			case *ast.ValueSpec:
				for _, id := range n.Names {
					declared[id.Name] = true
				}
			}
			return true
		})
	})
	check := func(at, name string) {
		qualifier, member, dotted := strings.Cut(name, ".")
		require.True(t, declared[qualifier] && (!dotted || declared[member]), "%s names %s, which is not declared", at, name)
	}
	page, err := os.ReadFile("../docs/ARCHITECTURE.md")
	require.NoError(t, err)
	names := 0
	for _, found := range regexp.MustCompile("`([A-Z]\\w*|[A-Za-z]\\w*\\.[A-Za-z]\\w*)`").FindAllStringSubmatch(string(page), -1) {
		if !slices.Contains([]string{"go", "md", "json", "yaml", "html", "txt", "ndjson"}, found[1][strings.LastIndexByte(found[1], '.')+1:]) {
			check("docs/ARCHITECTURE.md", found[1])
			names++
		}
	}
	require.Greater(t, names, 50)
	page, err = os.ReadFile("../docs/CONTRIBUTING.md")
	require.NoError(t, err)
	_, additions, found := strings.Cut(string(page), "\n| an addition |")
	require.True(t, found)
	additions, _, _ = strings.Cut(additions, "\n\n")
	for _, found := range regexp.MustCompile("[`\\[]((?:\\w+\\.)?\\w*[A-Z]\\w*)[`\\]]").FindAllStringSubmatch(additions, -1) {
		check("docs/CONTRIBUTING.md", found[1])
	}
	row := regexp.MustCompile(`(?m)^\t(\w+\.[A-Z]\w*) {2,}`)
	rows := 0
	for at, text := range tables {
		for _, found := range row.FindAllStringSubmatch(text, -1) {
			check(at, found[1])
			rows++
		}
	}
	require.Greater(t, rows, 3)
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	goFiles(t, func(_, _ string, file *ast.File, set *token.FileSet) {
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					require.NotNil(t, d.Doc, "%s: %s", set.Position(d.Pos()), d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
						require.True(t, d.Doc != nil || s.Doc != nil || s.Comment != nil, "%s: %s", set.Position(s.Pos()), s.Name)
					}
				}
			}
		}
	})
}

// TestDocCommentsBeginWithTheName finds comments that a renaming has left behind: the documentation of a
// declaration begins with its name, after an article if there is one. Groups have comments of their own.
func TestDocCommentsBeginWithTheName(t *testing.T) {
	goFiles(t, func(_, _ string, file *ast.File, set *token.FileSet) {
		if ast.IsGenerated(file) {
			return
		}
		for _, decl := range file.Decls {
			doc, name := documented(decl)
			words := strings.Fields(doc.Text())
			if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
				words = words[1:]
			}
			if name != "" && len(words) > 0 {
				require.Equal(t, name, strings.TrimRight(words[0], ",:."), "%s", set.Position(decl.Pos()))
			}
		}
	})
}

// namesOfOthers are names in comments that no Go code has: of products, of APIs and of examples.
var namesOfOthers = []string{
	"OpenTelemetry", "macOS", "DateTimeInterface", "UserGuide", "HttpResponseFilter", "OAuthAuthenticator",
	"DBInstanceIdentifier", "orderId", "itemCount", "getUpdates", "addressOfTheResponse", "TestingM",
}

// TestCommentsNameWhatExists finds names in comments that a renaming has left behind: a word with a capital after
// a small letter is a name or a part of a text in the code, or a part of the name of a test.
func TestCommentsNameWhatExists(t *testing.T) {
	word, camel := regexp.MustCompile(`\w+`), regexp.MustCompile(`\b\w*[a-z][a-z0-9][A-Z]\w*\b`)
	known, tests := map[string]bool{}, ""
	comments := map[string]string{} // names in comments, with a place of each
	goFilesNamed(t, func(string) bool { return true }, func(_, _ string, file *ast.File, set *token.FileSet) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				known[n.Name] = true
			case *ast.BasicLit:
				for _, name := range word.FindAllString(n.Value, -1) {
					known[name] = true
				}
			case *ast.FuncDecl:
				if strings.HasPrefix(n.Name.Name, "Test") {
					tests += n.Name.Name + "\n"
				}
			}
			return true
		})
		for _, group := range file.Comments {
			for _, name := range camel.FindAllString(group.Text(), -1) {
				comments[name] = set.Position(group.Pos()).String()
			}
		}
	})
	for name, place := range comments {
		require.True(t, known[name] || slices.Contains(namesOfOthers, name) || strings.Contains(tests, name),
			"%s names %s, which does not exist", place, name)
	}
	for _, name := range namesOfOthers {
		require.NotEmpty(t, comments[name], "no comment names %s", name)
	}
}

// documented returns the comment and the name of a function or of a declaration that is not a group.
func documented(decl ast.Decl) (doc *ast.CommentGroup, name string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Doc, d.Name.Name
	case *ast.GenDecl:
		if d.Lparen.IsValid() || len(d.Specs) != 1 {
			return nil, ""
		}
		switch s := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return d.Doc, s.Name.Name
		case *ast.ValueSpec:
			return d.Doc, s.Names[0].Name
		}
	}
	return nil, ""
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}
