package stress

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile"
)

// A run is repeatable, so the links of a response are in the order of the rules.
func TestTheLinksOfAResponseAreInTheOrderOfTheRules(t *testing.T) {
	place := func(rel, param string, v any) *signal {
		return &signal{compile.ResponseValue{Link: rel, Param: param}, saying(v)}
	}
	a := &api{plan: &plan{base: "https://api.example.com/users", pagePlan: pagePlan{signals: []*signal{
		place("next", "results", "true"), place("last", "", "/last"), place("first", "", "/first"), place("next", "", "/next"),
		place("prev", "results", "false"),
	}}}, rows: []row{{number: 1}}}
	want := http.Header{"Content-Type": {"application/json"}, "Link": {
		`</next>; results="true"; rel="next"`, `</last>; rel="last"`, `</first>; rel="first"`,
		`<https://api.example.com/users?position=tok-0>; results="false"; rel="prev"`,
	}}
	for range 20 {
		require.Equal(t, want, a.header(&reply{}))
	}
}
