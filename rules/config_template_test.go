package rules_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// warningsOf returns the hints of the warnings about a configuration whose job has some members.
func warningsOf(t *testing.T, pagination, job string) []string {
	t.Helper()
	source := diag.NewSource("c.json", fmt.Sprintf(`{"api": {"baseUrl": "https://api.test/", "pagination": %s},
		"config": {"jobs": [{"id": "a", "endpoint": "b", %s}]}}`, pagination, job))
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, found := rules.Decode(source, root, rules.Options{})
	require.NoError(t, found.Err())
	_, more := cfg.Lower()
	hints := []string{}
	for _, d := range append(found, more...).Warnings() {
		hints = append(hints, d.Hint)
	}
	return hints
}

func TestAPathInJSONPathHasTheFormThatMeansTheSame(t *testing.T) {
	const unknown = "write keys with dots between them: a.b"
	for _, c := range []struct{ path, items, value string }{
		{"$", "write .", "write ."},
		{"$.issues[*]", "write issues", unknown + "; a path leads to one value"},
		{"$.meta.next", "write meta.next", "write meta.next"},
		{"$['a.b']", `write a\.b`, `write a\.b`},
		{"$.groups[*].issues", "write groups.*.issues", unknown + "; a path leads to one value"},
		{"links[0].href", "write links.0.href", "write links.0.href"},
		{"$..issues", unknown, unknown + "; a path leads to one value"},
		{"links[?(@.rel == 'next')]", unknown, unknown + "; a path leads to one value"},
		{"a.b", "", ""},
		{"$count", "", ""},
		{"a.$.b", "", ""},
		{"@odata\\.nextLink", "", ""},
		{"list[]", "", ""},
	} {
		t.Run(c.path, func(t *testing.T) {
			of := func(hint string) []string {
				if hint == "" {
					return []string{}
				}
				return []string{hint}
			}
			require.Equal(t, of(c.items), warningsOf(t, `{"method": "pagenum"}`, fmt.Sprintf(`"dataField": %q`, c.path)))
			require.Equal(t, of(c.value), warningsOf(t, fmt.Sprintf(
				`{"method": "response.param", "responseParam": %q, "queryParam": "p"}`, c.path), `"dataField": "x"`))
		})
	}
}

func TestATemplateIsNotReplacedAndAWarningSaysWhatIs(t *testing.T) {
	const expression = `a computed value is written {"expr": "…"}`
	for job, hint := range map[string]string{
		`"params": {"a": "{{ now }}"}`:                        `write {"expr": "now()"}`,
		`"params": {"a": "{{ config['key'] }}"}`:              expression,
		`"params": {"a": "x-${VAR}"}`:                         `the value of an environment variable is written {"env": "VAR"}`,
		`"params": {"a": {"b": ["{kept.x}"]}}`:                `write {"expr": "kept.x"}`,
		`"params": {"a": "{now() - duration('1h')}"}`:         `write {"expr": "now() - duration('1h')"}`,
		`"params": {"a": "id > {kept.x}"}`:                    expression,
		`"params": {"#a": "${VAR}"}`:                          `the value of an environment variable is written {"env": "VAR"}`,
		`"headers": {"A": "Bearer ${VAR}"}`:                   `the value of an environment variable is written {"env": "VAR"}`,
		`"dataType": "orders-{tenant}"`:                       "dataType is the same in all requests",
		`"params": {"a": "{\"b\": {\"c\": 1}}"}`:              "",
		`"params": {"a": "query { viewer { repos(n: 3) } }"}`: "",
		`"params": {"a": "{id,name}", "b": "$a", "c": "{}"}`:  "",
		`"params": {"a": {"expr": "\"{{ now }}\""}}`:          "",
	} {
		t.Run(job, func(t *testing.T) {
			hints := warningsOf(t, `{"method": "pagenum"}`, job)
			if hint == "" {
				require.Empty(t, hints)
			} else {
				require.Equal(t, []string{hint}, hints)
			}
		})
	}
}

func TestATemplateInAnAddressOrACredentialIsNamed(t *testing.T) {
	for text, hints := range map[string][]string{
		`{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "a/{{ now }}"}]}}`: {"write {now()}"},
		`{"api": {"baseUrl": "https://api.test/{{input.v}}/"}, "inputs": {"v": {}},
		  "config": {"jobs": [{"endpoint": "a/{{all}}"}]}}`: {"write {input.v}"},
		`{"api": {"baseUrl": "https://api.test/", "authentication": {"type": "bearer", "#token": "${TOKEN}"}},
		  "config": {"jobs": [{"endpoint": "a"}]}}`: {`the value of an environment variable is written {"env": "TOKEN"}`},
		`{"api": {"baseUrl": "https://api.test/", "authentication": {"type": "oauth2", "tokenUrl": "https://{input.v}.test/token", "clientId": "c", "#clientSecret": "s"}},
		  "inputs": {"v": {}}, "config": {"jobs": [{"endpoint": "a"}]}}`: {}, // tokenUrl is an address, and they are replaced
	} {
		source := diag.NewSource("c.json", text)
		root, err := rules.ParseJSON(source)
		require.NoError(t, err)
		_, found := rules.Decode(source, root, rules.Options{})
		require.NoError(t, found.Err())
		got := []string{}
		for _, d := range found.Warnings() {
			got = append(got, d.Hint)
		}
		require.Equal(t, hints, got)
	}
}
