package runtime

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// itemRules are conditions that read the items of a page. None is met.
var itemRules = []struct{ name, keys string }{
	{"none", ``},
	{"max", `"stopRules": ["max(map(items, .updated_at)) < '2020'"]`},
	{"count", `"stopRules": ["count(items, .active) > 100000"]`},
	{"filter", `"stopRules": ["len(filter(items, .price > 100000)) > 1"]`},
	{"last", `"stopRules": ["items[-1].id == -1"]`},
	{"uniq", `"stopRules": ["len(uniq(map(items, .id))) < count"]`},
	{"all", `"stopRules": ["all(items, .updated_at < '2020')"]`},
	{"lazy", `"stopRules": ["page > 1e9 and max(map(items, .updated_at)) < '2020'"]`},
	{"four", `"stopRules": ["max(map(items, .updated_at)) < '2020'", "count(items, .active) > 100000", "items[-1].id == -1",
		"len(uniq(map(items, .id))) < count"]`},
	{"everything", `"stopRules": ["items[0] == items[1]"]`},
}

// itemsPage returns a page of items of about 275 bytes, minified.
func itemsPage(items int) []byte {
	body := []byte(`{"data":[`)
	for i := range items {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"id":%d,"name":"Item \"%d\" ä","price":%d.50,"active":%t,"tags":["a","b\n","c"],`, i, i, i, i%3 > 0)
		body = fmt.Appendf(body, `"owner":{"id":9007199254740993,"mail":"user%d@example.com","address":{"city":"Prague","zip":"%05d"}},`, i, i%99999)
		body = fmt.Appendf(body, `"updated_at":"2024-05-06T07:%02d:%02dZ","note":"Lorem ipsum dolor sit amet, consectetur adipiscing"}`, i/60%60, i%60)
	}
	return append(body, `],"next":"abc"}`...)
}

// BenchmarkItemRules measures reading and judging a page with rules that read its items.
// The rule none is the scan of the page, with which the others are compared.
func BenchmarkItemRules(b *testing.B) {
	for _, items := range []int{1000, 30_000} {
		body := itemsPage(items)
		for _, rule := range itemRules {
			b.Run(fmt.Sprintf("items=%d/%s", items, rule.name), func(b *testing.B) {
				keys := rule.keys
				if keys != "" {
					keys = `, "pagination": {"method": "pagenum", ` + keys + `}`
				}
				r := runOf(b, keys, "")
				copied := make([]byte, len(body))
				b.ReportAllocs()
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					copy(copied, body) // the reader modifies it
					r.pageContext().Page = 0
					response := &transport.Response{Status: http.StatusOK, Body: copied, Header: http.Header{}}
					reading, err := r.workspace.reader.Read(document.Response{Status: response.Status, Body: copied})
					require.NoError(b, err)
					c := r.pageContext()
					c.Page, c.Count, c.Body, c.Values = 1, reading.Items.Len(), reading.Body, reading.Values
					c.Total = rules.Total{Pages: 1, Items: items}
					page := Page{Record: trace.Record{Decision: trace.Continue}}
					if err := r.judge(&page); err != nil || page.Decision != trace.Continue {
						b.Fatal(err, page.StoppedBy)
					}
				}
			})
		}
	}
}
