package detect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// wholeList is the number of items that each of the servers has.
const wholeList = 25

// A server serves a list as a public API does.
type server struct {
	name    string
	target  string // path and query that a user would type
	body    string // body of a POST request
	silent  bool   // no response says whether the list is complete
	respond api

	list func(from, size int) string // its items; nil for window
}

// items returns the whole list.
func (s server) items() string {
	if s.list != nil {
		return s.list(0, wholeList)
	}
	return window(0, wholeList)
}

// window returns some of the items as a JSON list. Their identifiers are 1 to 25.
func window(from, size int) string {
	var items []string
	for i := max(from, 0); i < min(from+size, wholeList); i++ {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"item %d"}`, i+1, i+1))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// descending is window for a list that begins with the item 25.
func descending(from, size int) string {
	var items []string
	for i := from; i < min(from+size, wholeList); i++ {
		items = append(items, fmt.Sprintf(`{"id":"90%02d","text":"message"}`, wholeList-i))
	}
	return "[" + strings.Join(items, ",") + "]"
}

// when returns one of two values.
func when[T any](ok bool, yes, no T) T {
	if ok {
		return yes
	}
	return no
}

// inBody returns an integer member of a JSON body.
func inBody(r *http.Request, otherwise int, keys ...string) int {
	var v any
	_ = json.Unmarshal([]byte(bodyOf(r)), &v)
	for _, key := range keys {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	if n, ok := v.(float64); ok {
		return int(n)
	}
	return otherwise
}

func of(contentType string) http.Header { return http.Header{"Content-Type": {contentType}} }

// numbered serves pages by their number, from first on. write gets the index of the first item, the
// page size and whether there is more.
func numbered(param, sizeParam string, first int, write func(from, size int, more bool) (http.Header, string)) api {
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		size := number(q, sizeParam, 10)
		from := (number(q, param, first) - first) * size
		header, body := write(from, size, from+size < wholeList)
		return 200, header, body
	}
}

// indexed serves items by the index of the first one.
func indexed(param, sizeParam string, write func(from, size int, more bool) (http.Header, string)) api {
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		from, size := number(q, param, 0), number(q, sizeParam, 10)
		header, body := write(from, size, from+size < wholeList)
		return 200, header, body
	}
}

// tokens serves pages by tokens such as tok-10-c, which are opaque to a client.
func tokens(param string, write func(from int, token string, more bool) (http.Header, string)) api {
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		from := 0
		if parts := strings.Split(q.Get(param), "-"); len(parts) == 3 {
			from, _ = strconv.Atoi(parts[1])
		} else if q.Has(param) && q.Get(param) != "" {
			return 400, nil, `{"message": "invalid token"}`
		}
		header, body := write(from, fmt.Sprintf("tok-%d-c", from+10), from+10 < wholeList)
		return 200, header, body
	}
}

// servers page as these APIs do. Most have a page size of 10.
func servers() []server {
	return []server{
		{name: "GitHub: Link header", target: "/repos/o/r/issues?per_page=10",
			respond: numbered("page", "per_page", 1, func(from, size int, more bool) (http.Header, string) {
				link := fmt.Sprintf(`<https://api.test/repos/o/r/issues?per_page=10&page=%d>; rel="next", <https://api.test/repos/o/r/issues?per_page=10&page=3>; rel="last"`, from/size+2)
				return http.Header{"Link": {when(more, link, `<https://api.test/repos/o/r/issues?per_page=10&page=1>; rel="first"`)}}, window(from, size)
			})},
		{name: "GitLab: number of pages in a header", target: "/projects?per_page=10&page=1",
			respond: numbered("page", "per_page", 1, func(from, size int, more bool) (http.Header, string) {
				next := when(more, strconv.Itoa(from/size+2), "")
				return http.Header{"X-Total": {"25"}, "X-Total-Pages": {"3"}, "X-Next-Page": {next}}, window(from, size)
			})},
		{name: "json-server: _page, total in a header", target: "/posts?_page=1&_limit=10",
			respond: numbered("_page", "_limit", 1, func(from, size int, _ bool) (http.Header, string) {
				return http.Header{"X-Total-Count": {"25"}}, window(from, size)
			})},
		{name: "json-server: _start, total in a header", target: "/posts?_start=0&_limit=10",
			respond: indexed("_start", "_limit", func(from, size int, _ bool) (http.Header, string) {
				return http.Header{"X-Total-Count": {"25"}}, window(from, size)
			})},
		{name: "offset, limit and a total", target: "/orders?limit=10&offset=0",
			respond: indexed("offset", "limit", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"total": 25, "orders": %s}`, window(from, size))
			})},
		{name: "Freshdesk: nothing said, status 404 after the last page", target: "/agents?page=1&per_page=10", silent: true,
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := (number(q, "page", 1) - 1) * 10
				if from >= wholeList {
					return 404, nil, `{"message": "no such page"}`
				}
				return 200, nil, window(from, 10)
			}},
		{name: "Django REST Framework: next is null", target: "/users/?page_size=10",
			respond: numbered("page", "page_size", 1, func(from, size int, more bool) (http.Header, string) {
				next := when(more, fmt.Sprintf(`"https://api.test/users/?page=%d&page_size=10"`, from/size+2), "null")
				return nil, fmt.Sprintf(`{"count": 25, "next": %s, "previous": null, "results": %s}`, next, window(from, size))
			})},
		{name: "rows of a name of their own", target: "/quotes?firstRow=0&maxRows=10", silent: true,
			respond: indexed("firstRow", "maxRows", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"quotes": %s}`, window(from, size))
			})},
		{name: "has_more is 1 or 0", target: "/tickets?page=1",
			respond: numbered("page", "", 1, func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"tickets": %s, "has_more": %s}`, window(from, size), when(more, "1", "0"))
			})},
		{name: "hasNext is Y or N, status 400 after the last page", target: "/accounts?pageNumber=1&pageSize=10",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := (number(q, "pageNumber", 1) - 1) * 10
				if from >= wholeList {
					return 400, nil, `{"message": "page out of range"}`
				}
				return 200, nil, fmt.Sprintf(`{"accounts": %s, "hasNext": "%s"}`, window(from, 10), when(from+10 < wholeList, "Y", "N"))
			}},
		{name: "eof", target: "/rows?offset=0&limit=10",
			respond: indexed("offset", "limit", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"rows": %s, "eof": %t}`, window(from, size), !more)
			})},
		{name: "next_exists, status 404 after the last page", target: "/stories?page=1",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := (number(q, "page", 1) - 1) * 10
				if from >= wholeList {
					return 404, nil, `{}`
				}
				return 200, nil, fmt.Sprintf(`{"stories": %s, "next_exists": %t}`, window(from, 10), from+10 < wholeList)
			}},
		{name: "complete, and a position that stays", target: "/query?batch=10",
			respond: tokens("position", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"records": %s, "nextPosition": "%s", "complete": %t}`, window(from, 10), token, !more)
			})},
		{name: "Marketo: moreResult, and another token on every page", target: "/activities.json?nextPageToken=tok-0-c",
			respond: tokens("nextPageToken", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"success": true, "result": %s, "nextPageToken": "%s", "moreResult": %t}`, window(from, 10), token, more)
			})},
		{name: "moreAvailable, pages from 0", target: "/assets?page=0&size=10",
			respond: numbered("page", "size", 0, func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"assets": %s, "moreAvailable": %t}`, window(from, size), more)
			})},
		{name: "Zendesk: cursors of an incremental export", target: "/incremental/tickets/cursor.json?start_time=1700000000&per_page=10",
			respond: tokens("cursor", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"tickets": %s, "after_url": "https://api.test/incremental/tickets/cursor.json?cursor=%s&per_page=10",`+
					` "after_cursor": "%s", "before_cursor": null, "end_of_stream": %t}`, window(from, 10), token, token, !more)
			})},
		{name: "Zendesk: times of an incremental export", target: "/incremental/tickets.json?start_time=1700000000",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := number(q, "start_time", 1700000000) - 1700000000
				to := min(from+10, wholeList)
				return 200, nil, fmt.Sprintf(`{"tickets": %s, "next_page": "https://api.test/incremental/tickets.json?start_time=%d",`+
					` "count": %d, "end_of_stream": %t, "end_time": %d}`, window(from, 10), 1700000000+to, to-from, to == wholeList, 1700000000+to)
			}},
		{name: "since and next_since", target: "/changes?since=0&limit=10", silent: true,
			respond: indexed("since", "limit", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"changes": %s, "next_since": %d}`, window(from, size), min(from+size, wholeList))
			})},
		{name: "lastId", target: "/trades?lastId=0&limit=10", silent: true,
			respond: indexed("lastId", "limit", func(from, size int, _ bool) (http.Header, string) { return nil, window(from, size) })},
		{name: "GraphQL: connection", target: "/graphql",
			body: `{"query": "query($after: String) { issues(first: 10, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"}`,
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				var body struct{ Variables struct{ After string } }
				_ = json.Unmarshal([]byte(bodyOf(r)), &body)
				from, _ := strconv.Atoi(strings.TrimPrefix(body.Variables.After, "c"))
				return 200, nil, fmt.Sprintf(`{"data": {"issues": {"nodes": %s, "pageInfo": {"hasNextPage": %t, "endCursor": "c%d"}}}}`,
					window(from, 10), from+10 < wholeList, from+10)
			}},
		{name: "GraphQL: skip and take", target: "/graphql",
			body: `{"query": "query($skip: Int, $take: Int) { orders(skip: $skip, take: $take) { items { id } totalCount pageInfo { hasNextPage } } }",` +
				` "variables": {"skip": 0, "take": 10}}`,
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				from, size := inBody(r, 0, "variables", "skip"), inBody(r, 10, "variables", "take")
				return 200, nil, fmt.Sprintf(`{"data": {"orders": {"items": %s, "totalCount": 25, "pageInfo": {"hasNextPage": %t}}}}`,
					window(from, size), from+size < wholeList)
			}},
		{name: "The Graph: skip, which the query declares", target: "/subgraphs", silent: true,
			body: `{"query": "query($skip: Int) { tokens(first: 10, skip: $skip) { id name } }"}`,
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				return 200, nil, fmt.Sprintf(`{"data": {"tokens": %s}}`, window(inBody(r, 0, "variables", "skip"), 10))
			}},
		{name: "OData: nextLink", target: "/Customers?$select=id",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := number(q, "$skiptoken", 0)
				next := when(from+10 < wholeList, fmt.Sprintf(`, "@odata.nextLink": "https://api.test/Customers?$select=id&$skiptoken=%d"`, from+10), "")
				return 200, nil, fmt.Sprintf(`{"@odata.context": "https://api.test/$metadata#Customers", "value": %s%s}`, window(from, 10), next)
			}},
		{name: "OData: $skip and $top", target: "/Products?$top=10&$skip=0&$count=true",
			respond: indexed("$skip", "$top", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"@odata.count": 25, "value": %s}`, window(from, size))
			})},
		{name: "HAL: _links.next.href", target: "/orders?size=10",
			respond: numbered("page", "size", 0, func(from, size int, more bool) (http.Header, string) {
				next := when(more, fmt.Sprintf(`, "next": {"href": "/orders?page=%d&size=10"}`, from/size+1), "")
				return nil, fmt.Sprintf(`{"_links": {"self": {"href": "/orders"}%s}, "_embedded": {"orders": %s},`+
					` "page": {"size": 10, "totalElements": 25, "totalPages": 3, "number": %d}}`, next, window(from, size), from/size)
			})},
		{name: "JSON:API: links.next", target: "/articles?page[size]=10",
			respond: numbered("page[number]", "page[size]", 1, func(from, size int, more bool) (http.Header, string) {
				next := when(more, fmt.Sprintf(`"https://api.test/articles?page%%5Bnumber%%5D=%d&page%%5Bsize%%5D=10"`, from/size+2), "null")
				return nil, fmt.Sprintf(`{"data": %s, "links": {"self": "https://api.test/articles", "next": %s}}`, window(from, size), next)
			})},
		{name: "JSON:API: page[offset]", target: "/articles?page[limit]=10&page[offset]=0",
			respond: indexed("page[offset]", "page[limit]", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"data": %s, "meta": {"total": 25}}`, window(from, size))
			})},
		{name: "Elasticsearch: from and size", target: "/products/_search", body: `{"query": {"match_all": {}}, "from": 0, "size": 10}`,
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				hits := window(inBody(r, 0, "from"), inBody(r, 10, "size"))
				return 200, nil, fmt.Sprintf(`{"took": 3, "timed_out": false, "hits": {"total": {"value": 25, "relation": "eq"}, "hits": %s}}`, hits)
			}},
		{name: "SOAP: XML with a number of pages", target: "/export.xml?page=1",
			respond: numbered("page", "", 1, func(from, size int, _ bool) (http.Header, string) {
				rows := &strings.Builder{}
				for i := from; i < min(from+size, wholeList); i++ {
					fmt.Fprintf(rows, "<Item><id>%d</id></Item>", i+1)
				}
				return of("text/xml"), fmt.Sprintf(`<Envelope><Body><ListResponse><TotalPages>3</TotalPages><Items>%s</Items></ListResponse></Body></Envelope>`, rows)
			})},
		{name: "NDJSON", target: "/export.ndjson?offset=0&limit=10", silent: true,
			respond: indexed("offset", "limit", func(from, size int, _ bool) (http.Header, string) {
				lines := strings.ReplaceAll(strings.Trim(window(from, size), "[]"), "},{", "}\n{")
				return of("application/x-ndjson"), when(lines == "", "", lines+"\n")
			})},
		{name: "CSV", target: "/export.csv?page=1&per_page=10", silent: true,
			respond: numbered("page", "per_page", 1, func(from, size int, _ bool) (http.Header, string) {
				rows := "id,name\n"
				for i := from; i < min(from+size, wholeList); i++ {
					rows += fmt.Sprintf("%d,item\n", i+1)
				}
				return of("text/csv"), rows
			})},
		{name: "a page number in the body", target: "/search", body: `{"filter": "all", "paging": {"page": 1, "pageSize": 10}}`,
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				size := inBody(r, 10, "paging", "pageSize")
				return 200, nil, fmt.Sprintf(`{"paging": {"totalCount": 25}, "results": %s}`, window((inBody(r, 1, "paging", "page")-1)*size, size))
			}},
		{name: "a token in a header", target: "/events?limit=10",
			respond: tokens("cursor", func(from int, token string, more bool) (http.Header, string) {
				return http.Header{"X-Next-Cursor": {when(more, token, "")}}, window(from, 10)
			})},
		{name: "a page token in a header", target: "/events?limit=10",
			respond: tokens("page_token", func(from int, token string, more bool) (http.Header, string) {
				return http.Header{"X-Next-Page-Token": {when(more, token, "")}}, window(from, 10)
			})},
		{name: "a page token in a header, in camel case", target: "/events?limit=10",
			respond: tokens("pageToken", func(from int, token string, more bool) (http.Header, string) {
				return http.Header{"X-Next-Page-Token": {when(more, token, "")}}, window(from, 10)
			})},
		{name: "PostgREST: status 206 with Content-Range", target: "/todos?limit=10&offset=0",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from, size := number(q, "offset", 0), number(q, "limit", 10)
				if from >= wholeList {
					return 416, nil, `{"message": "Requested range not satisfiable"}`
				}
				return 206, http.Header{"Content-Range": {fmt.Sprintf("%d-%d/25", from, min(from+size, wholeList)-1)}}, window(from, size)
			}},
		{name: "Slack: status 429 first", target: "/conversations.list?limit=10",
			respond: func() api {
				refused := false
				serve := tokens("cursor", func(from int, token string, more bool) (http.Header, string) {
					return nil, fmt.Sprintf(`{"ok": true, "channels": %s, "response_metadata": {"next_cursor": "%s"}}`, window(from, 10), when(more, token, ""))
				})
				return func(q url.Values, r *http.Request) (int, http.Header, string) {
					if !refused {
						refused = true
						return 429, http.Header{"Retry-After": {"1"}}, `{"ok": false, "error": "ratelimited"}`
					}
					return serve(q, r)
				}
			}()},
		{name: "a page size capped at 10", target: "/items?limit=100&offset=0",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				return 200, nil, fmt.Sprintf(`{"items": %s, "total": 25}`, window(number(q, "offset", 0), min(number(q, "limit", 10), 10)))
			}},
		{name: "DynamoDB: an empty second page with another token", target: "/scan?limit=10",
			respond: gap(1)},
		{name: "DynamoDB: an empty third page with another token", target: "/scan?limit=10",
			respond: gap(2)},
		{name: "one page with a total", target: "/countries",
			respond: func(url.Values, *http.Request) (int, http.Header, string) {
				return 200, nil, fmt.Sprintf(`{"total": 25, "countries": %s}`, window(0, wholeList))
			}},
		{name: "one page that says nothing", target: "/regions", silent: true,
			respond: func(url.Values, *http.Request) (int, http.Header, string) { return 200, nil, window(0, wholeList) }},
		{name: "a total in a header, and no parameter", target: "/members",
			respond: numbered("page", "per_page", 1, func(from, size int, _ bool) (http.Header, string) {
				return http.Header{"X-Total-Count": {"25"}}, window(from, size)
			})},
		{name: "Spring: pages from 0", target: "/invoices?page=0&size=10",
			respond: numbered("page", "size", 0, func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"content": %s, "totalPages": 3, "totalElements": 25, "number": %d, "size": 10, "first": %t, "last": %t}`,
					window(from, size), from/size, from == 0, !more)
			})},
		{name: "Spring: pageable, and no page in the address", target: "/payments?size=10",
			respond: numbered("page", "size", 0, func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"content": %s, "pageable": {"pageNumber": %d, "pageSize": 10, "offset": %d}, "totalPages": 3, `+
					`"number": %d, "size": 10, "last": %t}`, window(from, size), from/size, from, from/size, !more)
			})},
		{name: "Strapi: pagination[page]", target: "/articles?pagination[pageSize]=10",
			respond: numbered("pagination[page]", "pagination[pageSize]", 1, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"data": %s, "meta": {"pagination": {"page": %d, "pageSize": 10, "pageCount": 3, "total": 25}}}`,
					window(from, size), from/size+1)
			})},
		{name: "Anthropic: the last id is the cursor", target: "/models?limit=10",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := number(q, "after_id", 0)
				to := min(from+10, wholeList)
				return 200, nil, fmt.Sprintf(`{"data": %s, "has_more": %t, "first_id": "%d", "last_id": "%d"}`, window(from, 10), to < wholeList, from+1, to)
			}},
		{name: "Discord: before the last id", target: "/messages?limit=10", silent: true, list: descending,
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := 0
				if q.Has("before") {
					from = 9000 + wholeList - number(q, "before", 0) + 1
				}
				return 200, nil, descending(from, 10)
			}},
	}
}

