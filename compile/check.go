package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// The checks of a compiled job that need no page: rules which are probably not
// what was meant. All of them are warnings.

func (c *compilation) checkJob(j *Job) {
	if len(j.Stops) == 0 {
		return
	}
	c.constantRules(j)
	c.shadows(j)
	c.contradictions(j)
	if j.Paged() {
		c.noEnd(j)
		c.sameRequest(j)
	}
}

// warn reports what is odd about a rule, at its place in the configuration.
func (c *compilation) warn(r rules.Rule, hint, format string, args ...any) {
	c.faults.Warnf(diag.Value(r.Origin.Path), format, args...).WithHint(hint)
}

// written tells whether a rule was written by the user, and not by a table.
func written(r rules.Rule) bool { return r.Origin.By.Kind == rules.AuthorConfig }

// constantRules finds conditions that are the same on every page.
func (c *compilation) constantRules(j *Job) {
	p := prover{c.set}
	for _, s := range append(slices.Clone(j.Stops), j.OnErrors...) {
		if !written(s.Rule) {
			continue
		}
		switch p.condition(s.syntax) {
		case always:
			if s.Rule.Role == rules.Stop && s.Rule.Source != "total.pages >= 1" { // forceStop.pages 1 is meant
				c.warn(s.Rule, "", "%s is always true: %s stops after the first page", s.Rule.Source, s.Rule.ID)
			}
		case never:
			c.warn(s.Rule, "", "%s is never true: %s has no effect", s.Rule.Source, s.Rule.ID)
		default:
			if s.Rule.Role == rules.Stop && !s.Rule.Guard && j.Paged() && !j.varies(s.Expression) {
				c.warn(s.Rule, "a rule that ends a list reads what changes from page to page, such as body, count or total", "%s is the same after every page: %s stops after the first page or never", s.Rule.Source, s.Rule.ID)
			}
		}
	}
}

// shadows finds rules that never are the reason, because another is met before
// them, or is the same.
func (c *compilation) shadows(j *Job) {
	p := prover{c.set}
	for i, late := range j.Stops {
		for k, early := range j.Stops {
			if i == k || !written(late.Rule) || !strings.HasPrefix(late.Rule.Origin.Path, c.set.Path+".") {
				continue // a rule beside method multiple is for other scrollers too
			}
			a, bounded := p.bound(early.syntax)
			b, also := p.bound(late.syntax)
			switch {
			case k < i && late.syntax.String() == early.syntax.String():
				c.warn(late.Rule, "remove one of them", "%s is never the reason to stop: %s says the same, and comes first", late.Rule.ID, early.Rule.ID)
			case bounded && also && a.Of == b.Of && a.At < b.At && conjunctionFree(late.syntax):
				c.warn(late.Rule, "", "%s is never met: %s stops at %s, before %s", late.Rule.ID, early.Rule.ID, a, b)
			}
		}
	}
}

// conjunctionFree tells whether a condition waits for a counter alone.
func conjunctionFree(node ast.Node) bool {
	n, ok := node.(*ast.BinaryNode)
	return ok && n.Operator != "or" && n.Operator != "||"
}

// samples are values that a flag or a token may have; absent stands for none.
var samples = []any{absent, nil, true, false, 0, 1, "", "x", []any{}}

const absent = "\x00absent"

// contradictions finds two rules of which one is met whatever the response has,
// such as a flag that ends the scrolling when it is true, and when it is false.
func (c *compilation) contradictions(j *Job) {
	for i, a := range j.Stops {
		for _, b := range j.Stops[:i] {
			path, ok := oneField(a, b)
			if !ok || !written(a.Rule) && !written(b.Rule) {
				continue
			}
			alone, together := false, true
			for _, v := range samples {
				x, y := meets(a, path, v), meets(b, path, v)
				alone = alone || x != y
				together = together && (x || y)
			}
			if together && alone {
				c.warn(a.Rule, "", "%s and %s contradict each other: whatever %s is, one of them stops after the first page", b.Rule.ID, a.Rule.ID, Read{Root: "body", Path: path})
			}
		}
	}
}

// oneField is the field of the body that is all that two conditions read.
func oneField(a, b *Stop) ([]string, bool) {
	var path []string
	for _, r := range append(slices.Clone(a.Reads), b.Reads...) {
		if !r.OfBody() || len(r.Path) == 0 || path != nil && !slices.Equal(path, r.Path) {
			return nil, false
		}
		path = r.Path
	}
	return path, len(a.Reads) > 0 && len(b.Reads) > 0
}

func meets(s *Stop, path []string, v any) bool {
	body := rules.Object{}
	if v != absent {
		body = rules.SetPath(body, path, v)
	}
	met, err := s.EvalBool(&Machine{}, &rules.Context{Page: 1, Body: body})
	return err == nil && met
}

// noEnd finds scrolls that nothing but a guard can end.
func (c *compilation) noEnd(j *Job) {
	p := prover{c.set}
	for _, s := range j.Stops {
		if !s.Rule.Guard && p.condition(s.syntax) != never && (j.varies(s.Expression) || p.condition(s.syntax) == always) {
			return
		}
	}
	guard := "so it may never stop"
	for _, s := range j.Stops {
		if b, ok := p.bound(s.syntax); ok && s.Rule.Guard {
			guard = fmt.Sprintf("so it fails at %s (guards.%s) unless the API repeats itself", b, s.Rule.ID)
		}
	}
	for _, e := range j.Parts {
		if address := e.Rule.Role == rules.URL || e.Rule.Role == rules.Endpoint; address && e.Rule.Subsequent && j.varies(e) {
			return // nil ends it
		}
	}
	if len(j.Parts) > 0 {
		c.warn(rules.Rule{Origin: rules.Origin{Path: c.set.Path}}, `say how the list ends, for instance "stopRules": ["count == 0"], or bound it with forceStop`, "no rule ends this scroll, %s", guard)
	}
}

// sameRequest finds requests that do not change from page to page.
func (c *compilation) sameRequest(j *Job) {
	var last rules.Rule
	for _, e := range j.Parts {
		if !e.Rule.Subsequent {
			continue
		}
		if j.varies(e) {
			return
		}
		if written(e.Rule) {
			last = e.Rule
		}
	}
	if last.ID == "" {
		return
	}
	c.warn(last, "let it read what changes, such as page, state or body", "the next request never changes: what it is made of is the same after every page")
}

// fixed are the fields of the context that are the same on every page.
var fixed = []string{"limit", "job", "kept", "first"}

// varies tells whether an expression can differ from page to page.
func (j *Job) varies(e *Expression) bool { return j.variesBut(e, nil) }

func (j *Job) variesBut(e *Expression, seen []string) bool {
	for _, r := range e.Reads {
		root, _, _ := strings.Cut(r.Root, ".")
		switch {
		case slices.Contains(fixed, root):
		case root == "state" && len(r.Path) > 0:
			if j.variable(r.Path[0], seen) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// variable tells whether a variable changes from page to page: its next value
// reads what does, or is made of its own.
func (j *Job) variable(name string, seen []string) bool {
	if slices.Contains(seen, name) {
		return true // it is made of itself
	}
	for _, e := range j.Next {
		if e.Rule.Target == name && strings.TrimSpace(e.Rule.Source) != "state."+name {
			return j.variesBut(e, append(seen, name))
		}
	}
	return false
}
