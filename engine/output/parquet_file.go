package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// The limits of a Parquet file bound the memory of its writer and of its readers.
const (
	groupBytes = 32 << 20  // size of the JSON in a row group
	batchBytes = 256 << 10 // JSON that is read at once
	batchCells = 16 << 10  // values that are passed on at once
	pageBytes  = 2 << 20   // of all columns; each has a page
	leastPage  = 2 << 10
	mostPage   = 256 << 10
)

// headKey is the key of the metadata that holds the types of the columns as a [parquetNote]: the schema
// does not tell a column of nulls, or of several types, from one of texts.
const headKey = "stopwhen.columns"

// encodeParquet writes the rows of a Parquet file, which may be nil, and items as one Parquet file. With a
// merge it has the last row of each key.
func encodeParquet(to io.Writer, known head, nested string, before, items io.Reader, merge *parquetMerge) error {
	earlier, err := openParquet(before)
	if err != nil {
		return err
	}
	if earlier != nil { // it may have changed since its columns were read
		known = earlier.head.merge(known)
	}
	w := newRowGroups(to, known, nested)
	defer w.pages.close()
	if w.merge = merge; merge != nil {
		if err := merge.begin(w); err != nil {
			return err
		}
	}
	if earlier != nil {
		if err := w.copy(earlier); err != nil {
			return fmt.Errorf("the file that rows are added to: %w", err)
		}
	}
	lines := &lineWriter{lines: w.items}
	if _, err := io.CopyBuffer(lines, struct{ io.Reader }{items}, make([]byte, batchBytes)); err != nil {
		return err
	}
	return w.close()
}

// merge adds the columns and types of another head.
func (h head) merge(other head) head {
	merged := head{slices.Clone(h.columns), slices.Clone(h.types)}
	index := map[string]int{}
	for i, name := range merged.columns {
		index[name] = i
	}
	for i, name := range other.columns {
		if column, known := index[name]; known {
			merged.types[column] |= other.types[i]
			continue
		}
		merged.columns, merged.types = append(merged.columns, name), append(merged.types, other.types[i])
	}
	return merged
}

// rowGroups writes the row groups of a Parquet file.
type rowGroups struct {
	table
	kinds   []kind
	file    *parquet.GenericWriter[any]
	columns []*parquet.ColumnWriter
	cells   [][]parquet.Value // the batch of rows that is passed on next, by column
	pages   *pagePool
	merge   *parquetMerge // nil if all rows are written
	rows    int           // number of rows in the batch
	group   int           // JSON bytes in the row group
}

func newRowGroups(to io.Writer, h head, nested string) *rowGroups {
	note, _ := json.Marshal(noteOf(h, nested)) // cannot fail for lists of texts and numbers
	if len(h.columns) == 0 {                   // many readers refuse a file without columns
		h = head{[]string{valueColumn}, []shape.Types{0}}
	}
	w := &rowGroups{table: newTable(Parquet, maxParquetColumns, nested, h.columns), pages: newPagePool()}
	options := []parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.DataPageVersion(1), parquet.DataPageStatistics(false),
		parquet.PageBufferSize(min(mostPage, max(leastPage, pageBytes/len(h.columns)))), parquet.ColumnPageBuffers(w.pages),
		parquet.KeyValueMetadata(headKey, string(note)),
	}
	for i, t := range h.types {
		w.kinds = append(w.kinds, kindOf(t))
		if t&(shape.LongText|shape.List|shape.Empty) != 0 {
			options = append(options, parquet.SkipPageBounds(h.columns[i]))
		}
	}
	options = append(options, schemaOf(h.columns, w.kinds))
	w.file = parquet.NewGenericWriter[any](to, options...)
	w.columns = w.file.ColumnWriters()
	w.cells = make([][]parquet.Value, len(w.columns))
	return w
}

// items adds a block of items.
func (w *rowGroups) items(block []byte) error {
	for line := range bytes.Lines(block) {
		if err := w.read(line[:len(line)-1]); err != nil {
			return err
		}
		if !w.merge.staysNew(w) {
			continue
		}
		for i := range w.kinds {
			w.setValue(w.add(i), i)
		}
		if err := w.endRow(len(line)); err != nil {
			return err
		}
	}
	return w.pass() // the cells are parts of the block
}

// setValue sets a value to that of a column of the current item. In a key whose column has texts, numbers of equal value
// have one spelling, that of a number which was in a column of numbers before.
func (w *rowGroups) setValue(value *parquet.Value, column int) {
	cell, kind := w.cell(column), w.kinds[column]
	if kind == textKind && cell != nil && scan.KindOf(cell) == scan.Number && w.merge != nil &&
		slices.Contains(w.merge.columns, column) && bytes.ContainsAny(cell, ".eE") {
		if shape.TypeOf(cell) == shape.Decimal { // it would be rounded
			setCell(value, withoutZeros(cell), kind)
			return
		}
		setCell(value, cell, numberKind)
		*value = convert(*value, numberKind, textKind)
		value.SetDefinitionLevel(1)
		return
	}
	setCell(value, cell, kind)
}

