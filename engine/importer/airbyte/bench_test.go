package airbyte_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/airbyte"
)

// fiftyStreams is a manifest of 50 streams, half of them children, with pages, increments and filters.
func fiftyStreams() importer.File {
	var b strings.Builder
	b.WriteString("streams:\n")
	for i := range 50 {
		fmt.Fprintf(&b, `- type: DeclarativeStream
  name: stream_%[1]d
  primary_key: id
  incremental_sync: {type: DatetimeBasedCursor, cursor_field: updated_at, datetime_format: "%%Y-%%m-%%dT%%H:%%M:%%SZ",
	start_datetime: "{{ config['start'] }}",
    start_time_option: {type: RequestOption, inject_into: request_parameter, field_name: since}}
  transformations: [{type: AddFields, fields: [{path: [a], value: "{{ record['x'] | default('none') | upper }}"}]}]
  retriever: &retriever_%[1]d
    type: SimpleRetriever
    requester: {type: HttpRequester, url_base: "https://api.example.com/v1", path: "things/%[1]d",
	authenticator: {type: BearerAuthenticator, api_token: "{{ config['token'] }}"}}
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: [data]},
	record_filter: {condition: "{{ record.state != 'gone' }}"}}
    paginator: {type: DefaultPaginator, page_token_option: {type: RequestOption, inject_into: request_parameter, field_name: cursor},
      pagination_strategy: {type: CursorPagination, cursor_value: "{{ response.meta.next }}",
	stop_condition: "{{ not response.meta.has_more }}"}}
`, i)
		if i >= 25 {
			fmt.Fprintf(&b,
				`    partition_router: {type: SubstreamPartitionRouter, parent_stream_configs: [{type: ParentStreamConfig, parent_key: id, partition_field: p,
      stream: {type: DeclarativeStream, name: stream_%[1]d, retriever: *retriever_%[1]d}}]}
`, i-25)
		}
	}
	return importer.File{Name: "manifest.yaml", Text: []byte(b.String())}
}

func BenchmarkImportOf50Streams(b *testing.B) {
	file := fiftyStreams()
	for b.Loop() {
		src, err := airbyte.Read([]importer.File{file}, importer.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := importer.Write("airbyte", src); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/manifest")
}

func TestFiftyStreamsAreImported(t *testing.T) {
	began := time.Now()
	r := imported(t, importer.Options{}, fiftyStreams())
	require.Len(t, r.Report.Streams, 50)
	for _, s := range r.Report.Streams {
		require.NotEqual(t, importer.Refused, s.Grade, "%v", s.Notes)
	}
	require.Less(t, time.Since(began), 10*time.Second)
}
