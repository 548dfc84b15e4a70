package yaml_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

const blockText = `# a list
api:
  baseUrl: "https://api.example.com/" # the API
  pagination:
    # how it pages
    method: offset # by position
    offsetParam: from
    limit: 10
    stopRules:
    # the end
    - count < limit
    - when: truthy(body.denied)   # no access
      outcome: failed
config:
  jobs: [{endpoint: items}] # one job
`

const quotedKeys = `"api":
  "pagination": # quoted
    # how it pages
    'method': "offset" # by position
    "stopRules": # the end
      - "when": 'truthy(body.denied)' # no access
        "outcome": failed
"config": {}
`

const oneElement = `api:
  pagination:
    stopRules: # the end
    # a short page
    - count < limit # of 10
    # there is more
    limit: 10
`

const flowText = `{
  "api": {
    "pagination": {"method": "offset", "limit": 10, "stopRules": ["count < limit"]}
  }
}
`

func TestChangeKeepsTheEndsOfLines(t *testing.T) {
	edit := []yaml.Edit{{Path: []string{"api", "pagination", "guards"}, Value: value.ObjectOf("samePage", "fail")}}
	for _, text := range []string{blockText, flowText} {
		want, err := yaml.Change(text, edit)
		require.NoError(t, err)
		got, err := yaml.Change(strings.ReplaceAll(text, "\n", "\r\n"), edit)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(want, "\n", "\r\n"), got)
	}
}

func TestChangeLeavesTheRestAsItIs(t *testing.T) {
	at := func(path string) []string { return strings.Split(path, ".") }
	rule := value.ObjectOf("name", "empty", "when", "count == 0 and page > 1: x")
	tests := []struct {
		name, text string
		edit       yaml.Edit
		old, new   string // the part of the text that differs
	}{
		{"a scalar", blockText, yaml.Edit{Path: at("api.pagination.limit"), Value: 5}, "limit: 10\n", "limit: 5\n"},
		{"a scalar before a comment", blockText, yaml.Edit{Path: at("api.pagination.method"), Value: "expression"},
			"method: offset # by", "method: expression # by"},
		{"a new member", blockText, yaml.Edit{Path: at("api.pagination.firstPage"), Value: 2},
			"outcome: failed\n", "outcome: failed\n    firstPage: 2\n"},
		{"a new object in an object", blockText, yaml.Edit{Path: at("api.http.maxRetries"), Value: 0},
			"outcome: failed\n", "outcome: failed\n  http:\n    maxRetries: 0\n"},
		{"a member less", blockText, yaml.Edit{Path: at("api.pagination.offsetParam"), Remove: true}, "    offsetParam: from\n", ""},
		{"the last member less", blockText, yaml.Edit{Path: at("api.pagination.stopRules"), Remove: true},
			"    stopRules:\n    # the end\n    - count < limit\n    - when: truthy(body.denied)   # no access\n      outcome: failed\n", ""},
		{"an element less", blockText, yaml.Edit{Path: at("api.pagination.stopRules.0"), Remove: true}, "    - count < limit\n", ""},
		{"the last element less", blockText, yaml.Edit{Path: at("api.pagination.stopRules.1"), Remove: true},
			"    - when: truthy(body.denied)   # no access\n      outcome: failed\n", ""},
		{"the only element less", oneElement, yaml.Edit{Path: at("api.pagination.stopRules.0"), Remove: true},
			"stopRules: # the end\n    # a short page\n    - count < limit # of 10\n", "stopRules: [] # the end\n    # a short page\n"},
		{"another element", blockText, yaml.Edit{Path: at("api.pagination.stopRules"), Value: rule, Append: true},
			"outcome: failed\n", "outcome: failed\n    - name: empty\n      when: 'count == 0 and page > 1: x'\n"},
		{"a member after keys in quotes", quotedKeys, yaml.Edit{Path: at("api.pagination.limit"), Value: 5},
			"\"outcome\": failed\n", "\"outcome\": failed\n    limit: 5\n"},
		{"an element after keys in quotes", quotedKeys, yaml.Edit{Path: at("api.pagination.stopRules"), Value: "count == 0", Append: true},
			"\"outcome\": failed\n", "\"outcome\": failed\n      - count == 0\n"},
		{"a scalar in quotes", quotedKeys, yaml.Edit{Path: at("api.pagination.method"), Value: "expression"}, `"offset" #`, `expression #`},
		{"a member in brackets", blockText, yaml.Edit{Path: at("config.jobs.0.dataField"), Value: "data"},
			"{endpoint: items}", `{endpoint: items, "dataField": "data"}`},
		{"JSON: a number", flowText, yaml.Edit{Path: at("api.pagination.limit"), Value: 5}, `"limit": 10`, `"limit": 5`},
		{"JSON: another element", flowText, yaml.Edit{Path: at("api.pagination.stopRules"), Value: "count == 0", Append: true},
			`"count < limit"]`, `"count < limit", "count == 0"]`},
		{"JSON: an element less", flowText, yaml.Edit{Path: at("api.pagination.stopRules.0"), Remove: true}, `"count < limit"`, ``},
		{"JSON: a first member less", flowText, yaml.Edit{Path: at("api.pagination.method"), Remove: true}, `"method": "offset", `, ``},
		{"JSON: a last member less", flowText, yaml.Edit{Path: at("api.pagination.stopRules"), Remove: true}, `, "stopRules": ["count < limit"]`, ``},
		{"JSON: a member on a line of its own", flowText, yaml.Edit{Path: at("api.http.maxRetries"), Value: 0},
			"\"count < limit\"]}\n", "\"count < limit\"]},\n    \"http\": {\"maxRetries\": 0}\n"},
		{"JSON: a new list", flowText, yaml.Edit{Path: at("api.tests"), Value: 1, Append: true},
			"\"count < limit\"]}\n", "\"count < limit\"]},\n    \"tests\": [1]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(tt.text, tt.old))
			out, err := yaml.Change(tt.text, []yaml.Edit{tt.edit})
			require.NoError(t, err)
			require.Equal(t, strings.Replace(tt.text, tt.old, tt.new, 1), out)
		})
	}
}

