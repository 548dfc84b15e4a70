package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestAnErrorSignTellsErrorsFromWordsOfSuccess(t *testing.T) {
	for _, c := range []struct {
		kind rules.ErrorKind
		v    any
		want bool
	}{
		{rules.ErrorValue, "quota exceeded", true},
		{rules.ErrorValue, true, true},
		{rules.ErrorValue, 17, true},
		{rules.ErrorValue, map[string]any{"message": "no access"}, true},
		{rules.ErrorValue, map[string]any{"code": 17}, true},
		{rules.ErrorValue, []any{"no access"}, true},
		{rules.ErrorValue, nil, false},
		{rules.ErrorValue, false, false},
		{rules.ErrorValue, 0, false},
		{rules.ErrorValue, " ", false},
		{rules.ErrorValue, "Success", false},
		{rules.ErrorValue, map[string]any{}, false},
		{rules.ErrorValue, map[string]any{"code": 0, "message": "OK"}, false},
		{rules.ErrorValue, []any{}, false},
		{rules.ErrorValue, []any{nil, map[string]any{}}, false},
		{rules.ErrorFlag, true, true},
		{rules.ErrorFlag, "true", false},
		{rules.ErrorDenial, false, true},
		{rules.ErrorDenial, nil, false},
		{rules.ErrorDenial, 0, false},
		{rules.ErrorWord, "FAILED", true},
		{rules.ErrorWord, "finished", false},
		{rules.ErrorWord, 500, false},
		{rules.ErrorCode, 404, true},
		{rules.ErrorCode, 200, false},
		{rules.ErrorCode, 10000, false},
		{rules.ErrorCode, "404", false},
	} {
		require.Equal(t, c.want, rules.ErrorSign{Kind: c.kind}.Reports(c.v), "%s of %#v", c.kind, c.v)
	}
}
