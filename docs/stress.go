package docs

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/stress"
)

// behaviourTable lists what an API may do, group by group.
func behaviourTable() (string, error) {
	b := &strings.Builder{}
	b.WriteString("| group | behaviour | what the API does |\n|---|---|---|\n")
	group := ""
	for _, row := range stress.Behaviours() {
		shown := row.Group
		if shown == group {
			shown = ""
		}
		group = row.Group
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", shown, row.Name, cell(row.Says))
	}
	return b.String(), nil
}
