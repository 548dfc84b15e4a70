package rules

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// A phrase is a part of a clause that depends on several settings. The clause has it as ${name}.
type phrase struct {
	name string
	text func(p *pager) string
}

// phrases is the table of phrases.
var phrases = []phrase{
	{"ignoring", (*pager).ignoringInWords},
	{"theLimit", (*pager).limitInWords},
	{"orMissing", func(p *pager) string {
		if p.settings.get("nextPageFlag.ifNotSet").Value == p.settings.get("nextPageFlag.stopOn").Value {
			return "is missing or "
		}
		return ""
	}},
	{"asNumber", func(p *pager) string {
		if p.lowerer.switches.lenientNumbers {
			return ", which counts as 0 if it is missing, null, false or text without a number"
		}
		return ""
	}},
}

// phrasesByName returns the texts of the phrases for the settings of the pagination.
func (p *pager) phrasesByName() map[string]string {
	out := map[string]string{}
	for _, phrase := range phrases {
		out[phrase.name] = phrase.text(p)
	}
	return out
}

// ignoringInWords names the paths that the same-page check ignores.
func (p *pager) ignoringInWords() string {
	if len(p.set.Ignore) == 0 {
		return ""
	}
	return ", ignoring " + strings.Join(lists.Map(p.set.Ignore, func(keys []string) string { return keypath.Format(ContextBody, keys) }), ", ")
}

// limitInWords returns the page size, and the parameter that sets it.
func (p *pager) limitInWords() string {
	switch {
	case p.set.Limit == nil && p.set.LimitParam != "":
		return fmt.Sprintf("the limit that the job's parameter %s sets", p.set.LimitParam)
	case p.set.Limit == nil:
		return "the limit"
	}
	text, name := "the limit of "+textOf(p.set.Limit), p.settings.get("limitParam").text()
	switch p.set.LimitFrom.Path {
	case diag.Join(diag.Join(p.set.Job.path, "params"), name):
		text += fmt.Sprintf(", which the job's parameter %s sets", name)
	case diag.Join(commonParams, name):
		text += fmt.Sprintf(", which the parameter %s of all requests sets", name)
	}
	return text
}
