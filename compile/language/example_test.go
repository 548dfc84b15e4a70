package language_test

import (
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// A program adds a function to the language, and rules call it.
func ExampleLanguage_WithFunction() {
	extended, err := language.Builtin().WithFunction(language.Function{
		Name:      "isStale",
		Signature: "isStale(updated, age)",
		Doc:       "whether a time is more than age ago",
		Func: func(updated time.Time, age time.Duration) bool {
			return updated.Add(age).Before(time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC))
		},
	})
	if err != nil {
		panic(err)
	}
	compiler := language.NewCompiler(extended)
	stale := rules.Rule{ID: "stale", Role: rules.RoleStop, Source: `isStale(date(items[-1].updated), duration("24h"))`}
	rule, err := compiler.Expression(stale, &rules.Ruleset{}, rules.ScopePage)
	if err != nil {
		panic(err)
	}
	for _, updated := range []any{"2026-04-30", "2026-03-01", nil} {
		page := &rules.Context{Page: 1, Items: []any{map[string]any{"updated": updated}}}
		met, err := rule.EvalBool(&language.Machine{}, page)
		fmt.Println(updated, met, err)
	}
	// Output:
	// 2026-04-30 false <nil>
	// 2026-03-01 true <nil>
	// <nil> false <nil>
}
