package workbench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// ask asks everything about a position.
func ask(d *workbench.Document, at workbench.Position) {
	d.Completion(at)
	d.Hover(at)
	d.Definition(at)
	d.References(at)
	if _, name, ok := d.Renamable(at); ok {
		if edits, err := d.Rename(at, name+"_2"); err == nil {
			d.Edited(edits...)
		}
	}
}

// askAll asks everything about a document, at every step-th position.
func askAll(d *workbench.Document, step int) {
	for n, line := range strings.Split(d.Text, "\n") {
		for i := 0; i <= len(line)+1; i += step {
			ask(d, workbench.Position{Line: n, Character: i})
		}
	}
	d.Symbols()
	d.Inlays(workbench.Range{End: workbench.Position{Line: 1 << 20}})
	d.Lenses(context.Background())
	d.Format()
	d.Diagnostics()
}

func TestEveryCaseAnswersAtEveryPosition(t *testing.T) {
	fixtures.SkipUnderRace(t, "it plays all cases in one goroutine")
	i := 0
	for c, text := range allCases(t) {
		if i++; i%8 != 0 && c.Name != "demo/orders" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			d := open(c, text)
			askAll(d, 7)
			broken := text[:len(text)*2/3]
			askAll(d.With(broken), 13)
			if root, err := yaml.ParseByContent(diag.NewSource("", text)); err == nil {
				if out, err := yaml.Format(root); err == nil {
					askAll(workbench.New().Open("x.yaml", string(out)), 11)
				}
			}
		})
	}
}

func TestDiagnosticsAreThoseOfCheck(t *testing.T) {
	fixtures.SkipUnderRace(t, "it plays all cases in one goroutine")
	compared := 0
	for c, text := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			d := open(c, text)
			options := []engine.Option{
				engine.WithPlaceholders(), engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse),
			}
			e, err := engine.Load(c.ConfigName, []byte(text), options...)
			var want engine.Diagnostics
			if err != nil {
				require.ErrorAs(t, err, &want)
			} else {
				want = e.Warnings()
			}
			got := d.Diagnostics()
			require.Len(t, got, len(want))
			lines := strings.Split(text, "\n")
			for i, w := range want {
				require.Equal(t, w.Message, got[i].Message)
				require.Equal(t, w.Hint, got[i].Hint)
				if w.Pos.Line == 0 {
					continue
				}
				require.Equal(t, w.Pos.Line-1, got[i].Range.Start.Line)
				before := []rune(lines[w.Pos.Line-1])[:w.Pos.Column-1]
				require.Equal(t, len(utf16(string(before))), got[i].Range.Start.Character)
			}
			compared += len(want)
		})
	}
	require.Greater(t, compared, 60)
}

// shop is a configuration with something of everything, and shopPage a response of its API.
const (
	shop = `inputs:
  tenant: {doc: the tenant, default: acme}
api:
  baseUrl: https://{input.tenant}.example.com/v1/
  pagination:
    method: cursor
    idKey: id
    param: after
    stopRules:
    - body.meta.last == true
    - {name: quota, when: 'number(header("X-Quota")) == 0', outcome: limited}
    keep: {since: 'max(map(items, .updated_at))'}
config:
  jobs:
  - id: orders
    endpoint: orders
    dataField: data
    filter: item.total > 0
  - id: lines
    endpoint: orders/{order.id}/lines
    dataField: data
    params: {since: {expr: kept.since ?? "2026-01-01"}}
    for:
      order: {items: orders, when: order.total > 10}
tests:
- {name: one, job: orders, pages: [{data: []}], expect: {pages: 1}}
`
	shopPage = `{"meta": {"last": true, "next page": "p2", "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk"},
		"data": [{"id": 7, "total": 12.5, "updated_at": "2026-03-01"}]}`
)

