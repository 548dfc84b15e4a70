package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryFieldOfTheContextIsACompleteRow checks the tags, which a compiler
// does not.
func TestEveryFieldOfTheContextIsACompleteRow(t *testing.T) {
	var check func(t *testing.T, of reflect.Type, fields []ContextField)
	check = func(t *testing.T, of reflect.Type, fields []ContextField) {
		require.Len(t, fields, len(reflect.VisibleFields(of))-hidden(of))
		names := map[string]bool{}
		for _, f := range fields {
			t.Run(f.Name, func(t *testing.T) {
				require.Regexp(t, `^[a-z][A-Za-z]*$`, f.Name)
				require.False(t, names[f.Name], "the name is taken")
				names[f.Name] = true
				require.NotEmpty(t, f.Doc)
				require.Equal(t, of.FieldByIndex(f.Index).Type, f.Type)
				require.Contains(t, []Phase{PhaseJob, PhasePlan, PhaseFirst, PhaseResponse}, f.Phase)
				require.Contains(t, []string{"", "pages", "items", "bytes", "seconds"}, f.Counts)
				require.Contains(t, []string{"", "state", "keep", "inputs", "for"}, f.Declared)
				if f.Range != nil {
					require.Contains(t, []reflect.Kind{reflect.Int, reflect.Float64}, f.Type.Kind(), "only numbers have a range")
					require.Less(t, f.Range.Low, f.Range.High)
				}
				if f.Counts != "" {
					require.NotNil(t, f.Range, "what counts is never nil")
				}
				if f.Declared != "" {
					require.Equal(t, reflect.Map, f.Type.Kind(), "only maps have names that the configuration declares")
				}
				object := f.Type
				if object.Kind() == reflect.Pointer {
					object = object.Elem()
				}
				if object.Kind() == reflect.Struct {
					check(t, object, f.Fields)
				}
			})
		}
	}
	check(t, reflect.TypeFor[Context](), ContextFields())
}

// A name that Go code refers to is that of a field: a compiler does not compare the constants with the tags.
func TestEveryNameInTheCodeIsAFieldOfTheContext(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "context.go", nil, 0)
	require.NoError(t, err)
	constants := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Context") {
			return true
		}
		constants++
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		require.NoError(t, err)
		field, known := reflect.TypeFor[Context]().FieldByName(strings.TrimPrefix(spec.Names[0].Name, "Context"))
		require.True(t, known, spec.Names[0].Name)
		require.Equal(t, field.Tag.Get("expr"), name)
		return true
	})
	require.Greater(t, constants, 15)
}

// hidden returns the number of fields that are not in the table.
func hidden(t reflect.Type) (n int) {
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous || field.Tag.Get("expr") == "-" {
			n++
		}
	}
	return n
}

func TestContextFields(t *testing.T) {
	find := func(names ...string) ContextField {
		fields, found := ContextFields(), ContextField{}
		for _, name := range names {
			found = ContextField{}
			for _, f := range fields {
				if f.Name == name {
					found = f
				}
			}
			fields = found.Fields
		}
		return found
	}
	for _, c := range []struct {
		name   string
		path   []string
		phase  Phase
		counts string
		ranged bool
	}{
		{"a value of the response", []string{"body"}, PhaseResponse, "", false},
		{"a number of the response", []string{"count"}, PhaseResponse, "", true},
		{"a value that is planned", []string{"page"}, PhasePlan, "pages", true},
		{"a field of an object with its own tags", []string{"total", "pages"}, PhasePlan, "pages", true},
		{"a field of an object without", []string{"sent", "url"}, PhaseResponse, "", false},
		{"a value of the job", []string{"limit"}, PhaseJob, "", false},
		{"a field of an object of the job", []string{"job", "params"}, PhaseJob, "", false},
		{"a field of the previous page, which may not exist", []string{"prev", "total", "pages"}, PhaseResponse, "", false},
		{"a field of the first page, which stays the same", []string{"first", "total", "pages"}, PhaseFirst, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := find(c.path...)
			require.Equal(t, c.path[len(c.path)-1], f.Name)
			require.Equal(t, c.phase, f.Phase)
			require.Equal(t, c.counts, f.Counts)
			require.Equal(t, c.ranged, f.Range != nil)
		})
	}
	require.Equal(t, &Range{Low: 200, High: 599}, find("status").Range)
	require.Equal(t, ScopeAudit, find("signs").Scope)
	require.Equal(t, ScopePage, find("body").Scope)
	require.Equal(t, "keep", find("kept").Declared)
}
