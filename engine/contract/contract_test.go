package contract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/contract"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// itemsOf returns an item n times.
func itemsOf(items ...string) engine.Items {
	text := strings.Join(items, "\n") + "\n"
	all, _ := document.Lists([]byte(text), nil, []document.ListEnd{{End: len(text), Count: len(items)}})
	return all
}

// repeated returns a list of items n times.
func repeated(n int, items ...string) (all []string) {
	for range n {
		all = append(all, items...)
	}
	return all
}

// of returns the contract of items, as it is read from a file.
func of(t *testing.T, items ...string) *contract.Contract {
	t.Helper()
	var c contract.Contract
	c.AddItems("users", itemsOf(items...))
	read, err := contract.Parse("c.json", string(c.Text()))
	require.NoError(t, err)
	return read
}

func TestADifferenceIsAMemberThatIsNewGoneOrOfAnotherType(t *testing.T) {
	for name, c := range map[string]struct {
		before, now []string
		want        []string
	}{
		"the same":               {repeated(30, `{"id":1}`), []string{`{"id":2}`}, nil},
		"a new member":           {[]string{`{"id":1}`}, []string{`{"id":2,"a b":null}`}, []string{`item["a b"] is new (null)`}},
		"a member is gone":       {repeated(24, `{"id":1,"n":{"x":1}}`), []string{`{"id":2,"n":{"y":1}}`}, []string{"item.n.y is new (integer)", "item.n.x is gone"}},
		"few had it":             {repeated(23, `{"id":1,"x":1}`), []string{`{"id":2}`}, nil},
		"an optional one":        {append(repeated(40, `{"id":1,"x":1}`), `{"id":2}`), []string{`{"id":3}`}, nil},
		"some still have it":     {repeated(40, `{"id":1,"x":1}`), []string{`{"id":3}`, `{"id":4,"x":1}`}, nil},
		"another type":           {[]string{`{"id":1}`}, []string{`{"id":"1"}`}, []string{"item.id is text, and was integer"}},
		"one more type":          {[]string{`{"id":1}`}, []string{`{"id":"1"}`, `{"id":2}`, `{"id":null}`}, []string{"item.id is integer, text or null, and was integer"}},
		"a number that was one":  {[]string{`{"id":1.5}`}, []string{`{"id":1}`, `{"id":9007199254740993}`}, nil},
		"an integer no longer":   {[]string{`{"id":1}`}, []string{`{"id":1.5}`}, []string{"item.id is number, and was integer"}},
		"a null now and then":    {repeated(40, `{"id":1}`), []string{`{"id":null}`, `{"id":1}`}, nil},
		"always null":            {repeated(40, `{"id":1}`), []string{`{"id":null}`}, []string{"item.id is always null, and never was (integer)"}},
		"null in the few before": {repeated(5, `{"id":1}`), []string{`{"id":null}`}, nil},
		"only nulls before":      {repeated(40, `{"id":null}`), []string{`{"id":{"x":1}}`}, nil},
		"a format":               {repeated(24, `{"id":"123e4567-e89b-12d3-a456-426614174000"}`), []string{`{"id":"7"}`}, []string{"item.id has texts that do not have the format uuid"}},
		"a format by chance":     {repeated(3, `{"id":"2026-01-02"}`), []string{`{"id":"7"}`}, nil},
		"elements":               {[]string{`{"l":[{"a":1}]}`}, []string{`{"l":[{"a":1,"b":true}]}`}, []string{"item.l[*].b is new (boolean)"}},
		"empty lists before":     {[]string{`{"l":[]}`}, []string{`{"l":[1]}`}, nil},
		"empty objects before":   {[]string{`{"o":{}}`}, []string{`{"o":{"a":1}}`}, nil},
		"names that are data":    {repeated(30, `{"by":{"2026-01-02":1,"17":2}}`), []string{`{"by":{"2026-01-03":1,"x":2}}`}, nil},
		"items of another type":  {[]string{`1`}, []string{`"a"`}, []string{"item is text, and was integer"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := of(t, c.before...)
			var now contract.Contract
			now.AddItems("users", itemsOf(c.now...))
			require.Equal(t, c.want, before.Drift(&now, "users"))
			before.Learn(&now, []string{"users"}, nil)
			require.Empty(t, before.Drift(&now, "users"), "the contract has learned it")
			after, err := contract.Parse("c.json", string(before.Text()))
			require.NoError(t, err)
			require.Empty(t, after.Drift(&now, "users"))
		})
	}
}

