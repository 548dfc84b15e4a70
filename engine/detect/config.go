package detect

import (
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
func (d *detection) config(pagination value.Object, c candidate) value.Object {
	root := d.written(pagination, c)
	api, _ := root.Get("api")
	http, _ := api.(value.Object).Get("http")
	headers, _ := http.(value.Object)
	return root.With("api", api.(value.Object).With("http", headers.With("maxRetries", 0)))
}

// written returns the configuration of a candidate as it is written, without tests.
func (d *detection) written(pagination value.Object, c candidate) value.Object {
	api := value.Object{{Name: "baseUrl", Value: d.call.base}}
	if d.call.auth != nil {
		api = append(api, value.Member{Name: "authentication", Value: d.call.auth})
	}
	if len(d.call.hidden) > 0 {
		api = append(api, value.Member{Name: "http", Value: value.Object{{Name: "headers", Value: d.call.hidden}}})
	}
	if format := d.format(); format != rules.JSON {
		api = append(api, value.Member{Name: "response", Value: value.Object{{Name: "format", Value: format}}})
	}
	if len(pagination) > 0 {
		api = append(api, value.Member{Name: "pagination", Value: pagination})
	}
	root := value.Object{}
	if len(d.call.inputs) > 0 {
		inputs := value.Object{}
		for _, name := range d.call.inputs {
			input := value.Object{}
			if secret.Name(name) {
				input = append(input, value.Member{Name: "secret", Value: true})
			}
			inputs = append(inputs, value.Member{Name: name, Value: input})
		}
		root = append(root, value.Member{Name: "inputs", Value: inputs})
	}
	return append(root, value.Member{Name: "api", Value: api},
		value.Member{Name: "config", Value: value.Object{{Name: "jobs", Value: []any{d.job(c)}}}})
}

func (d *detection) format() string {
	if d.page == nil {
		return rules.Auto
	}
	return d.page.format
}

// job returns the job of a candidate.
func (d *detection) job(c candidate) value.Object {
	job := value.Object{}
	if id := jobID(d.call.endpoint); id != d.call.endpoint {
		job = append(job, value.Member{Name: "id", Value: id})
	}
	job = append(job, value.Member{Name: "endpoint", Value: d.call.endpoint})
	if d.call.method != "GET" {
		job = append(job, value.Member{Name: "method", Value: d.call.method})
	}
	params := value.Object{}
	for _, m := range d.call.params {
		if !slices.Contains(c.moved, m.Name) {
			params = append(params, m)
		}
	}
	if params = params.Merge(c.sets); len(params) > 0 {
		job = append(job, value.Member{Name: "params", Value: params})
	}
	if len(d.call.headers) > 0 {
		job = append(job, value.Member{Name: "headers", Value: d.call.headers})
	}
	switch {
	case d.page == nil:
		job = append(job, value.Member{Name: "dataField", Value: "."})
	case len(d.items.keys) > 0:
		job = append(job, value.Member{Name: "dataField", Value: d.items.path()})
	}
	return job
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