// recorded returns a recording of one page.
func recorded(t testing.TB, address, body string) *recording.Recording {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	tape, err := recording.Read(strings.NewReader(fmt.Sprintf(`{"log": {"entries": [{"startedDateTime": "2026-01-01T00:00:00Z", "request": {"method": "GET", "url": %q},
		"response": {"status": 200, "headers": [{"name": "X-Quota", "value": "5"}, {"name": "Content-Type", "value": "application/json"}], "content": {"text": %s}}}]}}`, address, text)))
	require.NoError(t, err)
	return tape
}

// shopDocument opens shop with its recording.
func shopDocument(t testing.TB, text string) *workbench.Document {
	t.Helper()
	return workbench.New().Open("shop.yaml", shop).WithRecording(recorded(t, "https://acme.example.com/v1/orders", shopPage)).With(text)
}

// marked returns a text without its mark ‸, and the position of the mark.
func marked(text string) (string, workbench.Position) {
	before, after, _ := strings.Cut(text, "‸")
	lines := strings.Split(before, "\n")
	return before + after, workbench.Position{Line: len(lines) - 1, Character: len(utf16(lines[len(lines)-1]))}
}

// requireNoError requires a text to compile.
func requireNoError(t *testing.T, d *workbench.Document) {
	t.Helper()
	for _, left := range d.Diagnostics() {
		require.NotEqual(t, "error", left.Severity, left.Message)
	}
}

func labels(all []workbench.Completion) (out []string) {
	for _, c := range all {
		out = append(out, c.Label)
	}
	return out
}

func TestCompletion(t *testing.T) {
	edit := func(old, replacement string) string {
		require.Contains(t, shop, old)
		return strings.Replace(shop, old, replacement, 1)
	}
	for _, c := range []struct {
		name, text  string
		want        []string
		not         []string
		first, then string // the label to accept, and what the line becomes
	}{
		{name: "a key of the pagination", text: edit("    param: after\n", "    param: after\n    ‸\n"),
			want: []string{"nextRequest", "limit", "guards"}, not: []string{"idKey", "method", "offsetParam"}, first: "guards", then: "    guards: "},
		{name: "a key that is begun", text: edit("    param: after\n", "    param: after\n    ne‸\n"),
			want: []string{"nextRequest", "nextPageFlag"}, not: []string{"guards"}, first: "nextRequest", then: "    nextRequest: "},
		{name: "the first key of an object", text: edit("    idKey: id\n", "    idKey: id\n    guards:\n      ‸\n"), want: []string{"samePage", "maxPages"}},
		{name: "a key in brackets", text: edit("items: orders, when", "items: orders, ‸ when"), want: []string{"values", "from"}, not: []string{"items"}},
		{name: "a method", text: edit("method: cursor", "method: ‸"), want: []string{"pagenum", "offset", "cursor"}, first: "pagenum", then: "    method: pagenum"},
		{name: "a job", text: edit("items: orders", "items: ‸"), want: []string{"orders", "lines"}},
		{name: "an outcome", text: edit("outcome: limited", "outcome: li‸"), want: []string{"limited"}, not: []string{"complete"}},
		{name: "the path of a list", text: edit("dataField: data\n    filter", "dataField: ‸\n    filter"), want: []string{"data"}, not: []string{"meta"}},
		{name: "the path of an item", text: edit("idKey: id", "idKey: ‸"), want: []string{"id", "updated_at"}},
		{name: "a name", text: edit("body.meta.last == true", "co‸"), want: []string{"count", "concat"}, not: []string{"item", "order"}},
		{name: "a name in filter", text: edit("item.total > 0", "ite‸"), want: []string{"item", "items"}},
		{name: "a member of the body", text: edit("body.meta.last == true", "body.‸"), want: []string{"meta", "data"}},
		{name: "a deeper member", text: edit("body.meta.last == true", "body.meta.l‸ == true"), want: []string{"last"}, first: "last", then: "    - body.meta.last == true"},
		{name: "a member that is not a word", text: edit("body.meta.last == true", "body.meta.n‸"), first: "next page",
			want: []string{"next page"}, then: `    - body.meta["next page"]`},
		{name: "a member of an item", text: edit("item.total > 0", "item.t‸ > 0"), want: []string{"total"}, not: []string{"meta"}},
		{name: "in a predicate", text: edit("map(items, .updated_at)", "map(items, .‸)"), want: []string{"updated_at", "id"}},
		{name: "of the last item", text: edit("body.meta.last == true", "items[-1].‸"), want: []string{"updated_at"}},
		{name: "of a variable", text: edit("when: order.total", "when: order.‸"), want: []string{"total", "id"}},
		{name: "a variable in an address", text: edit("{order.id}", "{or‸}"), want: []string{"order"}},
		{name: "an input", text: edit("{input.tenant}", "{input.‸}"), want: []string{"tenant"}},
		{name: "a kept value", text: edit("kept.since ??", "kept.‸ ??"), want: []string{"since"}},
		{name: "state of the method", text: edit("body.meta.last == true", "state.‸"), want: []string{"id"}},
		{name: "a field of an object", text: edit("body.meta.last == true", "total.‸"), want: []string{"items", "pages"}},
		{name: "a header", text: edit(`header("X-Quota")`, `header("‸")`), want: []string{"X-Quota"}},
		{name: "a path in a text", text: edit("body.meta.last == true", `has("me‸")`), want: []string{"meta", "meta.last"}},
		{name: "an input of a test", text: edit("pages: [{data: []}]", "inputs: {‸}, pages: [{data: []}]"), want: []string{"tenant"}},
		{name: "nothing in a comment", text: edit("config:\n", "# ‸\nconfig:\n"), not: []string{"api", "tests"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, at := marked(c.text)
			d := shopDocument(t, text)
			got := d.Completion(at)
			for _, label := range c.want {
				require.Contains(t, labels(got), label)
			}
			for _, label := range c.not {
				require.NotContains(t, labels(got), label)
			}
			for _, one := range got {
				if one.Label == c.first && c.first != "" {
					after := workbench.Apply(text, []workbench.Edit{one.Edit})
					require.Equal(t, c.then, strings.Split(after, "\n")[at.Line])
					c.first = ""
				}
			}
			require.Empty(t, c.first, "it was not offered")
			for _, one := range got {
				require.NotContains(t, one.Detail, "eyJ")
			}
		})
	}
}

