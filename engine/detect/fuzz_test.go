package detect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// FuzzDetect answers with any two responses. Whatever they are, there are at most three
// requests, and what is written is a valid configuration whose test passes.
func FuzzDetect(f *testing.F) {
	f.Add("https://api.test/v1/users?limit=2", `{"data": [{"id": 1}, {"id": 2}], "next": "?p=2"}`, `{"data": [{"id": 3}]}`, "application/json", "")
	f.Add("https://api.test/a:b/%2F?x&y=1&y=2", `[{"id": "a"}, {"id": "b"}]`, `[]`, "application/json", `</x?page=2>; rel="next"`)
	f.Add("http://u:p@api.test", "<a><b>1</b><b>2</b><next>https://api.test/2</next></a>", "<a><b>3</b></a>", "text/xml", "")
	f.Add("https://api.test/x.csv?page=1", "id,n\n1,2\n", "id,n\n2,2\n", "text/csv", "")
	f.Add("https://api.test/x?$skip=0", `{"a": {"": [{"x.y": 1}], "@odata.nextLink": "a b"}}`, "{", "application/json", "<<>;rel=next,")
	f.Add("https://api.test/page/1/{{x}}", `{"items": [1, 2], "page": 0, "total_pages": "3", "has_more": "true", "cursor": {}}`, `{"items": [3]}`, "", "")
	f.Fuzz(func(t *testing.T, address, first, second, contentType, link string) {
		n := 0
		serve := api(func(url.Values, *http.Request) (int, http.Header, string) {
			n++
			header := http.Header{"Content-Type": {contentType}}
			if link != "" && !strings.ContainsAny(link, "\r\n\x00") {
				header.Set("Link", link)
			}
			if n == 1 {
				return 200, header, first
			}
			return 200, header, second
		})
		r, err := detect.Detect(t.Context(), detect.Request{URL: address}, detect.Options{Transport: serve})
		require.LessOrEqual(t, n, detect.MaxRequests)
		if r == nil || r.YAML == nil {
			require.Error(t, err)
			return
		}
		requireValid(t, r)
	})
}

// requireValid requires a configuration that compiles in both forms and passes its test.
func requireValid(t *testing.T, r *detect.Result) {
	t.Helper()
	for name, text := range map[string][]byte{"x.yaml": r.YAML, "x.json": r.JSON} {
		e, err := engine.Load(name, text, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders())
		require.NoError(t, err, "%s", text)
		require.Zero(t, e.Test(t.Context()).Failed(), "%s", text)
	}
	require.NotEmpty(t, r.Text(20))
}

// FuzzFromRecording reads any exchange from a recording.
func FuzzFromRecording(f *testing.F) {
	f.Add("GET", "https://api.test/users?page=1", `{"data": [{"id": 1}], "next_page": 2}`, "https://api.test/users?page=2", `{"data": [{"id": 2}]}`, "Bearer x")
	f.Add("POST", "https://api.test/q", `{"d": {"users": {"nodes": [{"id": 1}], "pageInfo": {"endCursor": "a"}}}}`, "/relative", ``, "")
	f.Fuzz(func(t *testing.T, method, address, body, address2, body2, credential string) {
		header := http.Header{"Authorization": {credential}}
		r, err := detect.FromRecording(t.Context(), &recording.Recording{Exchanges: []recording.Exchange{
			{Method: method, URL: address, Header: header, Status: 200, ResponseBody: []byte(body)},
			{Method: method, URL: address2, Header: header, Status: 200, ResponseBody: []byte(body2)},
		}}, "")
		if r == nil || r.YAML == nil {
			require.Error(t, err)
			return
		}
		require.Zero(t, r.Requests)
		requireValid(t, r)
	})
}
