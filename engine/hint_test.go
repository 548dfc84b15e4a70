package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// TestTheHintForANestedFlagMeansTheSame applies the hint for each nextPageFlag with a
// dot, and compares the number of requests to an API that has the flag in the object
// with that of the nextPageFlag for an API that has it in the root.
func TestTheHintForANestedFlagMeansTheSame(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	quoted := regexp.MustCompile(`write (".*) instead of nextPageFlag`)
	for _, dialect := range rules.Dialects() {
		for _, settings := range []string{
			`"stopOn": false`, `"stopOn": true`,
			`"stopOn": false, "ifNotSet": true`, `"stopOn": false, "ifNotSet": false`,
			`"stopOn": true, "ifNotSet": true`, `"stopOn": true, "ifNotSet": false`,
		} {
			t.Run(string(dialect)+" "+settings, func(t *testing.T) {
				dotted := flagged(t, dialect, `"nextPageFlag": {"field": "meta.flag", `+settings+`}`, "http://127.0.0.1")
				require.NotEmpty(t, dotted.Warnings())
				hint := quoted.FindStringSubmatch(dotted.Warnings()[0].Hint)
				require.Len(t, hint, 2, dotted.Warnings()[0].Hint)
				for _, first := range []string{`true`, `false`, `null`, `absent`, `"0"`, `""`, `1`, `0`, `[]`, `"false"`} {
					flags := []string{first, `true`, `absent`, `false`}
					want := requestsOf(t, dialect, `"nextPageFlag": {"field": "flag", `+settings+`}`, `"flag": %s`, flags)
					got := requestsOf(t, dialect, hint[1], `"meta": {"flag": %s}`, flags)
					require.Equal(t, want, got, "%s after %s", hint[1], first)
				}
			})
		}
	}
}

// TestYAMLWithoutItsFormatNamesTheOption loads the name of a YAML file without the option that reads
// YAML, and other texts that are not JSON.
func TestYAMLWithoutItsFormatNamesTheOption(t *testing.T) {
	const config = "api: {baseUrl: 'https://api.test/'}\nconfig: {jobs: [{endpoint: users}]}\n"
	const asJSON = `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "users"}]}}`
	for _, ending := range []string{".yaml", ".yml", ".YAML"} {
		t.Run(ending, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "c"+ending)
			require.NoError(t, os.WriteFile(name, []byte(config), 0o600))
			_, err := engine.LoadFile(name)
			hint := fmt.Sprintf("pass engine.WithFormat(%q, yaml.Parse), with package rules/yaml", strings.ToLower(ending))
			require.ErrorContains(t, err, hint)
			require.ErrorContains(t, err, name)
			_, err = engine.LoadFile(name, engine.WithFormat(ending, yaml.Parse))
			require.NoError(t, err)
			_, err = engine.Load(name, []byte(asJSON))
			require.NoError(t, err, "every text in JSON is YAML, too")
		})
	}
	for name, c := range map[string]struct{ text, hint string }{
		"YAML":             {config, "the name of a YAML file ends with .yaml or .yml"},
		"a comment":        {"{\n  // the API\n" + asJSON[1:], "in a YAML file (.yaml or .yml), they begin with #"},
		"no colon":         {`{"api" "x"}`, ""},
		"a trailing comma": {strings.Replace(asJSON, "]}}", "],\n}}", 1), "remove the comma before it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Load("c.json", []byte(c.text))
			mistakes, ok := errors.AsType[engine.Diagnostics](err)
			require.True(t, ok)
			require.Len(t, mistakes, 1)
			require.Contains(t, mistakes[0].Hint, c.hint)
		})
	}
}

func flagged(t *testing.T, dialect rules.Dialect, rule, base string) *engine.Engine {
	t.Helper()
	e, err := engine.Load("config.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum", %s,
		"forceStop": {"pages": 6}}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`,
		base, rule), engine.WithDialect(dialect))
	require.NoError(t, err)
	return e
}

// requestsOf returns the number of requests to an API whose n-th page has the n-th
// flag, or none if it is absent.
func requestsOf(t *testing.T, dialect rules.Dialect, rule, format string, flags []string) int {
	t.Helper()
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		n++
		flag := "absent"
		if page <= len(flags) {
			flag = flags[page-1]
		}
		w.Header().Set("Content-Type", "application/json")
		if flag == "absent" {
			_, _ = fmt.Fprintf(w, `{"data": [%d], "meta": {}}`, page)
			return
		}
		_, _ = fmt.Fprintf(w, `{"data": [%d], `+format+`}`, page, flag)
	}))
	defer server.Close()
	_, err := flagged(t, dialect, rule, server.URL).Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	return n
}
