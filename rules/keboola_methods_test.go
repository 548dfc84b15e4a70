package rules

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// TestBothTablesOfMethodsAgree compares the table of methods with that of dialect keboola: the methods
// have the same order, and what a row replaces exists.
func TestBothTablesOfMethodsAgree(t *testing.T) {
	differs := func(m Method) bool {
		return slices.ContainsFunc(keboolaMethods, func(k keboolaMethod) bool { return k.name == m.Name })
	}
	both := slices.DeleteFunc(slices.Clone(builtinMethods), func(m Method) bool { return !differs(m) })
	same := slices.DeleteFunc(slices.Clone(keboolaMethods), func(k keboolaMethod) bool { return k.only != nil })
	require.Equal(t, lists.Map(both, func(m Method) string { return m.Name }), lists.Map(same, func(k keboolaMethod) string { return k.name }))
	for _, k := range keboolaMethods {
		t.Run(k.name, func(t *testing.T) {
			m, known := Builtin().method(k.name, Spec)
			require.Equal(t, k.only == nil, known)
			if k.only != nil {
				m = *k.only
			}
			var values []string
			for _, v := range m.State {
				values = append(values, v.Init, v.Next)
			}
			for _, p := range m.Next.Params {
				values = append(values, p.Value)
			}
			stops := lists.Map(m.Stops, func(r StopRule) string { return r.ID })
			require.Subset(t, values, slices.Collect(maps.Keys(k.values)))
			for _, path := range slices.Concat(slices.Collect(maps.Keys(k.kinds)), slices.Collect(maps.Keys(k.defaults))) {
				require.NotNil(t, findInner(m.Fields, path), path)
			}
			for _, r := range k.more {
				require.True(t, strings.HasPrefix(r.ID, k.name+"."))
				require.NotContains(t, stops, r.ID)
			}
		})
	}
}

func TestEachStopOfTheOtherDialectIsInATable(t *testing.T) {
	known := slices.Concat(lists.Map(sharedStops, func(row StopRule) string { return row.ID }),
		lists.Map(builtinGuards, func(g Guard) string { return g.ID }))
	for _, m := range builtinMethods {
		known = append(known, lists.Map(m.Stops, func(row StopRule) string { return row.ID })...)
	}
	require.Subset(t, known, slices.Collect(maps.Keys(keboolaStops)))
}
