package detect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// cursors serves pages by cursors, with the name of the parameter that only later pages have. Parameters
// beside it are refused if alone is set.
func cursors(param string, alone bool, write func(from int, cursor string, more bool) (http.Header, string)) api {
	serve := tokens(param, write)
	return func(q url.Values, r *http.Request) (int, http.Header, string) {
		if alone && q.Has(param) && len(q) > 2 {
			return 400, nil, `{"errors": "other parameters cannot be sent with a cursor"}`
		}
		return serve(q, r)
	}
}

// bounded serves pages between the indexes in two parameters. The last index belongs to the page if indexes
// count from 1.
func bounded(begin, end string, base int, write func(items string) (http.Header, string)) api {
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		from, _ := strconv.Atoi(q.Get(begin))
		to, _ := strconv.Atoi(q.Get(end))
		header, body := write(window(min(from-base, wholeList), max(to-from+base, 0)))
		return 200, header, body
	}
}

// resources is window with each item in a member, as FHIR and Reddit have it.
func resources(member string, from, size int) string {
	var out []string
	for i := from; i < min(from+size, wholeList); i++ {
		out = append(out, fmt.Sprintf(`{%q: {"id": "%d", "name": "t3_%d"}}`, member, i+1, i+1))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// moreServers are further servers that page as these APIs do.
func moreServers() []server {
	return []server{
		{name: "a range in a parameter", target: "/people?range=0-9",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				first, last, _ := strings.Cut(q.Get("range"), "-")
				from, _ := strconv.Atoi(first)
				to, err := strconv.Atoi(last)
				if err != nil {
					to = from + 9
				}
				if from >= wholeList {
					return 416, nil, `{"message": "range not satisfiable"}`
				}
				return 200, http.Header{"Content-Range": {fmt.Sprintf("people %d-%d/25", from, min(to, wholeList-1))}}, window(from, to-from+1)
			}},
		{name: "json-server: _start and _end", target: "/posts?_start=0&_end=10",
			respond: bounded("_start", "_end", 0, func(items string) (http.Header, string) {
				return http.Header{"X-Total-Count": {"25"}}, items
			})},
		{name: "from and to, both of the page", target: "/rows?from=1&to=10", silent: true,
			respond: bounded("from", "to", 1, func(items string) (http.Header, string) {
				return nil, fmt.Sprintf(`{"rows": %s}`, items)
			})},
		{name: "OpenStack: marker in the address", target: "/v2/servers?limit=10&marker=", silent: true,
			respond: indexed("marker", "limit", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"servers": %s}`, window(from, size))
			})},
		{name: "OpenStack: marker that nothing names", target: "/v2/volumes?limit=10", silent: true,
			respond: indexed("marker", "limit", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"volumes": %s}`, window(from, size))
			})},
		{name: "OpenStack: servers_links", target: "/v2.1/servers?limit=10",
			respond: indexed("marker", "limit", func(from, size int, more bool) (http.Header, string) {
				next := fmt.Sprintf(`, "servers_links": [{"rel": "next", "href": "https://api.test/v2.1/servers?limit=10&marker=%d"}]`, from+size)
				return nil, fmt.Sprintf(`{"servers": %s%s}`, window(from, size), when(more, next, ""))
			})},
		{name: "ASP.NET: X-Pagination has JSON", target: "/api/authors?pageNumber=1&pageSize=10",
			respond: numbered("pageNumber", "pageSize", 1, func(from, size int, more bool) (http.Header, string) {
				return http.Header{"X-Pagination": {fmt.Sprintf(`{"TotalCount":25,"PageSize":10,"CurrentPage":%d,"TotalPages":3,"HasNext":%t}`,
					from/size+1, more)}}, window(from, size)
			})},
		{name: "ASP.NET: X-Pagination, and no parameter", target: "/api/books",
			respond: numbered("pageNumber", "pageSize", 1, func(from, size int, more bool) (http.Header, string) {
				return http.Header{"X-Pagination": {fmt.Sprintf(`{"totalCount":25,"pageSize":10,"currentPage":%d,"totalPages":3}`,
					from/size+1)}}, window(from, size)
			})},
		{name: "jqGrid: page, total, records, rows", target: "/grid?page=1&rows=10&sidx=id&sord=asc",
			respond: numbered("page", "rows", 1, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"page": "%d", "total": 3, "records": "25", "rows": %s}`, from/size+1, window(from, size))
			})},
		{name: "jqGrid: total is the number of pages, many", target: "/grid?page=1&rows=3",
			respond: numbered("page", "rows", 1, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"page": %d, "total": 9, "records": 25, "rows": %s}`, from/size+1, window(from, size))
			})},
		{name: "jqGrid: no parameter", target: "/grid",
			respond: numbered("page", "rows", 1, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"page": 1, "total": 3, "records": 25, "rows": %s}`, window(from, size))
			})},
		{name: "a range without a header", target: "/people?range=0-9", silent: true,
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				first, last, _ := strings.Cut(q.Get("range"), "-")
				from, _ := strconv.Atoi(first)
				to, _ := strconv.Atoi(last)
				return 200, nil, window(from, to-from+1)
			}},
		{name: "Shopify: page_info in the Link header", target: "/admin/api/2026-01/products.json?limit=10&status=active",
			respond: cursors("page_info", true, func(from int, cursor string, more bool) (http.Header, string) {
				return http.Header{"Link": {when(more,
						fmt.Sprintf(`<https://api.test/admin/api/2026-01/products.json?limit=10&page_info=%s>; rel="next"`, cursor), "")}},
					fmt.Sprintf(`{"products": %s}`, window(from, 10))
			})},
		{name: "Stripe: has_more and the last id", target: "/v1/charges?limit=10",
			respond: indexed("starting_after", "limit", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"object": "list", "url": "/v1/charges", "has_more": %t, "data": %s}`, more, window(from, size))
			})},
		{name: "Salesforce: nextRecordsUrl", target: "/services/data/v60.0/query?q=SELECT+Id+FROM+Account",
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				from := 0
				if _, after, ok := strings.Cut(r.URL.Path, "01gD-"); ok {
					from, _ = strconv.Atoi(after)
				}
				next := fmt.Sprintf(`, "nextRecordsUrl": "/services/data/v60.0/query/01gD-%d"`, from+10)
				return 200, nil, fmt.Sprintf(`{"totalSize": 25, "done": %t%s, "records": %s}`, from+10 >= wholeList,
					when(from+10 < wholeList, next, ""), window(from, 10))
			}},
		{name: "Jira: nextPageToken and isLast", target: "/rest/api/3/search/jql?jql=project%3DA&maxResults=10",
			respond: tokens("nextPageToken", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"issues": %s%s, "isLast": %t}`, window(from, 10), when(more, `, "nextPageToken": "`+token+`"`, ""), !more)
			})},
		{name: "Jira: startAt, maxResults and total", target: "/rest/api/2/search?jql=order+by+id",
			respond: indexed("startAt", "maxResults", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"expand": "names", "startAt": %d, "maxResults": %d, "total": 25, "issues": %s}`, from, size, window(from, size))
			})},
		{name: "HubSpot: paging.next.after", target: "/crm/v3/objects/contacts?limit=10",
			respond: indexed("after", "limit", func(from, size int, more bool) (http.Header, string) {
				next := fmt.Sprintf(`, "paging": {"next": {"after": "%d", "link": "https://api.test/crm/v3/objects/contacts?limit=10&after=%d"}}`, from+size, from+size)
				return nil, fmt.Sprintf(`{"results": %s%s}`, window(from, size), when(more, next, ""))
			})},
		{name: "SCIM: startIndex from 1", target: "/scim/v2/Users?startIndex=1&count=10",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from, size := number(q, "startIndex", 1)-1, number(q, "count", 10)
				list := window(from, size)
				return 200, nil, fmt.Sprintf(`{"schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"], "totalResults": 25, "startIndex": %d,`+
					` "itemsPerPage": %d, "Resources": %s}`, from+1, strings.Count(list, `"id"`), list)
			}},
		{name: "FHIR: a bundle with relations", target: "/fhir/Patient?_count=10",
			respond: indexed("_getpagesoffset", "_count", func(from, size int, more bool) (http.Header, string) {
				next := fmt.Sprintf(`, {"relation": "next", "url": "https://api.test/fhir?_getpages=ab12&_getpagesoffset=%d&_count=10"}`, from+size)
				return of("application/fhir+json"), fmt.Sprintf(`{"resourceType": "Bundle", "type": "searchset", "total": 25,`+
					` "link": [{"relation": "self", "url": "https://api.test/fhir/Patient?_count=10"}%s], "entry": %s}`, when(more, next, ""), resources("resource", from, size))
			})},
		{name: "ArcGIS: exceededTransferLimit", target: "/FeatureServer/0/query?where=1%3D1&f=json&resultOffset=0&resultRecordCount=10",
			respond: indexed("resultOffset", "resultRecordCount", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"objectIdFieldName": "id", "fields": [{"name": "id"}]%s, "features": %s}`,
					when(more, `, "exceededTransferLimit": true`, ""), resources("attributes", from, size))
			})},
		{name: "ArcGIS: exceededTransferLimit without an offset", target: "/FeatureServer/0/query?where=1%3D1&f=json",
			respond: indexed("resultOffset", "resultRecordCount", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"objectIdFieldName": "id"%s, "features": %s}`,
					when(more, `, "exceededTransferLimit": true`, ""), resources("attributes", from, size))
			})},
		{name: "Socrata: $limit and $offset", target: "/resource/abcd-1234.json?$limit=10", silent: true,
			respond: indexed("$offset", "$limit", func(from, size int, _ bool) (http.Header, string) { return nil, window(from, size) })},
		{name: "CKAN: start and rows", target: "/api/3/action/package_search?rows=10",
			respond: indexed("start", "rows", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"success": true, "result": {"count": 25, "sort": "id", "facets": {}, "results": %s, "search_facets": {}}}`, window(from, size))
			})},
		{name: "MediaWiki: continue", target: "/w/api.php?action=query&list=allpages&aplimit=10&format=json",
			respond: tokens("apcontinue", func(from int, token string, more bool) (http.Header, string) {
				next := fmt.Sprintf(`"continue": {"apcontinue": "%s", "continue": "-||"}, `, token)
				return nil, fmt.Sprintf(`{"batchcomplete": "", %s"query": {"allpages": %s}}`, when(more, next, ""), window(from, 10))
			})},
		{name: "Algolia: nbPages", target: "/1/indexes/products?query=&hitsPerPage=10&page=0",
			respond: numbered("page", "hitsPerPage", 0, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"hits": %s, "nbHits": 25, "page": %d, "nbPages": 3, "hitsPerPage": 10}`, window(from, size), from/size)
			})},
		{name: "WordPress: totals in headers", target: "/wp-json/wp/v2/posts?per_page=10",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				page, size := number(q, "page", 1), number(q, "per_page", 10)
				if (page-1)*size >= wholeList {
					return 400, nil, `{"code": "rest_post_invalid_page_number", "message": "The page number requested is larger than the number of pages available."}`
				}
				return 200, http.Header{"X-Wp-Total": {"25"}, "X-Wp-Totalpages": {"3"}}, window((page-1)*size, size)
			}},
		{name: "Discourse: more_topics_url", target: "/latest.json",
			respond: numbered("page", "", 0, func(from, _ int, more bool) (http.Header, string) {
				next := fmt.Sprintf(`, "more_topics_url": "/latest.json?no_definitions=true&page=%d"`, from/10+1)
				return nil, fmt.Sprintf(`{"users": [{"id": 901, "username": "a"}], "topic_list": {"can_create_topic": false%s, "per_page": 10, "topics": %s}}`,
					when(more, next, ""), window(from, 10))
			})},
		{name: "Mastodon: max_id in the Link header", target: "/api/v1/timelines/public?limit=10", list: descending,
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from := 0
				if q.Has("max_id") {
					from = 9000 + wholeList - number(q, "max_id", 0) + 1
				}
				link := fmt.Sprintf(`<https://api.test/api/v1/timelines/public?limit=10&max_id=%d>; rel="next", <https://api.test/api/v1/timelines/public?limit=10&min_id=%d>; rel="prev"`,
					9000+wholeList-from-9, 9000+wholeList-from)
				return 200, http.Header{"Link": {when(from < wholeList, link, "")}}, descending(from, 10)
			}},
		{name: "Reddit: data.after", target: "/r/golang/new.json?limit=10",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("after"), "t3_"))
				after := when(from+10 < wholeList, fmt.Sprintf(`"t3_%d"`, from+10), "null")
				return 200, nil, fmt.Sprintf(`{"kind": "Listing", "data": {"after": %s, "dist": 10, "modhash": "", "before": null, "children": %s}}`, after, resources("data", from, 10))
			}},
		{name: "YouTube: nextPageToken", target: "/youtube/v3/playlistItems?part=id&maxResults=10&playlistId=PL1",
			respond: tokens("pageToken", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"kind": "youtube#list"%s, "pageInfo": {"totalResults": 25, "resultsPerPage": 10}, "items": %s}`,
					when(more, `, "nextPageToken": "`+token+`"`, ""), window(from, 10))
			})},
		{name: "X: meta.next_token", target: "/2/users/1/tweets?max_results=10",
			respond: tokens("pagination_token", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"data": %s, "meta": {"result_count": %d%s}}`, window(from, 10), min(10, wholeList-from),
					when(more, `, "next_token": "`+token+`"`, ""))
			})},
		{name: "Notion: start_cursor in the body", target: "/v1/databases/d1/query", body: `{"page_size": 10}`,
			respond: func(_ url.Values, r *http.Request) (int, http.Header, string) {
				var body map[string]any
				_ = json.Unmarshal([]byte(bodyOf(r)), &body)
				text, _ := body["start_cursor"].(string)
				from, _ := strconv.Atoi(strings.TrimPrefix(text, "c-"))
				more := from+10 < wholeList
				return 200, nil, fmt.Sprintf(`{"object": "list", "results": %s, "next_cursor": %s, "has_more": %t}`, window(from, 10),
					when(more, fmt.Sprintf(`"c-%d"`, from+10), "null"), more)
			}},
		{name: "Airtable: offset is a token", target: "/v0/app1/Table?pageSize=10",
			respond: tokens("offset", func(from int, token string, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"records": %s%s}`, window(from, 10), when(more, `, "offset": "`+token+`"`, ""))
			})},
		{name: "Contentful: skip, limit and total", target: "/spaces/s/entries?limit=10",
			respond: indexed("skip", "limit", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"sys": {"type": "Array"}, "total": 25, "skip": %d, "limit": %d, "items": %s, "includes": {"Asset": []}}`, from, size, window(from, size))
			})},
		{name: "Magento: the last page again", target: "/rest/V1/products?searchCriteria[pageSize]=10&searchCriteria[currentPage]=1",
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				page := min(number(q, "searchCriteria[currentPage]", 1), 3)
				return 200, nil, fmt.Sprintf(`{"items": %s, "search_criteria": {"page_size": 10, "current_page": %d}, "total_count": 25}`, window((page-1)*10, 10), page)
			}},
		{name: "NetSuite: links, hasMore, offset", target: "/record/v1/customer?limit=10",
			respond: indexed("offset", "limit", func(from, size int, more bool) (http.Header, string) {
				next := fmt.Sprintf(`{"rel": "next", "href": "https://api.test/record/v1/customer?limit=10&offset=%d"}, `, from+size)
				return nil, fmt.Sprintf(`{"links": [%s{"rel": "self", "href": "https://api.test/record/v1/customer"}], "count": %d, "hasMore": %t, "items": %s, "offset": %d, "totalResults": 25}`,
					when(more, next, ""), min(size, wholeList-from), more, window(from, size), from)
			})},
		{name: "ServiceNow: sysparm_offset", target: "/api/now/table/incident?sysparm_limit=10",
			respond: indexed("sysparm_offset", "sysparm_limit", func(from, size int, _ bool) (http.Header, string) {
				return http.Header{"X-Total-Count": {"25"}}, fmt.Sprintf(`{"result": %s}`, window(from, size))
			})},
		{name: "BigCommerce: meta.pagination.links.next is a query", target: "/stores/s/v3/catalog/products?limit=10",
			respond: numbered("page", "limit", 1, func(from, size int, more bool) (http.Header, string) {
				page := from/size + 1
				next := fmt.Sprintf(`"next": "?page=%d&limit=10", `, page+1)
				return nil, fmt.Sprintf(`{"data": %s, "meta": {"pagination": {"total": 25, "count": %d, "per_page": 10, "current_page": %d, "total_pages": 3, "links": {%s"current": "?page=%d&limit=10"}}}}`,
					window(from, size), min(size, wholeList-from), page, when(more, next, ""), page)
			})},
		{name: "Mailchimp: total_items", target: "/3.0/lists?count=10",
			respond: indexed("offset", "count", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"lists": %s, "total_items": 25, "_links": [{"rel": "self", "href": "https://api.test/3.0/lists", "method": "GET"}]}`, window(from, size))
			})},
		{name: "PagerDuty: more", target: "/incidents?limit=10&offset=0",
			respond: indexed("offset", "limit", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"incidents": %s, "limit": 10, "offset": %d, "more": %t, "total": null}`, window(from, size), from, more)
			})},
		{name: "Datadog: meta.page.after", target: "/api/v2/logs/events?page[limit]=10",
			respond: tokens("page[cursor]", func(from int, token string, more bool) (http.Header, string) {
				meta := fmt.Sprintf(`, "meta": {"page": {"after": "%s"}}, "links": {"next": "https://api.test/api/v2/logs/events?page%%5Blimit%%5D=10&page%%5Bcursor%%5D=%s"}`, token, token)
				return nil, fmt.Sprintf(`{"data": %s%s}`, window(from, 10), when(more, meta, ""))
			})},
		{name: "Auth0: start, limit, length and total", target: "/api/v2/users?per_page=10&include_totals=true&page=0",
			respond: numbered("page", "per_page", 0, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"start": %d, "limit": 10, "length": %d, "users": %s, "total": 25}`, from, min(size, wholeList-from), window(from, size))
			})},
		{name: "Bitbucket: start and isLastPage", target: "/rest/api/1.0/projects?limit=10",
			respond: indexed("start", "limit", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"size": %d, "limit": 10, "isLastPage": %t, "values": %s, "start": %d, "nextPageStart": %s}`, min(size, wholeList-from),
					!more, window(from, size), from, when(more, strconv.Itoa(from+size), "null"))
			})},
		{name: "AWS query: NextToken in XML", target: "/?Action=DescribeThings&MaxResults=10",
			respond: tokens("NextToken", func(from int, token string, more bool) (http.Header, string) {
				rows := &strings.Builder{}
				for i := from; i < min(from+10, wholeList); i++ {
					fmt.Fprintf(rows, "<member><id>%d</id></member>", i+1)
				}
				return of("text/xml"), fmt.Sprintf(`<DescribeThingsResponse><DescribeThingsResult><Things>%s</Things>%s</DescribeThingsResult></DescribeThingsResponse>`,
					rows, when(more, "<NextToken>"+token+"</NextToken>", ""))
			})},
		{name: "Cloudflare: result_info", target: "/client/v4/zones?per_page=10",
			respond: numbered("page", "per_page", 1, func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"success": true, "errors": [], "messages": [], "result": %s, "result_info": {"page": %d, "per_page": 10, "total_pages": 3, "count": %d, "total_count": 25}}`,
					window(from, size), from/size+1, min(size, wholeList-from))
			})},
		{name: "Pipedrive: more_items_in_collection", target: "/v1/deals?start=0&limit=10",
			respond: indexed("start", "limit", func(from, size int, more bool) (http.Header, string) {
				next := when(more, fmt.Sprintf(`, "next_start": %d`, from+size), "")
				return nil, fmt.Sprintf(`{"success": true, "data": %s, "additional_data": {"pagination": {"start": %d, "limit": 10, "more_items_in_collection": %t%s}}}`,
					window(from, size), from, more, next)
			})},
		{name: "Zoho: info.more_records", target: "/crm/v5/Leads?page=1&per_page=10",
			respond: numbered("page", "per_page", 1, func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"data": %s, "info": {"per_page": 10, "count": %d, "page": %d, "more_records": %t}}`, window(from, size),
					min(size, wholeList-from), from/size+1, more)
			})},
		{name: "Binance: fromId includes the item", target: "/api/v3/historicalTrades?symbol=A&limit=10&fromId=1", silent: true,
			respond: func(q url.Values, _ *http.Request) (int, http.Header, string) {
				return 200, nil, window(number(q, "fromId", 1)-1, number(q, "limit", 10))
			}},
		{name: "DataTables: start, length and recordsFiltered", target: "/table?draw=1&start=0&length=10",
			respond: indexed("start", "length", func(from, size int, _ bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"draw": 1, "recordsTotal": 57, "recordsFiltered": 25, "data": %s}`, window(from, size))
			})},
		{name: "more beside limit, within an object", target: "/search?limit=10",
			respond: indexed("offset", "limit", func(from, size int, more bool) (http.Header, string) {
				return nil, fmt.Sprintf(`{"response": {"more": %t, "items": %s}}`, more, window(from, size))
			})},
		{name: "a feed that is polled: after stays, and the time changes", target: "/feed?limit=10", respond: feed(10, 200)},
		{name: "a feed of one page", target: "/feed?limit=30", respond: feed(30, 200)},
		{name: "a feed of one full page", target: "/feed?limit=25&after=0", respond: feed(25, 200)},
		{name: "a feed of one page, and status 204 after it", target: "/feed?limit=25", respond: feed(25, 204)},
	}
}

// feed serves the events after an id, and the id of the last event for the next request. After the last event, the id stays
// the same; only the time of the response changes. With status 204, the response has no body there.
func feed(size, status int) api {
	polls := 0
	return func(q url.Values, _ *http.Request) (int, http.Header, string) {
		polls++
		from := number(q, "after", 0)
		body := fmt.Sprintf(`{"events": %s, "after": %d, "polledAt": %d}`, window(from, size), min(from+size, wholeList), 1700000000+polls)
		if from < wholeList || status == 200 {
			return 200, nil, body
		}
		return status, nil, ""
	}
}
