package engine_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// TestAConfigurationInGoEqualsOneInAFile compiles the same configuration from Go and
// from a file, and compares their explanations.
func TestAConfigurationInGoEqualsOneInAFile(t *testing.T) {
	for _, c := range []struct {
		name string
		inGo engine.Config
		file string
	}{
		{"everything that methods have in common", engine.Config{
			BaseURL: "https://api.test/v1/", AllowedOrigins: []string{"https://cdn.test"},
			HTTP: engine.HTTP{
				Headers: map[string]string{"X-Version": "2"}, MaxRetries: new(0), Codes: []int{500}, RateLimitReset: "X-Reset",
				DefaultOptionsParams: map[string]any{"lang": "en"},
			},
			Paging: engine.PageNumber{
				Limit: 10, FirstPage: new(0), FirstPageParams: new(false),
				NextPageFlagField: "more", NextPageFlagStopOn: false, NextPageFlagIfNotSet: new(true),
				ForceStopPages: 5, ForceStopTime: 90 * time.Second, ForceStopVolume: 1000, LimitStopField: "meta.total",
				StopRules:         []string{"state.seen > 3"},
				NamedRules:        []engine.NamedRule{{Name: "late", When: "page > 4", Outcome: "limited", Message: "page {page}"}},
				State:             map[string]engine.StateVariable{"seen": {Init: "0", Next: "state.seen + count"}},
				Keep:              map[string]string{"last": "items[-1].id"},
				NextRequestParams: map[string]string{"seen": "state.seen"}, NextRequestIncludeParams: new(true),
				GuardsSameItems: "ignore", GuardsMaxPages: 50, GuardsIgnore: []string{"took"}, AuditIgnore: []string{"audit.token"},
				OnError: []engine.ErrorRule{{When: "status == 404", Do: "stop"}},
			},
			Jobs: []engine.Job{{
				ID: "all", Endpoint: "users", Method: "POST", DataField: "data.items", DataType: "people", Headers: map[string]string{"X-Job": "1"},
				Params: map[string]any{"a": []int{1, 2}, "b": map[string]int{"c": 3}, "d": struct {
					Name string `json:"name"`
				}{"x"}, "e": 1.5, "f": nil},
			}},
		}, `{"api": {"baseUrl": "https://api.test/v1/", "allowedOrigins": ["https://cdn.test"],
			"http": {"headers": {"X-Version": "2"}, "maxRetries": 0, "codes": [500], "rateLimit": {"reset": "X-Reset"}, "defaultOptions": {"params": {"lang": "en"}}},
			"pagination": {"method": "pagenum", "limit": 10, "firstPage": 0, "firstPageParams": false,
				"nextPageFlag": {"field": "more", "stopOn": false, "ifNotSet": true}, "forceStop": {"pages": 5, "time": 90, "volume": 1000}, "limitStop": {"field": "meta.total"},
				"stopRules": ["state.seen > 3", {"name": "late", "when": "page > 4", "outcome": "limited", "message": "page {page}"}],
				"state": {"seen": {"init": "0", "next": "state.seen + count"}}, "keep": {"last": "items[-1].id"},
				"nextRequest": {"params": {"seen": "state.seen"}, "includeParams": true}, "guards": {"sameItems": "ignore", "maxPages": 50, "ignore": ["took"]},
				"audit": {"ignore": ["audit.token"]}, "onError": [{"when": "status == 404", "do": "stop"}]}},
			"config": {"jobs": [{"id": "all", "endpoint": "users", "method": "POST", "dataField": "data.items", "dataType": "people", "headers": {"X-Job": "1"},
				"params": {"a": [1, 2], "b": {"c": 3}, "d": {"name": "x"}, "e": 1.5, "f": null}}]}}`},
		{"named scrollers", engine.Config{
			BaseURL: "https://api.test/",
			Paging: engine.Multiple{Default: "links", Scrollers: map[string]engine.Paging{
				"links": engine.HeaderLink{}, "tokens": engine.ResponseParam{ResponseParam: "next", QueryParam: "cursor"},
			}},
			Jobs: []engine.Job{{Endpoint: "a"}, {Endpoint: "b", Scroller: "tokens"}},
		}, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "multiple", "default": "links", "scrollers": {
			"links": {"method": "header.link"}, "tokens": {"method": "response.param", "responseParam": "next", "queryParam": "cursor"}}}},
			"config": {"jobs": [{"endpoint": "a"}, {"endpoint": "b", "scroller": "tokens"}]}}`},
		{"no pagination", engine.Config{BaseURL: "https://api.test/", Jobs: []engine.Job{{Endpoint: "a"}}},
			`{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "a"}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inGo, err := engine.New(c.inGo)
			require.NoError(t, err)
			file, err := engine.Load("", []byte(c.file))
			require.NoError(t, err)
			explained := func(e *engine.Engine) string {
				x := e.Explain()
				x.Config = ""
				text, err := json.MarshalIndent(x, "", " ")
				require.NoError(t, err)
				return string(text)
			}
			require.Equal(t, withoutPositions(t, explained(file)), withoutPositions(t, explained(inGo)))
			require.Equal(t, file.Fingerprint(), inGo.Fingerprint())
		})
	}
}

