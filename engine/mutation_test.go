package engine_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// everything is a configuration that uses every option.
func everything(t *testing.T) any {
	t.Helper()
	text, err := os.ReadFile("testdata/everything.json")
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

func loadValue(v any) (*engine.Engine, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return engine.Load("c.json", text, engine.WithEnv(func(string) (string, bool) { return "secret-value", true }))
}

// visit calls f with every member of every object, and the path to it. f may change
// the object; visit restores it.
func visit(v any, path []string, f func(object map[string]any, key string, path []string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			was := v[key]
			visit(was, append(path, key), f)
			f(v, key, append(path, key))
			v[key] = was
		}
	case []any:
		for _, e := range v {
			visit(e, append(path, "[]"), f)
		}
	}
}

// free are the objects whose keys the user chooses.
var free = []string{"params", "headers", "body", "state", "keep", "scrollers", "defaultOptions"}

func TestEveryMisspeltKeyIsReported(t *testing.T) {
	fixtures.SkipUnderRace(t, "it starts no goroutine")
	config := everything(t)
	_, err := loadValue(config)
	require.NoError(t, err)
	tried := 0
	visit(config, nil, func(object map[string]any, key string, path []string) {
		if len(path) > 1 && slices.Contains(free, path[len(path)-2]) {
			return
		}
		misspelt := key + "q"
		object[misspelt] = object[key]
		delete(object, key)
		defer delete(object, misspelt)
		tried++
		e, err := loadValue(config)
		where := strings.Join(path, ".")
		var found engine.Diagnostics
		if err == nil {
			found = e.Warnings() // next to "parameters" unknown keys have no effect
		} else {
			require.ErrorAs(t, err, &found, where)
			if key == "method" {
				return // the diagnostic is that it is missing
			}
		}
		names := func(d *diag.Diagnostic) bool { return strings.Contains(d.Message, misspelt) }
		require.True(t, slices.ContainsFunc(found, names), "%s: %v", where, found)
	})
	require.Greater(t, tried, 80)
}

// TestEveryChangeOfTheExtractionChangesTheFingerprint changes one value at a time.
// If the configuration still loads, the fingerprint must differ, except for the
// values that have no influence on what is extracted.
func TestEveryChangeOfTheExtractionChangesTheFingerprint(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	without := []string{
		"maxRetries", "codes", "retryHeader", "maxBodyBytes", "maxDepth", "reset", "remaining", "name", "message", "debug", "username",
		"#token", "#password", "#value", "$schema", "type", "env", "expect", "tests", "outputBucket",
	}
	config := everything(t)
	one, err := loadValue(config)
	require.NoError(t, err)
	want := one.Fingerprint()
	changed := 0
	visit(config, nil, func(object map[string]any, key string, path []string) {
		where := strings.Join(path, ".")
		if slices.ContainsFunc(path, func(key string) bool { return slices.Contains(without, key) || strings.HasPrefix(key, "#") }) {
			return
		}
		if !mutate(object, key) {
			return
		}
		e, err := loadValue(config)
		if err != nil {
			return
		}
		changed++
		require.NotEqual(t, want, e.Fingerprint(), where)
	})
	require.Greater(t, changed, 30)
	again, err := loadValue(everything(t))
	require.NoError(t, err)
	require.Equal(t, want, again.Fingerprint())
}

// The items of a child that runs without its parent's are those of the parent's list all the same.
func TestWhatAParentRequestsChangesTheFingerprintOfItsChild(t *testing.T) {
	of := func(orders, users string, jobs ...string) map[string]string {
		e, err := loadValue(map[string]any{
			"api": map[string]any{"baseUrl": "https://api.test/"},
			"config": map[string]any{"jobs": []any{
				map[string]any{"id": "orders", "endpoint": orders}, map[string]any{"id": "users", "endpoint": users},
				map[string]any{"id": "lines", "endpoint": "lines/{order.id}", "for": map[string]any{"order": map[string]any{"items": "orders"}}},
			}},
		})
		require.NoError(t, err)
		return e.With(engine.WithJobs(jobs...)).Fingerprint()
	}
	lines := of("orders", "users", "lines")
	require.NotEqual(t, lines, of("archive", "users", "lines"))
	require.NotEqual(t, lines, of("orders", "users", "orders", "lines"))
	require.NotEqual(t, lines, of("orders", "users", "orders"))
	require.Equal(t, lines, of("orders", "people", "lines"))
	require.NotEqual(t, of("orders", "users"), of("orders", "people"))
}

func TestResponsesThatARuleJudgesChangeTheFingerprint(t *testing.T) {
	of := func(on string) map[string]string {
		e, err := loadValue(map[string]any{
			"api": map[string]any{"baseUrl": "https://api.test/", "pagination": map[string]any{"method": "pagenum", "onError": []any{
				map[string]any{"on": on, "when": "body.error != nil", "do": "stop"},
			}}},
			"config": map[string]any{"jobs": []any{map[string]any{"endpoint": "users"}}},
		})
		require.NoError(t, err)
		return e.Fingerprint()
	}
	require.NotEqual(t, of("success"), of("error"))
}

// mutate changes a scalar member of an object. It reports false for any other.
func mutate(object map[string]any, key string) bool {
	switch v := object[key].(type) {
	case string:
		object[key] = v + "1"
	case float64:
		object[key] = v + 1
	case bool:
		object[key] = !v
	default:
		return false
	}
	return true
}
