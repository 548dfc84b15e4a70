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

func ExampleSplit() {
	items := document.Split([]byte(`[9007199254740993, {"b": 1, "a": [ ]}]`))
	fmt.Printf("%d items\n%s", items.Len(), items.Bytes())
	// Output:
	// 2 items
	// 9007199254740993
	// {"b":1,"a":[]}
}
