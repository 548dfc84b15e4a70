package docs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// configSections lists every key of the configuration.
func configSections() (string, error) {
	b := &strings.Builder{}
	for _, section := range rules.Builtin().Reference() {
		title := "The root"
		if section.Path != "" {
			title = "`" + section.Path + "`"
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n", title, sentence(section.Doc))
		writeFields(b, section.Fields)
	}
	return b.String(), nil
}

// writeFields writes the table of supported fields, and lists the others below it.
func writeFields(b *strings.Builder, fields []rules.Field) {
	var refused, ignored []string
	b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, f := range fields {
		switch f.Support {
		case rules.Refused:
			refused = append(refused, "`"+f.Name+"`")
		case rules.Ignored:
			ignored = append(ignored, "`"+f.Name+"`")
		default:
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Name, valueText(f), defaultText(f), cell(f.Doc))
		}
	}
	if refused != nil {
		fmt.Fprintf(b, "\nNot supported yet: %s.\n", strings.Join(refused, ", "))
	}
	if ignored != nil {
		fmt.Fprintf(b, "\nIgnored, with a warning: %s.\n", strings.Join(ignored, ", "))
	}
}

// valueText describes the values of a field: its kind, or the texts that it allows.
func valueText(f rules.Field) string {
	if f.Values == nil {
		return f.Kind.String()
	}
	words := make([]string, len(f.Values))
	for i, v := range f.Values {
		words[i] = "`" + v + "`"
	}
	return wording.OrList(words)
}

// defaultText describes the default of a field. It is empty if there is none.
func defaultText(f rules.Field) string {
	switch {
	case f.Required:
		return "required"
	case f.Default == nil:
		return ""
	case f.KeboolaDefault == nil:
		return codeText(f.Default)
	case f.KeboolaDefault == rules.Off:
		return codeText(f.Default) + "; none in dialect keboola"
	}
	return codeText(f.Default) + "; " + codeText(f.KeboolaDefault) + " in dialect keboola"
}

func codeText(v any) string {
	list, ok := v.([]any)
	if !ok {
		return "`" + value.Preview(v) + "`"
	}
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = value.Preview(e)
	}
	return strings.Join(words, ", ")
}

// cell escapes a text for the cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// expressionNames lists the names that an expression can use.
func expressionNames() (string, error) {
	b := &strings.Builder{}
	fields := slices.DeleteFunc(slices.Clone(rules.ContextFields()), func(f rules.ContextField) bool { return f.Scope != rules.ScopePage })
	writeNames(b, "The page", fields)
	ofItems := slices.DeleteFunc(slices.Clone(rules.ContextFields()), func(f rules.ContextField) bool { return f.Scope != rules.ScopeItem })
	writeNames(b, "In `filter` and `fields`", ofItems)
	for _, section := range contextObjects(fields) {
		writeNames(b, section.title, section.fields)
	}
	return b.String(), nil
}

func writeNames(b *strings.Builder, title string, fields []rules.ContextField) {
	fmt.Fprintf(b, "\n## %s\n\n| name | type | meaning |\n|---|---|---|\n", title)
	for _, f := range fields {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Name, typeName(f.Type), cell(f.Doc))
	}
}

// contextObject is a type of the page context, with the names that have it.
type contextObject struct {
	title  string
	of     reflect.Type
	fields []rules.ContextField
}

// contextObjects lists the objects of the page context, each type once.
func contextObjects(fields []rules.ContextField) []contextObject {
	var list []contextObject
	for _, f := range fields {
		if f.Fields == nil {
			continue
		}
		had := slices.IndexFunc(list, func(o contextObject) bool { return o.of == f.Type })
		if had >= 0 {
			list[had].title += " and `" + f.Name + "`"
			continue
		}
		list = append(list, contextObject{"`" + f.Name + "`", f.Type, f.Fields})
	}
	return list
}

// functionTable lists the functions that an expression can call.
func functionTable() (string, error) {
	b := &strings.Builder{}
	b.WriteString("| function | returns | example | result |\n|---|---|---|---|\n")
	for _, f := range language.Builtin().Functions() {
		fmt.Fprintf(b, "| `%s` | %s | `%s` | `%s` |\n", f.Signature, cell(f.Doc), cell(f.Example), f.Result)
	}
	return b.String(), nil
}

// typeName names a Go type in the words of the expression language.
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

// methodSections prints every method as the expressions it consists of.
func methodSections() (string, error) {
	b := &strings.Builder{}
	for _, m := range rules.Builtin().Methods(rules.Keboola) {
		fmt.Fprintf(b, "\n## `%s`\n\n%s\n", m.Name, m.Doc)
		if len(m.Fields) > 0 {
			b.WriteString("\n")
			writeFields(b, m.Fields)
		}
		if err := writeExpressions(b, m); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// writeExpressions prints a method as it is compiled in each dialect, once if the
// dialects agree.
func writeExpressions(b *strings.Builder, m rules.Method) error {
	if m.Example == nil {
		return nil
	}
	texts := map[rules.Dialect]string{}
	for _, dialect := range rules.Dialects() {
		if !slices.ContainsFunc(rules.Builtin().Methods(dialect), func(one rules.Method) bool { return one.Name == m.Name }) {
			continue
		}
		text, err := compiled(m.Name, dialect, m.Example)
		if err != nil {
			return err
		}
		texts[dialect] = text
	}
	if texts[rules.Spec] == texts[rules.Keboola] {
		fmt.Fprintf(b, "\nWith %s:\n\n```\n%s```\n", settingsText(m.Example), texts[rules.Spec])
		return nil
	}
	for _, dialect := range rules.Dialects() {
		if text, ok := texts[dialect]; ok {
			fmt.Fprintf(b, "\nDialect `%s`, with %s:\n\n```\n%s```\n", dialect, settingsText(m.Example), text)
		}
	}
	return nil
}

func settingsText(settings rules.Object) string {
	if len(settings) == 0 {
		return "default settings"
	}
	var parts []string
	for _, m := range settings {
		parts = append(parts, fmt.Sprintf("`%s` %s", m.Name, value.Preview(m.Value)))
	}
	return strings.Join(parts, ", ")
}

// compiled prints what a method compiles to, without the rules that all methods
// share.
func compiled(method string, dialect rules.Dialect, settings rules.Object) (string, error) {
	paging := config.CustomMethod{Name: method, Settings: map[string]any{}}
	for _, m := range settings {
		paging.Settings[m.Name] = m.Value
	}
	e, err := engine.New(config.Config{
		BaseURL: "https://api.example.com/", Dialect: dialect,
		Pagination: config.Pagination{Method: paging}, Jobs: []config.Job{{Endpoint: "users"}},
	})
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	job := e.Explain().Jobs[0]
	line := func(r explain.RuleExplanation, note string) { fmt.Fprintf(b, "%-30s  %s%s\n", r.ID, r.Source, note) }
	for _, r := range job.State {
		line(r, "")
	}
	for _, r := range job.Next {
		note := ""
		if r.First {
			note = "    (also in the first request)"
		}
		line(r, note)
	}
	for _, r := range job.Stops {
		if r.Origin.By.Kind == rules.AuthorMethod {
			line(r, "")
		}
	}
	if !job.IncludeParams {
		b.WriteString("(only the first request has the job's params)\n")
	}
	return b.String(), nil
}
