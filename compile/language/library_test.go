package language

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/expr-lang/expr/builtin"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// callables returns everything that an expression can call or apply, taken from the
// tables, so that an addition to one of them is drawn too.
var callables = sync.OnceValue(func() []string {
	names := slices.Clone(builtin.Names)
	for _, f := range Builtin().Functions() {
		names = append(names, f.Name)
	}
	for _, f := range rules.ContextFields() {
		if contextFunction(f.Name) != nil {
			names = append(names, f.Name)
		}
	}
	for operator := range operators {
		names = append(names, operator)
	}
	for _, method := range methodNames() {
		names = append(names, "."+method)
	}
	slices.Sort(names)
	return append(slices.Compact(names), "matches")
})

// leavesOfExpressions are what drawn expressions consist of.
var leavesOfExpressions = []string{
	`nil`, `true`, `0`, `-1`, `3`, `1000000`, `1e18`, `0.5`, `9223372036854775807`, `""`, `"a"`, `"2024-01-01"`, `"5m"`, `"10"`, `"desc"`, `"Europe/Prague"`,
	`body.big`, `body.wide`, `body.texts`, `body.numbers`, `body.mixed`, `body.deep`, `body.long`, `body.none`, `body`, `items`, `items[-1]`, `items[0].id`,
	`[]`, `[1, "2", nil]`, `{"a": 1}`, `1..300000`, `sent`, `prev`, `now()`, `duration("1h")`, `timezone("UTC")`, `page`, `total.seconds`, `header("X")`, `job.params`,
}

// A drawer draws expressions.
type drawer struct{ *rand.Rand }

func (d drawer) argument(depth int) string {
	if names := callables(); depth > 0 && d.IntN(3) == 0 {
		return d.call(names[d.IntN(len(names))], depth-1)
	}
	return leavesOfExpressions[d.IntN(len(leavesOfExpressions))]
}

func (d drawer) call(name string, depth int) string {
	arguments := make([]string, 1+d.IntN(3))
	for i := range arguments {
		arguments[i] = d.argument(depth)
	}
	switch _, isOperator := operators[name]; {
	case name == "jsonpath":
		return []string{`jsonpath("$..id")`, `jsonpath("$..[?(@.id == 1)]")`, `jsonpath("$.*[1:-1].*")`}[d.IntN(3)]
	case name == "matches":
		return fmt.Sprintf(`(%s matches "(a|b)*c")`, arguments[0])
	case isOperator:
		return fmt.Sprintf("(%s %s %s)", arguments[0], name, d.argument(depth))
	case strings.HasPrefix(name, "."):
		return fmt.Sprintf("(%s)%s(%s)", arguments[0], name, strings.Join(arguments[1:], ", "))
	}
	if use := library[name].predicate; use != noPredicate && d.IntN(8) > 0 {
		predicate := []string{"#", ".id", "#index", "# == .id", d.argument(depth)}[d.IntN(5)]
		if use == testsElements {
			predicate = []string{"# != nil", ".id == #", "truthy(#)", d.argument(depth)}[d.IntN(4)]
		}
		arguments = slices.Insert(arguments[:1], 1, predicate)
		if name == "reduce" && d.IntN(2) == 0 {
			arguments[1] = "[#acc, #]"
		}
		if name == "sortBy" && d.IntN(2) == 0 {
			arguments = append(arguments, `"desc"`)
		}
	}
	if d.IntN(4) == 0 {
		arguments = arguments[:1]
	}
	return name + "(" + strings.Join(arguments, ", ") + ")"
}

