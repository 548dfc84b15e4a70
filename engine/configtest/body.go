package configtest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// contentTypes has the content types of the formats other than JSON.
var contentTypes = map[string]string{
	rules.NDJSON: "application/x-ndjson", rules.CSV: "text/csv", rules.XML: "application/xml", rules.Auto: "text/plain",
}

// bodyOf returns the body of a page and its content type. In a test of a job whose format
// is not JSON, a body that is a string is sent as its text.
func bodyOf(answer rules.Answer, format string) (body []byte, contentType string) {
	var text string
	if contentType = contentTypes[format]; contentType != "" && json.Unmarshal(answer.Body, &text) == nil {
		return []byte(text), contentType
	}
	return answer.Body, "application/json"
}

// samplePage returns a page with items as a test has it, and its body: as JSON, or as a
// string that [bodyOf] sends as its text.
func samplePage(items []any, job rules.Job) (page, body any) {
	text := ""
	switch job.Response.Format {
	case rules.NDJSON:
		text = strings.Repeat("{\"id\": 1}\n", len(items))
	case rules.CSV:
		if job.Response.Header {
			text = "id\n"
		}
		text += strings.Repeat("1\n", len(items))
	case rules.XML:
		text = sampleXML(job.DataField.Keys, len(items))
	default:
		page = pageOf(items, job.DataField)
		return page, page
	}
	return rules.Object{{Name: "body", Value: text}}, text
}

// sampleXML returns a document with a number of elements at a path.
func sampleXML(path []string, items int) string {
	if len(path) == 0 {
		path = []string{"item"}
	}
	last := len(path) - 1
	text := strings.Repeat("<"+path[last]+"><id>1</id></"+path[last]+">", items)
	for _, name := range slices.Backward(path[:last]) {
		text = "<" + name + ">" + text + "</" + name + ">"
	}
	return text
}
