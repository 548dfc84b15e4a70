package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A Candidate is a list of a response, described by a schema, that may have the items.
type Candidate[T any] struct {
	Path string
	Name string // the last key of the path
	Type string // the name of the type of its elements, if it has one
	Item T      // the schema of its elements

	OfObjects bool // its elements are objects
}

// rank says how likely a list has the items, given the words for them in the address. It is negative for lists that hardly have
// any.
func (c Candidate[T]) rank(nouns []string) int {
	rank := map[apinames.ListKind]int{apinames.LikelyList: 2, apinames.UnlikelyList: -4}[apinames.Key(c.Name).ListKind()]
	if c.OfObjects {
		rank += rankOfObjects
	}
	switch {
	case apinames.AlikeAny(c.Name, nouns):
		rank += 4
	case apinames.Key(c.Name).ListsFailures():
		rank -= 6
	}
	if apinames.AlikeAny(c.Type, lists.Map(nouns, Singular)) {
		rank += 2
	}
	return rank
}

// IsLikely reports whether the list may have the items, given the words for them in the address.
func (c Candidate[T]) IsLikely(nouns []string) bool { return c.rank(nouns) >= 0 }

// rankOfObjects is the least rank of lists that a report names if they are not read.
const rankOfObjects = 3

// Likeliest returns the lists of a response that are likely to have the items: one or, if several are equally likely, all of them.
// The others are those that may have items, too.
func Likeliest[T any](found []Candidate[T], nouns ...string) (best, others []Candidate[T]) {
	if len(found) == 0 {
		return nil, nil
	}
	highest := slices.Max(lists.Map(found, func(c Candidate[T]) int { return c.rank(nouns) }))
	for _, c := range found {
		switch rank := c.rank(nouns); {
		case rank == highest && (rank >= 0 || best == nil):
			best = append(best, c)
		case rank >= rankOfObjects:
			others = append(others, c)
		}
	}
	return best, others
}

// SetLists sets where a response has its items. Several lists get a file each. Lists that are not read are named in the report.
func SetLists[T any](s *Stream, best, others []Candidate[T], source string) {
	s.Items, s.Lists = best[0].Path, nil
	paths := func(list []Candidate[T]) string {
		return wording.AndList(lists.Map(list, func(c Candidate[T]) string { return c.Path }))
	}
	if len(best) > 1 {
		for _, c := range best {
			s.Lists = append(s.Lists, List{Path: c.Path, Name: s.Name + "." + c.Name})
		}
		s.Note(Note{Grade: Check, Source: s.Place + "." + source, Target: "dataField",
			Text: fmt.Sprintf("The response has several lists, and each gets a file: %s", paths(best))})
	}
	if len(others) > 0 {
		s.Note(Note{Grade: Check, Source: s.Place + "." + source, Target: "dataField",
			Text: fmt.Sprintf("Lists of the response that are not read: %s", paths(others))})
	}
}

// NounsOf returns the words for the items of a list that the name of an operation has: "Users" of "listUsers".
func NounsOf(operation string) []string {
	for _, verb := range []string{"list", "search", "get"} {
		if len(operation) > len(verb) && strings.EqualFold(operation[:len(verb)], verb) {
			return []string{operation[len(verb):]}
		}
	}
	return nil
}
