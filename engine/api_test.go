package engine_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/stopwhen/stopwhen/"

// TestTheAPIFitsOnAPage bounds what go doc prints.
func TestTheAPIFitsOnAPage(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		below     int
	}{
		{[]string{"doc", "."}, 70},
		{[]string{"doc", "-all", "."}, 900},
		{[]string{"doc", "Engine"}, 40},
	} {
		text, err := exec.CommandContext(t.Context(), "go", c.arguments...).Output()
		require.NoError(t, err)
		require.Less(t, bytes.Count(text, []byte("\n")), c.below, "lines of go %s", strings.Join(c.arguments, " "))
	}
}

// TestAliasesShowTheirMembers requires the documentation of a type that is an alias to end
// with the fields and methods of the type, which go doc does not show. With -update it
// writes them.
func TestAliasesShowTheirMembers(t *testing.T) {
	const name = "types.go"
	source, err := os.ReadFile(name)
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
	require.NoError(t, err)
	a := &aliases{t: t, packages: map[string]*goPackage{}, names: map[string]string{}}
	docs := map[*ast.TypeSpec]*ast.CommentGroup{}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE && d.Specs[0].(*ast.TypeSpec).Assign.IsValid() {
			spec := d.Specs[0].(*ast.TypeSpec)
			docs[spec] = d.Doc
			a.names[types.ExprString(spec.Type)] = spec.Name.Name
		}
	}
	require.NotEmpty(t, docs)
	written := string(source)
	for spec, doc := range docs {
		of := spec.Type.(*ast.SelectorExpr)
		had := string(source[doc.Pos()-file.FileStart : doc.End()-file.FileStart])
		want, _, _ := strings.Cut(had, "\n//\n//\t")
		if members := a.members(a.open(imports(file)[of.X.(*ast.Ident).Name]), of.Sel.Name); len(members) > 0 {
			want += "\n//\n//\t" + strings.ReplaceAll(strings.Join(members, "\n//\t"), "//\t\n", "//\n")
		}
		if !*update {
			require.Equal(t, want, had, "stale: run go test ./engine -run %s -update", t.Name())
		}
		written = strings.Replace(written, had, want, 1)
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(written), 0o600))
	}
}

// aliases writes the members of types with the names that package engine has for types.
type aliases struct {
	t        *testing.T
	packages map[string]*goPackage // by folder
	names    map[string]string     // Verdict by trace.Verdict
}

// A goPackage is a package of this module.
type goPackage struct {
	name    string
	types   map[string]*doc.Type
	imports map[string]string // folders of this module, by their names
}

func (a *aliases) open(folder string) *goPackage {
	if p := a.packages[folder]; p != nil {
		return p
	}
	p := &goPackage{types: map[string]*doc.Type{}, imports: map[string]string{}}
	a.packages[folder] = p
	set := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(a.t, err)
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		require.NoError(a.t, err)
		files = append(files, file)
		maps.Copy(p.imports, imports(file))
	}
	documented, err := doc.NewFromFiles(set, files, module+filepath.ToSlash(folder))
	require.NoError(a.t, err)
	p.name = documented.Name
	for _, one := range documented.Types {
		p.types[one.Name] = one
	}
	return p
}

// imports returns the folders of this module that a file imports, by their names.
func imports(file *ast.File) map[string]string {
	folders := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		folders[filepath.Base(path)] = filepath.Join("..", strings.TrimPrefix(path, module))
	}
	return folders
}

// members returns the exported fields and methods of a type, or of the elements of a list.
func (a *aliases) members(p *goPackage, name string) []string {
	var lines []string
	switch of := p.definition(name).(type) {
	case *ast.StructType:
		lines = a.formatted("type _ struct {\n" + a.fields(p, of) + "}")
	case *ast.InterfaceType:
		for _, m := range of.Methods.List {
			lines = append(lines, m.Names[0].Name+strings.TrimPrefix(a.named(p, m.Type), "func"))
		}
	case *ast.ArrayType:
		lines = append(a.members(p, of.Elt.(*ast.StarExpr).X.(*ast.Ident).Name), "")
	}
	methods := p.types[name].Methods
	if len(lines) > 0 && len(methods) > 0 {
		lines = append(lines, "")
	}
	for _, m := range methods {
		receiver := a.named(p, m.Decl.Recv.List[0].Type)
		lines = append(lines, fmt.Sprintf("func (%s) %s%s", receiver, m.Name, strings.TrimPrefix(a.named(p, m.Decl.Type), "func")))
	}
	return slices.Compact(lines)
}

func (p *goPackage) definition(name string) ast.Expr {
	return p.types[name].Decl.Specs[0].(*ast.TypeSpec).Type
}

// fields writes the exported fields of a struct. An embedded struct is one of them if package engine has
// a name for it, whose documentation lists its fields, and otherwise stands for its own fields.
func (a *aliases) fields(p *goPackage, of *ast.StructType) string {
	var b strings.Builder
	for _, f := range of.Fields.List {
		switch embedded, _ := f.Type.(*ast.SelectorExpr); {
		case len(f.Names) == 0 && a.names[types.ExprString(embedded)] != "":
			fmt.Fprintf(&b, "%s // %s\n", a.named(p, embedded), strings.TrimSpace(f.Comment.Text()))
		case len(f.Names) == 0:
			inner := a.open(p.imports[embedded.X.(*ast.Ident).Name])
			b.WriteString(a.fields(inner, inner.definition(embedded.Sel.Name).(*ast.StructType)))
		case f.Names[0].IsExported():
			for line := range strings.Lines(f.Doc.Text()) {
				b.WriteString("// " + line)
			}
			comment := strings.TrimSpace("// " + f.Comment.Text())
			fmt.Fprintf(&b, "%s %s %s\n", f.Names[0].Name, a.named(p, f.Type), strings.TrimSuffix(comment, "//"))
		}
	}
	return b.String()
}

// formatted returns the lines between the first and the last of a declaration.
func (a *aliases) formatted(decl string) []string {
	text, err := format.Source([]byte(decl))
	require.NoError(a.t, err, decl)
	lines := strings.Split(strings.ReplaceAll(string(text), "\n\t", "\n"), "\n")
	return lines[1 : len(lines)-1]
}

// typeNames are the names of types in Go code, qualified or not, but no names of parameters.
var typeNames = regexp.MustCompile(`\b(\w+\.)?[A-Z]\w*`)

// named writes a type.
func (a *aliases) named(p *goPackage, of ast.Expr) string {
	return typeNames.ReplaceAllStringFunc(types.ExprString(of), func(name string) string {
		if p.types[name] != nil {
			name = p.name + "." + name
		}
		return cmp.Or(a.names[name], name)
	})
}
