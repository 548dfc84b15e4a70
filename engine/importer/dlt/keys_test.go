package dlt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/value"
)

// keysBase is the configuration that every key of the format is put into.
const keysBase = `
client: {base_url: "https://x.example.com"}
resources:
- parents
- {name: all, endpoint: {path: all, data_selector: data, paginator: single_page}}
`

// formatKeys are the keys of the format, as the public types of dlt have them: for each object the
// place where it stands, what it has in any case, and each key with a value.
var formatKeys = []struct{ at, base, keys string }{
	{"", "", `resource_defaults: {primary_key: id}, name: x, section: x, max_table_nesting: 1, root_key: true, schema: {}, schema_contract: freeze, parallelized: true`},
	{"client", `base_url: "https://x.example.com"`, `base_url: "https://y.example.com", headers: {A: b}, auth: bearer, paginator: auto, session: s`},
	{"client.auth", "", `token: x`},
	{"client.auth", "type: api_key, api_key: x", `type: bearer, name: X-Key, location: query`},
	{"client.auth", "type: api_key", `api_key: "dlt.secrets['other']"`},
	{"client.auth", "type: http_basic", `username: u, password: "dlt.secrets['other']"`},
	{"client.auth", "type: oauth2_client_credentials, access_token_url: 'https://x.example.com/t'",
		`access_token: x, access_token_url: 'https://x.example.com/u', client_id: x, client_secret: "dlt.secrets['other']", access_token_request_data: {scope: x}, default_token_expiration: 1, session: s`},
	{"resources[1]", "name: all, endpoint: {path: all, data_selector: data, paginator: single_page}",
		`name: other, endpoint: other, write_disposition: append, parent: x, primary_key: id, schema_contract: freeze, table_format: delta, merge_key: id,
		references: [], table_name: x, columns: {}, file_format: parquet, nested_hints: {}, parent_table_name: x, max_table_nesting: 1, selected: false,
		parallelized: true, processing_steps: [{filter: f}], include_from_parent: [id]`},
	{"resources[1].processing_steps[0]", "", `filter: f, map: f, yield_map: f`},
	{"resources[1].endpoint", "path: all, data_selector: data, paginator: single_page",
		`path: x, method: POST, params: {a: b}, json: {a: b}, data: {a: b}, paginator: header_link, data_selector: x, response_actions: [{status_code: 404, action: ignore}],
		incremental: {cursor_path: u}, auth: bearer, headers: {A: b}`},
	{"resources[1].endpoint.params.p", "type: resolve, resource: parents, field: id", `type: x, resource: x, field: x`},
	{"resources[1].endpoint.params.p", "type: incremental, cursor_path: u", `type: x, cursor_path: x, initial_value: 1, last_value_func: min, primary_key: id,
		end_value: 1, row_order: asc, allow_external_schedulers: true, lag: 1, on_cursor_value_missing: raise, range_start: open, convert: f, transform: f`},
	{"resources[1].endpoint.incremental", "cursor_path: u, initial_value: 1, start_param: s", `cursor_path: x, initial_value: 2, last_value_func: min, primary_key: id,
		end_value: 3, row_order: desc, allow_external_schedulers: true, lag: 1, on_cursor_value_missing: exclude, range_start: open, start_param: x, end_param: x,
		convert: f, transform: f`},
	{"resources[1].endpoint.incremental", "cursor_path: u, initial_value: 1, end_value: 2", `range_end: closed, range_start: open, end_param: x`},
	{"resources[1].endpoint.response_actions[0]", "status_code: 404, action: ignore", `status_code: 403, content: x, action: raise`},
	{"resources[1].endpoint.paginator", "", `type: auto`},
	{"resources[1].endpoint.paginator", "type: json_link", `next_url_path: x`},
	{"resources[1].endpoint.paginator", "type: json_response", `next_url_path: x`},
	{"resources[1].endpoint.paginator", "type: header_link", `links_next_key: x`},
	{"resources[1].endpoint.paginator", "type: header_cursor", `cursor_key: x, cursor_param: x`},
	{"resources[1].endpoint.paginator", "type: cursor", `cursor_path: x, cursor_param: x, cursor_body_path: x`},
	{"resources[1].endpoint.paginator", "type: offset, limit: 10", `limit: 5, offset: 5, offset_param: x, limit_param: x, total_path: x, maximum_offset: 50,
		stop_after_empty_page: false, has_more_path: x, offset_body_path: x, limit_body_path: x`},
	{"resources[1].endpoint.paginator", "type: page_number", `base_page: 1, page: 2, page_param: x, total_path: x, maximum_page: 5, stop_after_empty_page: false,
		has_more_path: x, page_body_path: x`},
}