func TestWhatIsNotInTheContractDoesNotDiffer(t *testing.T) {
	before := of(t, `{"id":1}`)
	var now contract.Contract
	require.Nil(t, before.Drift(&now, "users"), "no items")
	now.AddItems("orders", itemsOf(`{"no":1}`))
	require.Nil(t, before.Drift(&now, "orders"))
	outputs, jobs := before.Without([]string{"users", "orders"}, []string{"j"})
	require.Equal(t, []string{"orders"}, outputs)
	require.Equal(t, []string{"j"}, jobs)
}

// pagesOf returns the contract of a list with pages of some sizes. A run that continues after any of them
// has the same contract.
func pagesOf(t *testing.T, signs []evidence.PagingValue, sizes ...int) *contract.Contract {
	t.Helper()
	c, continued := &contract.Contract{}, &contract.Contract{}
	for i, size := range sizes {
		page := &engine.Page{PagingValues: signs}
		page.Job, page.Page, page.Count = "users", i+1, size
		c.AddPage(page)
		continued.AddPage(page)
		require.Equal(t, c.Text(), continued.Text())
		var err error
		continued, err = contract.Parse("state", string(continued.State()))
		require.NoError(t, err)
	}
	read, err := contract.Parse("c.json", string(c.Text()))
	require.NoError(t, err)
	return read
}

func TestThePagesOfAListDiffer(t *testing.T) {
	sign := func(at string, v any) []evidence.PagingValue { return []evidence.PagingValue{{At: at, Value: v}} }
	for name, c := range map[string]struct {
		before, now *contract.Contract
		want        []string
	}{
		"the same":             {pagesOf(t, nil, 10, 10, 3), pagesOf(t, nil, 10, 10, 10, 2), nil},
		"another size":         {pagesOf(t, nil, 10, 10, 3), pagesOf(t, nil, 5, 5, 5), []string{"pages have 5 items, and had 10"}},
		"before an empty page": {pagesOf(t, nil, 10, 10, 3, 0), pagesOf(t, nil, 5, 5, 5, 2, 0), []string{"pages have 5 items, and had 10"}},
		"a single full page":   {pagesOf(t, nil, 10, 10, 3), pagesOf(t, nil, 5, 5), nil},
		"sizes that vary":      {pagesOf(t, nil, 10, 9, 3), pagesOf(t, nil, 5, 5, 5), nil},
		"sizes vary now":       {pagesOf(t, nil, 10, 10, 3), pagesOf(t, nil, 5, 6, 5), nil},
		"a total is gone":      {pagesOf(t, sign("body.total", 9), 3, 3, 3), pagesOf(t, sign("body.more", true), 3), []string{"body.more is new (boolean)", "body.total is gone"}},
		"of one page":          {pagesOf(t, sign("body.total", 9), 3), pagesOf(t, sign("body.more", true), 3), []string{"body.more is new (boolean)"}},
		"a kind of token":      {pagesOf(t, sign("body.next", "https://a.test/2"), 3, 3, 3), pagesOf(t, sign("body.next", "abc"), 3), []string{"body.next has texts that do not have the format uri"}},
		"a list for a token":   {pagesOf(t, sign("body.next", "a"), 3), pagesOf(t, sign("body.next", []any{}), 3), []string{"body.next is list, and was text"}},
		"not looked at":        {pagesOf(t, sign("body.total", 9), 3, 3, 3), pagesOf(t, nil, 3), nil},
	} {
		require.Equal(t, c.want, c.before.DriftOfPages(c.now, "users"), name)
		c.before.Learn(c.now, nil, []string{"users"})
		require.Empty(t, c.before.DriftOfPages(c.now, "users"), name)
	}
}

// The schema is one to which another reader finds the items to conform, and a gone member not.
func TestTheSchemaIsThatOfTheItems(t *testing.T) {
	items := repeated(13, `{"id":1,"at":"2026-01-02T03:04:05Z","n":null,"tags":[{"a":1}]}`, `{"id":2.5,"at":"2026-01-02T03:04:05+01:00","n":{"x":"y"},"o":true,"tags":[]}`)
	c := of(t, items...)
	schema, err := c.Schema("")
	require.NoError(t, err)
	valid := validator(t, schema)
	for _, item := range items {
		require.NoError(t, valid(item))
	}
	require.Error(t, valid(`{"id":1,"n":null,"tags":[]}`))
	require.Error(t, valid(`{"id":"1","at":"2026-01-02T03:04:05Z","n":null,"tags":[]}`))
	require.Error(t, valid(`{"id":1,"at":"yesterday","n":null,"tags":[]}`))

	c.AddItems("a/b c~", itemsOf(`"x"`))
	schema, err = c.Schema("")
	require.NoError(t, err)
	valid = validator(t, schema)
	require.NoError(t, valid(items[0]))
	require.NoError(t, valid(`"x"`))
	require.Error(t, valid(`7`))
	_, err = c.Schema("user")
	require.EqualError(t, err, `the contract has no output "user"; did you mean "users"?`)
}

