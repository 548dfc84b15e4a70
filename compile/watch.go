package compile

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
)

// A Watch is a path of the response that decides how a list goes on. If no
// response has it, it is probably misspelt.
type Watch struct {
	language.Read
	Rule rules.Rule // the first that reads it

	// Link says that it may lead to the next page, so the last page may lack it. Where
	// there is only one page, no response has it.
	Link bool

	// Optional says that the rule allows for its absence: it checks whether the path
	// exists, or is about an error.
	Optional bool
}

// Watches returns the paths of the body that the stopping rules and the next request
// read, each once.
func (j *Job) Watches() []Watch {
	var found watches
	for i, e := range slices.Concat(Expressions(j.Stops), j.Next, j.NextParts) {
		found.add(e, "body", func(r language.Read) Watch {
			return Watch{
				Link:     i >= len(j.Stops) || apinames.IsNext(r.Path[len(r.Path)-1]),
				Optional: e.Rule.Outcome == rules.Failed || e.Rule.Shared || !e.Rule.Expects && checksPresence(e, r),
			}
		})
	}
	return found
}

// watches are paths in one field of the context, each once.
type watches []Watch

// add adds the paths that an expression reads in a field, as watch describes them.
func (all *watches) add(e *language.Expression, field string, watch func(language.Read) Watch) {
	for _, r := range e.Reads {
		if !r.Is(field) || len(r.Path) == 0 || r.Has {
			continue
		}
		w := watch(r)
		if i := slices.IndexFunc(*all, func(had Watch) bool { return slices.Equal(had.Path, r.Path) }); i >= 0 {
			(*all)[i].Link = (*all)[i].Link || w.Link
			continue
		}
		w.Read, w.Rule = r, e.Rule
		*all = append(*all, w)
	}
}

// checksPresence reports whether an expression also checks that a read exists.
func checksPresence(e *language.Expression, read language.Read) bool {
	return slices.ContainsFunc(e.Reads, func(other language.Read) bool { return other.Has && slices.Equal(other.Path, read.Path) })
}

// NextReads reports whether the next request depends on a field of the context, such
// as items.
func (j *Job) NextReads(root string) bool {
	return anyReads(slices.Concat(j.Next, j.NextParts), func(r language.Read) bool { return r.Is(root) })
}

// Decisive returns what the stopping rules and the next request read that may
// differ from page to page: of the response and of the state, but not what the
// context counts or compares. If a request is repeated and nothing of it has
// changed, the list goes round in circles.
func (j *Job) Decisive() []language.Read {
	roots := []string{"body", "items", "count", "status", "header", "link", "state"}
	var found []language.Read
	for _, e := range slices.Concat(Expressions(j.Stops), j.Next, j.NextParts) {
		for _, read := range e.Reads {
			same := func(other language.Read) bool { return other.String() == read.String() }
			if slices.ContainsFunc(roots, read.Is) && !slices.ContainsFunc(found, same) {
				found = append(found, read)
			}
		}
	}
	return found
}
