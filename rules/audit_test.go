package rules

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOrdinaryFactsAreNotNoticed sets each fact of a list alone: an audit rule that requires one is evaluated, unless the fact
// is ordinary.
func TestOrdinaryFactsAreNotNoticed(t *testing.T) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ListFacts]()) {
		if field.Anonymous {
			continue
		}
		facts := ListFacts{}
		switch v := reflect.ValueOf(&facts).Elem().FieldByIndex(field.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int:
			v.SetInt(1)
		default:
			v.SetString("x")
		}
		noticed := FactsIn(&Context{List: &facts, Signs: &Signs{}})&FactList != 0
		require.Equal(t, facts.OrdinaryFacts == OrdinaryFacts{}, noticed, field.Name)
	}
}

func BenchmarkFactsIn(b *testing.B) {
	c := &Context{List: &ListFacts{OrdinaryFacts: OrdinaryFacts{Identified: 3, CountAlone: true}}, Signs: &Signs{}}
	b.ReportAllocs()
	for b.Loop() {
		FactsIn(c)
	}
}
