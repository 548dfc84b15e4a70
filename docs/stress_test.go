package docs

import (
	"context"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// behaviourTable lists what an API may do, group by group.
func behaviourTable() (string, error) {
	b := &strings.Builder{}
	b.WriteString("| group | behaviour | what the API does |\n|---|---|---|\n")
	group := ""
	for _, row := range append(stress.Behaviours(), stress.PartitionBehaviours()...) {
		shown := row.Group
		if shown == group {
			shown = ""
		}
		group = row.Group
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", shown, row.Name, cell(row.Says))
	}
	return b.String(), nil
}

// stressedMethods lists how each method of the table fares, with the settings of its example.
func stressedMethods() (string, error) {
	b := &strings.Builder{}
	b.WriteString("| method | loses items silently | only a guard ends it | says so | complete |\n|---|---|---|--:|--:|\n")
	for _, m := range rules.Builtin().Methods(rules.Spec) {
		if m.Example == nil {
			continue
		}
		report, err := stressOfMethod(m)
		if err != nil {
			return "", fmt.Errorf("method %s: %w", m.Name, err)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %d | %d |\n", m.Name, behavioursOf(report, stress.Silent), behavioursOf(report, stress.Endless),
			report.Count(stress.Reported), report.Count(stress.Complete))
	}
	return b.String(), nil
}

// stressOfMethod puts a job under stress that uses a method.
func stressOfMethod(m rules.Method) (*stress.Report, error) {
	pagination := append(value.Object{{Name: "method", Value: m.Name}}, m.Example...)
	text, err := value.Marshal(value.Object{
		{Name: "api", Value: value.Object{{Name: "baseUrl", Value: "https://api.example.com/"}, {Name: "pagination", Value: pagination}}},
		{Name: "config", Value: value.Object{{Name: "jobs", Value: []any{value.Object{
			{Name: "endpoint", Value: "items"}, {Name: "method", Value: verbOf(m)}, {Name: "dataField", Value: "items"},
		}}}}},
	})
	if err != nil {
		return nil, err
	}
	e, err := engine.Load("config.json", text)
	if err != nil {
		return nil, err
	}
	return e.Stress(context.Background(), stress.Options{WithoutFixes: true})
}

// verbOf returns the HTTP method of a job: POST if the method writes into a body.
func verbOf(m rules.Method) string {
	if len(m.Next.Body) > 0 {
		return "POST"
	}
	return "GET"
}

// behavioursOf lists the behaviours of a verdict.
func behavioursOf(report *stress.Report, v stress.Verdict) string {
	var names []string
	for _, row := range report.Jobs[0].Rows {
		if row.Verdict == v {
			names = append(names, "`"+row.Behaviour+"`")
		}
	}
	return strings.Join(names, ", ")
}
