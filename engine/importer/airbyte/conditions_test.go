package airbyte_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// TestStopConditionsBecomeRules has a stream whose token is next_cursor for each stop condition.
func TestStopConditionsBecomeRules(t *testing.T) {
	const manifest = `
streams:
- {type: DeclarativeStream, name: orders, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: orders},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]}},
    paginator: {type: DefaultPaginator, page_token_option: {type: RequestOption, inject_into: request_parameter, field_name: cursor},
      pagination_strategy: {type: CursorPagination, cursor_value: "{{ response.next_cursor }}", stop_condition: "{{ CONDITION }}"}}}}
`
	for _, c := range []struct{ condition, want string }{
		{"response.has_more == false", "stopRules: [body.has_more == false]"}, // null does not end the list
		{"response['has_more'] is false", "stopRules: [body.has_more == false]"},
		{"response.has_more != true", "stopRules: [body.has_more != true]"},
		{"not response.has_more", "hasMore: has_more"},
		{"not response.meta.has_more", "hasMore: meta.has_more"},
		{"response.done", "nextPageFlag: {field: done, stopOn: true, ifNotSet: false}"},
		{"not response.data", "stopRules: [count == 0]"},
		{"response.data | length == 0", "stopRules: [count == 0]"},
		{"response.data | length < 50", "stopRules: [count < 50]"},
		{"last_page_size < 50", "stopRules: [count < 50]"},
		{"not response.next_cursor", ""},
		{"response.next_cursor is none", ""},
		{"response.has_more == false or response.next_cursor is none", "stopRules: [body.has_more == false]"},
		{"response.page >= response.pages", "stopRules: [body.page >= body.pages]"},
	} {
		t.Run(c.condition, func(t *testing.T) {
			text := strings.Replace(manifest, "CONDITION", c.condition, 1)
			r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(text)})
			require.Len(t, r.Configs, 1)
			require.Equal(t, importer.Exact, r.Report.Streams[0].Grade)
			config, _, _ := strings.Cut(string(r.Configs[0].Text), "config:")
			if c.want == "" {
				require.Contains(t, config, "pagination: {method: response.param, responseParam: next_cursor, queryParam: cursor}\n")
				return
			}
			require.Contains(t, config, c.want)
			works(t, r.Configs[0])
		})
	}
}

// TestASettingThatIsNeverZeroNeedsNoOtherValue has a step whose setting has a minimum above 0, and one that may be 0.
func TestASettingThatIsNeverZeroNeedsNoOtherValue(t *testing.T) {
	const manifest = `
streams:
- {type: DeclarativeStream, name: orders, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: orders},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []}}},
  incremental_sync: {type: DatetimeBasedCursor, cursor_field: at, datetime_format: "%Y-%m-%d", start_datetime: "2026-01-01",
    cursor_granularity: P1D, step: "P{{ config['days'] or 30 }}D",
    start_time_option: {type: RequestOption, inject_into: request_parameter, field_name: from}}}
spec: {connection_specification: {required: [days], properties: {days: {type: integerMINIMUM}}}}
`
	for minimum, want := range map[string]string{
		", minimum: 1": "step: text(input.days) + 'd'",
		"":             `step: "'P' + text(input.days != 0 ? input.days : 30) + 'D'"`,
	} {
		text := strings.Replace(manifest, "MINIMUM", minimum, 1)
		r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(text)})
		require.Contains(t, string(r.Configs[0].Text), want)
	}
}

// TestSettingsThatHardlyAnybodySetsAreConstants has settings of each kind: a setting with a value that most runs have is a
// constant, which an option replaces, and the others are inputs.
func TestSettingsThatHardlyAnybodySetsAreConstants(t *testing.T) {
	const manifest = `
streams:
- {type: DeclarativeStream, name: orders, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://{{ 'sandbox' if config['is_sandbox'] == True else 'api' }}.example.com/", path: orders,
      request_parameters: {count: "{{ config['page_size'] }}", until: "{{ config.get('end_date') }}", account: "{{ config['account_id'] }}",
        level: "{{ config['level'] }}", kind: "{{ config['kind'] }}"}},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []}}}}
spec: {connection_specification: {required: [account_id, level], properties: {is_sandbox: {type: boolean, default: false},
  page_size: {type: integer, default: 50}, end_date: {type: string}, account_id: {type: integer, default: 1}, level: {type: integer},
  kind: {type: string, default: order}}}}
`
	file := importer.File{Name: "manifest.yaml", Text: []byte(manifest)}
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{nil, "count: 50"},
		{map[string]string{"page_size": "20"}, "count: 20"},
		{nil, "baseUrl: https://api.example.com/"},
		{map[string]string{"is_sandbox": "true"}, "baseUrl: https://sandbox.example.com/"},
		{map[string]string{"end_date": "2026-01-31"}, `until: "2026-01-31"`},
		{nil, "account: {expr: input.account_id}"},
		{nil, "level: {expr: input.level}"},
		{nil, "kind: {expr: input.kind}"},
	} {
		r := imported(t, importer.Options{Set: c.set}, file)
		text := string(r.Configs[0].Text)
		require.Contains(t, text, c.want)
		require.Equal(t, c.set["end_date"] != "", strings.Contains(text, "until:"))
		var notes []string
		for _, n := range r.Report.Streams[0].Notes {
			notes = append(notes, n.Source)
		}
		for _, name := range []string{"is_sandbox", "page_size", "end_date"} {
			_, set := c.set[name]
			require.Equal(t, !set, slices.Contains(notes, "spec."+name), name)
		}
	}
}

