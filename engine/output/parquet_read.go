package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/stopwhen/stopwhen/engine/shape"
)

// A parquetFile is a Parquet file to which rows can be added.
type parquetFile struct {
	*parquet.File
	head
	kinds []kind
}

// openParquet opens a Parquet file. It returns nil for nil.
func openParquet(content io.Reader) (f *parquetFile, err error) {
	if content == nil {
		return nil, nil
	}
	at, ok := content.(interface {
		io.ReaderAt
		Size() int64
	})
	if !ok {
		return nil, errors.New("a Parquet file cannot be compressed as a whole")
	}
	defer recoverDamage(&err)
	file, err := parquet.OpenFile(at, at.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("it is not a Parquet file, or damaged: %w", err)
	}
	f = &parquetFile{File: file}
	for _, c := range file.Root().Columns() {
		t, err := typesOfColumn(c)
		if err != nil {
			return nil, err
		}
		f.columns, f.types, f.kinds = append(f.columns, c.Name()), append(f.types, t), append(f.kinds, kindOf(t))
	}
	f.applyNote()
	return f, nil
}

// checkParquet returns the columns of a Parquet file, and checks that rows can be added.
func checkParquet(file io.Reader) (head, error) {
	table, err := openParquet(file)
	if err != nil {
		return head{}, err
	}
	return table.head, nil
}

func countParquet(file io.Reader) (int64, error) {
	table, err := openParquet(file)
	if err != nil {
		return 0, err
	}
	return table.NumRows(), nil
}

// readRows reads rows.
func readRows(rows parquet.Rows, buffer []parquet.Row) (n int, err error) {
	defer recoverDamage(&err)
	return rows.ReadRows(buffer)
}

// copyGroup copies a row group as it is.
func copyGroup(to *parquet.GenericWriter[any], g parquet.RowGroup) (err error) {
	defer recoverDamage(&err)
	_, err = to.WriteRowGroup(g)
	return err
}

// recoverDamage turns a panic of the reader of Parquet files, which a damaged file can cause, into an error.
func recoverDamage(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged: %v", r)
	}
}

// typesOfColumn returns the types that a column may hold.
func typesOfColumn(c *parquet.Column) (shape.Types, error) {
	if !c.Leaf() || c.Repeated() {
		return 0, fmt.Errorf("column %q is nested: rows can only be added to flat columns", c.Name())
	}
	var logical format.LogicalTypeValue
	if t := c.Type().LogicalType(); t != nil {
		logical = t.Value
	}
	switch kind := c.Type().Kind(); logical := logical.(type) {
	case nil:
		switch kind {
		case parquet.Boolean:
			return shape.Boolean, nil
		case parquet.Int64:
			return shape.Integer | shape.BigInt, nil
		case parquet.Double:
			return shape.Number, nil
		}
	case *format.StringType:
		return shape.Text | shape.LongText, nil
	case *format.IntType:
		if logical.IsSigned && logical.BitWidth == 64 {
			return shape.Integer | shape.BigInt, nil
		}
	}
	return 0, fmt.Errorf("column %q is of type %s: rows can only be added to columns of the types BOOLEAN, INT64, DOUBLE and STRING",
		c.Name(), c.Type())
}

// applyNote sets the types of the columns to the types in the metadata of the file, unless another
// program has changed the columns since.
func (f *parquetFile) applyNote() {
	text, _ := f.Lookup(headKey)
	var note parquetNote
	if json.Unmarshal([]byte(text), &note) != nil {
		return
	}
	known, err := note.head()
	if err != nil {
		return
	}
	if len(known.columns) == 0 && f.NumRows() == 0 {
		f.head, f.kinds = known, nil
		return
	}
	types := map[string]shape.Types{}
	for i, name := range known.columns {
		types[name] = known.types[i]
	}
	for i, name := range f.columns {
		if t, ok := types[name]; ok && kindOf(t) == f.kinds[i] {
			f.types[i] = t
		}
	}
}

// schemaOf returns the schema of a file.
func schemaOf(columns []string, kinds []kind) *parquet.Schema {
	var root flat
	for i, name := range columns {
		root.fields = append(root.fields, flatField{parquet.Optional(nodeOf(kinds[i])), name})
	}
	return parquet.NewSchema("items", root)
}

// nodeOf returns a column of a kind. Every reader knows the plain encoding.
func nodeOf(k kind) parquet.Node { return parquet.Encoded(leafOf(k), &parquet.Plain) }

func leafOf(k kind) parquet.Node {
	switch k {
	case booleanKind:
		return parquet.Leaf(parquet.BooleanType)
	case integerKind:
		return parquet.Leaf(parquet.Int64Type)
	case numberKind:
		return parquet.Leaf(parquet.DoubleType)
	}
	return parquet.String()
}

// flat is the root of a schema whose columns are in the order in which they appeared. A [parquet.Group]
// sorts its columns by name.
type flat struct {
	parquet.Group
	fields []parquet.Field
}

func (f flat) Fields() []parquet.Field { return f.fields }

// GoType returns an arbitrary type, because no values of Go types are written.
func (flat) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type flatField struct {
	parquet.Node
	name string
}

func (f flatField) Name() string { return f.name }

func (flatField) Value(reflect.Value) reflect.Value { return reflect.Value{} }
