package rules

// ItemReader holds the items of a page, and decodes of them what rules read, when they
// read it. It is valid until the next page is read, and serves one goroutine.
type ItemReader interface {
	// Len returns the number of items.
	Len() int

	// Items returns the items as a list that must not be changed. Each is its value or, if
	// rules read only some paths of items, an [ItemRow].
	Items() ([]any, error)

	// Item returns the value of item i, which is at least 0 and less than Len.
	Item(i int) (any, error)

	// Column returns the value at a path of every item, nil where it is absent. It reports
	// false if Items returns no rows.
	Column(path []string) ([]any, bool, error)
}

// ItemRow is an item of which rules read only some paths.
type ItemRow interface {
	// Field returns the value at a path of the item, and whether the item has it.
	Field(path []string) (v any, present bool, err error)
}
