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
	var found []Watch
	add := func(e *language.Expression, next bool) {
		for _, read := range e.Reads {
			if !read.OfBody() || len(read.Path) == 0 || read.Has {
				continue
			}
			link := next || apinames.IsNext(read.Path[len(read.Path)-1])
			same := func(w Watch) bool { return slices.Equal(w.Path, read.Path) }
			if i := slices.IndexFunc(found, same); i >= 0 {
				found[i].Link = found[i].Link || link
				continue
			}
			optional := e.Rule.Outcome == rules.Failed || e.Rule.Shared || !e.Rule.Expects && checksPresence(e, read)
			found = append(found, Watch{Read: read, Rule: e.Rule, Link: link, Optional: optional})
		}
	}
	for _, s := range j.Stops {
		add(s.Expression, false)
	}
	for _, e := range slices.Concat(j.Next, j.NextParts) {
		add(e, true)
	}
	return found
}

// checksPresence reports whether an expression also checks that a read exists.
func checksPresence(e *language.Expression, read language.Read) bool {
	return slices.ContainsFunc(e.Reads, func(other language.Read) bool { return other.Has && slices.Equal(other.Path, read.Path) })
}

// NextReads reports whether the next request depends on a field of the context, such
// as items.
func (j *Job) NextReads(root string) bool {
	return slices.ContainsFunc(slices.Concat(j.Next, j.NextParts), func(e *language.Expression) bool {
		return slices.ContainsFunc(e.Reads, func(r language.Read) bool { return r.Of == "" && r.Root == root })
	})
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
			if read.Of == "" && slices.Contains(roots, read.Root) && !slices.ContainsFunc(found, same) {
				found = append(found, read)
			}
		}
	}
	return found
}
