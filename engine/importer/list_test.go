package importer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
)

func TestTheLikeliestListsHaveTheItems(t *testing.T) {
	list := func(name string) importer.Candidate[string] {
		return importer.Candidate[string]{Path: name, Name: name, OfObjects: true}
	}
	texts := importer.Candidate[string]{Path: "ids", Name: "ids"}
	type lists = []importer.Candidate[string]
	for _, c := range []struct{ found, best, others lists }{
		{nil, nil, nil},
		{lists{list("errors")}, lists{list("errors")}, nil},
		{lists{list("groups"), list("users")}, lists{list("users")}, lists{list("groups")}},
		{lists{list("groups"), list("teams"), list("errors"), texts}, lists{list("groups"), list("teams")}, nil},
		{lists{list("links"), texts}, lists{texts}, nil},
	} {
		best, others := importer.Likeliest(c.found, importer.NounsOf("listUsers")...)
		require.Equal(t, c.best, best)
		require.Equal(t, c.others, others)
	}
}
