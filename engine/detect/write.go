package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
)

// SchemaFile is the file that configurations name as their schema. `stopwhen schema`
// prints it.
const SchemaFile = "./stopwhen.schema.json"

// write writes the configuration of a trial, or one without pagination.
func (d *detection) write(ctx context.Context, t *trial) (*Result, error) {
	var c candidate
	if t != nil {
		c = t.candidate
	}
	root := append(value.Object{{Name: "$schema", Value: SchemaFile}}, d.written(c)...)
	if test := d.test(ctx, root, t); test != nil {
		root = append(root, value.Member{Name: "tests", Value: []any{test}})
	}
	result := &Result{
		Findings: d.Findings, Requests: d.session.made, Config: root, Inputs: d.call.inputs,
		Name: jobID(d.call.endpoint), Env: slices.Sorted(maps.Keys(d.call.env)), Paged: t != nil && t.verdict == proven,
	}
	text, err := value.Marshal(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	result.JSON = b.Bytes()
	result.YAML, err = d.yaml(root)
	return result, err
}
