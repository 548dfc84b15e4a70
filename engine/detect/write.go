package detect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/secret"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// write writes the configuration of a trial, or one without pagination.
func (d *detection) write(ctx context.Context, t *trial) (*Result, error) {
	var c candidate
	if t != nil {
		c = t.candidate
	}
	root := d.written(c)
	if test := d.test(ctx, root, t); test != nil {
		root = append(root, value.Member{Name: "tests", Value: []any{test}})
	}
	text, err := value.Marshal(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, append(text, '\n'), "", "  "); err != nil {
		return nil, err
	}
	written, err := yamlOf(text)
	head := "# " + strings.Join(d.lines("What this is based on:", "", 96)[1:], "\n# ")
	return &Result{
		YAML: append([]byte(strings.ReplaceAll(head, "# \n", "#\n")+"\n\n"), written...), JSON: b.Bytes(),
		Findings: d.Findings, Requests: d.session.made, Config: root, Inputs: d.call.inputs, unpaged: c.pagination == nil,
		Name: jobID(d.call.endpoint), Env: slices.Sorted(maps.Keys(d.call.env)), Paged: t != nil && t.proof == proven,
	}, err
}

// Text describes a result for people, in lines of at most width characters.
func (r *Result) Text(width int) string {
	head := "Recognized"
	if r.unpaged {
		head = "Recognized, except for the pagination,"
	}
	if doubts := len(r.Findings.Doubts); doubts > 0 {
		head += " with " + wording.Counted(doubts, "doubt")
	}
	if r.YAML == nil {
		head = "Not recognized"
	}
	requests := "no request was made"
	if r.Requests > 0 {
		requests = wording.Counted(r.Requests, "request") + " made"
	}
	lines := append([]string{strings.TrimSuffix(head, ",") + "; " + requests + "."}, r.Findings.lines("Seen:", "  ", max(width-4, 20))...)
	return strings.Join(lines, "\n") + "\n"
}

// lines writes the findings as lists with titles, in lines of at most width characters after
// the mark of an item.
func (f Findings) lines(evidence, indent string, width int) []string {
	var lines []string
	for _, part := range []struct {
		title string
		texts []string
	}{{evidence, f.Evidence}, {"Doubts:", f.Doubts}, {"What would help:", f.Advice}} {
		if len(part.texts) > 0 {
			lines = append(lines, "", part.title)
		}
		for _, text := range part.texts {
			mark := indent + "- "
			for _, line := range wrap(text, width) {
				lines, mark = append(lines, mark+line), indent+"  "
			}
		}
	}
	return lines
}

// wrap breaks a text into lines of at most width characters. A longer word has a line of its
// own, and several spaces or control characters count as one space.
func wrap(text string, width int) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	return wording.Wrap(strings.Join(words, " "), width)
}

// yamlOf writes a JSON text as YAML. Every text in JSON is also a text in YAML, so only its style
// changes.
func yamlOf(text []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, fmt.Errorf("cannot write YAML: %w", err)
	}
	restyle(&root, "")
	return yaml.Dump(&root, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
}

// restyle gives the value of a key the style of a configuration: without braces, and with
// quotes only where they are needed. The pages of tests are written on one line each.
func restyle(node *yaml.Node, key string) {
	if node.Kind == yaml.ScalarNode && isPlain(node.Value) || node.Kind != yaml.ScalarNode && len(node.Content) > 0 {
		node.Style = 0
	}
	for i, child := range node.Content {
		name := ""
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			name = node.Content[i-1].Value
		}
		restyle(child, name)
		if key == "pages" && node.Kind == yaml.SequenceNode {
			child.Style |= yaml.FlowStyle
		}
	}
}

// plain matches texts that need no quotes, unless they are words with another meaning.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_./$?=&-]*( [A-Za-z0-9_./$?=&-]+)*$`)
})

// isPlain reports whether a text is read as a text without quotes.
func isPlain(text string) bool {
	words := []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
	return plain().MatchString(text) && !slices.Contains(words, strings.ToLower(text))
}

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
		inputs = inputs.With(name, value.Given("secret", secret.IsName(name)))
	}
	format := string(rules.FormatAuto)
	if d.page != nil {
		format = value.Unless(string(rules.FormatJSON), string(d.page.format))
	}
	var accepted value.Object
	if d.partial {
		accepted = object("ignoreErrors", []any{http.StatusPartialContent})
	}
	return value.Given("inputs", inputs, "api", value.Given(
		"baseUrl", d.call.base, "authentication", d.call.auth, "http", value.Given("headers", d.call.hidden).Merge(accepted),
		"response", value.Given("format", format), "pagination", d.pagination(c),
	), "config", value.Given("jobs", []any{d.job(c)}))
}

// pagination returns the pagination of a candidate. If a parameter of the job carries the page size,
// its name takes the place of the size, which is then written once.
func (d *detection) pagination(c candidate) value.Object {
	param := d.size.param
	if param == "" || slices.Contains(c.moved, param) {
		return c.pagination
	}
	var out value.Object
	for _, m := range c.pagination {
		switch {
		case m.Name == "limit" && param != "limit": // the name limit is the default of limitParam
			out = append(out, value.Member{Name: "limitParam", Value: param})
		case m.Name != "limit" && m.Name != "limitParam":
			out = append(out, m)
		}
	}
	return out
}

// job returns the job of a candidate.
func (d *detection) job(c candidate) value.Object {
	params := slices.DeleteFunc(slices.Clone(d.call.params), func(m value.Member) bool { return slices.Contains(c.moved, m.Name) })
	dataField := "."
	if d.page != nil {
		dataField = value.Unless(dataField, d.items.String())
	}
	return value.Given("id", value.Unless(d.call.endpoint, jobID(d.call.endpoint)), "endpoint", d.call.endpoint,
		"method", value.Unless(http.MethodGet, d.call.method), "params", params.Merge(c.sets), "headers", d.call.headers, "dataField", dataField)
}

var notInNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9_.-]+`) })

// jobID returns a short name for the items of an endpoint: the last segment of its path
// that is a word.
func jobID(endpoint string) string {
	path, _, _ := strings.Cut(endpoint, "?")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for _, segment := range slices.Backward(segments) {
		name := strings.Trim(notInNames().ReplaceAllString(strings.TrimSuffix(segment, ".json"), "-"), "-.")
		if strings.ContainsFunc(name, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }) && !strings.Contains(segment, "{") {
			return name
		}
	}
	return "items"
}
