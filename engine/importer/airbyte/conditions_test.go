package airbyte_test

import (
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
spec: {connection_specification: {properties: {days: {type: integer, default: 30MINIMUM}}}}
`
	for minimum, want := range map[string]string{
		", minimum: 1": "step: input.days + 'd'",
		"":             `step: "'P' + text(input.days != 0 ? input.days : 30) + 'D'"`,
	} {
		text := strings.Replace(manifest, "MINIMUM", minimum, 1)
		r := imported(t, importer.Options{}, importer.File{Name: "manifest.yaml", Text: []byte(text)})
		require.Contains(t, string(r.Configs[0].Text), want)
	}
}
