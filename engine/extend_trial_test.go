package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
)

// copies returns a copy of a built-in method for every row of it, with a mistake in that row, and
// one without a mistake.
func copies(of rules.Method) (good rules.Method, bad map[string]rules.Method) {
	clone := func(change func(*rules.Method)) rules.Method {
		m := of
		m.Name = "mine"
		m.State, m.Stops = slices.Clone(of.State), slices.Clone(of.Stops)
		m.Next.Params, m.Next.Body = slices.Clone(of.Next.Params), slices.Clone(of.Next.Body)
		for i := range m.Stops {
			m.Stops[i].ID = strings.Replace(m.Stops[i].ID, of.Name+".", "mine.", 1)
		}
		change(&m)
		return m
	}
	bad = map[string]rules.Method{}
	for i, s := range of.Stops {
		bad[s.ID+" "+s.When] = clone(func(m *rules.Method) { m.Stops[i].When = "cuont < 1" })
	}
	for i, v := range of.State {
		bad["state "+v.Name+" "+v.Next] = clone(func(m *rules.Method) { m.State[i].Next = "cuont" })
	}
	for i, p := range of.Next.Params {
		bad["param "+p.Name+" "+p.Value] = clone(func(m *rules.Method) { m.Next.Params[i].Value = "cuont" })
	}
	for i, p := range of.Next.Body {
		bad["body "+p.Name+" "+p.Value] = clone(func(m *rules.Method) { m.Next.Body[i].Value = "cuont" })
	}
	return clone(func(*rules.Method) {}), bad
}

// TestEveryRowOfAnAddedMethodIsTried: no row is left out, whatever settings put it in force.
func TestEveryRowOfAnAddedMethodIsTried(t *testing.T) {
	load := func(m rules.Method) error {
		_, err := engine.New(config.Config{
			BaseURL: "https://api.test/", Pagination: config.Pagination{Method: config.Offset{}, Limit: 1}, Jobs: []config.Job{{Endpoint: "users"}},
		}, engine.WithMethod(m))
		return err
	}
	for _, builtin := range rules.Builtin().Methods(rules.Spec) {
		t.Run(builtin.Name, func(t *testing.T) {
			good, bad := copies(builtin)
			require.NoError(t, load(good))
			for row, m := range bad {
				require.ErrorContains(t, load(m), "unknown name cuont", row)
			}
		})
	}
	each := from()
	each.Fields = append(each.Fields, rules.Field{Name: "ends", Kind: rules.KindMap, Each: &rules.Field{Kind: rules.KindText}, Doc: "d"},
		rules.Field{Name: "a", Kind: rules.KindText, Doc: "d"}, rules.Field{Name: "b", Kind: rules.KindFlag, Default: true, Doc: "d"})
	for name, row := range map[string]rules.StopRule{
		"each":           {Each: "ends"},
		"two settings":   {Only: rules.Conditions{rules.IsSet("a"), rules.IsSet("ends")}},
		"not a default":  {Only: rules.Conditions{rules.IsUnset("b")}},
		"a common key":   {Only: rules.Conditions{rules.IsSet("limitStop.count"), rules.IsSet("nextRequest.after")}},
		"not and a text": {Only: rules.Conditions{rules.IsUnset("a"), rules.IsSet("b")}},
	} {
		m := each
		row.ID, row.When, row.Clause, row.Message = "from.other", "cuont < 1", "c", "m"
		m.Stops = append(slices.Clone(each.Stops), row)
		require.ErrorContains(t, load(m), "method from: ", name)
		require.ErrorContains(t, load(m), "unknown name cuont", name)
	}
}
