package stress

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// A combination is a set of behaviours that happen in the same run.
type combination []*Behaviour

// combined returns all combinations of at most depth behaviours.
func combined(depth int) []combination {
	var combinations []combination
	for _, b := range behaviours {
		combinations = append(combinations, combination{b})
	}
	if depth < 2 {
		return combinations
	}
	for i, a := range behaviours {
		for _, b := range behaviours[i+1:] {
			if both := (combination{a, b}); a != ordinary && !both.contradicts() {
				combinations = append(combinations, both)
			}
		}
	}
	return combinations
}

// contradicts reports whether two behaviours decide the same thing.
func (c combination) contradicts() bool {
	a, b := c[0], c[1]
	return a.items != nil && b.items != nil || a.begin != nil && b.begin != nil || a.Group == b.Group
}

// missing says why the behaviours cannot apply to a job, or returns "".
func (c combination) missing(p *plan) string {
	for _, b := range c {
		for _, n := range b.needs {
			if !n.met(p) {
				return n.otherwise
			}
		}
	}
	return ""
}

// combinationOf returns the behaviours of a row of a list, by its name.
func combinationOf(name string) (c combination) {
	for part := range strings.SplitSeq(name, "+") {
		if b, err := find(part); err == nil {
			c = append(c, b)
		}
	}
	return c
}

func (c combination) name() string {
	return strings.Join(lists.Map(c, func(b *Behaviour) string { return b.Name }), "+")
}

func (c combination) says() string {
	return strings.Join(lists.Map(c, func(b *Behaviour) string { return b.Says }), " ")
}

// find returns the behaviour with the given name.
func find(name string) (*Behaviour, error) {
	names := make([]string, len(behaviours))
	for i, b := range behaviours {
		if strings.EqualFold(b.Name, name) {
			return b, nil
		}
		names[i] = b.Name
	}
	if slices.ContainsFunc(treeBehaviours, func(b *Behaviour) bool { return strings.EqualFold(b.Name, name) }) {
		return nil, fmt.Errorf("%q is about several partitions, and a simulation is of one list; stress plays it", name)
	}
	text := fmt.Sprintf("there is no behaviour %q; ", name)
	if suggestion := diag.DidYouMean(name, names); suggestion != "" {
		text += suggestion + " "
	}
	return nil, errors.New(text + "the behaviours are " + strings.Join(names, ", "))
}
