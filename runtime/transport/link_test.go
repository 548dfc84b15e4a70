package transport

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinkFindsTargetsAndParameters(t *testing.T) {
	r := &Response{URL: "https://api.test/v1/users?page=1", Header: http.Header{"Link": {
		`<https://api.test/v1/users?page=2>; rel="next"; results="true", </v1/users?page=9>; REL=last`,
		`<>; rel="up"`,
		`<x;y,z>; title="a, \"b\"; c"; rel="first prev"`,
	}}}
	for _, c := range []struct {
		name, rel string
		param     []string
		want      any
	}{
		{"absolute target", "next", nil, "https://api.test/v1/users?page=2"},
		{"parameter", "next", []string{"results"}, "true"},
		{"missing parameter", "next", []string{"nope"}, nil},
		{"relation in another case", "LAST", nil, "https://api.test/v1/users?page=9"},
		{"second relation, relative target", "prev", nil, "https://api.test/v1/x;y,z"},
		{"quoted parameter", "first", []string{"title"}, `a, "b"; c`},
		{"missing relation", "down", nil, nil},
		{"no target", "up", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, r.Link(c.rel, c.param...)) })
	}
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`<a>; rel="next", <b>; rel=prev; x="\"`)
	f.Fuzz(func(t *testing.T, header string) {
		for _, l := range parseLinks(header) {
			require.NotContains(t, l.target, ">")
		}
	})
}