// withoutZeros returns a number without the zeros at the end of its fraction, and as it is if it has an exponent.
func withoutZeros(number []byte) []byte {
	if bytes.ContainsAny(number, "eE") {
		return number
	}
	return bytes.TrimSuffix(bytes.TrimRight(number, "0"), []byte("."))
}

// add adds a null to the current row, and returns it to be set where it is: each copy of a value takes as long as setting one.
func (w *rowGroups) add(column int) *parquet.Value {
	w.cells[column] = append(w.cells[column], parquet.Value{})
	return &w.cells[column][len(w.cells[column])-1]
}

// endRow ends a row of the given size. A row group ends when it is large.
func (w *rowGroups) endRow(size int) error {
	w.rows++
	w.group += size
	if w.rows*len(w.columns) >= batchCells || w.group >= groupBytes {
		if err := w.pass(); err != nil {
			return err
		}
	}
	if w.group < groupBytes {
		return nil
	}
	w.group = 0
	return w.file.Flush()
}

// pass passes the batch on.
func (w *rowGroups) pass() error {
	for i, c := range w.columns {
		if _, err := c.WriteRowValues(w.cells[i]); err != nil {
			return err
		}
		w.cells[i] = w.cells[i][:0]
	}
	w.rows = 0
	return nil
}

func (w *rowGroups) close() error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.file.Close()
}

// copy adds the rows of a file. A large row group whose columns have the same types is copied as it
// is; small ones are joined.
func (w *rowGroups) copy(from *parquetFile) error {
	same := w.merge == nil && parquet.EqualNodes(from.Schema(), w.file.Schema())
	metadata := from.Metadata().RowGroups
	for i, g := range from.RowGroups() {
		if same && w.group == 0 && metadata[i].TotalByteSize >= groupBytes/4 {
			if err := copyGroup(w.file, g); err != nil {
				return err
			}
			continue
		}
		if err := w.copyRows(g, from.kinds); err != nil {
			return err
		}
	}
	return nil
}

// copyRows adds the rows of a row group, whose columns are the first ones.
func (w *rowGroups) copyRows(g parquet.RowGroup, kinds []kind) (err error) {
	rows := g.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buffer := make([]parquet.Row, max(1, min(64, batchCells/len(kinds))))
	for {
		n, err := readRows(rows, buffer)
		for _, row := range buffer[:n] {
			if err := w.copyRow(row, kinds); err != nil {
				return err
			}
		}
		if passed := w.pass(); passed != nil { // the values are valid until more rows are read
			return passed
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *rowGroups) copyRow(row parquet.Row, kinds []kind) error {
	if !w.merge.staysOld(w, row, kinds) {
		return nil
	}
	size := 0
	for i := range w.columns {
		value := w.add(i)
		if i < len(kinds) && !row[i].IsNull() {
			*value = convert(row[i], kinds[i], w.kinds[i])
			value.SetDefinitionLevel(1)
		}
		size += 16 // about the size of a number with its name
		if value.Kind() == parquet.ByteArray {
			size += len(value.ByteArray())
		}
	}
	return w.endRow(size)
}

// convert converts a value to another kind of column: an integer to a number, and anything to text.
func convert(v parquet.Value, from, to kind) parquet.Value {
	switch {
	case from == to || v.IsNull():
		return v
	case to == numberKind:
		return parquet.DoubleValue(float64(v.Int64()))
	case from == booleanKind:
		return textValue(strconv.AppendBool(nil, v.Boolean()))
	case from == integerKind:
		return textValue(strconv.AppendInt(nil, v.Int64(), 10))
	case from == numberKind:
		text, _ := json.Marshal(v.Double()) // a file of a program that writes NaN has it as the text null
		return textValue(text)
	}
	return v
}

// setCell sets a value, which is null, to a cell, which may be nil, in a column of a kind that holds it.
func setCell(value *parquet.Value, cell []byte, kind kind) {
	if cell == nil || cell[0] == 'n' {
		return
	}
	switch kind {
	case booleanKind:
		*value = parquet.BooleanValue(cell[0] == 't')
	case integerKind:
		n, short := shape.ShortInteger(cell)
		if !short {
			n, _ = strconv.ParseInt(string(cell), 10, 64)
		}
		*value = parquet.Int64Value(n)
	case numberKind:
		n, _ := strconv.ParseFloat(string(cell), 64)
		*value = parquet.DoubleValue(n)
	default:
		*value = textValue(plainText(cell))
	}
	value.SetDefinitionLevel(1)
}

func textValue(text []byte) parquet.Value { return parquet.ByteArrayValue(text) }
