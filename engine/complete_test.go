package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
)

// A truthfulAPI is a drawn API whose responses say nothing false of its list.
type truthfulAPI struct {
	method string
	items  []json.RawMessage
	size   int

	container string   // the object with the signs; empty for the root
	signs     []string // the names of true signs
	read      string   // the name that the method reads
	last      string   // the value of the token or link of the last page, as JSON; empty if it has none
	empty     string   // the list of a page without items, as JSON; empty if it has none
	numbers   string   // the format of numbers: as number or text
	flags     [2]string
	beside    string // members that say that the request succeeded
	headers   bool   // the total, the range of the page and a flag are in headers, too
	rough     string // a number that looks like the total: of bytes, without the filter, estimated, or a lower bound
	stated    string // the name under which each page states the number of items of a full page; empty: it does not
	counts    bool   // count is the number of items of a page
	always    bool   // the address of a next page is on every page, beside a total
}

// pagings are the methods and how they are configured for an API, with the path of what they read.
var pagings = map[string]string{
	"offset": `"method": "offset", "limit": %d`, "pagenum": `"method": "pagenum", "limit": %d`,
	"pagecount":      `"method": "pagecount", "limit": %d, "pagesField": %q`,
	"cursor":         `"method": "cursor", "idKey": "id", "param": "since", "increment": 1, "params": {"size": %d}`,
	"keyset":         `"method": "keyset", "idKey": "id", "param": "after", "limit": %d`,
	"response.param": `"method": "response.param", "params": {"size": %d}, "responseParam": %q, "queryParam": "t"`,
	"response.url":   `"method": "response.url", "params": {"size": %d}, "urlKey": %q`,
	"header.link":    `"method": "header.link"`,
}

func drawTruthful(t *rapid.T) *truthfulAPI {
	draw := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	var names []string
	for _, kind := range []apinames.SignKind{apinames.SignTotal, apinames.SignPages, apinames.SignMore, apinames.SignLast} {
		if rapid.Bool().Draw(t, string(kind)) {
			names = append(names, rapid.SampledFrom(apinames.SignNames(kind)).Draw(t, "name"))
		}
	}
	a := &truthfulAPI{
		method: draw("method", slices.Sorted(maps.Keys(pagings))...), size: rapid.IntRange(1, 12).Draw(t, "size"),
		container: draw("container", "", "", "meta", "pagination", "page_info", "links"), signs: names,
		last: draw("last", "", "null", `""`, "false"), empty: draw("empty", "[]", "[]", "null", ""),
		numbers: draw("numbers", "%d", "%d", `"%d"`),
		flags:   rapid.SampledFrom([][2]string{{"false", "true"}, {"0", "1"}, {`"false"`, `"true"`}}).Draw(t, "flags"),
		// If the list is absent as well, a page with nothing but a message looks like a failure, so all of these have more.
		beside: draw("beside", "", `"status": "ok"`, `"success": true, "message": "Success"`, `"error": null, "errors": []`,
			`"code": 200`, `"code": 0, "msg": ""`, `"error": false`, `"request_id": "7f", "took": 3`,
			`"partial": false, "timed_out": false, "_shards": {"total": 5, "successful": 5, "failed": 0}`, `"errors": {"total": 0}`,
			`"errors": [{"severity": "warning", "message": "this version is deprecated"}]`, `"warnings": ["this version is deprecated"]`,
			`"retcode": 0, "retmsg": "ok", "responseStatus": "SUCCESS"`, `"messages": {"resultCode": "Ok", "message": ["from the cache"]}`,
			`"data_truncated": false, "view": {"id": 3, "total": 570}`, `"message": "Data retrieved", "remark": "from the cache", "took": 3`),
		stated:  draw("stated", "", "", "limit", "per_page", "pageSize", "page_limit", "maxResults"),
		headers: rapid.Bool().Draw(t, "headers"), counts: !slices.Contains(names, "count") && rapid.Bool().Draw(t, "counts"),
	}
	if !slices.ContainsFunc(names, func(name string) bool { return apinames.Key(name).Signs()[0].Kind == apinames.SignTotal }) {
		a.rough = draw("rough", "", "", `"total_size": 48210`, `"total": 1000, "filtered_total": %d`,
			`"total": 1000, "approximate": true`, `"estimated_total": 1000`, `"total": 1000, "totalIsEstimate": true`,
			`"total": 2, "is_estimated": true`, `"total": {"value": %d, "relation": "eq"}`, `"total": {"value": %d, "relation": "gte"}`,
			`"total": {"value": 0, "relation": "gte"}`, `"hits": {"total": {"value": %d, "relation": "gte"}}`,
			`"total": {"value": 1000, "approximate": true}`, `"total": %d, "num_found_exact": false`)
	}
	a.always = a.method == "offset" && a.rough == "" && rapid.Bool().Draw(t, "always")
	if a.always && !slices.Contains(a.signs, "total") {
		a.signs = append(a.signs, "total")
	}
	switch a.method {
	case "pagecount":
		if strings.Contains(a.rough, "gte") { // the number of pages is a lower bound, too, so that a full last page is evidence
			a.rough = ""
		}
		a.read = rapid.SampledFrom(apinames.SignNames(apinames.SignPages)).Draw(t, "read")
		a.numbers = "%d"
	case "response.param", "response.url":
		a.read = rapid.SampledFrom(apinames.SignNames(apinames.SignNext)).Draw(t, "read")
	}
	if a.method == "response.url" && a.last == "false" {
		a.last = "null"
	}
	item := draw("item", `{"id": %d}`, `{"id": %d, "error": "timeout", "status": "failed"}`, `{"id": %d, "total": 3, "next": "x", "count": 9}`,
		`{"id": %d, "lines": {"has_more": false, "total_count": 1, "data": [{"id": 1}]}}`, `{"id": %d, "name": "a", "tags": [], "done": false}`)
	for i := range rapid.IntRange(0, 40).Draw(t, "items") {
		a.items = append(a.items, json.RawMessage(fmt.Sprintf(item, i+1)))
	}
	return a
}

