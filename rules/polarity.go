package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// Names of flags that tell whether there is more, as APIs use them, in lower
// case and without separators. Static checks and the audit read them.

// moreFlags are true while there is more.
var moreFlags = []string{"hasmore", "more", "hasnext", "hasnextpage", "nextpage", "morerecords", "hasmorepage", "hasmorepages", "hasmoreitems", "hasmoreresults", "istruncated", "truncated", "moreavailable", "ismore", "morepages", "hasadditionalresults", "incomplete", "next"}

// lastFlags are true when there is no more.
var lastFlags = []string{"islast", "last", "lastpage", "islastpage", "done", "complete", "completed", "iscomplete", "finished", "end", "eof", "endofstream", "endoflist", "nomore", "islastbatch", "final"}

// bareName is a name without case and separators: has_more is hasmore.
func bareName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "@", "", "$", "").Replace(strings.ToLower(name))
}

// flagPolarity reports flags whose name says the opposite of what is configured.
func (p *pagination) flagPolarity(faults *diag.Collector) {
	field := p.settings["nextPageFlag.field"]
	stopOn, ifNotSet := p.settings["nextPageFlag.stopOn"], p.settings["nextPageFlag.ifNotSet"]
	name := bareName(field.Written)
	warn := func(at setting, hint, format string) {
		faults.Warnf(diag.Value(at.Path), format, field.Written).WithHint(hint)
	}
	switch {
	case field.Written == "" || stopOn.Value == nil:
	case stopOn.Value == true && slices.Contains(moreFlags, name):
		warn(stopOn, "if it is true while there is more, set stopOn to false", "the scrolling stops when %s is true; its name says that there is more then")
	case stopOn.Value == false && slices.Contains(lastFlags, name):
		warn(stopOn, "if it is true on the last page, set stopOn to true", "the scrolling stops when %s is false; its name says that there is more then")
	case stopOn.Value == true && ifNotSet.Value == true && !ifNotSet.Default && slices.Contains(lastFlags, name):
		warn(ifNotSet, "if the API sends it on the last page alone, set ifNotSet to false", "a page without %s stops the scrolling too, so the flag decides nothing where the last page alone has it")
	}
	hasMore := p.settings["hasMore"]
	if keys := SplitPath(hasMore.text()); len(keys) > 0 && slices.Contains(lastFlags, bareName(keys[len(keys)-1])) {
		faults.Warnf(diag.Value(hasMore.Path), "the scrolling stops when %s is false; its name says that there is more then", hasMore.Written).
			WithHint(fmt.Sprintf("for a flag that is true on the last page write a rule: \"stopRules\": [\"truthy(body.%s)\"]", hasMore.Written))
	}
}
