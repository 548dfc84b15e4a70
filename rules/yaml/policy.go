package yaml

import (
	"errors"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
)

// errTooDeep reaches the reader as the message of a [yaml.LoadError].
var errTooDeep = errors.New("nested too deep")

// policy makes the YAML parser bound its recursion and accept every alias. The
// reader resolves aliases: it knows the config path for messages, and it bounds
// the values that they expand to.
type policy struct{}

func (policy) CheckDepth(depth int, context *yaml.DepthContext) error {
	limit := rules.MaxConfigDepth + 1 // The root is at depth 0.
	if context.Kind == yaml.DepthKindBlock {
		limit *= 2 // The reader reports block nesting more precisely.
	}
	if depth > limit {
		return errTooDeep
	}
	return nil
}

func (policy) CheckAlias(aliases, values int) error { return nil }

func (p policy) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return p, nil
}

func (policy) BeginDocument() error { return nil }

func (policy) EndDocument() error { return nil }

func (policy) DefineAnchor(name string, node *yaml.Node) error { return nil }

// ResolveAlias returns a target that the reader does not use.
func (policy) ResolveAlias(name string) (target *yaml.Node, found bool, err error) {
	return &yaml.Node{Kind: yaml.ScalarNode}, true, nil
}
