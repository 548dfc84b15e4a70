package apinames

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/value"
)

func TestATrailerSharesNoMemberWithAnotherLine(t *testing.T) {
	object := func(names ...string) (o value.Object) {
		for _, name := range names {
			o = append(o, value.Member{Name: name})
		}
		return o
	}
	same := func(o value.Object) value.Object { return o }
	end := object("truncated", "next")
	require.Equal(t, end, Trailer([]value.Object{object("id"), object("id", "name"), end}, same))
	require.Nil(t, Trailer([]value.Object{object("id", "next"), object("id"), end}, same), "an item has next")
	row, sum, order := value.Object{{Name: "type", Value: "row"}}, value.Object{{Name: "type", Value: "sum"}}, value.Object{{Name: "order", Value: "a"}}
	require.Equal(t, sum, Trailer([]value.Object{row, row, sum}, same), "its type is its own")
	require.Nil(t, Trailer([]value.Object{sum, row, sum}, same), "an item is of the type")
	require.Nil(t, Trailer([]value.Object{{{Name: "order", Value: "b"}}, order}, same), "order is no name of a kind")
	require.Nil(t, Trailer([]value.Object{end}, same), "there is no other line")
	require.Nil(t, Trailer(nil, same))
}