// TestABudgetIsAPace has the lowest of the rates that a manifest states for all requests, and its headers.
func TestABudgetIsAPace(t *testing.T) {
	const manifest = `
api_budget: {type: HTTPAPIBudget, ratelimit_reset_header: X-Reset, ratelimit_remaining_header: X-Remaining, policies: [
  {type: MovingWindowCallRatePolicy, rates: [{limit: 10, interval: PT1S}, {limit: 100, interval: PT1M}], matchers: []},
  {type: FixedWindowCallRatePolicy, period: PT1H, call_limit: 10, matchers: [{method: POST}]}]}
streams:
- {type: DeclarativeStream, name: orders, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: orders},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []}}}}
`
	r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(manifest)})
	require.Contains(t, string(r.Configs[0].Text), "http: {requestsPerSecond: 1.66, rateLimit: {remaining: X-Remaining, reset: X-Reset}}")
	require.Equal(t, importer.Exact, r.Report.Streams[0].Grade)
}

// TestSharedParametersAreWrittenAsThoseOfOneJob has a parameter that is a text in the manifest, and true in a query.
func TestSharedParametersAreWrittenAsThoseOfOneJob(t *testing.T) {
	const stream = `
- {type: DeclarativeStream, name: NAME, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: NAME, request_parameters: {deleted: "true"}},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []}}}}`
	one, two := strings.ReplaceAll(stream, "NAME", "orders"), strings.ReplaceAll(stream, "NAME", "users")
	for text, want := range map[string]string{one: "\n    params: {deleted: true}", one + two: "\n  http: {defaultOptions: {params: {deleted: true}}}"} {
		r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte("streams:" + text)})
		require.Contains(t, string(r.Configs[0].Text), want)
		require.Equal(t, 1, strings.Count(string(r.Configs[0].Text), "deleted: true"))
	}
}

// TestAnUnsetStartLetsAllItemsPass imports a stream that leaves out the items of earlier runs, and whose first run begins at a
// setting. Without the setting, nothing would pass.
func TestAnUnsetStartLetsAllItemsPass(t *testing.T) {
	for required, want := range map[string]string{
		"[]":      "(kept.at ?? input.start) == nil or date(item.at) >= date(kept.at ?? input.start)",
		"[start]": "date(item.at) >= date(kept.at ?? input.start)",
	} {
		r := imported(t, importer.Options{}, importer.File{Name: "m.yaml", Text: []byte(`
version: 6.0.0
type: DeclarativeSource
check: {type: CheckStream, stream_names: [u]}
spec: {connection_specification: {required: ` + required + `, properties: {start: {type: string}}}}
streams:
- name: u
  type: DeclarativeStream
  primary_key: id
  incremental_sync:
    type: DatetimeBasedCursor
    cursor_field: at
    datetime_format: "%Y-%m-%dT%H:%M:%SZ"
    start_datetime: "{{ config['start'] }}"
    is_client_side_incremental: true
  retriever:
    type: SimpleRetriever
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: u}
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]}}
`)})
		require.Contains(t, string(r.Configs[0].Text), "filter: "+want+"\n")
	}
}

// TestValuesOfASettingAreAList has partitions whose values are a setting. Whatever is known of its type, it is a text with
// commas here.
func TestValuesOfASettingAreAList(t *testing.T) {
	const manifest = `
streams:
- {type: DeclarativeStream, name: orders, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: orders},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []}},
    partition_router: {type: ListPartitionRouter, cursor_field: region, values: "{{ VALUES }}",
      request_option: {type: RequestOption, inject_into: request_parameter, field_name: region}}}}
`
	const untyped, array = "", "spec: {connection_specification: {required: [regions], properties: {regions: {type: array}}}}\n"
	const text = "spec: {connection_specification: {required: [regions], properties: {regions: {type: string}}}}\n"
	for _, c := range []struct{ values, spec, want, input string }{
		{"config['regions']", untyped, "split(input.regions, ',')", "regions: {}"},
		{"config.get('regions', ['eu', 'us'])", untyped, "split(input.regions, ',')", "regions: {default: 'eu,us'}"},
		{"config['regions'] or ['eu']", untyped, "split(input.regions, ',')", "regions: {default: eu}"},
		{"config['regions'].split(',')", untyped, "split(input.regions, ',')", "regions: {}"},
		{"config['regions']", array, "split(input.regions, ',')", "regions: {}"},
		{"config['regions']", text, "split(input.regions, ',')", "regions: {}"},
		{"config['regions'].split('|')", text, "split(input.regions, '|')", "regions: {}"},
	} {
		t.Run(c.values+c.spec, func(t *testing.T) {
			r := imported(t, importer.Options{}, importer.File{Name: "m.yaml", Text: []byte(strings.Replace(manifest, "VALUES", c.values, 1) + c.spec)})
			require.Equal(t, importer.Exact, r.Report.Streams[0].Grade, r.Report.Streams[0].Notes)
			require.Contains(t, string(r.Configs[0].Text), "for: {region: {values: \""+c.want+"\"}}")
			require.Contains(t, string(r.Configs[0].Text), c.input)
			works(t, r.Configs[0])
		})
	}
	r := imported(t, importer.Options{}, importer.File{Name: "m.yaml", Text: []byte(strings.Replace(manifest, "VALUES", "config['a'] if config['b'] == 'x' else ['c']", 1))})
	require.Equal(t, importer.Refused, r.Report.Streams[0].Grade)
}