// usersPaging is a method of a program's own, built on a method of the engine.
type usersPaging struct{ engine.Offset }

func TestPagingThatIsEmbeddedOrNil(t *testing.T) {
	skip := map[string]any{"limit": 7, "offsetParam": "skip"}
	for _, c := range []struct {
		name   string
		paging engine.Paging
		want   string
	}{
		{"embedded twice", struct{ usersPaging }{usersPaging{engine.Offset{Limit: 7, OffsetParam: "skip"}}}, "offset"},
		{"embedded", usersPaging{engine.Offset{Limit: 7, OffsetParam: "skip"}}, "offset"},
		{"a pointer", &engine.Offset{Limit: 7, OffsetParam: "skip"}, "offset"},
		{"a custom method", engine.CustomPaging{Method: "offset", Settings: skip}, "offset"},
		{"a pointer to a custom method", &engine.CustomPaging{Method: "offset", Settings: skip}, "offset"},
		{"an embedded custom method", struct{ engine.CustomPaging }{engine.CustomPaging{Method: "offset", Settings: skip}}, "offset"},
		{"in a scroller", engine.Multiple{Default: "a", Scrollers: map[string]engine.Paging{
			"a": &engine.CustomPaging{Method: "offset", Settings: skip},
		}}, "offset"},
		{"nil", nil, ""},
		{"a nil pointer", (*engine.Offset)(nil), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.New(engine.Config{BaseURL: "https://api.test/", Paging: c.paging, Jobs: []engine.Job{{Endpoint: "users"}}})
			require.NoError(t, err)
			explained := e.Explain().String()
			if c.want == "" {
				require.NotContains(t, explained, "offset")
				return
			}
			require.Contains(t, explained, "limit=7&skip=0")
		})
	}
}

func TestANilScrollerIsAMistake(t *testing.T) {
	_, err := engine.New(engine.Config{
		BaseURL: "https://api.test/", Paging: engine.Multiple{Default: "a", Scrollers: map[string]engine.Paging{"a": (*engine.Offset)(nil)}},
		Jobs: []engine.Job{{Endpoint: "users"}},
	})
	require.ErrorContains(t, err, "api.pagination.scrollers.a: the *engine.Offset is nil")
}

// withoutPositions drops the positions in a file, which a configuration in Go does
// not have.
func withoutPositions(t *testing.T, text string) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	dropPositions(v)
	return v
}

func dropPositions(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "at")
		delete(v, "file")
		for _, inner := range v {
			dropPositions(inner)
		}
	case []any:
		for _, inner := range v {
			dropPositions(inner)
		}
	}
}

func TestAMistakeInGoNamesTheKey(t *testing.T) {
	job := []engine.Job{{Endpoint: "users"}}
	for _, c := range []struct {
		name   string
		config engine.Config
		says   string
	}{
		{"a missing setting", engine.Config{BaseURL: "https://api.test/", Paging: engine.Offset{}, Jobs: job}, "api.pagination: limit is missing"},
		{"an unknown method", engine.Config{BaseURL: "https://api.test/", Paging: engine.CustomPaging{Method: "ofset"}, Jobs: job}, `did you mean "offset"?`},
		{"an expression", engine.Config{BaseURL: "https://api.test/", Paging: engine.Offset{Limit: 1, StopRules: []string{"cuont == 0"}}, Jobs: job}, "api.pagination.stopRules[0]: unknown name cuont"},
		{"no base address", engine.Config{Jobs: job}, "api: baseUrl is missing"},
		{"no job", engine.Config{BaseURL: "https://api.test/"}, "config.jobs: want at least one job"},
		{"a parameter that JSON cannot hold", engine.Config{BaseURL: "https://api.test/", Jobs: []engine.Job{{Endpoint: "a", Params: map[string]any{"f": func() {}}}}}, "config.jobs[0].params: cannot be written as JSON"},
		{"the policy of a guard", engine.Config{BaseURL: "https://api.test/", Paging: engine.Keyset{IDKey: "id", Param: "after", GuardsSamePage: "stopp"}, Jobs: job}, `did you mean "stop"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engine.New(c.config)
			var found engine.Diagnostics
			require.ErrorAs(t, err, &found)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// TestTheGoConfigurationIsGenerated keeps the Go types equal to the tables by which
// a file is read.
func TestTheGoConfigurationIsGenerated(t *testing.T) {
	before, err := os.ReadFile("config_types.go")
	require.NoError(t, err)
	dir := t.TempDir()
	generate := exec.CommandContext(t.Context(), "go", "run", "./internal/configgen", dir)
	output, err := generate.CombinedOutput()
	require.NoError(t, err, string(output))
	after, err := os.ReadFile(dir + "/config_types.go")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "stale: run go generate ./engine")
}

func TestANilSinkAndANilOptionAreHandled(t *testing.T) {
	e, err := engine.New(engine.Config{BaseURL: "https://api.test/", Jobs: []engine.Job{{Endpoint: "users"}}}, nil)
	require.NoError(t, err)
	_, err = e.With(nil).Run(context.Background(), nil)
	require.ErrorIs(t, err, engine.ErrConfig)
}
