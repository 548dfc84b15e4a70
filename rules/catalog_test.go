package rules_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// stamp is a method of an embedder: the next request has the time stamp of the
// last item.
var stamp = rules.Method{
	Name: "stamp",
	Doc:  "The API expects the time stamp of the last item.",
	Fields: []rules.Field{
		{Name: "stampKey", Kind: rules.KindPath, Required: true, Doc: "path of the time stamp in an item"},
		{Name: "sinceParam", Kind: rules.KindText, Default: "since", Doc: "parameter that carries the time stamp"},
	},
	State: []rules.StateVariable{{Name: "stamp", Init: `nil`, Next: `at(items[-1], ${stampKey})`}},
	Next:  rules.Overlay{Params: []rules.Part{{Name: "${sinceParam}", Value: `state.stamp`}}},
	Stops: []rules.StopRule{
		{ID: "stamp.empty", When: `count == 0`, Clause: "a page is empty", Message: "page {page} is empty"},
	},
}

// quota is a guard of an embedder, with a number; stale is one with a policy.
var (
	quota = rules.Guard{
		StopRule: rules.StopRule{ID: "quota", When: `total.items > ${guards.quota}`, Outcome: rules.Guarded,
			Clause: "more than ${guards.quota} items are read", Message: "{total.items} items exceed the quota"},
		Policy: rules.PolicyFail, Threshold: &rules.Field{Kind: rules.KindCount, Default: 1000},
		Doc: "items that a job may extract", Hint: "raise guards.quota",
	}
	stale = rules.Guard{
		StopRule: rules.StopRule{ID: "stale", When: `items[0].id == prev.items[0].id`, Outcome: rules.Guarded,
			Clause: "two pages begin with the same item", Message: "page {page} begins like the page before it"},
		Policy: rules.PolicyStop, KeboolaPolicy: rules.PolicyIgnore, Doc: "two pages begin with the same item",
	}
)

// extended returns the built-in catalog with the method and the guards.
func extended(t *testing.T) *rules.Catalog {
	t.Helper()
	catalog, err := rules.Builtin().WithMethod(stamp)
	require.NoError(t, err)
	catalog, err = catalog.WithGuard(quota)
	require.NoError(t, err)
	catalog, err = catalog.WithGuard(stale)
	require.NoError(t, err)
	return catalog
}

// ruleOf returns the rule of an id.
func ruleOf(t *testing.T, set *rules.Ruleset, id string) rules.Rule {
	t.Helper()
	for _, r := range set.Rules {
		if r.ID == id {
			return r
		}
	}
	require.Fail(t, "no rule "+id)
	return rules.Rule{}
}

func TestAConfigurationUsesAMethodAndGuardsOfTheEmbedder(t *testing.T) {
	_, lowered, found := load(t, paged(`{"method": "stamp", "stampKey": "meta.updated", "guards": {"quota": 50, "stale": "fail"}}`), rules.Options{Catalog: extended(t)})
	require.Empty(t, found)
	set := lowered.Jobs[0]
	require.Equal(t, "stamp", set.Method)
	require.Equal(t, `at(items[-1], "meta.updated")`, ruleOf(t, set, "state.stamp.next").Source)
	require.Equal(t, "state.stamp", ruleOf(t, set, "nextRequest.params.since").Source)
	require.Equal(t, "count == 0", ruleOf(t, set, "stamp.empty").Source)

	rule := ruleOf(t, set, "quota")
	require.True(t, rule.Guard)
	require.Equal(t, "total.items > 50", rule.Source)
	require.Equal(t, rules.Failed, rule.Outcome)
	require.Equal(t, "more than 50 items are read", rule.Clause)
	require.Equal(t, "raise guards.quota", rule.Hint)
	require.Equal(t, "api.pagination.guards.quota", rule.Origin.Path)
	require.Equal(t, rules.Failed, ruleOf(t, set, "stale").Outcome)
}

