package airbyte_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// records17 are records with a member of every kind of value, and without it.
const recordsOfAllKinds = `[{"id":1},{"id":2,"status":null},{"id":3,"status":"x"},{"id":4,"status":"y"},{"id":5,"status":""},{"id":6,"status":"0"},{"id":7,"status":0},{"id":8,"status":{}},{"id":9,"status":[]},{"id":10,"status":true},{"id":11,"status":false},{"id":12,"status":5},{"id":13,"status":"5"},{"id":14,"status":1},{"id":15,"a":{}},{"id":16,"a":{"b":null}},{"id":17,"a":{"b":"x"}},{"id":18,"a":null}]`

// sameAnswer is an API that always gives one body.
type sameAnswer string

func (a sameAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(a))), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// TestAnExactFilterKeepsTheRecordsThatAirbyteKeeps has conditions over records with members of all kinds. What Airbyte keeps
// was computed with Jinja and what the CDK makes of its result. A condition that differs in any record is not graded exact.
func TestAnExactFilterKeepsTheRecordsThatAirbyteKeeps(t *testing.T) {
	const manifest = `
streams:
- {type: DeclarativeStream, name: f, retriever: {type: SimpleRetriever,
    requester: {type: HttpRequester, url_base: "https://api.example.com/", path: f},
    record_selector: {type: RecordSelector, extractor: {type: DpathExtractor, field_path: []},
      record_filter: {type: RecordFilter, condition: "CONDITION"}}}}
`
	for _, c := range []struct {
		condition string
		keeps     []int // ids
		exact     bool
	}{
		{`{{ record.status is not none }}`, []int{1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, true},
		{`{{ record.status is none }}`, []int{2}, true},
		{`{{ record.status is defined }}`, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, true},
		{`{{ record.status is not defined }}`, []int{1, 15, 16, 17, 18}, true},
		{`{{ record.status == none }}`, []int{2}, true},
		{`{{ record['status'] != None }}`, []int{1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, true},
		{`{{ record.get('status') is none }}`, []int{1, 2, 15, 16, 17, 18}, true},
		{`{{ record.get('status') is not none }}`, []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, true},
		{`{{ record.get('status') is defined }}`, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, true},
		{`{{ record.get('status', 'x') != 'x' }}`, []int{2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, true},
		{`{{ record.status | default('x') != 'x' }}`, []int{2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, true},
		{`{{ record.get('status') | default('x') == 'x' }}`, []int{3}, true},
		{`{{ not record.status }}`, []int{1, 2, 5, 7, 8, 9, 11, 15, 16, 17, 18}, true},
		{`{{ not record.get('status', false) }}`, []int{1, 2, 5, 7, 8, 9, 11, 15, 16, 17, 18}, true},
		{`{{ record.status != 'x' and not record.status }}`, []int{1, 2, 5, 7, 8, 9, 11, 15, 16, 17, 18}, true},
		{`{{ (record.status | default('x', true)) == 'x' }}`, []int{1, 2, 3, 5, 7, 8, 9, 11, 15, 16, 17, 18}, true},
		{`{{ 'status' in record }}`, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, true},
		{`{{ 'status' not in record }}`, []int{1, 15, 16, 17, 18}, true},
		{`{{ record.status in ['x', 'y'] }}`, []int{3, 4}, true},
		{`{{ record.status not in ['x', 'y'] }}`, []int{1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, true},
		{`{{ record.status is none or record.status == 'x' }}`, []int{2, 3}, true},
		{`{{ record.a.b == 'x' }}`, []int{17}, true},
		{`{{ record.get('a', {}).get('b') == 'x' }}`, []int{17}, true},
		{`{{ record.a.b is defined }}`, []int{16, 17}, true},
		{`{{ 'b' in record.get('a', {}) }}`, []int{16, 17, 18}, false},
		{`{{ not (record.status or record.a) }}`, []int{1, 2, 5, 7, 8, 9, 11, 15, 18}, true},
		{`{{ (record.status and record.status == 'x') or record.a == 'z' }}`, []int{3}, false},
		{`{{ true if record.status else false }}`, []int{3, 4, 6, 10, 12, 13, 14}, true},
		{`{{ record.status is string and record.status != 'x' }}`, []int{4, 5, 6, 13}, true},
		{`{{ record.status }}`, []int{2, 3, 4, 10, 12, 13, 14}, false},
		{`{{ record.status and record.status != 'x' }}`, []int{2, 4, 6, 10, 12, 13, 14}, false},
		{`{{ record.get('status') }}`, []int{1, 2, 3, 4, 10, 12, 13, 14, 15, 16, 17, 18}, false},
		{`{{ record.status or record.a }}`, []int{3, 4, 10, 12, 13, 14, 16, 17, 18}, false},
		{`{{ record.status > 3 }}`, []int{2, 3, 4, 5, 6, 8, 9, 12, 13}, false},
		{`{{ record.status == 5 }}`, []int{12}, false},
		{`{{ record.status == '5' }}`, []int{13}, false},
		{`{{ record.status == true }}`, []int{10, 14}, false},
		{`{{ record.a.b != 'x' }}`, []int{15, 16, 18}, false},
		{`{{ not record.a.b }}`, []int{15, 16, 18}, false},
		{`{{ 'x' in record.status }}`, []int{2, 3, 7, 10, 11, 12, 14}, false},
		{`{{ record.status | length > 0 }}`, []int{2, 3, 4, 6, 7, 10, 11, 12, 13, 14}, false},
		{`{{ record.status.startswith('x') }}`, []int{3}, false},
		{`{{ not record.status.startswith('x') }}`, []int{4, 5, 6, 13}, false},
		{`{{ record.status in [5, 'x'] }}`, []int{3, 12}, false},
		{`{% if record.status == 'x' %}true{% endif %}`, []int{3}, false},
		{`{{ record.a.b is not none }}`, []int{15, 17, 18}, false},
	} {
		t.Run(c.condition, func(t *testing.T) {
			file := importer.File{Name: "m.yaml", Text: []byte(strings.Replace(manifest, "CONDITION", c.condition, 1))}
			stream := imported(t, importer.Options{}, file).Report.Streams[0]
			require.Equal(t, c.exact, stream.Grade == importer.Exact, stream.Notes)
			if !c.exact {
				require.Equal(t, importer.Approximate, stream.Grade, stream.Notes)
				return
			}
			var ids []int
			items, _ := records(t, file, "f", sameAnswer(recordsOfAllKinds), nil, nil)
			for _, item := range items {
				ids = append(ids, int(item["id"].(float64)))
			}
			require.Equal(t, c.keeps, ids)
		})
	}
}
