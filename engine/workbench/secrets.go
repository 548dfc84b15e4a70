package workbench

import (
	"cmp"
	"slices"

	"github.com/stopwhen/stopwhen/rules/secret"
)

// A ByteRange is a part of a text.
type ByteRange struct{ Start, End int }

// Secrets returns the parts of the text that are secrets, in order: the values that the configuration declares secret
// or, if it does not compile, all values that look secret.
func (d *Document) Secrets() []ByteRange {
	var found []ByteRange
	if e, err := d.load(); err == nil {
		for _, f := range e.Redactor().Find(d.Text) {
			found = append(found, ByteRange{f.Start, f.End})
		}
	} else {
		masked, _ := secret.Mask(d.Text) // has as many characters as the text
		stars := []rune(masked)
		n := 0
		for i, c := range d.Text {
			if stars[n] == '*' && c != '*' {
				found = append(found, ByteRange{i, i + len(string(c))})
			}
			n++
		}
	}
	slices.SortFunc(found, func(a, b ByteRange) int { return cmp.Compare(a.Start, b.Start) })
	var merged []ByteRange
	for _, p := range found {
		if last := len(merged) - 1; last >= 0 && p.Start <= merged[last].End {
			merged[last].End = max(merged[last].End, p.End)
			continue
		}
		merged = append(merged, p)
	}
	return merged
}