var hostile = func() *rules.Context {
	items := make([]any, 3000)
	for i := range items {
		items[i] = map[string]any{"id": i, "name": "item"}
	}
	page := hostilePage(items)
	body := page.Body.(map[string]any)
	body["numbers"], body["mixed"] = slices.Repeat([]any{3, 1.5, -2}, 1000), []any{1, "2", nil, 2.5, []any{1}, map[string]any{"id": 1}, true}
	body["long"] = strings.Repeat("9", 100_000)
	page.Prev = &rules.Past{Page: 1, Body: body, Items: items}
	page.Job.Params = rules.Object{{Name: "q", Value: "x"}}
	page.Header = func(string) any { return "3" }
	page.Link = func(string, ...string) any { return nil }
	page.Now = func() time.Time { return time.Unix(1e9, 0) }
	return page
}()

// maxHeap is what one evaluation may keep of the heap, in bytes. The budget limits
// strings and lists; the Go values that hold them, and garbage, need more.
const maxHeap = 256 << 20

// heapWatch measures the growth of the heap until it is stopped.
type heapWatch struct {
	before, most uint64
	stop         chan struct{}
	stopped      sync.WaitGroup
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func watchHeap() *heapWatch {
	w := &heapWatch{before: heap(), stop: make(chan struct{})}
	w.stopped.Go(func() {
		for {
			select {
			case <-w.stop:
				return
			case <-time.After(2 * time.Millisecond):
				w.most = max(w.most, heap())
			}
		}
	})
	return w
}

// end returns the growth.
func (w *heapWatch) end() int {
	close(w.stop)
	w.stopped.Wait()
	return int(max(w.most, heap())) - int(w.before)
}

// evaluateHostile evaluates a source, if it can be compiled, and checks that it stays in
// its limits, whatever its values are.
func evaluateHostile(t *testing.T, source string) {
	t.Helper()
	e, err := compileRule(Builtin(), rules.Rule{ID: "test", Role: rules.RoleParam, Source: source})
	if err != nil {
		return
	}
	watch := watchHeap()
	began := time.Now()
	v, err := e.Eval(&Machine{}, hostile)
	took := time.Since(began)
	require.Less(t, watch.end(), maxHeap, source)
	require.Less(t, took, time.Minute, "%s: the budget is a second or two; the machine may be busy", source)
	if err == nil {
		requireValue(t, source, v)
		return
	}
	for _, text := range []string{"reflect", "interface conversion", "interface {}", "runtime error", "goroutine", "%!", "nil pointer"} {
		require.NotContains(t, err.Error(), text, source)
	}
}

// requireValue checks that a result is a value of the language.
func requireValue(t *testing.T, source string, v any) {
	t.Helper()
	if inner, ok := entries(v); ok {
		for _, e := range inner {
			requireValue(t, source, e)
			return // the others are made in the same way
		}
		return
	}
	switch v.(type) {
	case nil, bool, string, time.Time, time.Duration, *time.Location:
	default:
		if fieldsOf(v) == nil {
			return
		}
		if _, isFields := fieldsOf(v).(rules.Object); !isFields {
			require.True(t, isNumber(v), "%s gives a %T", source, v)
		}
	}
}

// TestEveryFunctionStaysInItsLimits calls every function and operator of the
// language with drawn arguments, most of which are large or of the wrong kind.
func TestEveryFunctionStaysInItsLimits(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	for i, name := range callables() {
		d := drawer{rand.New(rand.NewPCG(1, uint64(i)))}
		for range 3 {
			evaluateHostile(t, d.call(name, 1))
		}
	}
}

func FuzzEveryFunction(f *testing.F) {
	for i := 0; i < len(callables()); i += 8 {
		f.Add(uint16(i), uint64(i))
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	f.Fuzz(func(t *testing.T, function uint16, seed uint64) {
		names := callables()
		d := drawer{rand.New(rand.NewPCG(seed, 0))}
		evaluateHostile(t, d.call(names[int(function)%len(names)], 2))
	})
}

func TestEveryFunctionOfTheExpressionLanguageIsDocumented(t *testing.T) {
	names := slices.Collect(maps.Keys(library))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "now" }) // a field of the context
	require.ElementsMatch(t, names, lists.Map(Library(), func(f Function) string { return f.Name }))
}
