package stress

import "fmt"

// Brief says in a few lines how a configuration fares: how many behaviours have each verdict,
// and which ones are SILENT. The width is in columns.
func (r *Report) Brief(width int) string {
	t := newTextWriter(TextOptions{Width: width})
	t.paragraph(0, "Under stress: "+r.Summary()+".")
	for _, j := range r.Jobs {
		for _, row := range j.Rows {
			if row.Verdict == Silent {
				t.labelled(2, "- ", fmt.Sprintf("SILENT, %s: %s", row.Behaviour, row.Says))
			}
		}
	}
	return t.String()
}