// gap serves pages by tokens. One of them, counted from 0, is empty, although more follow.
func gap(empty int) api {
	const pages = 4
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		at := number(q, "nextToken", 0)
		items, next := "[]", fmt.Sprintf(`"%d"`, at+1)
		switch {
		case at < empty:
			items = window(at*10, 10)
		case at > empty:
			items = window((at-1)*10, 10)
		}
		if at == pages-1 {
			next = "null"
		}
		return 200, nil, fmt.Sprintf(`{"items": %s, "nextToken": %s}`, items, next)
	}
}

// The grades of a configuration. An API is misleading that does not give all items although nothing
// is doubted, or of which something is said that is not true.
type verdict struct {
	right  bool   // a run gives all items, each once, and calls the list complete
	misled string // what is not true; empty: nothing
	ids    []string
	err    error
}

// judgeServer runs the configuration that was written for a server.
func judgeServer(ctx context.Context, s server, r *detect.Result) (v verdict) {
	e, err := engine.Load("detected.yaml", r.YAML, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders(),
		engine.WithTransport(s.respond), engine.WithMaxPages(50))
	if err != nil {
		return verdict{misled: err.Error()}
	}
	result, err := e.Run(ctx, func(_ context.Context, p *engine.Page) error {
		for item := range p.Items.All() {
			v.ids = append(v.ids, identifier.FindStringSubmatch(string(item))[1])
		}
		return nil
	})
	var want []string
	for i := range wholeList {
		want = append(want, identifier.FindStringSubmatch(strings.Split(strings.Trim(s.items(), "[]"), "},{")[i])[1])
	}
	v.err = err
	v.right = err == nil && len(result.Jobs) == 1 && result.Jobs[0].Outcome == rules.Complete && slices.Equal(want, v.ids)
	doubts, seen := strings.Join(r.Findings.Doubts, " "), strings.Join(r.Findings.Evidence, " ")
	for _, c := range []struct {
		wrong bool
		says  string
	}{
		{!v.right && doubts == "", "no doubt is stated"},
		{!s.silent && strings.Contains(doubts, "Nothing in the response says"), "the response says something"},
		{!v.right && strings.Contains(seen, "The end was seen"), "the end was not seen"},
		{!v.right && strings.Contains(seen, "ends the list"), "that does not end the list"},
		{!v.right && strings.Contains(seen, "ends with this page"), "the list does not end with this page"},
		{v.right && r.Paged && strings.Contains(doubts, "reads the first page only"), "all pages are read"},
		{v.right && strings.Contains(doubts, "has more items than"), "it has no more"},
	} {
		if c.wrong {
			v.misled = c.says
		}
	}
	return v
}