func validator(t *testing.T, schema value.Object) func(item string) error {
	t.Helper()
	text, err := value.Marshal(schema)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	require.NoError(t, compiler.AddResource("contract.json", parsed))
	compiled, err := compiler.Compile("contract.json")
	require.NoError(t, err, string(text))
	return func(item string) error {
		var v any
		require.NoError(t, json.Unmarshal([]byte(item), &v))
		return compiled.Validate(v)
	}
}

func TestADamagedContractIsAnErrorWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     `unexpected end`,
		`{"version": 1, "outputs": {"users": `: `unexpected end`,
		`[]`:                                   `want an object with version, outputs and pages`,
		`{"api": {}}`:                          `want version 1, got null`,
		`{"version": 2}`:                       `want version 1, got 2`,
		`{"version": 1, "output": {}}`:         `did you mean "outputs"?`,
		`{"version": 1, "outputs": {"users": {"types": ["integr"]}}}`:                          `outputs.users.types[0]: want a type, got "integr" (the types are object, empty, boolean, integer, bigint, number, decimal, text, list, null), at c.json:1:48`,
		`{"version": 1, "outputs": {"users": {"types": ["text"], "format": "zip"}}}`:           `want the format of texts, got "zip"`,
		`{"version": 1, "outputs": {"users": {"types": ["text"], "members": {}}}}`:             `want the members of objects`,
		`{"version": 1, "outputs": {"users": {"types": ["object"], "members": {"a": 1}}}}`:     `outputs.users.members.a: want an object`,
		`{"version": 1, "pages": {"users": {"size": -1}}}`:                                     `want a number of items or "varies"`,
		`{"version": 1, "pages": {"users": {"size": 5, "signs": {"types": "object"}}}}`:        `pages.users.signs.types: want a list of types`,
		`{"version": 1, "outputs": {"users": {"types": ["object"], "seen": 1, "optionl": 1}}}`: `did you mean "optional"?`,
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := contract.Read(path)
		require.ErrorIs(t, err, failure.ErrConfig, text)
		require.Contains(t, strings.ReplaceAll(err.Error(), path, "c.json"), want, text)
		require.Contains(t, err.Error(), "move it away")
	}
	none, err := contract.Read(filepath.Join(t.TempDir(), "none.json"))
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = contract.Read(t.TempDir())
	require.ErrorIs(t, err, failure.ErrConfig)
}

func TestASentenceNamesTheFirstDifferences(t *testing.T) {
	var all []string
	for i := range 10 {
		all = append(all, fmt.Sprint("d", i))
	}
	require.Equal(t, "d0; d1; d2; d3; d4; d5; d6; d7; and 2 more", contract.Sentence(all))
	require.Equal(t, "d0", contract.Sentence(all[:1]))
}

func FuzzContract(f *testing.F) {
	f.Add(`{"version": 1, "outputs": {"users": {"types": ["object"], "members": {"id": {"types": ["integer"]}}}}, "pages": {"users": {"size": 10, "signs": {"types": ["object"], "seen": 2}}}}`)
	f.Add(`{"version": 1, "pages": {"": {"size": "varies"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := contract.Parse("c.json", text)
		if err != nil {
			return
		}
		again, err := contract.Parse("c.json", string(c.Text()))
		require.NoError(t, err)
		require.Equal(t, string(c.Text()), string(again.Text()))
		for _, output := range c.Outputs() {
			require.Empty(t, c.Drift(again, output), "a contract does not differ from itself")
			_, err := c.Schema(output)
			require.NoError(t, err)
		}
		for _, job := range c.Jobs() {
			require.Empty(t, c.DriftOfPages(again, job))
		}
	})
}

func BenchmarkAddItems(b *testing.B) {
	item := `{"id":123456,"name":"Ada Lovelace","email":"ada@example.com","at":"2026-01-02T03:04:05Z","address":{"city":"London","zip":null},"tags":["a","b"],"active":true,"score":1.5}`
	items := itemsOf(repeated(1000, item)...)
	b.SetBytes(int64(len(items.Bytes())))
	var c contract.Contract
	for b.Loop() {
		c.AddItems("users", items)
	}
}
