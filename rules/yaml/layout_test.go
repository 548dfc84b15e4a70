package yaml_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

func TestALayoutNamesAndMergesValues(t *testing.T) {
	pager := rules.Object{{Name: "method", Value: "single"}, {Name: "limit", Value: 5}}
	more := rules.Object{{Name: "method", Value: "single"}, {Name: "keep", Value: "x"}, {Name: "limit", Value: 6}}
	job := func(id string, p any) any {
		return rules.Object{{Name: "id", Value: id}, {Name: "pagination", Value: p}}
	}
	v := rules.Object{{Name: "jobs", Value: []any{job("a", pager), job("b", pager), job("c", more), job("d", pager)}}}
	layout := yaml.Layout{
		Line: 40, Block: []string{"jobs"}, Comment: "Four\njobs.",
		Bases: map[string]string{"jobs[1].pagination": "jobs[0].pagination", "jobs[2].pagination": "jobs[0].pagination", "jobs[3]": "jobs[0]"},
		Names: map[string]string{"jobs[0]": "job", "jobs[0].pagination": "one"},
	}
	text, err := layout.Format(v)
	require.NoError(t, err)
	require.Equal(t, `# Four
# jobs.
jobs:
- &job
  id: a
  pagination: &one {method: single, limit: 5}
- id: b
  pagination: *one
- id: c
  pagination: {<<: *one, keep: x, limit: 6}
- <<: *job
  id: d
`, string(text))
}

func TestALayoutRefusesABaseWithFurtherMembers(t *testing.T) {
	v := rules.Object{{Name: "a", Value: rules.Object{{Name: "x", Value: 1}}}, {Name: "b", Value: rules.Object{{Name: "y", Value: 2}}}}
	layout := yaml.Layout{Bases: map[string]string{"b": "a"}, Names: map[string]string{"a": "a"}}
	_, err := layout.Format(v)
	require.ErrorContains(t, err, "a value would be read as another one")
}

func TestALayoutKeepsTheQuotesOfTexts(t *testing.T) {
	texts := rules.Object{
		{Name: "plain", Value: "at('x')"}, {Name: "colon", Value: "at('x') ? 'a: b' : 'c'"}, {Name: "both", Value: `"a '" + x + "'"`},
		{Name: "tab", Value: "\"a'\tb\""}, {Name: "spaces", Value: `"a '" + x + "' `},
	}
	v := rules.Object{{Name: "a", Value: rules.Object{
		{Name: "block", Value: texts}, {Name: "flow", Value: rules.Object{{Name: "time", Value: "x.Format('15:04')"}}},
		{Name: "pages", Value: []any{`"a '" + x + "'"`}},
	}}}
	text, err := yaml.Layout{Line: 60, Flat: []string{"pages"}}.Format(v)
	require.NoError(t, err)
	require.Equal(t, `a:
  block:
    plain: at('x')
    colon: "at('x') ? 'a: b' : 'c'"
    both: |-
      "a '" + x + "'"
    tab: "\"a'\tb\""
    spaces: '"a ''" + x + "'' '
  flow: {time: "x.Format('15:04')"}
  pages:
  - "\"a '\" + x + \"'\""
`, string(text))
}
