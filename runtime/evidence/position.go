package evidence

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A positionSearch finds responses that state another position than their request.
type positionSearch struct {
	*listView
	memory *positionMemory
}

// A positionMemory is what a [positionSearch] remembers of page 1.
type positionMemory struct {
	Position *statedPosition `json:"position,omitempty"` // where page 1 states the position of its request; nil: nowhere
}

// A statedPosition is where responses state the position of their request.
type statedPosition struct {
	Param string   `json:"param"`          // the parameter with the position
	Path  []string `json:"path"`           // where the response has it
	Less  int      `json:"less,omitempty"` // how much smaller the response counts it: 1 if it numbers pages from 0 and the request from 1
}

// rememberFirst remembers where page 1 states the position of its own request, since some APIs state the position of the next
// page.
func (s positionSearch) rememberFirst() {
	if s.mayState() {
		s.memory.Position = s.statedPosition(parametersOf(s.sent))
	}
}

// mayState reports whether the response may state the position of its request.
func (s positionSearch) mayState() bool {
	return s.context.Count > 0 && s.reading.HasContent() && s.subject.job.Analysis().RequestsByPosition()
}

// notice notices a page whose response states a later position than its request. A smaller position is not a sign: after the last
// page, some APIs return that page again.
func (s positionSearch) notice() {
	c, first := s.context, s.memory.Position
	if c.Page == 1 || first == nil || s.repeats || s.facts.SkippedPage > 0 || !s.mayState() {
		return
	}
	v, _ := parametersOf(s.sent).Get(first.Param)
	requested, isPosition := position(v)
	v, _ = s.lookup(first.Path)
	if stated, ok := position(v); ok && isPosition && stated > requested-first.Less {
		s.facts.SkippedPage = c.Page
		s.facts.Skipped = fmt.Sprintf("%s is %d, although %s=%d was sent",
			keypath.Format(rules.ContextBody, first.Path), stated, first.Param, requested)
	}
}

// statedPosition returns where a response states the position that is one of some parameters, or nil.
func (p *listView) statedPosition(params rules.Object) *statedPosition {
	var paths [][]string
	for _, name := range p.reading.Names(nil) {
		paths = append(paths, []string{name})
		if apinames.Key(name).HoldsSigns() {
			for _, inner := range p.reading.Names([]string{name}) {
				paths = append(paths, []string{name, inner})
			}
		}
	}
	for _, m := range params {
		requested, ok := position(m.Value)
		isPage := apinames.AlikeAny(m.Name, apinames.PageNumberNames())
		if !ok || !isPage && !apinames.IsItemIndex(m.Name) {
			continue
		}
		for _, path := range paths {
			name := path[len(path)-1]
			if !apinames.Alike(name, m.Name) && !(isPage && apinames.AlikeAny(name, apinames.PageNumberNames())) {
				continue
			}
			v, _ := p.lookup(path)
			if stated, ok := position(v); ok && (stated == requested || isPage && stated == requested-1) {
				return &statedPosition{Param: m.Name, Path: slices.Clone(path), Less: requested - stated}
			}
		}
	}
	return nil
}

// position returns a whole number, which may be a text.
func position(v any) (n int, ok bool) {
	text, _ := value.Text(v)
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}
