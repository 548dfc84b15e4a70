package rules_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// TestTheSchemaPassesAStrictReading checks what validators in strict mode (ajv) refuse: a
// required key that is not among the properties of the same schema, and a type that is
// one of several.
func TestTheSchemaPassesAStrictReading(t *testing.T) {
	for name, schema := range map[string]rules.Object{"built in": rules.Builtin().Schema(), "extended": extended(t).Schema()} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(schema)
			require.NoError(t, err)
			var v any
			require.NoError(t, json.Unmarshal(text, &v))
			require.Empty(t, strictFaults("#", v))
		})
	}
}

func TestAStrictReadingFindsFaults(t *testing.T) {
	require.Len(t, strictFaults("#", map[string]any{
		"if":         map[string]any{"required": []any{"a"}},
		"properties": map[string]any{"type": map[string]any{"type": []any{"object", "null"}}},
	}), 2)
}

// strictFaults returns the faults of a schema and of the schemas in it.
func strictFaults(path string, v any) []string {
	var faults []string
	switch v := v.(type) {
	case []any:
		for i, inner := range v {
			faults = append(faults, strictFaults(fmt.Sprintf("%s/%d", path, i), inner)...)
		}
	case map[string]any:
		if _, several := v["type"].([]any); several {
			faults = append(faults, path+": a type that is one of several")
		}
		properties, _ := v["properties"].(map[string]any)
		required, _ := v["required"].([]any)
		for _, key := range required {
			if _, known := properties[key.(string)]; !known {
				faults = append(faults, fmt.Sprintf("%s: required %q is no property", path, key))
			}
		}
		for key, inner := range v {
			if key != "default" && key != "enum" && key != "required" {
				faults = append(faults, strictFaults(path+"/"+key, inner)...)
			}
		}
	}
	return faults
}
