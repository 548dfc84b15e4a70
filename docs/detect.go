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
	cases, err := fixtures.All()
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	b.WriteString("| API | result | items | pagination | doubts |\n|---|---|--:|---|---|\n")
	grades := map[detecttest.Grade]int{}
	for _, c := range cases {
		if !strings.HasPrefix(c.Name, detecttest.Folder+"/") {
			continue
		}
		a, err := detecttest.Try(context.Background(), c)
		if err != nil {
			return "", fmt.Errorf("case %s: %w", c.Name, err)
		}
		grades[a.Grade]++
		api, _, _ := strings.Cut(c.Title, ": ")
		pagination := a.Pagination()
		if pagination != "" {
			pagination = "`" + cell(pagination) + "`"
		}
		doubts := cell(strings.Join(a.Result.Findings.Doubts, " "))
		fmt.Fprintf(b, "| %s | %s | %d of %d | %s | %s |\n", cell(api), a.Grade, a.Items, a.Wanted, pagination, doubts)
	}
	counts := fmt.Sprintf("%d recognized, %d recognized with doubt, %d not recognized, %d wrong without a doubt.",
		grades[detecttest.Recognized], grades[detecttest.Doubted], grades[detecttest.NotRecognized], grades[detecttest.Wrong])
	return counts + "\n\n" + b.String(), nil
}
