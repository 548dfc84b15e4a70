package runtime

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/rules"
)

// drawValue is a value as expressions give them.
func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 10).Draw(t, "kind")
	if depth == 0 {
		kind %= 8
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.String().Draw(t, "text")
	case 3:
		return rapid.Int().Draw(t, "int")
	case 4:
		return rapid.Float64().Draw(t, "float") + 0
	case 5:
		return json.Number("123456789012345678901234567890")
	case 6:
		return time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(t, "time"), 5).UTC()
	case 7:
		return time.Duration(rapid.Int64().Draw(t, "duration"))
	case 8:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	case 9:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			object[rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "key")] = drawValue(t, depth-1)
		}
		return object
	}
	object := rules.Object{}
	for range rapid.IntRange(0, 3).Draw(t, "length") {
		object = object.With(rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "key"), drawValue(t, depth-1))
	}
	return object
}

// TestWhatIsWrittenDownIsReadTheSame: values of every kind, numbers to the digit.
func TestWhatIsWrittenDownIsReadTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		raw, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		require.Equal(t, v, got, string(raw))
	})
	for _, v := range []any{math.NaN(), math.Inf(1), func() {}, struct{}{}} {
		_, err := encode(map[string]any{"a": []any{v}})
		require.ErrorContains(t, err, "cannot be kept", v)
	}
}

func TestWhatWasKeptKeepsItsDigits(t *testing.T) {
	s := judged(t, 1)
	s.result.Kept = map[string]any{"since": 9007199254740993}
	s.page.First = past(&s.page)
	_, err := s.advance(&Page{})
	require.NoError(t, err)
	token, err := s.checkpoint(&Page{Record: Record{Decision: Continue}})
	require.NoError(t, err)
	again := judged(t, 1)
	_, more, err := again.resume(token)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, map[string]any{"since": json.Number("9007199254740993")}, again.result.Kept)
}

func TestAPositionThatIsNoneIsRefused(t *testing.T) {
	for _, token := range []string{``, `null`, `[]`, `{"content": "x"}`, `{"laid": [1, 2, 3, 4, 5]}`, `{"state": {"a": 1e999}}`, `{"exchanges": ["zz"]}`, `{"page": "one"}`} {
		_, _, err := judged(t, 1).resume(json.RawMessage(token))
		require.ErrorIs(t, err, ErrState, token)
	}
}
