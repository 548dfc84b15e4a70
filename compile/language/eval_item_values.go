package language

import (
	"strconv"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// itemsOf returns the items of a page: values, or rows.
func itemsOf(c *rules.Context) ([]any, error) {
	if c.Values == nil {
		return c.Items, nil
	}
	return c.Values.Items()
}

// itemAt returns the item at an index, which may count from the end, and whether there is
// such an item. Only its part at a path is needed.
func itemAt(c *rules.Context, index any, path []string) (any, bool, error) {
	text, ok := value.Text(index)
	if c.Values == nil || !ok {
		v, ok := member(c.Items, text)
		return v, ok, nil
	}
	n := c.Values.Len()
	if i, err := strconv.Atoi(text); err == nil && -n <= i && i < n {
		v, err := c.Values.Item((i+n)%n, path)
		return v, err == nil, err
	}
	return nil, false, nil
}

// columnOf returns the value at a path of every item. Each item costs a step.
func columnOf(m *meter, path []string) (any, error) {
	values := must(fieldsAt(m.page, path))
	for range values.len() {
		m.step()
	}
	if values.column != nil {
		return values.column, nil
	}
	list := make([]any, values.len())
	for i := range list {
		list[i] = values.at(i)
	}
	return list, nil
}

// fields are the values at a path of all items: a column, or in the items.
type fields struct {
	column []any // nil if the values are in the items
	items  []any
	path   []string
}

func fieldsAt(c *rules.Context, path []string) (fields, error) {
	if c.Values != nil {
		column, ok, err := c.Values.Column(path)
		if ok || err != nil {
			return fields{column: column}, err
		}
	}
	items, err := itemsOf(c)
	return fields{items: items, path: path}, err
}

func (f *fields) len() int { return max(len(f.column), len(f.items)) }

// at returns the value of an item, which is nil if it lacks the path.
func (f *fields) at(i int) any {
	if f.column != nil {
		return f.column[i]
	}
	v, _, _ := fieldAt(f.items[i], f.path)
	return v
}
