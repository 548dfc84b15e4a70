package importer

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// IsReserved reports whether a name has a meaning in expressions, so that no variable can have it.
func IsReserved(name string) bool {
	return language.IsField(name) || language.Builtin().HasFunction(name) || name == "window" || operatorWords[name] ||
		!keypath.IsExpressionName(name)
}

// ItemVariable returns the name of a variable that a child has for an item of the stream: the given one, with _item after
// it as long as the name is reserved or is that of a variable of the stream or of its parents.
func (s *Stream) ItemVariable(name string) string {
	for IsReserved(name) || slices.ContainsFunc(allVariables(s), func(v Variable) bool { return v.Name == name }) {
		name += "_item"
	}
	return name
}

// operatorWords are the operators and constants of expressions that are words.
var operatorWords = map[string]bool{"in": true, "not": true, "and": true, "or": true, "matches": true, "contains": true, "startsWith": true,
	"endsWith": true, "let": true, "if": true, "else": true, "nil": true, "null": true, "true": true, "false": true}
