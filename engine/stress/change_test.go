package stress_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/value"
)

func TestAChangeIsWrittenAsJSONThatCanBeRead(t *testing.T) {
	v := value.Object{{Name: "a", Value: []any{1, "x", value.Object{}}}, {Name: "b", Value: nil}}
	text := stress.Change{Path: []string{"api", "http"}, Value: v}.String()
	require.Equal(t, `api.http: {"a": [1, "x", {}], "b": null}`, text)
	require.True(t, json.Valid([]byte(strings.TrimPrefix(text, "api.http: "))))
}