func TestCompletionInJSON(t *testing.T) {
	for _, c := range []struct{ name, text, accept, want string }{
		{"a key", `{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "offset", "li‸"}}}`, "limit",
			`{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "offset", "limit": }}}`},
		{"a key without quotes", `{"api": {ba‸`, "baseUrl", `{"api": {"baseUrl": `},
		{"a value", `{"api": {"pagination": {"method": "‸`, "pagenum", `{"api": {"pagination": {"method": "pagenum"`},
		{"a value without quotes", `{"api": {"pagination": {"method": ‸}}}`, "pagenum", `{"api": {"pagination": {"method": "pagenum"}}}`},
		{"a name after an escape", `{"api": {"pagination": {"method": "offset", "stopRules": ["header(\"X-A\") == cou‸"]}}}`, "count",
			`{"api": {"pagination": {"method": "offset", "stopRules": ["header(\"X-A\") == count"]}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, at := marked(c.text)
			for _, one := range workbench.New().Open("a.json", text).Completion(at) {
				if one.Label == c.accept {
					require.Equal(t, c.want, workbench.Apply(text, []workbench.Edit{one.Edit}))
					return
				}
			}
			require.Fail(t, "it was not offered")
		})
	}
}

func TestHover(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a key", "ke‸ep: {since", "values for the next run"},
		{"a method", "method: cur‸sor", "method **cursor**"},
		{"a path", "body.me‸ta.last", "body.meta"},
		{"a value of the recording", "body.meta.la‸st", "recorded: `true`"},
		{"a function", "num‸ber(header", "number(v)"},
		{"a function of the library", "ma‸x(map(", "max(1, 3, 2)"},
		{"a field", "item‸s, .upd", "the page's items"},
		{"a member of an item", "item.to‸tal > 0", "recorded: `12.5`"},
		{"a variable", "ord‸er.total", "variable of `for`"},
		{"a job", "items: ord‸ers", "job **orders**"},
		{"an input", "  ten‸ant: {doc", "input, which is named in one other place"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := strings.Replace(c.text, "‸", "", 1)
			require.Contains(t, shop, plain)
			text, at := marked(strings.Replace(shop, plain, c.text, 1))
			got := shopDocument(t, text).Hover(at)
			require.NotNil(t, got)
			require.Contains(t, got.Text, c.want)
		})
	}
}

func TestRenameChangesEveryMention(t *testing.T) {
	for _, c := range []struct {
		name, at, to string
		want         []string
		places       int
	}{
		{"a job", "- id: ord‸ers", "sales", []string{"- id: sales", "items: sales", "job: sales", "endpoint: orders\n"}, 3},
		{"an input", "{input.ten‸ant}", "shop", []string{"  shop: {doc", "{input.shop}"}, 2},
		{"a variable", "when: ord‸er.total", "o", []string{"o: {items: orders, when: o.total", "{o.id}"}, 3},
		{"a kept value", "keep: {sin‸ce", "from", []string{"keep: {from: ", "kept.from ??", "params: {since:"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			plain := strings.Replace(c.at, "‸", "", 1)
			text, at := marked(strings.Replace(shop, plain, c.at, 1))
			d := shopDocument(t, text)
			require.Len(t, d.References(at), c.places)
			require.Len(t, d.Definition(at), 1)
			edits, err := d.Rename(at, c.to)
			require.NoError(t, err)
			require.Len(t, edits, c.places)
			after := d.Edited(edits...)
			for _, want := range c.want {
				require.Contains(t, after.Text, want)
			}
			requireNoError(t, after)
		})
	}
	_, at := marked(strings.Replace(shop, "- id: orders", "- id: ord‸ers", 1))
	for _, name := range []string{"", "lines", "a: b"} {
		_, err := shopDocument(t, shop).Rename(at, name)
		require.Error(t, err, "%q", name)
	}
}

func TestATextThatDoesNotParseHasSymbolsAndTheLastExplanation(t *testing.T) {
	d := shopDocument(t, shop)
	good, err := d.Explain(0)
	require.NoError(t, err)
	require.True(t, good.Current)
	d = d.With(shop + "\n  : {").With(shop + "x: [")
	require.NotEmpty(t, d.Diagnostics())
	symbols := d.Symbols()
	require.Equal(t, "inputs", symbols[0].Name)
	last, err := d.Explain(0)
	require.NoError(t, err)
	require.False(t, last.Current)
	require.Equal(t, good.Text, last.Text)
	_, err = workbench.New().Open("x.yaml", "a: [").Explain(0)
	require.Error(t, err)
}

func TestInlaysShowTheDefaultsInEffect(t *testing.T) {
	text := "api:\n  baseUrl: https://a.test/\n  pagination:\n    method: offset\n    limit: 10\nconfig:\n  jobs:\n  - endpoint: users\n"
	d := workbench.New().Open("a.yaml", text)
	var all []string
	for _, one := range d.Inlays(workbench.Range{End: workbench.Position{Line: 99}}) {
		all = append(all, fmt.Sprintf("%d:%d %s", one.At.Line, one.At.Character, one.Label))
	}
	require.Contains(t, strings.Join(all, "\n"), "2:13 default")
	require.Contains(t, strings.Join(all, "\n"), "offsetParam: offset")
}

func TestLensesSayWhereTheListStops(t *testing.T) {
	lenses := shopDocument(t, shop).Lenses(context.Background())
	var titles []string
	for _, l := range lenses {
		titles = append(titles, l.Title)
	}
	require.Contains(t, titles, "would stop on page 1 of the recording (stopRules[0])")
	require.Contains(t, titles, "run this test")
	require.Contains(t, titles, "stress")
}

func TestFormatGivesExpressionsTheirSpaces(t *testing.T) {
	for source, want := range map[string]string{
		`count<limit  and  not truthy( body.more )`: `count < limit and not truthy(body.more)`,
		`-1+2*-3`:                                    `-1 + 2 * -3`,
		`body?.a ??"x"`:                              `body?.a ?? "x"`,
		`items[-1].id==body["a b"][1 : 2]`:           `items[-1].id == body["a b"][1:2]`,
		`count>0?1:2`:                                `count > 0 ? 1 : 2`,
		`map(items,.id)`:                             `map(items, .id)`,
		`{a:1 , "b":2}`:                              `{a: 1, "b": 2}`,
		`count in[1,2] or !( 1 in 1..3 )`:            `count in [1, 2] or !(1 in 1..3)`,
		`let x=1;x+1`:                                `let x = 1; x + 1`,
		`all( items , {.id>1} )`:                     `all(items, {.id > 1})`,
		`not (count==0)and(page>1)`:                  `not (count == 0) and (page > 1)`,
		`'a'+"b" matches  '^a'`:                      `'a' + "b" matches '^a'`,
		`filter(items, # .a > 1) // a comment stays`: `filter(items, # .a > 1) // a comment stays`,
		`this does not parse ((`:                     `this does not parse ((`,
	} {
		for name, text := range map[string]string{
			"a.json": `{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "pagenum", "stopRules": [` + quoteJSON(source) + `]}}}`,
			"a.yaml": "api:\n  pagination:\n    stopRules:\n    - '" + strings.ReplaceAll(source, "'", "''") + "'\n",
		} {
			d := workbench.New().Open(name, text)
			require.Contains(t, d.Edited(d.Format()...).Text, map[string]string{
				"a.json": quoteJSON(want), "a.yaml": "'" + strings.ReplaceAll(want, "'", "''") + "'",
			}[name])
		}
	}
}

func quoteJSON(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text)
	return strings.TrimSpace(b.String())
}

func TestFormatChangesNoRule(t *testing.T) {
	fixtures.SkipUnderRace(t, "it plays all cases in one goroutine")
	edited := 0
	for c, text := range allCases(t) {
		d := open(c, text)
		edits := d.Format()
		after := d.Edited(edits...)
		require.Empty(t, after.Format(), c.Name)
		if len(edits) == 0 {
			continue
		}
		before, err := d.Explain(0)
		if err != nil {
			continue
		}
		edited++
		x, err := after.Explain(0)
		require.NoError(t, err, c.Name)
		require.True(t, x.Current, c.Name)
		require.Len(t, x.Data.Jobs, len(before.Data.Jobs), c.Name)
	}
	require.Positive(t, edited)
}

func TestAFixMendsTheMistake(t *testing.T) {
	for text, want := range map[string]string{
		`{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "ofset", "limit": 2}}, "config": {"jobs": [{"endpoint": "x"}]}}`:                            `"method": "offset"`,
		`{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "offset", "limit": 2, "offsetParm": "o"}}, "config": {"jobs": [{"endpoint": "x"}]}}`:        `"offsetParam": "o"`,
		`{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "pagenum", "stopRules": ["count === 0"]}}, "config": {"jobs": [{"endpoint": "x"}]}}`:        `count == 0`,
		`{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "pagenum", "stopRules": ["cuont == 0"]}}, "config": {"jobs": [{"endpoint": "x"}]}}`:         `count == 0`,
		`{"api": {"baseUrl": "https://a.test/", "pagination": {"method": "pagenum", "stopRules": ["length(items) == 0"]}}, "config": {"jobs": [{"endpoint": "x"}]}}`: `len(items) == 0`,
	} {
		d := workbench.New().Open("a.json", text)
		found := d.Diagnostics()
		require.NotEmpty(t, found, text)
		require.NotNil(t, found[0].Fix, "%+v", found[0])
		after := d.Edited(found[0].Fix.Edits...)
		require.Contains(t, after.Text, want)
		requireNoError(t, after)
	}
}

func TestAnAnchorHasThePlaceOfItsAlias(t *testing.T) {
	text, at := marked("x-shared:\n  paging: &paging\n    method: offset\n    ‸\napi:\n  baseUrl: https://a.test/\n  pagination: *paging\nconfig:\n  jobs:\n  - endpoint: x\n")
	require.Contains(t, labels(workbench.New().Open("a.yaml", text).Completion(at)), "offsetParam")
	text, at = marked("x-shared: &paging\n  method: offset\n  stopRules: ['cou‸']\napi:\n  pagination:\n    <<: *paging\n")
	require.Contains(t, labels(workbench.New().Open("a.yaml", text).Completion(at)), "count")
}

func TestPositionsCountUTF16(t *testing.T) {
	text := "api:\r\n  baseUrl: https://a.test/\r\nx-note: '💡💡'\r\nconfig: {jobs: [{endpoint: x, id: '💡', lmit: 1}]}\r\n"
	found := workbench.New().Open("a.yaml", text).Diagnostics()
	require.Len(t, found, 1)
	require.Equal(t, workbench.Position{Line: 3, Character: 40}, found[0].Range.Start)
	edits := []workbench.Edit{{Range: workbench.Range{Start: workbench.Position{Line: 2, Character: 11}, End: workbench.Position{Line: 2, Character: 13}}, Text: "x"}}
	require.Contains(t, workbench.Apply(text, edits), "'💡x'\r\n")
	require.Equal(t, "abc", workbench.Apply("abc", []workbench.Edit{{Range: workbench.Range{Start: workbench.Position{Line: 9}, End: workbench.Position{Line: 12}}}}))
}

// TestAnswersAreFast compares what the answers about a file of 1,000 lines take with its compilation: about 50 ms for
// 160 jobs. It is the fastest of several attempts that counts, since other processes may run.
func TestAnswersAreFast(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures the time of one goroutine")
	var b strings.Builder
	begin, _, _ := strings.Cut(shop, "tests:")
	b.WriteString(begin)
	for i := range 160 {
		fmt.Fprintf(&b, "  - id: job%d\n    endpoint: things/{thing.id}/%d\n    dataField: data\n    params: {a: {expr: 'input.tenant + \"x\"'}}\n"+
			"    filter: item.total > %d and count < 3\n    for: {thing: {items: orders}}\n", i, i, i)
	}
	text := b.String()
	require.Greater(t, strings.Count(text, "\n"), 900)
	d := shopDocument(t, text)
	requireNoError(t, d)
	compiled, answered := time.Hour, time.Hour
	for i := range 8 {
		edited := d.With(strings.Replace(text, "count < 3", fmt.Sprint("count < ", i+4), 1))
		start := time.Now()
		edited.Diagnostics()
		compiled = min(compiled, time.Since(start))
		start = time.Now()
		at := workbench.Position{Line: 500, Character: 20}
		edited.Completion(at)
		edited.Hover(at)
		edited.References(at)
		edited.Symbols()
		edited.Format()
		answered = min(answered, time.Since(start))
	}
	t.Logf("%v to compile, %v to answer", compiled, answered)
	require.Less(t, answered, 2*compiled)
}

func FuzzPositions(f *testing.F) {
	fixtures.SkipUnderRace(f, "it runs a single goroutine")
	f.Add(shop, 3, 5)
	f.Add(`{"api": {"pagination": {"method": "offset", "stopRules": ["map([.id] body[\"a`, 0, 60)
	f.Add("a: &a\n  b: *a\n", 1, 6)
	cases, err := fixtures.All()
	require.NoError(f, err)
	for _, c := range cases {
		f.Add(string(c.Config), 2, 20)
	}
	f.Fuzz(func(t *testing.T, text string, line, character int) {
		if len(text) > 4000 {
			return
		}
		for _, name := range []string{"a.json", "a.yaml"} {
			d := workbench.New().Open(name, text)
			ask(d, workbench.Position{Line: line, Character: character})
			d.Symbols()
			for _, one := range d.Completion(workbench.Position{Line: line, Character: character}) {
				workbench.Apply(text, []workbench.Edit{one.Edit})
			}
			if again := d.Edited(d.Format()...).Format(); len(again) > 0 {
				t.Fatalf("formatted twice: %v in %q", again, text)
			}
		}
	})
}
