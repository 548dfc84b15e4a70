package config_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/rules"
)

// TestAConfigurationInGoEqualsOneInAFile compiles the same configuration from Go and
// from a file, and compares their explanations.
func TestAConfigurationInGoEqualsOneInAFile(t *testing.T) {
	for _, c := range []struct {
		name string
		inGo config.Config
		file string
	}{
		{"everything that methods have in common", config.Config{
			BaseURL: "https://api.test/v1/", AllowedOrigins: []string{"https://cdn.test"},
			HTTP: config.HTTP{
				Headers: map[string]string{"X-Version": "2"}, MaxRetries: new(0), Codes: []int{500}, RateLimit: config.RateLimit{Reset: "X-Reset"},
				DefaultOptions: config.DefaultOptions{Params: map[string]any{"lang": "en"}},
			},
			Pagination: config.Pagination{
				Method: config.PageNumber{FirstPage: new(0), FirstPageParams: new(false)},
				Limit:  10, NextPageFlag: config.NextPageFlag{Field: "more", StopOn: false, IfNotSet: new(true)},
				ForceStop: config.ForceStop{Pages: 5, Time: 90 * time.Second, Volume: 1000},
				LimitStop: config.LimitStop{Field: "meta.total"},
				StopRules: []config.StopRule{
					{When: "state.seen > 3 or items[-1].id == kept.last"}, {Name: "late", When: "page > 4", Outcome: "limited", Message: "page {page}"},
				},
				State:       map[string]config.StateVariable{"seen": {Init: "0", Next: "state.seen + count"}},
				Keep:        map[string]string{"last": "items[-1].id"},
				NextRequest: config.NextRequest{Params: map[string]string{"seen": "state.seen"}, IncludeParams: new(true)},
				Guards:      config.Guards{SameItems: "ignore", MaxPages: 50, Ignore: []string{"took"}},
				Audit:       config.Audit{Ignore: []string{"audit.token"}},
				OnError:     []config.ErrorRule{{When: "status == 404", Do: "stop"}},
			},
			Jobs: []config.Job{{
				ID: "own", Endpoint: "own", Pagination: config.Pagination{Method: config.HeaderLink{Rel: "more"}, ForceStop: config.ForceStop{Pages: 2}},
				Key: []string{"id", "line"}, Incremental: config.Incremental{Cursor: "at", Param: "since", Lag: "1h", From: "2026-01-01"},
			}, {
				ID: "all", Endpoint: "users", Method: "POST", DataField: "data.items", DataType: "people", Headers: map[string]string{"X-Job": "1"},
				Params: map[string]any{"a": []int{1, 2}, "b": map[string]int{"c": 3}, "d": struct {
					Name string `json:"name"`
				}{"x"}, "e": 1.5, "f": nil},
			}},
		}, `{"api": {"baseUrl": "https://api.test/v1/", "allowedOrigins": ["https://cdn.test"],
			"http": {"headers": {"X-Version": "2"}, "maxRetries": 0, "codes": [500], "rateLimit": {"reset": "X-Reset"},
				"defaultOptions": {"params": {"lang": "en"}}},
			"pagination": {"method": "pagenum", "limit": 10, "firstPage": 0, "firstPageParams": false,
				"nextPageFlag": {"field": "more", "stopOn": false, "ifNotSet": true}, "forceStop": {"pages": 5, "time": 90, "volume": 1000},
				"limitStop": {"field": "meta.total"},
				"guards": {"sameItems": "ignore", "maxPages": 50, "ignore": ["took"]},
				"stopRules": [{"when": "state.seen > 3 or items[-1].id == kept.last"}, {"name": "late", "when": "page > 4", "outcome": "limited", "message": "page {page}"}],
				"state": {"seen": {"init": "0", "next": "state.seen + count"}}, "keep": {"last": "items[-1].id"},
				"nextRequest": {"params": {"seen": "state.seen"}, "includeParams": true},
				"audit": {"ignore": ["audit.token"]}, "onError": [{"when": "status == 404", "do": "stop"}]}},
			"config": {"jobs": [{"id": "own", "endpoint": "own", "pagination": {"method": "header.link", "rel": "more", "forceStop": {"pages": 2}}, "key": ["id", "line"],
				"incremental": {"cursor": "at", "param": "since", "lag": "1h", "from": "2026-01-01"}}, {"id": "all", "endpoint": "users", "method": "POST", "dataField": "data.items", "dataType": "people",
				"headers": {"X-Job": "1"},
				"params": {"a": [1, 2], "b": {"c": 3}, "d": {"name": "x"}, "e": 1.5, "f": null}}]}}`},
		{"named scrollers", config.Config{
			BaseURL: "https://api.test/",
			Pagination: config.Pagination{Method: config.Multiple{Default: "links", Scrollers: map[string]config.Pagination{
				"links": {Method: config.HeaderLink{}}, "tokens": {Method: config.ResponseParam{ResponseParam: "next", QueryParam: "cursor"}},
			}}},
			Jobs: []config.Job{{Endpoint: "a"}, {Endpoint: "b", Scroller: "tokens"}},
		}, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "multiple", "default": "links", "scrollers": {
			"links": {"method": "header.link"}, "tokens": {"method": "response.param", "responseParam": "next", "queryParam": "cursor"}}}},
			"config": {"jobs": [{"endpoint": "a"}, {"endpoint": "b", "scroller": "tokens"}]}}`},
		{"no pagination", config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "a"}}},
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
type usersPaging struct{ config.Offset }

func TestMethodsMayBeEmbeddedOrPointers(t *testing.T) {
	skip := map[string]any{"offsetParam": "skip"}
	for _, c := range []struct {
		name   string
		method config.Method
	}{
		{"embedded twice", struct{ usersPaging }{usersPaging{config.Offset{OffsetParam: "skip"}}}},
		{"embedded", usersPaging{config.Offset{OffsetParam: "skip"}}},
		{"a pointer", &config.Offset{OffsetParam: "skip"}},
		{"a custom method", config.CustomMethod{Name: "offset", Settings: skip}},
		{"a pointer to a custom method", &config.CustomMethod{Name: "offset", Settings: skip}},
		{"an embedded custom method", struct{ config.CustomMethod }{config.CustomMethod{Name: "offset", Settings: skip}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := engine.New(config.Config{
				BaseURL: "https://api.test/", Pagination: config.Pagination{Method: c.method, Limit: 7}, Jobs: []config.Job{{Endpoint: "users"}},
			})
			require.NoError(t, err)
			require.Contains(t, e.Explain().String(), "limit=7&skip=0")
		})
	}
}

func TestANilMethodIsAMistake(t *testing.T) {
	_, err := engine.New(config.Config{
		BaseURL: "https://api.test/",
		Pagination: config.Pagination{Method: config.Multiple{Default: "a", Scrollers: map[string]config.Pagination{
			"a": {Method: (*config.Offset)(nil)},
		}}},
		Jobs: []config.Job{{Endpoint: "users"}},
	})
	require.ErrorContains(t, err, "api.pagination.scrollers.a: the *config.Offset is nil")
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
	job := []config.Job{{Endpoint: "users"}}
	for _, c := range []struct {
		name string
		inGo config.Config
		says string
	}{
		{"a missing setting", config.Config{
			BaseURL: "https://api.test/", Pagination: config.Pagination{Method: config.Offset{}}, Jobs: job,
		}, "api.pagination: limit is missing"},
		{"an unknown method", config.Config{
			BaseURL:    "https://api.test/",
			Pagination: config.Pagination{Method: config.CustomMethod{Name: "ofset"}}, Jobs: job,
		}, `did you mean "offset"?`},
		{"an expression", config.Config{
			BaseURL: "https://api.test/",
			Pagination: config.Pagination{Method: config.Offset{}, Limit: 1,
				StopRules: []config.StopRule{{When: "cuont == 0"}}}, Jobs: job,
		}, "api.pagination.stopRules[0].when: unknown name cuont"},
		{"no base address", config.Config{Jobs: job}, `api.baseUrl: want a non-empty string, got ""`},
		{"no job", config.Config{BaseURL: "https://api.test/"}, "config.jobs: want at least one job"},
		{"a parameter that JSON cannot hold", config.Config{
			BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "a", Params: map[string]any{"f": func() {}}}},
		}, "config.jobs[0].params.f: cannot be written as JSON"},
		{"the policy of a guard", config.Config{
			BaseURL: "https://api.test/",
			Pagination: config.Pagination{Method: config.Keyset{IDKey: "id", Param: "after"},
				Guards: config.Guards{SamePage: "stopp"}}, Jobs: job,
		}, `did you mean "stop"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := engine.New(c.inGo)
			var found engine.Diagnostics
			require.ErrorAs(t, err, &found)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestANilSinkAndANilOptionAreHandled(t *testing.T) {
	e, err := engine.New(config.Config{BaseURL: "https://api.test/", Jobs: []config.Job{{Endpoint: "users"}}}, nil)
	require.NoError(t, err)
	_, err = e.With(nil).Run(context.Background(), nil)
	require.ErrorIs(t, err, engine.ErrConfig)
}

