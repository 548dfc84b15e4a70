package annotate_test

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/annotate"
)

func ExampleYAML() {
	text := []byte(`{
		"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "pagenum", "forceStop": {"pages": 20}}},
		"config": {"jobs": [{"endpoint": "users"}]}}`)
	e, _ := engine.Load("users.json", text)
	out, _, _ := annotate.YAML(annotate.Config{
		Name: "users.json", Text: text, Explanation: e.Explain(), Redact: e.Redactor().Text, Width: 72,
	})
	_, rest, _ := strings.Cut(string(out), "method: pagenum\n")
	part, _, _ := strings.Cut(rest, "    #: by default")
	fmt.Print(part)
	// Output:
	//     forceStop:
	//       #: rule forceStop.pages: total.pages >= 20; the list ends
	//       #:   (limited) when the limit of 20 pages is reached
	//       pages: 20
}
