package saved

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/rules"
)

// drawValue draws a value that an expression may have.
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

// Numbers keep their digits and kind, objects their order, times their type.
func TestEveryValueIsRestored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		saved := Value[any]{drawValue(t, 3)}
		raw, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		var restored Value[any]
		if err := json.Unmarshal(raw, &restored); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		require.Equal(t, saved, restored, string(raw))
	})
}

// Half a year later, a restored time has the offset that the time itself has then, on a machine in any zone.
func TestATimeKeepsItsZone(t *testing.T) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	for _, here := range []string{"UTC", "Europe/Prague", "America/New_York"} {
		var err error
		time.Local, err = time.LoadLocation(here)
		require.NoError(t, err)
		for _, zone := range []*time.Location{
			zoneNamed(t, "Europe/Prague"), zoneNamed(t, "CET"), zoneNamed(t, "Japan"), zoneNamed(t, "EST5EDT"), time.UTC,
			time.FixedZone("", 3600), time.FixedZone("CET", 3600), time.FixedZone("EST", 0), time.FixedZone("", -5*3600),
		} {
			at := time.Date(2026, 3, 1, 10, 0, 0, 0, zone)
			raw, err := json.Marshal(Value[any]{at})
			require.NoError(t, err)
			var restored Value[any]
			require.NoError(t, json.Unmarshal(raw, &restored))
			got, ok := restored.Value.(time.Time)
			require.True(t, ok)
			for _, months := range []int{0, 6} {
				require.Equal(t, at.AddDate(0, months, 0).Format(time.RFC3339), got.AddDate(0, months, 0).Format(time.RFC3339), "%s in %s", raw, here)
			}
		}
	}
}

func zoneNamed(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return zone
}

func TestValuesThatJSONCannotHoldAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
	}{{"not a number", math.NaN()}, {"infinity", math.Inf(1)}, {"function", func() {}}, {"struct", struct{}{}}} {
		t.Run(c.name, func(t *testing.T) {
			_, err := json.Marshal(Value[any]{map[string]any{"state": map[string]any{"a": []any{0, c.value}}}})
			require.ErrorContains(t, err, "state.a[1] ")
			require.ErrorContains(t, err, "cannot be saved")
		})
	}
}

// A context loses only fields that the configuration or the next response sets again.
func TestAContextKeepsTheFieldsThatSurviveAResume(t *testing.T) {
	first := &rules.Past{Page: 1, Count: 2, Items: []any{json.Number("123456789012345678901234567890")}}
	before := rules.Context{
		Page: 7, Count: 3, Body: "the response", Limit: 10, State: map[string]any{"offset": 70},
		First: first, Total: rules.Total{Pages: 7, Items: 63, Seconds: 1.5},
	}
	text, err := json.Marshal(Value[rules.Context]{before})
	require.NoError(t, err)
	require.NotContains(t, string(text), "the response")
	var after Value[rules.Context]
	require.NoError(t, json.Unmarshal(text, &after))
	require.Equal(t, before.Page, after.Value.Page)
	require.Equal(t, before.State, after.Value.State)
	require.Equal(t, before.First, after.Value.First)
	require.Equal(t, before.Total, after.Value.Total)
	require.Nil(t, after.Value.Body)

	RestoreUnsaved(&after.Value, rules.Context{Limit: 20, Page: 99, Input: map[string]any{"tenant": "a"}})
	require.Equal(t, 20, after.Value.Limit)
	require.Equal(t, map[string]any{"tenant": "a"}, after.Value.Input)
	require.Equal(t, 7, after.Value.Page, "a checkpoint has it")
}

func TestVariablesAreTheSameForARunThatIsInterrupted(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	variables, err := RoundTripAll("state", map[string]any{"n": 1, "text": "a", "list": []any{1, "b"}, "at": at})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": 1, "text": "a", "list": []any{1, "b"}, "at": at}, variables)
	_, err = RoundTripAll("state", map[string]any{"f": func() {}})
	require.ErrorContains(t, err, "state.f")
	require.ErrorContains(t, err, "holds a value that cannot be saved for a later run (func())")
}
