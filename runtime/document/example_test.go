package document_test

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
)

func ExampleReader() {
	reader := document.NewReader(document.Options{
		Paths:     [][]string{{"meta", "next"}},
		DataField: &rules.DataField{Text: "data", Keys: []string{"data"}},
	})
	reading, err := reader.Read(document.Response{
		Status: 200,
		Body:   []byte(`{"data": [{"id": 1}, {"id": 2, "price": 1.50}], "meta": {"next": "abc", "total": 9}}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reading.Body)
	for item := range reading.Items.All() {
		fmt.Println(string(item))
	}
	// Output:
	// map[meta:map[next:abc]]
	// {"id":1}
	// {"id":2,"price":1.50}
}
