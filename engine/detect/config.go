package detect

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
)

// config returns the configuration of a candidate as the engine runs it: without retries,
// so that the number of requests is known, and before the first page is known, with the
// complete response as the only item.
func (d *detection) config(c candidate) value.Object {
	return d.written(c).WithPath([]string{"api", "http", "maxRetries"}, 0)
}

// written returns the configuration of a candidate as it is written, without tests.
func (d *detection) written(c candidate) value.Object {
	inputs := value.Object{}
	for _, name := range d.call.inputs {
		inputs = inputs.With(name, given("secret", secret.Name(name)))
	}
	format := rules.Auto
	if d.page != nil {
		format = unless(rules.JSON, d.page.format)
	}
	return given("inputs", inputs, "api", given(
		"baseUrl", d.call.base, "authentication", d.call.auth, "http", given("headers", d.call.hidden),
		"response", given("format", format), "pagination", c.pagination,
	), "config", given("jobs", []any{d.job(c)}))
}

// job returns the job of a candidate.
func (d *detection) job(c candidate) value.Object {
	params := slices.DeleteFunc(slices.Clone(d.call.params), func(m value.Member) bool { return slices.Contains(c.moved, m.Name) })
	dataField := "."
	if d.page != nil {
		dataField = unless(dataField, d.items.String())
	}
	return given("id", unless(d.call.endpoint, jobID(d.call.endpoint)), "endpoint", d.call.endpoint,
		"method", unless(http.MethodGet, d.call.method), "params", params.Merge(c.sets), "headers", d.call.headers, "dataField", dataField)
}

// given returns an object of names, each followed by its value. Empty texts and objects, and
// false, are left out.
func given(pairs ...any) value.Object {
	return slices.DeleteFunc(value.ObjectOf(pairs...), func(m value.Member) bool {
		object, isObject := m.Value.(value.Object)
		return isObject && len(object) == 0 || m.Value == "" || m.Value == false
	})
}

// unless returns a text; empty if it is the default.
func unless(fallback, text string) string {
	if text == fallback {
		return ""
	}
	return text
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// jobID returns a short name for the items of an endpoint: the last segment of its path
// that is a word.
func jobID(endpoint string) string {
	path, _, _ := strings.Cut(endpoint, "?")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for _, segment := range slices.Backward(segments) {
		name := strings.Trim(notInNames.ReplaceAllString(strings.TrimSuffix(segment, ".json"), "-"), "-.")
		if strings.ContainsFunc(name, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }) && !strings.Contains(segment, "{") {
			return name
		}
	}
	return "items"
}
