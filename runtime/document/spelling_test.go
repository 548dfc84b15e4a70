package document

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContentsThatDifferOnlyInEscapesAreTheSame(t *testing.T) {
	groups := []struct {
		name string
		same []string
	}{
		{"object", []string{`{"a":[1,2],"é":"x/y"}`, ` {"a":[1,2],"\u00e9":"x\/y"}`, `{"a":[1,2],"\u00E9":"x\u002fy"}`}},
		{"characters with a short escape", []string{`["\n\"\\"]`, `["\u000a\u0022\u005C"]`}},
		{"control characters", []string{`["\u001f\u0000"]`, `["\u001F\u0000"]`}},
		{"surrogate pair", []string{`["😀"]`, `["\ud83d\ude00"]`, `["\uD83D\uDE00"]`}},
		{"two and three bytes", []string{`["€é"]`, `["\u20ac\u00e9"]`}},
		{"replacement character", []string{`["\ufffd"]`, "[\"\ufffd\"]"}},
		{"escaped quotes", []string{`["a\",\"b"]`}},
		{"quotes", []string{`["a","b"]`}},
		{"escaped backslash", []string{`["\\u00e9"]`}},
		{"escaped quote", []string{`["a\"b"]`, `["a\u0022b"]`}},
	}
	for _, group := range groups {
		for _, other := range groups {
			t.Run(group.name+" and "+other.name, func(t *testing.T) {
				same := group.name == other.name
				for _, a := range group.same {
					for _, b := range other.same {
						x, y := compacted(t, a).spelling(), compacted(t, b).spelling()
						identical := !x.respelt && !y.respelt // for their digests to compare
						require.Equal(t, same && !identical, x.Same(y), "%s %s", a, b)
						require.Equal(t, same, x.Same(restored(t, y)), "%s %s", a, b)
					}
				}
			})
		}
	}
}

// restored returns a spelling as a resumed run has it.
func restored(t *testing.T, s Spelling) Spelling {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var out Spelling
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

func TestTheZeroSpellingEqualsNoDocument(t *testing.T) {
	document := compacted(t, `["\u00e9"]`).spelling()
	require.False(t, document.Same(Spelling{}))
	require.False(t, document.Same(restored(t, Spelling{})))
}