// path returns the path of the value that the method reads.
func (a *truthfulAPI) path() string {
	return strings.TrimPrefix(a.container+".", ".") + strings.ReplaceAll(a.read, ".", `\.`)
}

func (a *truthfulAPI) config() []byte {
	text := pagings[a.method]
	switch args := []any{a.size, a.path()}; strings.Count(text, "%") {
	case 1:
		text = fmt.Sprintf(text, args[0])
	case 2:
		text = fmt.Sprintf(text, args...)
	}
	job := `"endpoint": "users", "dataField": "data"`
	if size := `, "params": {"size": ` + strconv.Itoa(a.size) + `}`; strings.Contains(text, size) {
		text, job = strings.Replace(text, size, "", 1), job+size
	}
	return fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.test/", "pagination": {%s}}, "config": {"jobs": [{%s}]}}`, text, job)
}

// first returns the position of the first item of the page that is requested.
func (a *truthfulAPI) first(r *http.Request) int {
	number := func(name string, absent int) int {
		if text := r.URL.Query().Get(name); text != "" {
			n, _ := strconv.Atoi(text)
			return n
		}
		return absent
	}
	switch a.method {
	case "offset":
		return number("offset", 0)
	case "pagenum", "pagecount":
		return (number("page", 1) - 1) * a.size
	case "cursor":
		return number("since", 1) - 1
	case "keyset":
		return number("after", 0)
	}
	return number("t", 0)
}

func (a *truthfulAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	first := min(a.first(r), len(a.items))
	end := min(first+a.size, len(a.items))
	page, more := a.items[first:end], end < len(a.items)
	pages := (len(a.items) + a.size - 1) / a.size
	var signs []string
	add := func(name, value string) { signs = append(signs, fmt.Sprintf("%q: %s", name, value)) }
	flag := func(b bool) string {
		if b {
			return a.flags[1]
		}
		return a.flags[0]
	}
	for _, name := range a.signs {
		switch sign := apinames.Key(name).Signs()[0].Kind; {
		case name == a.read:
		case sign == apinames.SignTotal:
			add(name, fmt.Sprintf(a.numbers, len(a.items)))
		case sign == apinames.SignPages:
			add(name, fmt.Sprintf(a.numbers, pages))
		case sign == apinames.SignMore:
			add(name, flag(more))
		case sign == apinames.SignLast:
			add(name, flag(!more))
		}
	}
	if a.counts {
		add("count", strconv.Itoa(len(page)))
	}
	if a.stated != "" {
		add(a.stated, fmt.Sprintf(a.numbers, a.size))
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if a.headers && len(page) > 0 {
		header.Set("Content-Range", fmt.Sprintf("items %d-%d/%d", first, end-1, len(a.items)))
	}
	if a.headers {
		header.Set("X-Total-Count", strconv.Itoa(len(a.items)))
		header.Set("X-Has-More", strconv.FormatBool(more))
	}
	next := fmt.Sprintf("/users?t=%d&size=%d", end, a.size)
	switch {
	case a.method == "pagecount":
		add(a.read, strconv.Itoa(pages))
	case a.always:
		add("next", strconv.Quote(fmt.Sprintf("/users?offset=%d&limit=%d", first+a.size, a.size)))
	case a.method == "header.link" && more:
		header.Set("Link", "<https://api.test"+next+`>; rel="next"`)
	case a.read != "" && more && a.method == "response.url":
		add(a.read, strconv.Quote(next))
	case a.read != "" && more:
		add(a.read, strconv.Quote(strconv.Itoa(end)))
	case a.read != "" && a.last != "":
		add(a.read, a.last)
	}
	var members []string
	if text, _ := json.Marshal(page); len(page) > 0 {
		members = append(members, `"data": `+string(text))
	} else if a.empty != "" {
		members = append(members, `"data": `+a.empty)
	}
	if a.beside != "" {
		members = append(members, a.beside)
	}
	if text := a.rough; strings.Contains(text, "%d") {
		members = append(members, fmt.Sprintf(text, len(a.items)))
	} else if text != "" {
		members = append(members, text)
	}
	if text := strings.Join(signs, ", "); a.container == "" && text != "" {
		members = append(members, text)
	} else if text != "" {
		members = append(members, fmt.Sprintf("%q: {%s}", a.container, text))
	}
	body := "{" + strings.Join(members, ", ") + "}"
	return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// TestACompleteListDrawsNoEvidence draws APIs that are truthful: with signs of every kind, under
// every name that the audit knows, in every method. Each list is obtained whole, and no finding is
// evidence.
func TestACompleteListDrawsNoEvidence(t *testing.T) {
	hints := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		a := drawTruthful(t)
		var out, want bytes.Buffer
		for _, item := range a.items {
			want.Write(item)
			want.WriteByte('\n')
		}
		e := load(t, a.config(), engine.WithTransport(a), engine.WithClock(instant{}))
		result, err := e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
			_, err := page.Items.WriteTo(&out)
			return err
		})
		require.NoError(t, err, "%s\n%+v", a.config(), a)
		require.Equal(t, strings.ReplaceAll(want.String(), " ", ""), out.String(), "%s\n%+v", a.config(), a)
		for _, f := range result.Jobs[0].Findings {
			require.Equal(t, rules.WeightHint, f.Weight)
			hints[f.ID]++
		}
	})
	t.Log(hints)
}
