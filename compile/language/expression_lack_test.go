package language

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// TestAnItemMayFailForWantOfAGivenValue evaluates filters in a first run, which has no kept value, and without optional
// inputs: an item that the filter would let pass with such a value is not left out in silence.
func TestAnItemMayFailForWantOfAGivenValue(t *testing.T) {
	for source, want := range map[string]string{ // the value that is named; "-": the item is left out; "+": it passes
		`item.at > kept.at`:                                           "kept.at",
		`item.at > earlier(kept.at, '1h')`:                            "kept.at",
		`item.at[:10] > kept.at[:10]`:                                 "kept.at",
		`date(item.at).Unix() > date(kept.at).Unix()`:                 "kept.at",
		`(date(item.at) - date(kept.at)).Hours() > 0`:                 "kept.at",
		`let since = kept.at; item.at > since`:                        "kept.at",
		`let a = kept.at; let b = date(a); date(item.at) > b`:         "kept.at",
		`item.at > state.since`:                                       "state.since",
		`item.at > sent.params.since`:                                 "sent.params.since",
		`item.id > prev.items[-1].id`:                                 "prev.items[-1].id",
		`date(item.at) >= date(kept.at ?? input.start)`:               "kept.at",
		`item.at > (input.all ? '2000' : kept.at)`:                    "kept.at",
		`item.open and item.at > kept.at`:                             "kept.at",
		`item.at > kept.at and item.open`:                             "kept.at",
		`item.shut or item.at > kept.at`:                              "kept.at",
		`item.id in kept.ids`:                                         "kept.ids",
		`item.at startsWith input.day`:                                "input.day",
		`item.at > kept.seen[item.id]`:                                "kept.seen[item.id]",
		`any(item.times, # > kept.at)`:                                "kept.at",
		`date(item.none ?? item.at) - date(kept.at) > duration('1h')`: "kept.at",
		`date(item.at).After(date(kept.at))`:                          "kept.at",
		`date(kept.at).Before(date(item.at))`:                         "kept.at",
		`date(item.at).Compare(date(kept.at)) == 1`:                   "kept.at",
		`item.shut or date(item.at).Equal(date(input.since))`:         "input.since",
		`item.at > get(kept, 'at')`:                                   `get(kept, "at")`,
		`any([kept.at], # < item.at)`:                                 "kept.at",
		`indexOf(item.at, kept.at) == 0`:                              "kept.at",
		`hasPrefix(item.at, kept.at)`:                                 "kept.at",

		`item.at > kept.at and not (item.id > kept.id)`:            "kept.at",
		`not (item.id > kept.id) and item.at > kept.at`:            "kept.id",
		`item.at > kept.at and not (item.at <= kept.at)`:           "kept.at",
		`(item.at > kept.at) != (item.id > kept.id)`:               "kept.at",
		`item.at > kept.at ? not (item.id > kept.id) : false`:      "kept.at",
		`item.kind == kept.kind`:                                   "kept.kind",
		`kept.kind == item.kind and item.open`:                     "kept.kind",
		`not (item.kind != kept.kind)`:                             "kept.kind",
		`any(item.times, # == kept.at)`:                            "kept.at",
		`any(kept.ids, # == item.id)`:                              "kept.ids",
		`one(kept.ids, # == item.id)`:                              "kept.ids",
		`not none(kept.ids, # == item.id)`:                         "kept.ids",
		`not all(kept.ids, # != item.id)`:                          "kept.ids",
		`count(kept.ids, # == item.id) > 0`:                        "kept.ids",
		`count(kept.ids, # == item.id) == 1`:                       "kept.ids",
		`len(filter(kept.ids, # == item.id)) == 1`:                 "kept.ids",
		`filter(kept.ids, # == item.id) != []`:                     "kept.ids",
		`find(kept.ids, # == item.id) != nil`:                      "kept.ids",
		`any(kept.ids, .id == item.id)`:                            "kept.ids",
		`item.at > kept.at and not any(kept.ids, # == item.id)`:    "kept.at",
		`item.kind in map(split(input.kinds, ","), trim(#))`:       "input.kinds",
		`item.id in map(kept.ids, .id)`:                            "kept.ids",
		`item.id in map(filter(kept.ids, .id > 3), .id)`:           "kept.ids",
		`item.id in uniq(map(kept.ids, .id))`:                      "kept.ids",
		`item.id in map(keys(kept.ids), #)`:                        "kept.ids",
		`item.id in keys(groupBy(kept.ids, .id))`:                  "kept.ids",
		`item.id in [kept.id]`:                                     "kept.id",
		`item.id in concat(kept.ids, [8])`:                         "kept.ids",
		`item.id < sum(kept.ids, .n)`:                              "kept.ids",
		`item.id > max(kept.id, 3)`:                                "kept.id",
		`any(kept.ids, .open)`:                                     "kept.ids",
		`any(kept.ids, .open and .id == item.id)`:                  "kept.ids",
		`item.at matches "2026" and item.id > -kept.id`:            "kept.id",
		`kept.at matches "2026"`:                                   "kept.at",
		`truthy(item.id) and item.id > reduce(kept.ids, # + #acc)`: "kept.ids",
		`item.at > {"a": kept.at}.a`:                               "kept.at",
		`item.at > (kept.at ?? (kept.id ?? input.start))`:          "kept.at",

		`truthy(kept.at) and item.at > kept.at`:           "-",
		`not empty(kept.at) and item.at > kept.at`:        "-",
		`'at' in kept and item.at > kept.at`:              "-",
		`len(kept) > 9 and item.at > kept.at`:             "-",
		`item.shut and item.id in map(kept.ids, .id)`:     "-",
		`kept.flag and item.open`:                         "-",
		`item.id in concat(kept.ids ?? [], [8])`:          "-",
		`item.id in concat(kept.ids ?? [], [7])`:          "+",
		`item.id in [kept.id, 7]`:                         "+",
		`not (item.id in map(kept.ids, .id))`:             "+",
		`item.at > text(kept.at ?? (kept.id ?? "2000"))`:  "+",
		`none(kept.ids, # == item.id)`:                    "+",
		`count(kept.ids, # == item.id) == 0`:              "+",
		`item.none == kept.kind`:                          "+",
		`any(kept.ids ?? [item.id], # == item.id)`:        "+",
		`kept.kind == nil or item.kind == kept.kind`:      "+",
		`kept.kind != "b"`:                                "+",
		`kept.kind == "b"`:                                "-",
		`item.kind == input.kind`:                         "-",
		`item.shut and any(kept.ids, # == item.id)`:       "-",
		`any(kept.ids, # == item.id) and item.shut`:       "-",
		`kept.ids != nil and any(kept.ids, # == item.id)`: "-",
		`any(item.none, # == item.id)`:                    "-",
		`kept.seen[item.id] == item.at`:                   "-",

		`not date(item.at).Before(date(kept.at))`:              "+",
		`date(item.at).Compare(date(kept.at)) != -1`:           "+",
		`kept.at == nil or date(item.at).After(date(kept.at))`: "+",
		`date(item.at).After(date(kept.at ?? '2000-01-01'))`:   "+",
		`date(item.at).Compare(date(kept.at)) == nil`:          "+",
		`any([kept.at], # == nil or # < item.at)`:              "+",
		`hasPrefix(item.at, '2026')`:                           "+",

		`item.shut and date(item.at).After(date(kept.at))`:        "-",
		`date(item.none).After(date(kept.at))`:                    "-",
		`date(item.none).Compare(date(kept.at)) == 1`:             "-",
		`date(item.at).After(date(kept.seen["8"])) and item.shut`: "-",
		`item.none == kept.at[:10] and item.shut`:                 "-",

		`kept.at == nil or item.at > kept.at`:                                              "+",
		`item.at > (kept.at ?? '2000')`:                                                    "+",
		`(kept.at ?? input.start) == nil or date(item.at) >= date(kept.at ?? input.start)`: "+",
		`item.at > (kept.at == nil ? '2000' : kept.at)`:                                    "+",
		`item.open or item.at > kept.at`:                                                   "+",
		`not (item.at <= kept.at)`:                                                         "+",
		`item.at != kept.at`:                                                               "+",
		`kept.seen[item.id] != item.at`:                                                    "+",
		`not (item.id in kept.ids)`:                                                        "+",
		`none(item.times, # <= kept.at)`:                                                   "+",
		`item.at > kept.seen["8"]`:                                                         "+",

		`kept.at != nil and item.at > kept.at`:   "-",
		`item.shut and item.at > kept.at`:        "-",
		`item.at > kept.at and item.shut`:        "-",
		`not (item.at <= kept.at) and item.shut`: "-",
		`item.none > 3`:                          "-",
		`item.none > kept.seen["8"]`:             "-",
		`item.id >= item.least + kept.plus`:      "-",
		`item.id >= body.least - input.margin`:   "-",
		`item.none > kept.at`:                    "-",
		`item.id > p.limit`:                      "-",
		`item.id > body.limit`:                   "-",
		`item.id > first.body.limit`:             "-",
		`item.id > input.limits[item.kind]`:      "-",
	} {
		t.Run(source, func(t *testing.T) {
			names := []string{"at", "id", "kind", "ids", "seen", "plus", "start", "all", "day", "limits", "margin", "since", "kinds", "flag"}
			e, err := NewCompiler(Builtin()).Expression(rules.Rule{ID: "filter", Role: rules.RoleFilter, Source: source}, &rules.Ruleset{
				StateNames: names, KeptNames: names, InputNames: names, ForNames: []string{"p"},
			}, rules.ScopeItem)
			require.NoError(t, err)
			page := &rules.Past{Page: 1, Body: map[string]any{}}
			passes, err := e.EvalBool(&Machine{}, &rules.Context{
				Page: 1, First: page, Body: map[string]any{},
				Item:      decoded(t, `{"id": 7, "at": "2026-03-01T08:00:00Z", "open": true, "shut": false, "times": ["2026-03-01"], "kind": "b"}`),
				Kept:      map[string]any{"seen": map[string]any{"8": "2026-02-01"}},
				Input:     map[string]any{"limits": map[string]any{"a": 3}, "margin": 2},
				State:     map[string]any{"since": nil},
				Partition: map[string]any{"p": map[string]any{"id": 1}},
			})
			switch want {
			case "+", "-":
				require.NoError(t, err)
				require.Equal(t, want == "+", passes)
			default:
				require.ErrorContains(t, err, want+" is nil, so that the item does not pass")
			}
		})
	}
}

