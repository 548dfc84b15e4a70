package runtime

import (
	"github.com/stopwhen/stopwhen/compile"
)

// judge puts the page to every rule; none is skipped. The first that is met is
// the reason, and all that are met are listed. An error names a rule that
// failed; the page's items are kept.
func (s *scroll) judge(page *Page) error {
	var first *compile.Condition
	page.Verdicts = make([]Verdict, 0, len(s.job.Stops))
	for _, stop := range s.job.Stops {
		met, err := stop.EvalBool(&s.machine, &s.page)
		if err != nil {
			return s.fault(ClassResponse, &compile.RuleError{Rule: stop.Rule, Err: err})
		}
		verdict := Verdict{Rule: stop.Rule.ID, Met: met}
		if met || s.Verdicts {
			verdict.Because, verdict.Missing = s.Redactor.String(stop.Because(&s.page)), stop.Missing(&s.page)
		}
		page.Verdicts = append(page.Verdicts, verdict)
		if !met {
			continue
		}
		if first == nil {
			first = stop
		}
		page.StoppedBy = append(page.StoppedBy, stop.Rule.ID)
		if stop.Rule.Drop {
			page.Dropped, page.Items = true, Items{}
		}
	}
	if first != nil {
		s.stop(page, page.StoppedBy, first.Rule.Outcome, s.say(first, &s.page))
	}
	return nil
}
