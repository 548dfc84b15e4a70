package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// Waits says what the request for the next page must wait for: the first part of
// it, or variable of the state, that reads the response. Empty: nothing, so that
// pages may be asked for ahead.
func (j *Job) Waits() string {
	if !j.Paged() {
		return "the job is not paged"
	}
	for _, e := range slices.Concat(j.Parts, j.Next) {
		if !e.Rule.Subsequent && e.Rule.Role.Builds() {
			continue // of the first request alone
		}
		for _, r := range e.Reads {
			if !r.foreseen() {
				return fmt.Sprintf("%s reads %s", e.Rule.ID, r)
			}
		}
		if e.Rule.Role == rules.URL && !rules.SwitchesOf(j.Set.Dialect).RelativeToBase {
			return e.Rule.ID + " is resolved against the address of the response"
		}
	}
	return ""
}

// Reads tells whether an expression of the job, its messages aside, reads a field
// of the context or something in it: "prev" for prev.body.next.
func (j *Job) Reads(root string) bool {
	for _, list := range [][]*Expression{j.Parts, j.Next, j.Keeps, conditions(j.Stops), conditions(j.OnErrors)} {
		for _, e := range list {
			if slices.ContainsFunc(e.Reads, func(r Read) bool { return r.Root == root || strings.HasPrefix(r.Root, root+".") }) {
				return true
			}
		}
	}
	return false
}

// foreseen tells whether a value is known before the response is there.
func (r Read) foreseen() bool {
	switch r.Root {
	case "state", "limit", "page", "job", "kept":
		return true
	case "total":
		return slices.Equal(r.Path, []string{"pages"})
	}
	return strings.HasPrefix(r.Root, "job.")
}

// MostPages is how many pages there can be at most by the rules that count pages,
// or items by a page size in force; 0: there is no such rule.
func (j *Job) MostPages() int {
	most := 0
	for _, s := range j.Stops {
		b, ok := (prover{j.Set}).bound(s.syntax)
		limit, _ := j.Set.Limit.(int)
		switch {
		case !ok:
			continue
		case b.Of == "items" && limit > 0:
			b.At = float64((int(b.At) + limit - 1) / limit)
		case b.Of != "pages":
			continue
		}
		if n := int(b.At); n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	return most
}