// TestARuleMayFailForWantOfAKeptValue evaluates stopping rules on a page of the first run, which has no kept value.
func TestARuleMayFailForWantOfAKeptValue(t *testing.T) {
	for source, want := range map[string]string{ // "fails", "input" if it fails for want of an input, "met" or "not met"
		`not any(items, .id > kept.id)`:                        "fails",
		`count(items, .id > kept.id) < 2`:                      "fails",
		`not (items[-1].id > number(kept.id))`:                 "fails",
		`let since = kept.id; none(items, .id > since)`:        "fails",
		`find(items, .id > kept.id) == nil`:                    "fails",
		`page == 1 and not any(items, .id > kept.id)`:          "fails",
		`not any(items, date(.at).After(date(kept.id)))`:       "fails",
		`any(items, .id > 9) or not any(items, .id > kept.id)`: "fails",
		`not any(items, .id not in [7] and .id > kept.id)`:     "fails",
		`not any(items, .id in kept.list)`:                     "fails",
		`none(kept.list, # in [6, 7])`:                         "fails",
		`not any(items, .id > input.id)`:                       "input",
		`not (items[-1].id > state.id)`:                        "input",
		`none(items, .id == kept.id)`:                          "fails",
		`items[-1].id != kept.id`:                              "fails",
		`not (items[0].at startsWith kept.id)`:                 "fails",
		`kept.id not in map(items, .id)`:                       "fails",
		`not (kept.id contains items[0].at)`:                   "fails",
		`page + kept.id != 7`:                                  "fails",
		`none(items, .id in map(kept.list, .id))`:              "fails",
		`kept.id != 7`:                                          "met",
		`items[-1].id != (kept.id ?? 7)`:                        "met",
		`none(items, .none > kept.id)`:                          "met",
		`any(items, .id <= kept.id)`:                            "not met",
		`all(items, .id in kept.list)`:                          "not met",
		`kept.list != nil and not any(items, .id in kept.list)`: "not met",
		`not any(items, .id in [1])`:                            "met",
		`kept.id != nil and not any(items, .id > kept.id)`:      "not met",
		`page > 1 and not any(items, .id > kept.id)`:            "not met",
		`not any(items, .id > kept.id) or page == 1`:            "met",
		`count(items, .id > kept.id) < 3`:                       "met",
		`not any(items, .none > kept.id)`:                       "met",
		`not any(items, .id > (kept.id ?? 9))`:                  "met",
		`not any(filter(items, .id > 9), .id > kept.id)`:        "met",
		`kept.id == nil or not any(items, .id > kept.id)`:       "met",
		`not any(items, .id > kept.ids["7"])`:                   "met",
		`count(items, .id > 9) < 2 and kept.id not in [1]`:      "met",
	} {
		t.Run(source, func(t *testing.T) {
			names := []string{"id", "ids", "list"}
			e, err := NewCompiler(Builtin()).Expression(rules.Rule{ID: "stopRules[0]", Role: rules.RoleStop, Source: source},
				&rules.Ruleset{
					KeptNames: names, InputNames: names, StateNames: names,
					Rules: []rules.Rule{{Role: rules.RoleInit, Target: "id", Source: "input.id"}},
				}, rules.RoleStop.Scope())
			require.NoError(t, err)
			list := decoded(t, `[{"id": 7, "at": "2026-03-01"}, {"id": 6}]`).([]any)
			met, err := e.EvalBool(&Machine{}, &rules.Context{
				Page: 1, Count: 2, Items: list, Body: map[string]any{}, Kept: map[string]any{"ids": map[string]any{"7": 9}}, Input: map[string]any{},
			})
			switch want {
			case "fails":
				require.ErrorContains(t, err, " is nil, so that the list ends here, although later runs read only what follows it")
				return
			case "input":
				require.ErrorContains(t, err, ".id is nil, so that the list ends here: write ")
				return
			}
			require.NoError(t, err)
			require.Equal(t, want == "met", met)
		})
	}
}

