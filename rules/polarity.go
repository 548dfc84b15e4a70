package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// The names of flags that say whether there is more, in lower case and without
// separators.
var (
	moreFlags = []string{ // true while there is more
		"hasmore", "more", "hasnext", "hasnextpage", "nextpage", "morerecords", "hasmorepage", "hasmorepages",
		"hasmoreitems", "hasmoreresults", "istruncated", "truncated", "moreavailable", "ismore", "morepages",
		"hasadditionalresults", "incomplete", "next",
	}
	lastFlags = []string{ // true when there is no more
		"islast", "last", "lastpage", "islastpage", "done", "complete", "completed", "iscomplete", "finished",
		"end", "eof", "endofstream", "endoflist", "nomore", "islastbatch", "final",
	}
)

// bareName returns a name in lower case and without separators: hasmore for has_more.
func bareName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "@", "", "$", "").Replace(strings.ToLower(name))
}

// flagPolarity reports flags whose name says the opposite of what is configured.
func (p *pagination) flagPolarity(diags *diag.Collector) {
	field := p.settings.get("nextPageFlag.field")
	stopOn, ifNotSet := p.settings.get("nextPageFlag.stopOn"), p.settings.get("nextPageFlag.ifNotSet")
	name := bareName(field.Written)
	suggestsMore := func(at setting, name string) *diag.Diagnostic {
		return diags.Warnf(diag.Value(at.path()), "paging stops when %s, although its name suggests that more pages follow", name)
	}
	switch {
	case field.Written == "" || stopOn.Value == nil:
	case stopOn.Value == true && slices.Contains(moreFlags, name):
		suggestsMore(stopOn, field.Written+" is true").WithHint("if it is true while there is more, set stopOn to false")
	case stopOn.Value == false && slices.Contains(lastFlags, name):
		suggestsMore(stopOn, field.Written+" is false").WithHint("if it is true on the last page, set stopOn to true")
	case stopOn.Value == true && ifNotSet.Value == true && !ifNotSet.Default && slices.Contains(lastFlags, name):
		diags.Warnf(diag.Value(ifNotSet.path()), "a page without %s stops paging, too, so the flag has no effect", field.Written).
			WithHint("if only the last page has it, set ifNotSet to false")
	}
	hasMore := p.settings.get("hasMore")
	if keys := SplitPath(hasMore.text()); len(keys) > 0 && slices.Contains(lastFlags, bareName(keys[len(keys)-1])) {
		suggestsMore(hasMore, hasMore.Written+" is false").
			WithHint(fmt.Sprintf("for a flag that is true on the last page write \"stopRules\": [\"truthy(body.%s)\"]", hasMore.Written))
	}
}
