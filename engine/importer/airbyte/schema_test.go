package airbyte_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/importer"
)

// TestReportsFollowTheirSchema validates the reports of all manifests by the schema in the reference.
func TestReportsFollowTheirSchema(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/import-report.schema.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("report.json", document))
	schema, err := compiler.Compile("report.json")
	require.NoError(t, err)
	for _, name := range []string{"forms", "github", "sendgrid", "zendesk"} {
		r := imported(t, importer.Options{}, manifest(t, name))
		out, err := json.Marshal(r.Report)
		require.NoError(t, err)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(v))
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(`{"version": 1, "format": "airbyte", "streams": [{"name": "a"}]}`)))
	require.NoError(t, err)
	require.Error(t, schema.Validate(v))
}