// identifier matches the identifier of an item.
var identifier = regexp.MustCompile(`"id":\s*"?(\d+)`)

// TestServersThatPageAsPublicAPIsDo writes a configuration for every server and runs it. The configuration
// obtains all items, or a doubt says that it may not, and nothing that is said misleads.
func TestServersThatPageAsPublicAPIsDo(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	all := append(servers(), moreServers()...)
	require.Len(t, all, 103)
	right, withoutDoubt := 0, 0
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{api: s.respond}
				request := detect.Request{URL: "https://api.test" + s.target, Body: []byte(s.body)}
				r, err := detect.Detect(t.Context(), request, detect.Options{Transport: c})
				require.NoError(t, err)
				require.LessOrEqual(t, c.n, detect.MaxRequests)
				v := judgeServer(t.Context(), s, r)
				t.Logf("right: %t; %d items; %v; %d requests\n%s\n%s", v.right, len(v.ids), v.err, c.n, r.Text(100), r.YAML)
				require.Empty(t, v.misled)
				if v.right {
					right++
					if len(r.Findings.Doubts) == 0 {
						withoutDoubt++
					}
				}
			})
		})
	}
	require.GreaterOrEqual(t, right, 90)
	requireGolden(t, "testdata/servers.md", fmt.Sprintf("%d of %d right, %d of them without a doubt, none misleading\n", right, len(all), withoutDoubt))
}