// A condition of several parts is put in parentheses before "and not polled" follows it. A list without polls needs no
// such condition.
func TestAPolledPageDoesNotMeetARuleThatExceptsIt(t *testing.T) {
	row := func(id string) rules.StopRule {
		return rules.StopRule{ID: id, When: `count > 5 or count == 0`, Outcome: rules.Guarded, Stopping: rules.Stopping{ExceptPolled: true},
			Clause: "a page is empty or large", Message: "page {page} is empty or large"}
	}
	either := rules.Guard{StopRule: row("either"), Policy: rules.PolicyStop, Doc: "the page is empty or large"}
	catalog, err := rules.Builtin().WithGuard(either)
	require.NoError(t, err)
	catalog, err = catalog.WithMethod(rules.Method{Name: "poll", Doc: "polls", Stops: []rules.StopRule{row("poll.end")}})
	require.NoError(t, err)
	_, lowered, found := load(t, paged(`{"method": "poll", "nextRequest": {"after": "5"}}`), rules.Options{Catalog: catalog})
	require.Empty(t, found)
	for _, id := range []string{"either", "poll.end"} {
		rule := ruleOf(t, lowered.Jobs[0], id)
		require.Equal(t, "(count > 5 or count == 0) and not polled", rule.Source, id)
		require.True(t, rule.Stop.ExceptPolled, id)
	}
	_, lowered, found = load(t, paged(`{"method": "poll", "nextRequest": {"params": {"page": "page + 1"}}}`), rules.Options{Catalog: catalog})
	require.Empty(t, found)
	for _, id := range []string{"either", "poll.end"} {
		rule := ruleOf(t, lowered.Jobs[0], id)
		require.Equal(t, "count > 5 or count == 0", rule.Source, id)
		require.False(t, rule.Stop.ExceptPolled, id)
	}
}

// The settings in the condition of a guard are the keys of a pagination object.
func TestAGuardMayBeInForceOnlyWithASetting(t *testing.T) {
	guard := rules.Guard{StopRule: rules.StopRule{ID: "endless", When: `page > 9`, Outcome: rules.Guarded,
		Only: rules.Conditions{rules.IsUnset("forceStop.pages")}, Clause: "there are ten pages", Message: "page {page} is the tenth"},
		Policy: rules.PolicyStop, Doc: "ten pages without a limit"}
	catalog, err := rules.Builtin().WithGuard(guard)
	require.NoError(t, err)
	for pagination, want := range map[string]bool{
		`{"method": "pagenum"}`:                             true,
		`{"method": "pagenum", "forceStop": {"pages": 20}}`: false,
	} {
		_, lowered, found := load(t, paged(pagination), rules.Options{Catalog: catalog})
		require.Empty(t, found)
		has := slices.ContainsFunc(lowered.Jobs[0].Rules, func(r rules.Rule) bool { return r.ID == "endless" })
		require.Equal(t, want, has, pagination)
	}
}

func TestAGuardOfTheEmbedderHasItsDefaultInEveryDialect(t *testing.T) {
	_, lowered, found := load(t, paged(`{"method": "pagenum"}`), rules.Options{Catalog: extended(t)})
	require.Empty(t, found)
	require.Equal(t, "total.items > 1000", ruleOf(t, lowered.Jobs[0], "quota").Source)
	require.Equal(t, rules.Guarded, ruleOf(t, lowered.Jobs[0], "stale").Outcome)

	_, lowered, found = load(t, paged(`{"method": "pagenum"}`), rules.Options{Catalog: extended(t), Dialect: rules.Keboola})
	require.Empty(t, found)
	for _, r := range lowered.Jobs[0].Rules {
		require.NotEqual(t, "stale", r.ID, "its policy is ignore in dialect keboola")
	}
}

