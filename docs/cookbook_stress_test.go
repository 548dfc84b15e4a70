package docs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// stressOf puts the configuration of a case under stress.
func stressOf(c *fixtures.Case) (*stress.Report, error) {
	text := strings.ReplaceAll(string(c.Config), "{base}", "https://api.example.com")
	options := []engine.Option{
		engine.WithPlaceholders(), engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse),
	}
	e, err := engine.Load(c.ConfigName, []byte(text), options...)
	if err != nil {
		return nil, err
	}
	return e.Stress(context.Background(), stress.Options{WithoutFixes: true})
}

// stressTable shows which behaviours are not complete. Jobs that fare alike share a table.
func stressTable(c *fixtures.Case) (string, error) {
	report, err := stressOf(c)
	if err != nil {
		return "", err
	}
	var texts []string
	jobs := map[string][]string{} // by text
	for i := range report.Jobs {
		job := &report.Jobs[i]
		text := jobTable(job)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		jobs[text] = append(jobs[text], "`"+job.Job+"`")
	}
	b := &strings.Builder{}
	for _, text := range texts {
		whose := ""
		if len(texts) > 1 {
			whose = ", " + strings.Join(jobs[text], ", ")
		}
		fmt.Fprintf(b, "\n[Under stress](guide/stress.md)%s: %s", whose, text)
	}
	return b.String(), nil
}

// jobTable counts the rows that are complete, and names the others by their verdicts.
func jobTable(job *stress.JobReport) string {
	if job.Unknown != "" {
		return "there is no model, since " + job.Unknown + ".\n"
	}
	named := map[stress.Verdict][]string{}
	for _, row := range job.Rows {
		named[row.Verdict] = append(named[row.Verdict], "`"+row.Behaviour+"`")
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "complete in %d of %d.\n", len(named[stress.Complete]), len(job.Rows))
	head := "\n| verdict | rows | what the API does |\n|---|--:|---|\n"
	for _, v := range stress.Verdicts() {
		if v == stress.Complete || named[v] == nil {
			continue
		}
		fmt.Fprintf(b, "%s| %s | %d | %s |\n", head, v, len(named[v]), strings.Join(named[v], ", "))
		head = ""
	}
	return b.String()
}
