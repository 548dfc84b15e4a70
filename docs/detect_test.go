package docs

import (
	"context"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/detect/detecttest"
	"github.com/stopwhen/stopwhen/fixtures"
)

// detectTable lists what `stopwhen detect` makes of every API of the zoo.
func detectTable() (string, error) {
	b := &strings.Builder{}
	b.WriteString("| API | result | items | pagination | doubts |\n|---|---|--:|---|---|\n")
	counts, err := attempts(detecttest.Try, func(a *detecttest.Attempt) {
		api, _, _ := strings.Cut(a.Case.Title, ": ")
		pagination := a.Pagination()
		if pagination != "" {
			pagination = "`" + cell(pagination) + "`"
		}
		doubts := cell(strings.Join(a.Result.Findings.Doubts, " "))
		fmt.Fprintf(b, "| %s | %s | %d of %d | %s | %s |\n", cell(api), a.Grade, a.Items, a.Wanted, pagination, doubts)
	})
	return counts + "\n\n" + b.String(), err
}

// recordedCounts says what `stopwhen detect --from` makes of recordings of the same APIs.
func recordedCounts() (string, error) {
	return attempts(detecttest.Record, func(*detecttest.Attempt) {})
}

// attempts tries detect on every API of the zoo and counts the grades.
func attempts(try func(context.Context, *fixtures.Case) (*detecttest.Attempt, error), each func(*detecttest.Attempt)) (string, error) {
	cases, err := fixtures.All()
	if err != nil {
		return "", err
	}
	grades := map[detecttest.Grade]int{}
	for _, c := range cases {
		if !strings.HasPrefix(c.Name, zooFolder) {
			continue
		}
		a, err := try(context.Background(), c)
		if err != nil {
			return "", fmt.Errorf("case %s: %w", c.Name, err)
		}
		grades[a.Grade]++
		each(a)
	}
	return fmt.Sprintf("%d recognized, %d recognized with doubt, %d not recognized, %d wrong without a doubt.",
		grades[detecttest.Recognized], grades[detecttest.Doubted], grades[detecttest.NotRecognized], grades[detecttest.Wrong]), nil
}
