package output

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/contract"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/fixtures"
)

// TestARunThatContinuesComparesTheRowsOfBoth lets every request of a run fail once. The run that
// continues it writes the contract of a run without a failure.
func TestARunThatContinuesComparesTheRowsOfBoth(t *testing.T) {
	fixtures.SkipUnderRace(t, "TestARunThatFailedAnywhereResumes has the same goroutines")
	api := &flakyAPI{}
	server := httptest.NewServer(api)
	defer server.Close()
	for _, dataTypes := range []string{"x,y", "x,x"} {
		want := ""
		for refused := range 11 {
			dir := t.TempDir()
			options := PublisherOptions{Dir: dir, ContractFile: filepath.Join(dir, "c.json"), ContractMode: contract.Freeze}
			api.requests.Store(0)
			api.refused.Store(int64(refused))
			err := extract(loadFlaky(t, server.URL, dataTypes), true, options)
			if refused > 0 {
				require.ErrorIs(t, err, engine.ErrAPI)
				if text, err := os.ReadFile(options.ContractFile); err == nil {
					require.NotContains(t, string(text), `"`+dataTypes[2:]+`"`, "only published rows change the contract")
				}
				err = extract(loadFlaky(t, server.URL, dataTypes), true, options)
			}
			require.NoError(t, err)
			text, err := os.ReadFile(options.ContractFile)
			require.NoError(t, err)
			if refused == 0 {
				want = string(text)
				require.Contains(t, want, `"late": {"types": ["boolean"], "optional": true}`)
			}
			require.Equal(t, want, string(text), "after request %d failed", refused)
			api.refused.Store(0)
			require.NoError(t, extract(loadFlaky(t, server.URL, dataTypes), true, options), "the same data do not differ")
		}
	}
}

// Jobs that run at once, and pages that do not fit memory, give the same contract.
func TestAContractDoesNotDependOnTheOrderOfJobs(t *testing.T) {
	large := strings.Repeat("x", 6<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `[{"id": 1, "text": "%s", "of": {"%s": true}}, {"id": null, "text": "", "of": {}}]`, large, r.URL.Path[1:])
	}))
	defer server.Close()
	var texts []string
	for _, jobs := range []int{1, 4} {
		e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/"}, "config": {"jobs": [
			{"endpoint": "a", "dataType": "x"}, {"endpoint": "b", "dataType": "x"}, {"endpoint": "c"}]}}`, server.URL), engine.WithParallelJobs(jobs))
		require.NoError(t, err)
		dir := t.TempDir()
		order := Sequential
		if jobs > 1 {
			order = Queued
		}
		require.NoError(t, extract(e, false, PublisherOptions{Dir: dir, ContractFile: filepath.Join(dir, "c.json"), Order: order}))
		read, err := contract.Read(filepath.Join(dir, "c.json"))
		require.NoError(t, err)
		require.NotNil(t, read.Items("x").Member("of").Member("a"))
		require.NotNil(t, read.Items("x").Member("of").Member("b"))
		text, err := read.Schema("c")
		require.NoError(t, err)
		texts = append(texts, fmt.Sprint(text))
	}
	require.Equal(t, texts[0], texts[1])
}

func TestAnUnknownModeIsRefused(t *testing.T) {
	e := loadFlaky(t, "http://127.0.0.1:1", "x,y")
	err := extract(e, false, PublisherOptions{ContractFile: "c.json", ContractMode: "frozen"})
	require.ErrorIs(t, err, engine.ErrConfig)
	require.ErrorContains(t, err, `want evolve or freeze, got "frozen"`)
}

// The columns of a contract are those that a table has for its items, in the same order.
func TestTheColumnsOfAContractAreThoseOfATable(t *testing.T) {
	items := []string{
		`{"id":1,"a":{"b":1,"c":{}},"l":[{"x":1}]}`, `{"id":2,"a":null,"z":{"y":{"q":"t"}}}`, `7`, `{}`,
	}
	var s shape.Shape
	table := newTable(Parquet, maxParquetColumns, "_", nil)
	for _, item := range items {
		require.NoError(t, s.Add([]byte(item)))
		require.NoError(t, table.read([]byte(item)))
	}
	h := headOf(&s, "_", 100)
	require.ElementsMatch(t, table.columns, h.columns)
	require.Len(t, h.types, len(h.columns))
	require.Equal(t, []string{"value", "id"}, headOf(&s, "_", 2).columns)
	require.Empty(t, headOf(nil, "_", 2).columns)
}

// A cursor in a header that a rule reads is a sign of paging, under any name, as one in the body is.
func TestAContractHasTheHeaderThatARuleReads(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("from") == "" {
			w.Header().Set("X-Go-On", "second")
		}
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	defer server.Close()
	e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {
		"method": "expression", "stopRules": ["empty(header(\"X-Go-On\"))"], "nextRequest": {"params": {"from": "header(\"X-Go-On\")"}}}},
		"config": {"jobs": [{"endpoint": "a"}]}}`, server.URL))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, extract(e, false, PublisherOptions{Dir: dir, ContractFile: filepath.Join(dir, "c.json")}))
	text, err := os.ReadFile(filepath.Join(dir, "c.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), "X-Go-On")
}