func TestMistakesInSettingsOfTheEmbedderAreReported(t *testing.T) {
	for _, c := range []struct{ name, pagination, message, hint string }{
		{"unknown key", `{"method": "stamp", "stampKey": "a", "sinceParm": "b"}`, `unknown key "sinceParm"`, `did you mean "sinceParam"?`},
		{"key of its method in another", `{"method": "pagenum", "sinceParam": "b"}`, `unknown key "sinceParam"`, "it is a setting of method stamp"},
		{"missing key", `{"method": "stamp"}`, "stampKey is missing: path of the time stamp in an item", ""},
		{"misspelt method", `{"method": "stmap", "stampKey": "a"}`, `unknown method "stmap"`, `did you mean "stamp"?`},
		{"number of a guard", `{"method": "pagenum", "guards": {"quota": "many"}}`, `want a whole number above 0, got "many"`, ""},
		{"policy of a guard", `{"method": "pagenum", "guards": {"stale": "warn"}}`, `want stop, fail or ignore, got "warn"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, paged(c.pagination), rules.Options{Catalog: extended(t)})
			require.Len(t, found, 1)
			require.Contains(t, found[0].Message, c.message)
			require.Contains(t, found[0].Hint, c.hint)
		})
	}
}

func TestACatalogIsNotChanged(t *testing.T) {
	before := rules.Builtin()
	_ = extended(t)
	_, _, found := load(t, paged(`{"method": "stamp", "stampKey": "a"}`), rules.Options{Catalog: before})
	require.ErrorContains(t, found.Err(), `unknown method "stamp"`)

	before.Methods(rules.Spec)[0].Fields[0].Name = "changed"
	before.Guards()[0].ID = "changed"
	require.Equal(t, "limit", before.Methods(rules.Spec)[0].Fields[0].Name)
	require.Equal(t, "samePage", rules.Builtin().Guards()[0].ID)
}

func TestSchemaAndReferenceHaveWhatTheEmbedderAdds(t *testing.T) {
	text, err := json.Marshal(extended(t).Schema())
	require.NoError(t, err)
	for _, word := range []string{`"stamp"`, `"stampKey"`, `"quota"`, `"stale"`} {
		require.Contains(t, string(text), word)
	}
	want := lists.Map(rules.Builtin().Guards(), func(g rules.Guard) string { return g.ID })
	var guards []string
	for _, section := range extended(t).Reference() {
		if section.Path == "api.pagination.guards" {
			for _, f := range section.Fields {
				guards = append(guards, f.Name)
			}
		}
	}
	require.Equal(t, append(want, "quota", "stale", "ignore"), guards)
}

func TestAnInconsistentMethodIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *rules.Method)
		want   string
	}{
		{"no name", func(m *rules.Method) { m.Name = "" }, "name must not be empty"},
		{"taken name", func(m *rules.Method) { m.Name = "offset" }, "the name is taken"},
		{"no doc", func(m *rules.Method) { m.Doc = "" }, "Doc is missing"},
		{"setting declared twice", func(m *rules.Method) { m.Fields = append(m.Fields, m.Fields[0]) }, "setting stampKey: declared twice"},
		{"unknown setting in a source", func(m *rules.Method) { m.State[0].Next = `at(items[-1], ${stmpKey})` },
			`variable stamp: unknown setting "stmpKey"`},
		{"unknown inner setting", func(m *rules.Method) { m.State[0].Next = `${forceStop.page}` },
			`unknown setting "forceStop.page"; known settings: pages, time, volume`},
		{"unclosed brace", func(m *rules.Method) { m.State[0].Init = `${stampKey` }, "${ without }"},
		{"unknown setting in a name", func(m *rules.Method) { m.Next.Params[0].Name = "${since}" }, `unknown setting "since"`},
		{"unknown setting in a condition", func(m *rules.Method) { m.Stops[0].Only = rules.Conditions{rules.IsUnset("stampkey")} },
			`stop stamp.empty: unknown setting "stampkey"`},
		{"unknown setting of a condition of the overlay", func(m *rules.Method) { m.Next.ApplyToFirst = rules.If(rules.IsSet("first")) },
			`ApplyToFirst: unknown setting "first"`},
		{"one of an unknown setting", func(m *rules.Method) { m.OneOf = []string{"stampKey", "x"} }, `OneOf: unknown setting "x"`},
		{"each of an unknown setting", func(m *rules.Method) { m.Stops[0].Each = "x" }, `unknown setting "x"`},
		{"each of a text", func(m *rules.Method) { m.Stops[0].Each = "sinceParam" },
			"Each needs an object or an object of paths, and setting sinceParam is a non-empty string"},
		{"default of an unknown setting", func(m *rules.Method) { m.Fields[1].DefaultOf = "x" }, "it refers to setting x, which does not exist"},
		{"unfit default", func(m *rules.Method) { m.Fields[1].Default = 5 },
			"setting sinceParam: the default: want a non-empty string, got 5"},
		{"default that is not allowed", func(m *rules.Method) { m.Fields[1].Values = []string{"after"} },
			`the default: want after, got "since"`},
		{"no next value", func(m *rules.Method) { m.State[0].Next = "" }, "Init and Next must be expressions"},
		{"part without a value", func(m *rules.Method) { m.Next.Params[0].Value = "" }, "Value must be an expression"},
		{"id of another method", func(m *rules.Method) { m.Stops[0].ID = "offset.empty" }, `the id must begin with "stamp."`},
		{"id twice", func(m *rules.Method) { m.Stops = append(m.Stops, m.Stops[0]) }, `stop "stamp.empty": the id is taken`},
		{"no clause", func(m *rules.Method) { m.Stops[0].Clause = "" }, "When, Clause and Message must not be empty"},
		{"unknown outcome", func(m *rules.Method) { m.Stops[0].Outcome = "done" }, `want complete, limited, guarded or failed, got "done"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := extended(t).Methods(rules.Spec)[len(rules.Builtin().Methods(rules.Spec))] // a copy of stamp
			c.change(&m)
			_, err := rules.Builtin().WithMethod(m)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAnInconsistentGuardIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(g *rules.Guard)
		want   string
	}{
		{"no id", func(g *rules.Guard) { g.ID = "" }, "ID must not be empty"},
		{"id with a dot", func(g *rules.Guard) { g.ID = "a.b" }, "ID must not be empty or contain spaces or any of"},
		{"taken id", func(g *rules.Guard) { g.ID = "maxPages" }, "the ID is taken"},
		{"id that is a key", func(g *rules.Guard) { g.ID = "ignore" }, "the ID is taken"},
		{"id of a stopping rule", func(g *rules.Guard) { g.ID = "hasMore" }, "the ID is taken"},
		{"no doc", func(g *rules.Guard) { g.Doc = "" }, "Doc is missing"},
		{"no policy", func(g *rules.Guard) { g.Policy = "" }, "policy: want stop, fail or ignore"},
		{"unknown policy", func(g *rules.Guard) { g.KeboolaPolicy = "warn" }, `policy: want stop, fail or ignore, got "warn"`},
		{"unfit default", func(g *rules.Guard) { g.Threshold = &rules.Field{Kind: rules.KindCount, Default: 0} },
			"setting guards.quota: the default: want a whole number above 0, got 0"},
		{"unknown setting", func(g *rules.Guard) { g.When = "${guards.quta} > 1" }, `unknown setting "guards.quta"`},
		{"no message", func(g *rules.Guard) { g.Message = "" }, "When, Clause and Message must not be empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := quota
			c.change(&g)
			_, err := rules.Builtin().WithGuard(g)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// The tables are consistent by the rules that entries of embedders are held to.
func TestTheBuiltinTablesAreConsistent(t *testing.T) {
	for _, dialect := range rules.Dialects() {
		for _, m := range rules.Builtin().Methods(dialect) {
			t.Run(string(dialect)+"/"+m.Name, func(t *testing.T) {
				_, err := rules.Builtin().WithMethod(m)
				require.EqualError(t, err, `method "`+m.Name+`": the name is taken`)
			})
		}
	}
	for _, g := range rules.Builtin().Guards() {
		t.Run(g.ID, func(t *testing.T) {
			_, err := rules.Builtin().WithGuard(g)
			require.EqualError(t, err, `guard "`+g.ID+`": the ID is taken`)
		})
	}
}

func TestOptionsAreCheckedLikeTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		name    string
		options rules.Options
		want    string
	}{
		{"dialect", rules.Options{Dialect: "kebola"}, "WithDialect: want spec or keboola, got \"kebola\"\n   did you mean \"keboola\"?"},
		{"base URL", rules.Options{BaseURL: "api.test"},
			"WithBaseURL: not an http or https address\n   write it like https://api.example.com/v1/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, paged(`{"method": "pagenum"}`), c.options)
			require.EqualError(t, found.Err(), c.want)
		})
	}
}

func TestDecodingFillsInTheDefaults(t *testing.T) {
	usual := []int{408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
	limit, unpaced := []int{403}, rules.Pace{Burst: 1}
	for _, c := range []struct {
		name, api string
		want      rules.HTTP
	}{
		{"nothing", ``,
			rules.HTTP{MaxRetries: 4, RetryCodes: usual, LimitCodes: limit, RetryHeader: "Retry-After", MaxBodyBytes: 1 << 30, MaxDepth: 512, MaxItems: 1_000_000, MaxValueBytes: 256 << 20, Pace: unpaced}},
		{"http", `, "http": {"maxRetries": 0, "codes": [500], "limitCodes": [400], "retryHeader": "X-Again", "maxBodyBytes": 5, "maxDepth": 6, "maxItemsPerPage": 7, "maxValueBytes": 8}`,
			rules.HTTP{MaxRetries: 0, RetryCodes: []int{500}, LimitCodes: []int{400}, RetryHeader: "X-Again", MaxBodyBytes: 5, MaxDepth: 6, MaxItems: 7, MaxValueBytes: 8, Pace: unpaced}},
		{"retryConfig overrides http", `, "http": {"maxRetries": 1, "codes": [500], "retryHeader": "X-Again"}, "retryConfig": {"maxRetries": 2, "codes": [501], "http": {"codes": [502], "retryHeader": "X-Later"}}`,
			rules.HTTP{MaxRetries: 2, RetryCodes: []int{502}, LimitCodes: limit, RetryHeader: "X-Later", MaxBodyBytes: 1 << 30, MaxDepth: 512, MaxItems: 1_000_000, MaxValueBytes: 256 << 20, Pace: unpaced}},
		{"pace", `, "http": {"maxRetries": 0, "codes": [], "limitCodes": [], "timeout": "1m30s", "requestsPerSecond": "0.5", "burst": 3, "parallel": 2}`,
			rules.HTTP{RetryHeader: "Retry-After", MaxBodyBytes: 1 << 30, MaxDepth: 512, MaxItems: 1_000_000, MaxValueBytes: 256 << 20,
				Pace: rules.Pace{Timeout: 90 * time.Second, PerSecond: 0.5, Burst: 3, Parallel: 2}}},
		{"no retries below 0", `, "http": {"maxRetries": -3}`,
			rules.HTTP{RetryCodes: usual, LimitCodes: limit, RetryHeader: "Retry-After", MaxBodyBytes: 1 << 30, MaxDepth: 512, MaxItems: 1_000_000, MaxValueBytes: 256 << 20, Pace: unpaced}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _, found := load(t, `{"api": {"baseUrl": "https://a.test"`+c.api+`}, "config": {"jobs": [{"endpoint": "x"}]}}`, rules.Options{})
			require.Empty(t, found)
			require.Equal(t, c.want, cfg.HTTP)
		})
	}
}

func TestDecodeWithoutASourceChecksTheSame(t *testing.T) {
	_, found := rules.Decode(nil, rules.Object{
		{Name: "api",
			Value: rules.Object{{Name: "baseUrl", Value: "https://a.test"}, {Name: "authentication", Value: rules.Object{{Name: "type", Value: "Bearer"}, {Name: "#token", Value: "t"}}}}},
		{Name: "config",
			Value: rules.Object{{Name: "jobs", Value: []any{rules.Object{{Name: "endpoint", Value: "x"}, {Name: "method", Value: "put"}}}}}},
	}, rules.Options{})
	require.EqualError(t, found.Err(), `api.authentication.type: want basic, bearer, header, query, oauth2, login, sign or aws4, got "Bearer"
   did you mean "bearer"?
config.jobs[0].method: want GET, POST or FORM, got "put"`)
	var list diag.Diagnostics
	require.ErrorAs(t, found.Err(), &list)
	require.Empty(t, list[0].Location())
}
