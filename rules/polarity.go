package rules

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// flagPolarity reports flags whose name says the opposite of what is configured.
func (p *pagination) flagPolarity(diags *diag.Collector) {
	field := p.settings.get("nextPageFlag.field")
	stopOn, ifNotSet := p.settings.get("nextPageFlag.stopOn"), p.settings.get("nextPageFlag.ifNotSet")
	kind := apinames.FlagKind(field.Written)
	suggestsMore := func(at setting, name string) *diag.Diagnostic {
		return diags.Warnf(diag.Value(at.path()), "paging stops when %s, although its name suggests that more pages follow", name)
	}
	switch {
	case field.Written == "" || stopOn.Value == nil:
	case stopOn.Value == true && kind == apinames.HintMore:
		suggestsMore(stopOn, field.Written+" is true").WithHint("if it is true while there is more, set stopOn to false")
	case stopOn.Value == false && kind == apinames.HintLast:
		suggestsMore(stopOn, field.Written+" is false").WithHint("if it is true on the last page, set stopOn to true")
	case stopOn.Value == true && ifNotSet.Value == true && !ifNotSet.Default && kind == apinames.HintLast:
		diags.Warnf(diag.Value(ifNotSet.path()), "a page without %s stops paging, too, so the flag has no effect", field.Written).
			WithHint("if only the last page has it, set ifNotSet to false")
	}
	hasMore := p.settings.get("hasMore")
	if keys := SplitPath(hasMore.text()); len(keys) > 0 && apinames.FlagKind(keys[len(keys)-1]) == apinames.HintLast {
		suggestsMore(hasMore, hasMore.Written+" is false").
			WithHint(fmt.Sprintf("for a flag that is true on the last page write \"stopRules\": [\"truthy(body.%s)\"]", hasMore.Written))
	}
}
