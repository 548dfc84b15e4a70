// Package docs writes the pages of docs/reference from the tables that the
// program itself works with, so that they cannot go stale; `go test ./docs
// -update` writes them anew.
package docs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

const generated = "<!-- Written from the code by `go test ./docs -update`. -->\n\n"

// Config is docs/reference/config.md: every key of the configuration.
func Config() string {
	b := &strings.Builder{}
	b.WriteString(generated + "# Configuration\n\nJSON, or YAML with the same keys. A key inside `pagination` that is unknown is an error.\n" +
		"A key outside it that the reference implementation knows and this one does not is an error where it would change what is requested, and a warning where it would only change the output.\n" +
		"A `#` before the name of a header, a parameter or a credential makes its value a secret, which is never printed; `{\"env\": \"NAME\"}` in its place takes it from the environment (`--env NAME`).\n")
	for _, s := range rules.Builtin().Reference() {
		title := s.Path
		if title == "" {
			title = "The root"
		} else {
			title = "`" + title + "`"
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n", title, sentence(s.Doc))
		fields(b, s.Fields)
	}
	return b.String()
}

func fields(b *strings.Builder, list []rules.Field) {
	b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, f := range list {
		if f.Unsupported != rules.None {
			continue
		}
		fallback := f.DefaultText()
		if f.Required {
			fallback = "required"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Name, f.ValueText(), fallback, cell(f.Doc))
	}
	var refused, unused []string
	for _, f := range list {
		switch f.Unsupported {
		case rules.OnRequest:
			refused = append(refused, "`"+f.Name+"`")
		case rules.OnOutput:
			unused = append(unused, "`"+f.Name+"`")
		}
	}
	if refused != nil {
		fmt.Fprintf(b, "\nRefused for now: %s.\n", strings.Join(refused, ", "))
	}
	if unused != nil {
		fmt.Fprintf(b, "\nWithout effect, with a warning: %s.\n", strings.Join(unused, ", "))
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Context is docs/reference/context.md: what an expression sees and may call.
func Context() string {
	b := &strings.Builder{}
	b.WriteString(generated + "# What an expression sees\n\nExpressions are written in the [expr language](https://expr-lang.org/docs/language-definition). They are evaluated after a page, and see:\n")
	table := func(title string, fields []rules.ContextField) {
		fmt.Fprintf(b, "\n## %s\n\n| name | type | meaning |\n|---|---|---|\n", title)
		for _, f := range fields {
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Name, typeName(f.Type), cell(f.Doc))
		}
	}
	fields := slices.DeleteFunc(rules.ContextFields(), func(f rules.ContextField) bool { return f.Audit })
	table("The page", fields)
	for _, object := range objects(fields) {
		table(object.title, object.fields)
	}
	b.WriteString("\n## Functions\n\nBeside those of the language. The examples see the body `{\"meta\": {\"next\": \"p2\", \"total\": 25}, \"done\": \"no\", \"flags\": []}`; a test evaluates them.\n\n| function | gives | example | result |\n|---|---|---|---|\n")
	for _, f := range compile.Builtin().Functions() {
		fmt.Fprintf(b, "| `%s` | %s | `%s` | `%s` |\n", f.Signature, cell(f.Doc), cell(f.Example), f.Result)
	}
	b.WriteString(`
## Missing values

What is absent never ends a run. ` + "`body.a.b.c`" + ` is nil where any part is absent, a comparison with nil is false, arithmetic with nil is nil, a function of the language given nil gives nil, and a list that is absent is gone through as an empty one. The verdict in the trace names what was missing, and after the first page the log proposes the nearest name.

Integers keep all their digits, however long, in comparisons, in arithmetic and when they are sent back. Kinds that do not go together, like ` + "`\"2\" > 1`" + `, end the run with a message that says how to write it.

An unknown name outside ` + "`body`, `items`, `state` and `job.params`" + ` is an error before any request. An expression has no access to files, network or environment.

## What an expression may spend

A configuration may come from somebody whom one does not trust. Refused before any request are a source of more than 16 KiB, predicates nested more than three deep, a pattern for ` + "`matches`" + ` that does not stand in the expression or is longer than 256 bytes, and a JSONPath with more than one ` + "`..`" + `. An evaluation that goes through more than a million elements, makes more than 8 MiB of texts and lists, or runs for more than a second ends the run with exit status 6.
`)
	return b.String()
}

// object is a type of the page context, with the fields that have it.
type object struct {
	title  string
	fields []rules.ContextField
}

// objects lists the objects of the context, each type once.
func objects(fields []rules.ContextField) []object {
	var list []object
	index := map[reflect.Type]int{}
	for _, f := range fields {
		if f.Fields == nil {
			continue
		}
		i, again := index[f.Type]
		if again {
			list[i].title += " and `" + f.Name + "`"
			continue
		}
		index[f.Type] = len(list)
		list = append(list, object{"`" + f.Name + "`", f.Fields})
	}
	return list
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "list"
	case reflect.Func:
		return "function"
	case reflect.Map, reflect.Struct, reflect.Pointer:
		return "object"
	}
	return "any"
}

// example settings for the page of methods: the required ones of each.
var examples = map[string]rules.Object{
	"offset":               {{Name: "limit", Value: 10}},
	"pagenum":              {{Name: "limit", Value: 10}},
	"cursor":               {{Name: "idKey", Value: "id"}, {Name: "param", Value: "since_id"}},
	"response.url":         {{Name: "urlKey", Value: "links.next"}},
	"zendesk.response.url": {},
	"header.link":          {{Name: "moreParam", Value: "results"}},
	"header.param":         {{Name: "responseHeader", Value: "X-Next-Token"}, {Name: "queryParam", Value: "token"}},
	"pagecount":            {{Name: "pagesField", Value: "meta.total_pages"}},
	"keyset":               {{Name: "idKey", Value: "id"}, {Name: "param", Value: "starting_after"}},
	"graphql.relay":        {{Name: "connection", Value: "data.repository.issues"}},
	"response.params":      {{Name: "responseParams", Value: rules.Object{{Name: "key-marker", Value: "NextKeyMarker"}, {Name: "id-marker", Value: "NextIdMarker"}}}},
	"response.param":       {{Name: "responseParam", Value: "meta.next"}, {Name: "queryParam", Value: "cursor"}},
}

// Methods is docs/reference/methods.md: every method as the expressions that it
// is, in both dialects.
func Methods() (string, error) {
	b := &strings.Builder{}
	b.WriteString(generated + "# Methods\n\nA method is an entry of one table: variables, parts of the next request, and stopping rules, all of them expressions. What stands here may be pasted into a configuration with `\"method\": \"expression\"` as `state`, `nextRequest` and `stopRules`, and behaves the same.\n")
	for _, m := range rules.Builtin().Methods() {
		fmt.Fprintf(b, "\n## `%s`\n\n%s\n", m.Name, m.Doc)
		if len(m.Fields) > 0 {
			b.WriteString("\n")
			fields(b, m.Fields)
		}
		example, ok := examples[m.Name]
		if !ok {
			continue
		}
		texts := map[string]string{}
		for _, dialect := range rules.Dialects() {
			if m.KeboolaOnly && dialect != rules.Keboola {
				continue
			}
			text, err := compiled(m.Name, dialect, example)
			if err != nil {
				return "", err
			}
			texts[dialect] = text
		}
		if texts[rules.Spec] == texts[rules.Keboola] {
			fmt.Fprintf(b, "\nWith %s:\n\n```\n%s```\n", settings(example), texts[rules.Spec])
			continue
		}
		for _, dialect := range rules.Dialects() {
			if text, ok := texts[dialect]; ok {
				fmt.Fprintf(b, "\nDialect `%s`, with %s:\n\n```\n%s```\n", dialect, settings(example), text)
			}
		}
	}
	return b.String(), nil
}

func settings(o rules.Object) string {
	var parts []string
	for _, m := range o {
		parts = append(parts, fmt.Sprintf("`%s` %s", m.Name, value.Preview(m.Value)))
	}
	if parts == nil {
		return "nothing set"
	}
	return strings.Join(parts, ", ")
}

// compiled prints what a method compiles to, without the rules that it shares.
func compiled(method, dialect string, example rules.Object) (string, error) {
	e, err := engine.New(rules.Config{
		BaseURL: "https://api.example.com/", Dialect: dialect,
		Pagination: append(rules.Object{{Name: "method", Value: method}}, example...),
		Jobs:       []rules.Job{{Endpoint: "users"}},
	})
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	job := e.Explain().Jobs[0]
	line := func(r compile.RuleExplanation, note string) { fmt.Fprintf(b, "%-30s  %s%s\n", r.ID, r.Source, note) }
	for _, r := range job.State {
		line(r, "")
	}
	for _, r := range job.Next {
		note := ""
		if r.First {
			note = "    (the first request too)"
		}
		line(r, note)
	}
	for _, r := range job.Stops {
		if strings.HasPrefix(r.ID, method) {
			line(r, "")
		}
	}
	if !job.IncludeParams {
		b.WriteString("(the job's params are sent with the first request alone)\n")
	}
	return b.String(), nil
}