func object(t *testing.T, text string) any {
	t.Helper()
	v, err := importer.ParseYAML(config("{"+text+"}"), maxBytes)
	require.NoError(t, err)
	return v
}

// TestEveryKeyOfTheFormatIsReadOrNamed puts each key into a configuration. It must change what is
// written, or be named in a note or a refusal.
func TestEveryKeyOfTheFormatIsReadOrNamed(t *testing.T) {
	seen := 0
	for _, c := range formatKeys {
		for _, m := range (node{v: object(t, c.keys)}).members() {
			seen++
			t.Run(c.at+"{"+c.base+"}."+m.name, func(t *testing.T) {
				after := withKey(t, c.at, c.base, m)
				require.NotContains(t, after, "The key "+m.name+" is not known here")
				require.NotEqual(t, withKey(t, c.at, c.base, node{}), after)
			})
		}
	}
	require.Greater(t, seen, 100)
}

// TestKeysThatAreNotKnownAreNamed shows that the test of all keys can fail.
func TestKeysThatAreNotKnownAreNamed(t *testing.T) {
	for _, c := range formatKeys {
		if c.at == "resources[1].processing_steps[0]" {
			continue // every step is refused
		}
		after := withKey(t, c.at, c.base, node{name: "unheard", v: "of", has: true})
		require.Regexp(t, `unheard is not known here|parameter|want the path`, after, "%s{%s}", c.at, c.base)
	}
}

// withKey returns what is written if the object at a place has a key, and the report.
func withKey(t *testing.T, at, base string, key node) string {
	t.Helper()
	root, err := importer.ParseYAML(config(keysBase), maxBytes)
	require.NoError(t, err)
	var keys []string
	if at != "" {
		keys = strings.FieldsFunc(at, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	}
	if strings.HasPrefix(at, "resources[1].endpoint.params.p") && strings.Contains(base, "resolve") {
		root = put(root, []string{"resources", "1", "endpoint", "path"}, "all/{p}/x")
	}
	for _, m := range (node{v: object(t, base)}).members() {
		root = put(root, append(slices.Clip(keys), m.name), m.v)
	}
	if key.name != "" {
		root = put(root, append(slices.Clip(keys), key.name), key.v)
	}
	r := &reader{set: importer.NewSettings(importer.Options{}), inputs: map[string]string{}, resources: map[string]*resource{}}
	if err := r.document(node{v: root, has: true}, "config.yaml"); err != nil {
		return err.Error()
	}
	result, err := importer.Write("dlt", r.source)
	require.NoError(t, err)
	var out strings.Builder
	for _, c := range result.Configs {
		out.WriteString(c.Name + "\n" + string(c.Text))
	}
	for _, s := range result.Report.Streams {
		fmt.Fprintln(&out, s.Name, s.Notes)
	}
	return out.String()
}

// put returns a value with another one at keys and indexes.
func put(root any, keys []string, v any) any {
	if len(keys) == 0 {
		return v
	}
	if i, err := strconv.Atoi(keys[0]); err == nil {
		list, _ := root.([]any)
		list = slices.Clone(list)
		for len(list) <= i {
			list = append(list, nil)
		}
		list[i] = put(list[i], keys[1:], v)
		return list
	}
	members, _ := value.Members(root)
	inner, _ := members.Get(keys[0])
	return members.With(keys[0], put(inner, keys[1:], v))
}