// TestChangeRefusesWhatItCannotChangeAlone has an alias, whose value stands in two places.
func TestChangeRefusesWhatItCannotChangeAlone(t *testing.T) {
	const text = "a: &x {b: 1}\nc: *x\n"
	_, err := yaml.Change(text, []yaml.Edit{{Path: []string{"c", "b"}, Value: 2}})
	require.EqualError(t, err, "c.b: this text cannot be changed here without writing it anew; make the change by hand")
	_, err = yaml.Change(text, []yaml.Edit{{Path: []string{"c", "z"}, Remove: true}})
	require.Error(t, err)
	_, err = yaml.Change("a: [", nil)
	require.NoError(t, err, "there is nothing to change")
	_, err = yaml.Change("a: [", []yaml.Edit{{Path: []string{"a"}, Value: 1}})
	require.Error(t, err)
}

// FuzzChange sets, adds and removes values of any text: the result has the values, or there is an error.
func FuzzChange(f *testing.F) {
	for _, text := range []string{blockText, flowText, "a: 1\nb:\n- x\n- y: {z: 1}\n", "a:\n  b: |\n    x\n\n  c: 2\n"} {
		for _, path := range []string{"a", "a.b", "b.1.y", "api.pagination.stopRules.0", "config.jobs"} {
			f.Add(text, path, true)
			f.Add(text, path, false)
		}
	}
	f.Fuzz(func(t *testing.T, text, path string, remove bool) {
		edit := yaml.Edit{Path: strings.Split(path, "."), Value: "new", Remove: remove}
		out, err := yaml.Change(text, []yaml.Edit{edit})
		if err != nil {
			return
		}
		_, err = yaml.Parse(diag.NewSource("", out))
		require.NoError(t, err)
	})
}
