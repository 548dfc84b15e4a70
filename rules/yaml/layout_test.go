package yaml_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

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
