package compile

import (
	"strconv"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// itemsOf returns the items of a page: values, or rows.
func itemsOf(page *rules.Context) ([]any, error) {
	if page.Values == nil {
		return page.Items, nil
	}
	return page.Values.Items()
}

// itemAt returns the item at an index, which may count from the end, and whether there is
// one.
func itemAt(page *rules.Context, index any) (any, bool, error) {
	text, ok := value.Text(index)
	if page.Values == nil || !ok {
		v, ok := member(page.Items, text)
		return v, ok, nil
	}
	n := page.Values.Len()
	i, isIndex := asIndex(text)
	if !isIndex || i >= n || i < -n {
		return nil, false, nil
	}
	if i < 0 {
		i += n
	}
	v, err := page.Values.Item(i)
	return v, err == nil, err
}

// columnOf returns the value at a path of every item. Each item costs a step.
func columnOf(m *meter, path []string) (any, error) {
	var list []any
	if m.page.Values != nil {
		column, ok, err := m.page.Values.Column(path)
		if err != nil {
			return nil, err
		}
		if ok {
			return column, m.stepTimes(len(column))
		}
	}
	items, err := itemsOf(m.page)
	if err == nil {
		err = m.stepTimes(len(items))
	}
	if err != nil {
		return nil, err
	}
	list = make([]any, len(items))
	for i, item := range items {
		list[i], _ = walk(item, path)
	}
	return list, nil
}

// stepTimes counts elements.
func (m *meter) stepTimes(n int) error {
	for range n {
		if err := m.step(); err != nil {
			return err
		}
	}
	return nil
}

// fieldAt returns the value at a path of an item or of another value, and whether it has
// the path.
func fieldAt(v any, path []string) (any, bool, error) {
	if row, ok := v.(rules.ItemRow); ok {
		return row.Field(path)
	}
	v, ok := walk(v, path)
	return v, ok, nil
}

// asIndex returns a text as an index.
func asIndex(text string) (int, bool) {
	i, err := strconv.Atoi(text)
	return i, err == nil
}
