package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessagesNameFlags reads the texts of all packages. The command must replace every name of the
// Go API in them, except those that only a program meets.
func TestMessagesNameFlags(t *testing.T) {
	name := regexp.MustCompile(`\b(With[A-Z]|(checkpoint|detect|output|Cluster|CollectOptions|Engine|PublisherOptions|Run|Submission)\.[A-Z])\w+`)
	onlyPrograms := regexp.MustCompile(`With(Format|Function|Guard|MaxPages|Method)`)
	a, set, replaced := newApp(nil, nil, nil), token.NewFileSet(), 0
	for _, root := range []string{"../../../rules", "../../../runtime", "../../../engine"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if d.IsDir() && d.Name() == "cmd" {
				return fs.SkipDir
			}
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(literal.Value)
				if name.MatchString(text) && !onlyPrograms.MatchString(text) {
					replaced++
					require.NotRegexp(t, name, a.inFlags(text+"r1)"), "%s", set.Position(literal.Pos()))
				}
				return true
			})
			return err
		}))
	}
	require.Greater(t, replaced, 30)
}
