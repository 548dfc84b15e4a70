package output

import (
	"errors"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// A parquetMerge merges items into a Parquet file. The key of a row is made of the values that its columns
// hold, as texts: in a column of numbers, 1.50 and 1.5 are the same.
type parquetMerge struct {
	*merger
	columns []int // columns of the key; -1 for a column that no row has
	old     func(key []byte) (bool, error)
	new     func(key []byte) (bool, error)
}

// begin notes the last item of each key.
func (m *parquetMerge) begin(w *rowGroups) error {
	for _, names := range m.keys {
		m.columns = append(m.columns, slices.Index(w.table.columns, strings.Join(names, w.separator)))
	}
	items, err := m.reopen()
	if err != nil {
		return err
	}
	key := func(key []byte) ([]byte, bool, error) { return key, len(key) > 0, nil }
	err = m.learn(func(yield func([]byte) error) error {
		return linesOf(items)(func(item []byte) error {
			if err := w.read(item); err != nil {
				return err
			}
			return yield(m.keyOf(w.ownValue))
		})
	}, key)
	m.old, m.new = m.older(key), m.newer(key)
	return errors.Join(err, items.Close())
}

// staysNew reports whether the current item is the last of its key.
func (m *parquetMerge) staysNew(w *rowGroups) bool {
	if m == nil {
		return true
	}
	stays, _ := m.new(m.keyOf(w.ownValue)) // fails only if the key does, which is given
	return stays
}

// staysOld reports whether no item replaces a row of the file.
func (m *parquetMerge) staysOld(w *rowGroups, row parquet.Row, kinds []kind) bool {
	if m == nil {
		return true
	}
	stays, _ := m.old(m.keyOf(func(column int) parquet.Value {
		if column >= len(kinds) {
			return parquet.NullValue()
		}
		return convert(convert(row[column], kinds[column], w.kinds[column]), w.kinds[column], textKind)
	}))
	return stays
}

// ownValue returns the text of a value of the current item.
func (w *rowGroups) ownValue(column int) parquet.Value {
	var value parquet.Value
	w.setValue(&value, column)
	return convert(value, w.kinds[column], textKind)
}

// keyOf returns the key of a row, or nil if the row has no key.
func (m *parquetMerge) keyOf(value func(column int) parquet.Value) (key []byte) {
	found := false
	for _, column := range m.columns {
		v := parquet.NullValue()
		if column >= 0 {
			v = value(column)
		}
		text := string(v.ByteArray())
		key, found = appendKeyText(key, text, v.IsNull()), found || text != ""
	}
	if !found {
		return nil
	}
	return key
}
