package detect

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// pages reports whether the configuration requests more than one page.
func (r *Result) pages() bool {
	api, _ := r.Config.Get("api")
	object, _ := api.(value.Object)
	_, given := object.Get("pagination")
	return given
}

// Text describes a result for people, in lines of at most width characters.
func (r *Result) Text(width int) string {
	b := &strings.Builder{}
	head := "Not recognized"
	switch doubts := len(r.Findings.Doubts); {
	case r.YAML == nil:
	case !r.pages() && doubts > 0:
		head = "Recognized, except for the pagination, with " + value.Counted(doubts, "doubt")
	case !r.pages():
		head = "Recognized, except for the pagination"
	case doubts > 0:
		head = "Recognized with " + value.Counted(doubts, "doubt")
	default:
		head = "Recognized"
	}
	fmt.Fprintf(b, "%s; %s.\n", head, summaryOf(r.Requests))
	for _, part := range []struct {
		title string
		lines []string
	}{{"Seen:", r.Findings.Evidence}, {"Doubts:", r.Findings.Doubts}, {"What would help:", r.Findings.Advice}} {
		if len(part.lines) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", part.title)
		for _, text := range part.lines {
			for _, line := range bullet(text, max(width-4, 20), "  ") {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}