// TestAVariableMayFailForWantOfAKeptValue evaluates variables of the state, which the rule may read, in the first run.
func TestAVariableMayFailForWantOfAKeptValue(t *testing.T) {
	const fresh = "any(items, .id > kept.id)"
	for _, c := range []struct {
		name, next, other, rule string
		fails                   bool
	}{
		{"a flag that ends the list", fresh, "", "not state.a", true},
		{"a count that ends the list", fresh + " ? 0 : state.a + 1", "", "state.a >= 2", true},
		{"by way of another variable", fresh, "state.b and state.a", "not state.b", true},
		{"no rule that ends the list reads it", fresh, "", "page > 3", false},
		{"it says what is to be without the value", "kept.id == nil or " + fresh, "", "not state.a", false},
		{"the comparison decides nothing", fresh + " or page > 0", "", "not state.a", false},
		{"a function of the value", "greatest(items, 'id', kept.id)", "", "state.a > 90", false},
		{"a value for the first run", "kept.id > 0 ? kept.id : 1", "", "state.a > 90", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := rules.Rule{ID: "state.a.next", Role: rules.RoleNext, Target: "a", Source: c.next}
			set := &rules.Ruleset{KeptNames: []string{"id"}, StateNames: []string{"a", "b"}, Rules: []rules.Rule{
				next, {Role: rules.RoleStop, Source: c.rule}, {Role: rules.RoleNext, Target: "b", Source: c.other},
			}}
			e, err := NewCompiler(Builtin()).Expression(next, set, rules.RoleNext.Scope())
			require.NoError(t, err)
			list := decoded(t, `[{"id": 7}, {"id": 6}]`).([]any)
			_, err = e.Value(&Machine{}, &rules.Context{Page: 1, Count: 2, Items: list, State: map[string]any{"a": 0, "b": true}}, MaxValueBytes)
			if c.fails {
				require.ErrorContains(t, err, "kept.id is nil, and its comparison decides the value, although later runs")
				return
			}
			require.NoError(t, err)
		})
	}
}