// TestDurationsAreSecondsEverywhere: settings of a user's own method and values of other types may
// have durations at any depth.
func TestDurationsAreSecondsEverywhere(t *testing.T) {
	written, err := config.Config{
		BaseURL: "https://api.test/",
		Inputs:  map[string]config.Input{"wait": {Default: map[string]any{"each": 3 * time.Second, "all": []time.Duration{time.Minute}}}},
		Pagination: config.Pagination{Method: config.CustomMethod{Name: "offset", Settings: map[string]any{
			"limit": 5, "forceStop": map[string]any{"time": 10 * time.Minute}, "raw": json.RawMessage(`{"b": 1, "a": 2}`),
			"bytes": []byte("x"), "none": []string(nil), "ordered": rules.Object{{Name: "b", Value: 1}, {Name: "a", Value: 2}},
		}}},
		Jobs: []config.Job{{Endpoint: "users", Params: map[string]any{"timeout": []any{90 * time.Second}}}},
	}.Values()
	require.NoError(t, err)
	text, err := written.MarshalJSON()
	require.NoError(t, err)
	for _, part := range []string{
		`"forceStop":{"time":600}`, `{"all":[60],"each":3}`, `"timeout":[90]`,
		`"raw":{"b":1,"a":2}`, `"bytes":"eA=="`, `"none":null`, `"ordered":{"b":1,"a":2}`,
	} {
		require.Contains(t, string(text), part)
	}
}
