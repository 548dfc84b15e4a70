package rules_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

type tree struct {
	Name     string         `json:"name" doc:"its name"`
	Kind     rules.Author   `json:"kind"`
	Children []tree         `json:"children,omitempty" doc:"the trees below"`
	Parent   *tree          `json:"parent,omitempty" doc:"the tree above"`
	Sizes    map[string]int `json:"sizes,omitempty"`
	Ratio    float64        `json:"ratio"`
	Any      any            `json:"any,omitempty"`
	Raw      []byte         `json:"raw,omitempty"`
	Hidden   string         `json:"-"`
}

func TestASchemaDescribesTheJSONOfAType(t *testing.T) {
	text, err := json.Marshal(rules.TypeSchema("a tree", reflect.TypeFor[tree]()))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "a tree", "$ref": "#/definitions/tree",
		"definitions": {"tree": {"type": "object", "required": ["name", "kind", "ratio"], "properties": {
			"name": {"description": "its name", "type": "string"},
			"kind": {"type": "string"},
			"children": {"description": "the trees below", "type": "array", "items": {"$ref": "#/definitions/tree"}},
			"parent": {"description": "the tree above", "allOf": [{"$ref": "#/definitions/tree"}]},
			"sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
			"ratio": {"type": "number"},
			"any": {}, "raw": {}}}}}`, string(text))
}
