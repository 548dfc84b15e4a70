package explain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
)

// toldOf returns the complete text about a configuration, on one line.
func toldOf(t *testing.T, config string) string {
	t.Helper()
	return strings.Join(strings.Fields(explainedConfig(t, config, nil).Text(TextOptions{Full: true})), " ")
}

// Windows are written with their bounds, as far as these are known before a run.
func TestTheWindowsAreTold(t *testing.T) {
	for _, c := range []struct{ name, window, want string }{
		{"numbers", `"from": 1, "to": 25, "step": 10, "granularity": 1`, "The 3 windows of for.w are 1 to 10, 11 to 20, 21 to 25."},
		{"dates", `"from": "2026-01-01", "to": "2026-03-05", "step": "7d"`,
			"The 9 windows of for.w are 2026-01-01T00:00:00Z to 2026-01-08T00:00:00Z, 2026-01-08T00:00:00Z to 2026-01-15T00:00:00Z, …, " +
				"2026-02-26T00:00:00Z to 2026-03-05T00:00:00Z."},
		{"one window", `"from": 1, "to": 5`, "The only window of for.w is 1 to 5. w.to is not part of the window. Both are numbers."},
		{"very many", `"from": 0, "to": 1000000, "step": 1`, "The first 10000 windows of for.w are 0 to 1, 1 to 2, …, 9999 to 10000."},
		{"an end within a unit", `"from": "2026-01-01", "to": "2026-01-07T12:00:00Z", "step": "7d", "granularity": "1d"`,
			"The only window of for.w is 2026-01-01T00:00:00Z to 2026-01-07T00:00:00Z."},
		{"an end that the run decides", `"from": "2026-01-01", "to": "now()", "step": "1d"`,
			"The windows of for.w are 2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z, 2026-01-02T00:00:00Z to 2026-01-03T00:00:00Z, and so on up to now()."},
	} {
		config := `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [{"endpoint": "users", "for": {"w": {` + c.window + `}},
			"params": {"from": {"expr": "w.from"}}}]}}`
		require.Contains(t, toldOf(t, config), c.want, c.name)
	}
}

// What a run decides is not told of windows, rather than guessed.
func TestWindowsThatARunDecidesAreNotTold(t *testing.T) {
	for _, window := range []string{`"from": "now()", "to": "now()", "step": "1d"`, `"from": 1, "to": {"input": "end"}`, `"from": {"input": "end"}, "to": 5`} {
		x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/"}, "inputs": {"end": {}}, "config": {"jobs": [{"endpoint": "users",
			"for": {"w": {`+strings.NewReplacer(`{"input": "end"}`, `"input.end"`).Replace(window)+`}}, "params": {"from": {"expr": "w.from"}}}]}}`, nil)
		require.NotContains(t, x.String(), "of for.w are", window)
		require.NotContains(t, x.String(), "of for.w is", window)
	}
}

// A rule that stops after page 1 comes before the ends of methods, which therefore decide nothing.
func TestWhatComesAfterARuleThatStopsAfterOnePageIsNotInEffect(t *testing.T) {
	x := explained(t, `{"method": "pagenum", "forceStop": {"pages": 1}}`)
	require.Empty(t, x.stops(groupNormal))
	for _, r := range x.Audit {
		if r.ID == "audit.total" {
			require.NotEmpty(t, r.Never)
		}
	}
	two := explained(t, `{"method": "pagenum", "forceStop": {"pages": 2}}`)
	require.Len(t, two.stops(groupNormal), 1)
}

func TestFactsOfRequestsAndItemsAreTold(t *testing.T) {
	job := func(pagination, job string) string {
		return `{"api": {"baseUrl": "https://x.example/v1/"` + pagination + `}, "inputs": {"team": {"default": "a"}, "key": {"secret": true, "default": "k"}},
			"config": {"jobs": [{"endpoint": "users", ` + job + `}]}}`
	}
	const data = `"dataField": "data"`
	for _, c := range []struct{ name, config, want string }{
		{"inputs", job("", data), "inputs (--set NAME=VALUE): team (by default a), key (has a default; secret)"},
		{"a link", job(`, "pagination": {"method": "response.url", "urlKey": "next"}`, data), "without scheme and host, it is resolved against the address of the response"},
		{"an endpoint", job(`, "pagination": {"method": "expression", "nextRequest": {"endpoint": "body.next"}}`, data),
			"without scheme and host, it is resolved against api.baseUrl"},
		{"headers", job("", `"method": "POST", "params": {"a": 1}`), "sent besides: Accept: application/json, */*;q=0.5, Content-Type: application/json, User-Agent: stopwhen/VERSION, Accept-Encoding: zstd, gzip"},
		{"a header of its own", job("", `"headers": {"accept": "text/x"}`), "headers accept: text/x"},
		{"CSV", job("", `"response": {"format": "csv"}`), "each row of the response (CSV), an object of texts by the names in the first row"},
		{"CSV without a header", job("", `"response": {"format": "csv", "header": false}`), "(CSV, no header), a list of texts"},
		{"CSV with columns", job("", `"response": {"format": "csv", "columns": ["a"]}`), "(CSV, columns a in place of the names in the first row), an object of texts"},
		{"a page that fails", job(`, "pagination": {"method": "pagenum"}`, data), "so are those of a page on which a rule, a guard or another expression fails it."},
		{"an error that ends the list", job(`, "pagination": {"method": "pagenum", "onError": [{"when": "status == 404", "do": "stop"}]}`, data),
			"the list ends (complete) with the pages before it; the audit does not see this response"},
		{"a list that is cut off", job(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 3}}`, data),
			"A list that is limited counts as one without an error, unless --fail-on names it."},
		{"one partition", job("", `"for": {"k": {"values": ["a", "b"]}}, "onPartitionError": "skip", "params": {"k": {"expr": "k"}}`), "If all of several partitions fail, that is evidence (audit.missing, exit status 9)."},
		{"a token", job(`, "authentication": {"type": "oauth2", "tokenUrl": "token", "clientId": "a", "#clientSecret": "b"}`, data),
			"a response without access_token, such as HTML, an empty one or one that is no JSON, fails the run (exit status 3)"},
		{"windows that are a text", job("", `"for": {"w": {"from": 0, "to": "input.team", "step": 10}}`),
			"The windows of for.w cannot be computed, so the run fails before the first request of the job (exit status 2)"},
		{"the evidence of a limited list", job(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 3}}`, data),
			"In a list that is limited, only audit.begin, audit.position, audit.missing, audit.moved, audit.errorBody and audit.contract can fail the run; the others above are not sought."},
		{"a list of tokens", job(`, "pagination": {"method": "response.param", "responseParam": "next", "queryParam": "page"}`, data),
			"audit.total the total of the last page, or else of page 1, exceeds the items read only if samePage has ended the list (otherwise it warns); only warns if it is an estimate or, as beside currency, an amount of money audit.pages"},
		{"a date", job("", `"incremental": {"cursor": "at", "param": "since"}`), "A date that does not sort as text, such as 3 Jan 26, fails the run (exit status 5)"},
	} {
		require.Contains(t, toldOf(t, c.config), c.want, c.name)
	}
	require.NotContains(t, toldOf(t, job("", data)), "audit.begin page 1", "the list has one page")
	require.NotContains(t, toldOf(t, job("", `"for": {"k": {"values": ["a"]}}, "onPartitionError": "skip", "params": {"k": {"expr": "k"}}`)), "If all of several")
}

// What a reader of thirty texts did not find in them, or did not understand.
func TestWhatAReaderMissedIsTold(t *testing.T) {
	config := configOf
	const users = `{"id": "users", "endpoint": "users"`
	for _, c := range []struct{ name, config, want string }{
		{"a body that is cut off", config("", users+"}"), "A response that is cut off is not complete. "},
		{"invalid JSON", config("", users+"}"), "An expression that fails, or any other complete body that cannot be read (invalid JSON, whatever its Content-Type), fails the run (exit status 5) at once."},
		{"HTML", config("", users+"}"), "A response with status 200 that is HTML by Content-Type and first character is retried twice, and an empty one that is not CSV or NDJSON once;"},
		{"HTML under another type", config("", users+`, "response": {"format": "auto"}}`), "(invalid in its format, or HTML under another Content-Type), fails the run (exit status 5) at once."},
		{"a number before a star", config("", users+`, "dataField": "shops.*.orders"}`), "a text, number or boolean there, or in place of the response, or of the list or object before *, fails the run (exit status 5)"},
		{"a page that fails the run", config(`, "pagination": {"method": "pagenum"}`, users+"}"), "(not saved are a page that fails the run, and those of its last 10 ms, or of 200 ms if it was killed)"},
		{"HTML with one retry", config(`, "http": {"maxRetries": 1}`, users+"}"), "A response with status 200 that is HTML by Content-Type and first character, or an empty one that is not CSV or NDJSON, is retried once;"},
		{"the limits", config("", users+"}"), "maxBodyBytes 1073741824, maxItemsPerPage 1000000, maxValueBytes 268435456 for the values that rules read, maxDepth 512, or an expression above its limits (exit status 6)"},
		{"no kept value", config("", users+"}"), "so --kept has no effect, and --state only continues a run that failed or was interrupted."},
		{"the folder", config("", users+"}"), "with --out DIR, to DIR/users.ndjson."},
		{"the origin", config(`, "allowedOrigins": ["https://y.example"]`, users+"}"), "One to any other origin but that of api.baseUrl (https://x.example) fails the run (exit status 6)"},
		{"an empty page", config(`, "pagination": {"method": "response.param", "responseParam": "next", "queryParam": "c"}`, users+"}"),
			"An empty page does not end the list by itself."},
		{"a token", config(`, "authentication": {"type": "oauth2", "tokenUrl": "token", "clientId": "a", "#clientSecret": "b"}`, users+"}"),
			"POST https://x.example/v1/token with grant_type=client_credentials in the body, a URL-encoded form"},
		{"the order", config("", users+`, "for": {"a": {"values": [1, 2]}, "b": {"values": [3, 4]}}, "params": {"a": {"expr": "a"}, "b": {"expr": "b"}}}`),
			"They run in the order in which the values are listed, and the last variable changes first."},
		{"a filter", config("", users+`, "filter": "item.on"}, {"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}`),
			"called user, the job reads user.id, as sent by the API, also if the filter of users leaves the item out."},
		{"a window", config("", users+`, "for": {"w": {"from": 0, "to": 8, "step": 4, "splitWhen": "body.full"}}, "params": {"w": {"expr": "w.from"}}},
			{"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}`),
			"before the next page of users; for those of a window that may be read in halves, it runs when the window has ended."},
		{"the order of a parent", config("", users+`}, {"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}`), "They run in the order of the items of users."},
		{"a wait", config(`, "pagination": {"method": "expression", "nextRequest": {"after": "5"}, "stopRules": ["body.done"]}`, users+"}"),
			"a negative wait, one of more than 24 hours, or another text than a number or a duration, such as a date, fails the run (exit status 5); each response is a page"},
		{"fetching ahead with a limit on partitions", `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "pagenum"}}, "config": {"limits": {"partitions": 3}, "jobs": [` + users + `}]}}`,
			"not by default, because the configuration has limits.partitions; --prefetch N"},
		{"windows from a kept value", config("", users+`, "for": {"w": {"from": "kept.id", "to": 5}}, "params": {"w": {"expr": "w.from"}}, "incremental": {"cursor": "id"}}`),
			"Without kept values, the windows of for.w cannot be computed, so the run fails before the first request of the job (exit status 2)"},
		{"a full page that is the last", config(`, "pagination": {"method": "offset", "limit": 2, "limitStop": {"count": 2}}`, users+"}"),
			"Sends GET https://x.example/v1/users?limit=2&offset=0 (no api.authentication) once."},
		{"a short page that is not the last", config(`, "pagination": {"method": "pagenum", "limit": 2, "limitStop": {"count": 2}}`, users+"}"),
			"second request GET https://x.example/v1/users?page=2&limit=2"},
		{"no address of a second page", config(`, "pagination": {"method": "expression", "nextRequest": {"url": "nil"}, "stopRules": ["count == 0"]}`, users+"}"),
			"maxPages: the list has one page"},
		{"guards of more pages than there are", config(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 2}}`, users+"}"),
			"sameItems: forceStop.pages stops at 2 pages already repeatedItems: forceStop.pages stops at 2 pages already"},
		{"a link that is a number", config(`, "pagination": {"method": "response.url", "urlKey": "next"}`, users+"}"),
			"resolved against the address of the response; a value that is not a text fails the run (exit status 5)"},
		{"another delimiter", config("", users+`, "response": {"format": "csv"}}`), "a header with another delimiter than a comma fails the run (exit status 5)"},
		{"the halves of a window", config("", users+`, "for": {"w": {"from": 0, "to": 8, "step": 4, "splitWhen": "body.full"}}, "params": {"w": {"expr": "w.from"}}}`),
			"The second half begins at the middle of the window, rounded down to whole seconds or a whole number after w.from, but not to 0; the first half ends there."},
		{"a number in a text", config(`, "pagination": {"method": "pagenum", "stopRules": ["body.page >= body.pages"]}`, users+"}"), "a < b numbers are compared by their value, and so are a number and a text"},
		{"params of a response", config(`, "pagination": {"method": "expression", "nextRequest": {"params": "body.next"}, "stopRules": ["body.done"]}`, users+"}"),
			"each member replaces the param of the same name in its place, or follows the others; null removes the param; a list is sent as a[0]=1&a[1]=2, and an object as a[b]=1; a value that is not an object fails the run (exit status 5)"},
		{"redirects", config("", users+"}"), "Up to 10 redirects are followed; one more fails the run (exit status 3). Any other status but 200, 201, 203 or 204 fails the run at once (exit status 3, or 5 below 400)."},
		{"redirects of another method", config("", users+`, "method": "POST"}`), "one more, or a 301 or 302 of another method than GET, fails the run (exit status 3). Any other status but 200, 201, 203 or 204 fails the run at once"},
		{"redirects of a token request", config(`, "authentication": {"type": "oauth2", "tokenUrl": "token", "clientId": "a", "#clientSecret": "b"}`, users+"}"),
			"one more, or a 301 or 302 of another method than GET, fails the run"},
		{"rows of a run that fails", config("", users+"}"), "A run that fails before it has a page leaves an earlier .partial file as it is; one that succeeds removes it."},
		{"a state", config(`, "pagination": {"method": "pagenum"}`, users+"}"), "the run after one that failed or was interrupted begins after the last page that was saved (not saved are a page that fails the run, and those of its last 10 ms, or of 200 ms if it was killed), and replaces the rows of the later pages (on standard output, these rows come twice); after exit status 0, it requests everything again, and after evidence the lists that have it. If the run fails by repeatedExchange, sameItems or repeatedItems, however, the list is requested again from the start, and the rows in .partial are dropped. With --restart, it starts over. A state of another configuration or of other inputs is refused before the first request (exit status 8). Without --state, every run requests everything."},
		{"a retry", config("", users+"}"), "All requests share 20 retries: 5 successes give one back, and a retry whose time the API sets takes 1/5 of one; with none left, the run fails (exit status 4)."},
		{"a rate limit", config(`, "http": {"rateLimit": {"remaining": "X-Left", "reset": "X-Again"}}`, users+"}"),
			"The header Retry-After, or X-Again if X-Left is 0, gives the wait before a retry."},
		{"the form of a reset", config(`, "http": {"rateLimit": {"remaining": "X-Left", "reset": "X-Again"}}`, users+"}"),
			"the next request waits as long as the header X-Again says: seconds, or a time in seconds or milliseconds since 1970"},
		{"a position", config(`, "pagination": {"method": "pagenum"}`, users+"}"),
			"audit.position a response states a later position than its request, and page 1 states its own"},
		{"a parent", config(`, "pagination": {"method": "pagenum"}`, users+`}, {"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}`),
			"not by default, as the requests of the partitions come before the next page; --prefetch N requests N-1 pages ahead after page 1 (auto: up to 15), also beyond the end, where an error changes nothing."},
		{"no partition", `{"api": {"baseUrl": "https://x.example/"}, "config": {"limits": {"partitions": 3}, "jobs": [` + users + `},
			{"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}]}}`,
			"If the limit leaves out all of its partitions, its file stays."},
		{"partitions that are limited", `{"api": {"baseUrl": "https://x.example/"}, "config": {"limits": {"partitions": 3}, "jobs": [` + users + `},
			{"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}]}}`, "Because of limits.partitions, they run one after another, also with --jobs."},
		{"a limited list with kept values", config(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 3}, "keep": {"at": "greatest(items, 'at')"}}`, users+"}"),
			"counts as one without an error, unless --fail-on names it; but in a run with kept values, these and the file stay as they are, and its rows are in .partial."},
		{"a file without kept values", config(`, "pagination": {"method": "pagenum", "keep": {"at": "greatest(items, 'at')"}}`, users+"}"),
			"In a run without kept values, as the first one is and each without --kept and --state, the file is replaced if the list ends without an error or evidence, also if no row is written;"},
		{"a path that is missing", config(`, "pagination": {"method": "expression", "nextRequest": {"params": {"a": "body.next"}}, "stopRules": ["body.done"]}`, users+"}"),
			"the log names a path that page 1 lacks, unless it is a link or the rule tests whether it is there"},
		{"an address that is computed", config(`, "pagination": {"method": "expression", "nextRequest": {"endpoint": "\"list/\" + text(page + 1)"}, "stopRules": ["count == 0"]}`, users+"}"),
			`then requests "list/" + text(page + 1).`},
		{"the last page", config(`, "pagination": {"method": "pagenum"}`, users+"}"), "The items of the page that ends the list are written, also if it fails the run, but not after samePage."},
		{"an empty page that ends the list", config(`, "pagination": {"method": "pagenum"}`, users+"}"), "emptyPages: pagenum.empty ends the list at the first empty page"},
		{"a limit", config(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 3}}`, users+"}"), "They are checked after a page, which is complete; they cut no wait, retry or response short."},
		{"a token that is refused", config(`, "authentication": {"type": "login", "loginRequest": {"endpoint": "s"}, "apiRequest": {"headers": {"X": "login.body.t"}}}`, users+"}"),
			"after 401, the credentials are renewed, and the request is made again, at most once for each request"},
		{"XML", config("", users+`, "dataField": "a.b", "response": {"format": "xml"}}`), "any other complete body that cannot be read (invalid XML, or HTML under another Content-Type)"},
		{"a number that ends the list", config(`, "pagination": {"method": "pagenum", "stopRules": ["body.page >= body.pages"]}`, users+"}"), "audit.negative "},
		{"a query for the next page", config(`, "pagination": {"method": "response.url", "urlKey": "next", "paramIsQuery": true}`, users+`, "listStyle": "repeat"}`),
			"each member is a param, unless it is null; a list is sent as a=1&a=2"},
		{"a body of params", config(`, "pagination": {"method": "expression", "nextRequest": {"params": "body.next"}, "stopRules": ["body.done"]}`, users+`, "method": "POST"}`),
			"null removes the param; a value that is not an object fails the run (exit status 5)"},
		{"the body of a later run", config("", users+`, "method": "POST", "incremental": {"cursor": "at", "param": "body:filter.since"}}`), `body {"filter":{"since":"{kept.at}"}}`},
		{"an address that needs a kept value", config(`, "pagination": {"method": "pagenum", "keep": {"at": "items[0].at"}}`, `{"endpoint": "a/{kept.at}"}`),
			"Without kept values, the run fails before the first request of the job (exit status 2): rule endpoint: a value in the address is nil"},
		{"a response that is a text", config("", users+"}"), "no list in an object, or status 204, is an empty page; several, or another response, fail the run (exit status 5)"},
		{"a web page as CSV", config("", users+`, "response": {"format": "csv"}}`), `(invalid CSV, such as {"error": "denied"}, or HTML under another Content-Type)`},
		{"a wait", config(`, "pagination": {"method": "expression", "nextRequest": {"params": {"p": "page + 1"}, "after": "5"}, "stopRules": ["count == 0"]}`, users+"}"),
			"the wait before the request, in seconds if it is a number, but not before its retries; none if it is nil; a run that continues waits what is left of it;"},
		{"a function of the expression language", config(`, "pagination": {"method": "pagenum", "stopRules": ["find(items, .id > 5) != nil"]}`, users+"}"),
			"find(list, predicate) the first element for which the predicate is true, nil if there is none #, .name in a predicate, the element of the list, and its member name; a list that is nil is empty"},
		{"an amount of money", config(`, "pagination": {"method": "pagenum"}`, users+"}"),
			"audit.total the total of the last page, or else of page 1, exceeds the items read only warns if it is an estimate or, as beside currency, an amount of money audit.pages"},
		{"a private address", config(`, "dialect": "keboola"`, users+"}"),
			"At a private address, such as one of a local network, it fails the run (exit status 6), unless its host is that of api.baseUrl, or api.allowedOrigins has the address."},
		{"the halves of a window whose end is included", config("", users+`, "for": {"w": {"from": 0, "to": 8, "granularity": 1, "splitWhen": "body.full"}}, "params": {"w": {"expr": "w.from"}}}`),
			"The second half begins at the middle of the window, rounded down to a multiple of 1 after w.from, but not to 0; the first half ends 1 before it."},
		{"the form of a time", config("", users+`, "for": {"w": {"from": "2026-01-01", "to": "2026-01-03", "step": "1d"}}, "params": {"w": {"expr": "w.from.Format('2006-01')"}}}`),
			".Format(layout) a time as text; the layout is how 2 January 2006 at 15:04:05 is written in that form"},
		{"the time", config(`, "pagination": {"method": "pagenum", "stopRules": ["date(items[-1].at) > now()"]}`, users+"}"),
			"now() in for, the start of the run, or of the one that it continues; in what is computed before the first request, the start of the list, also for a run that continues it; otherwise the time at which the request of the page was made"},
		{"a limit on the time", config(`, "pagination": {"method": "pagenum", "forceStop": {"time": "1 hour"}}`, users+"}"),
			"total.seconds the time since the list began, waits included, to which a run that continues adds its own"},
		{"a format that responses name", config(`, "response": {"format": "auto"}`, users+`, "dataField": "a.b"}`),
			"NDJSON or CSV fails the run (exit status 5)"},
		{"a format that responses name, without dataField", config(`, "response": {"format": "auto"}`, users+"}"),
			"each line or row of NDJSON and CSV (the format is that of Content-Type or, if it names none, JSON, NDJSON or XML by how the body begins; " +
				"a row of CSV is an object of texts by the names in the first row; a row with more or fewer fields fails the run (exit status 5)) no list in an object, or status 204, is an empty page; several, " +
				"or another response, fail the run (exit status 5), and so does XML"},
		{"a poll", config(`, "pagination": {"method": "expression", "nextRequest": {"after": "5"}, "stopRules": ["body.done"]}`, users+"}"),
			"samePage: every request after the first is a poll"},
		{"no retries", config(`, "http": {"maxRetries": 0}`, users+"}"), "529, or with status 403 and headers that say when to retry or that no requests are left, 3 for an unknown host"},
		{"several lists", config("", users+`, "dataField": ["b", "a"]}`), "without the white space between values, in the order of the paths, to standard output"},
		{"an interval of a later variable", config("", users+`, "for": {"a": {"values": [1]}, "w": {"from": "a", "to": 5, "step": 1}}, "params": {"w": {"expr": "w.from"}}}`),
			"If for.w.from equals for.w.to, there is no window; if it is later or greater, there is none, and the log warns (exit status 0)."},
		{"an interval up to now", config("", users+`, "for": {"w": {"from": "2026-01-01", "to": "now()", "granularity": "1d", "step": "1d"}}, "params": {"w": {"expr": "w.from"}}}`),
			"If for.w.from is later or greater than for.w.to, the run fails (exit status 2)."},
		{"a member that is nil", config("", users+`, "fields": {"a": "item.b"}}`), "each item, after the rules have seen the page; other members stay, and a member that is nil becomes null; an item that is not an object becomes {\"value\": …} fields.a item.b"},
		{"a key in the query", config(`, "authentication": {"type": "query", "name": "key", "#value": "s"}`, users+"}"), "Accept-Encoding: zstd, gzip, the parameter key=***"},
		{"evidence in dialect keboola", config(`, "dialect": "keboola"`, users+"}"), "If the list ends without an error, the file is replaced"},
		{"an end by the limit on partitions", `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "pagenum"}}, "config": {"limits": {"partitions": 3}, "jobs": [` + users + `, "emit": false},
			{"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}]}}`,
			"limits.partitions the items of a page need more partitions than are left of the 3 of a run [config.limits.partitions]"},
		{"jobs and the limit on partitions", `{"api": {"baseUrl": "https://x.example/"}, "config": {"limits": {"partitions": 3}, "jobs": [` + users + `}, {"endpoint": "teams"}]}}`,
			"Because the configuration has limits.partitions, jobs run one after another, also with --jobs."},
		{"two jobs", config("", users+`}, {"endpoint": "teams"}`), "Jobs run one after another, and with --jobs N up to N at a time."},
		{"a job that has ended", config("", users+`}, {"endpoint": "teams"}`), "requests what is not complete, and does not repeat jobs that have ended without evidence, also by a limit; after exit status 0"},
		{"another job in dialect keboola", config(`, "dialect": "keboola"`, users+`}, {"endpoint": "teams"}`), ", and does not repeat jobs that have ended, also by a limit; after exit status 0"},
		{"evidence and kept values", config("", users+`, "incremental": {"cursor": "at", "param": "since"}}`), "after exit status 0, it begins with the kept values, and after evidence the lists that have it, with the kept values that they had."},
		{"a rule that fails a list of one page", config("", users+"}"), "When a rule or another expression fails the run, the items of the response are written."},
		{"an error after the last item", config(`, "pagination": {"method": "pagenum"}`, users+"}"), "or follows the last of several pages with all items of a total audit.contract"},
		{"a body that reports an error", config("", users+"}"), `audit.errorBody a successful response reports an error, or has a message other than "no items" in place of the list`},
		{"a flag that is missing", config(`, "pagination": {"method": "pagenum", "nextPageFlag": {"field": "last", "stopOn": true}}`, users+"}"),
			"audit.missing one of these is in no response: the list of items, last only if the last page has a sign of more that no rule reads"},
		{"a contract", config("", users+"}"), "audit.contract the data differ from a contract file only if it is frozen (otherwise it warns)"},
		{"the signs of CSV", config("", users+`, "response": {"format": "csv"}}`), "Signs of more are read from headers, such as Link and X-Total-Count, not from rows."},
		{"a star in dialect keboola", config(`, "dialect": "keboola"`, users+`, "dataField": "data.*"}`), "at data.* of the response (* is a member of that name)"},
		{"a date in a form that is given", config("", users+`, "incremental": {"cursor": "at", "param": "since", "format": "2006-01-02"}}`),
			"A date in another form than 2006-01-02 that does not sort as text, such as 3 Jan 26, fails the run (exit status 5)."},
		{"a value of the first page", config(`, "pagination": {"method": "pagenum", "keep": {"newest": "first.items[0].at ?? kept.newest"}}`, users+"}"),
			"a ?? b a, or b if a is nil"},
		{"a member of a text", config(`, "pagination": {"method": "pagenum", "stopRules": ["body.error.code == 1"]}`, users+"}"), "such as items[-1] of an empty page, or a member of a text: a comparison with it is false"},
		{"the lifetime of a login", config(`, "authentication": {"type": "login", "loginRequest": {"endpoint": "/s"}, "apiRequest": {"headers": {"X": "login.body.t"}}, "expires": "3600"}`, users+"}"),
			"renewed 60 seconds before the end of the lifetime, if there is one, but not in the first half of it, and if the API refuses the credentials (status 401), at most once for each request"},
		{"a rule for every status", config(`, "pagination": {"method": "pagenum", "onError": [{"on": "success", "when": "body.busy", "do": "retry"}, {"when": "true", "do": "fail"}]}`, users+"}"),
			"on any other error onError[1] decides on every status but 200, 201, 203 or 204, so that none is retried. A request that gets no complete response"},
		{"a rule for every status after a retry", config(`, "pagination": {"method": "pagenum", "onError": [{"when": "status == 503", "do": "retry"}, {"when": "true", "do": "fail"}]}`, users+"}"),
			"on any other error A request that gets no complete response"},
		{"a step of months", config("", users+`, "for": {"w": {"from": "2026-01-31", "to": "2026-06-01", "step": "1mo"}}, "params": {"w": {"expr": "w.from"}}}`),
			"A step of months from a day that a month lacks ends on its last day."},
		{"a condition that is a path", config(`, "pagination": {"method": "pagenum", "stopRules": ["body.done"]}`, users+"}"),
			"a condition that is nil is false, and one that is neither true nor false fails the rule"},
		{"windows on standard output", config("", users+`, "for": {"w": {"from": 0, "to": 8, "step": 4, "splitWhen": "body.full"}}, "params": {"w": {"expr": "w.from"}}}`),
			"Standard output has the rows of a window at once, also if the run fails later."},
		{"rows of CSV", config("", users+`, "response": {"format": "csv"}, "filter": "item.a == '1'"}`), "one per line, after filter, otherwise as JSON,"},
		{"no number", config(`, "pagination": {"method": "pagenum", "stopRules": ["page > 1 and body.done"]}`, users+"}"),
			"audit.negative: no stopping rule reads a total or a number of pages in responses"},
	} {
		require.Contains(t, toldOf(t, c.config), c.want, c.name)
	}
	require.NotContains(t, toldOf(t, config(`, "pagination": {"method": "pagenum"}`, users+"}")), "An empty page does not end")
	elsewhere := toldOf(t, `{"api": {"baseUrl": "https://x.example/v1/", "allowedOrigins": ["https://y.example"], "authentication": {"type": "bearer", "#token": "t"}},
		"config": {"jobs": [{"endpoint": "https://y.example/users"}]}}`)
	require.NotContains(t, elsewhere, "Authorization: Bearer ***", "credentials are not sent to another origin")
	limited := toldOf(t, config(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 1}}`, users+"}"))
	require.NotContains(t, limited, "If several rules are true", "there is one rule")
}

// An address that the inputs alone make invalid is refused before the first request of a run, and other values when their job begins.
func TestARequestThatCannotBeMadeFailsTheRun(t *testing.T) {
	for job, want := range map[string]string{
		`"endpoint": "a/{+input.x}"`:                                    "The run fails before the first request of any job (exit status 2): rule endpoint: ",
		`"endpoint": "a", "params": {"p": {"expr": "number(input.x)"}}`: "The run fails before the first request of the job (exit status 2): rule params.p: ",
	} {
		cfg, jobs := compiletest.Config(t, `{"inputs": {"x": {}}, "api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [{`+job+`}]}}`, nil)
		x := Explain(cfg, jobs, RunDetails{Inputs: map[string]any{"x": ".."}, Redact: func(s string) string { return s }})
		require.Contains(t, x.Jobs[0].Summary, want)
	}
}

// An empty page that equals the one before ends a list, unless the next request would be another one.
func TestTheExceptionOfEqualPagesIsToldWhereItHolds(t *testing.T) {
	const exception = "unless both pages are empty and the requests keep changing"
	for _, c := range []struct {
		pagination string
		want       bool
	}{
		{`{"method": "pagenum"}`, false}, // the first empty page ends it
		{`{"method": "response.param", "responseParam": "next", "queryParam": "c"}`, false},
		{`{"method": "expression", "state": {"c": {"init": "nil", "next": "body.next"}}, "nextRequest": {"params": {"c": "state.c"}}, "stopRules": ["state.c == nil"]}`, false},
		{`{"method": "expression", "state": {"day": {"init": "1", "next": "state.day + 1"}}, "nextRequest": {"params": {"d": "state.day"}}, "stopRules": ["state.day >= 5"]}`, true},
		{`{"method": "expression", "nextRequest": {"params": {"p": "page + 1"}}, "stopRules": ["body.done"]}`, true},
		{`{"method": "header.link"}`, true},
	} {
		text := toldOf(t, `{"api": {"baseUrl": "https://x.example/v1/", "pagination": `+c.pagination+`}, "config": {"jobs": [{"endpoint": "users"}]}}`)
		require.Equal(t, c.want, strings.Contains(text, exception), c.pagination)
	}
}

func TestFactsOfChildrenAreTold(t *testing.T) {
	text := toldOf(t, `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [
		{"id": "orders", "endpoint": "orders", "incremental": {"cursor": "at", "param": "since"}},
		{"id": "lines", "endpoint": "lines", "for": {"order": {"items": "orders"}}, "params": {"group": {"expr": "order.group"}}}]}}`)
	require.Contains(t, text, "If an item has no order.group, that part of the request is left out (within an object or a list of a JSON body, it is null), and audit.missing warns or, "+
		"if no item has it, fails the run (exit status 9).")
	require.Contains(t, text, "In a run without kept values of orders, as the first one is and each without --kept and --state, the file is replaced if no job of the tree fails")
	require.Contains(t, text, "Saved for this job, and read by no other, in the files of --kept and --state that are given")
}

// A sign is evidence unless the configuration reads it, or has ended the list by a rule of its own, and only some signs have this exception.
func TestTheExceptionOfSignsIsToldOnce(t *testing.T) {
	told := func(pagination, job, dialect string) string {
		x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "dialect": "`+dialect+`", "pagination": `+pagination+`},
			"config": {"jobs": [{"endpoint": "users", "dataField": "data"`+job+`}]}}`, nil)
		_, ends, _ := strings.Cut(strings.Join(strings.Fields(x.Text(TextOptions{Full: true})), " "), "If several rules are true")
		return ends
	}
	require.NotContains(t, told(`{"method": "pagenum"}`, "", "spec"), "if it is one that rules read", "no rule reads a sign")
	require.Contains(t, told(`{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true}, "stopRules": ["body.done", {"when": "body.bad", "outcome": "failed"}]}`, "", "spec"),
		"only warns if it is an estimate or, as beside currency, an amount of money; or after an end by nextPageFlag or stopRules[0]; or if it is one that rules read (bad, isLast, done), unless samePage has ended the list audit.pages")
	require.Contains(t, told(`{"method": "pagecount", "pagesField": "n", "audit": {"ignore": ["audit.total", "audit.more"]}}`, "", "spec"),
		"; or if it is one that rules read (n), unless samePage has ended the list and the token or link differs from the one that was sent audit.position")
	// A token in the body comes again with the same page, so that it says nothing of another one.
	require.Contains(t, told(`{"method": "response.param", "responseParam": "next", "queryParam": "c"}`, "", "spec"),
		"; or if it is one that rules read (next) audit.missing")
	require.Contains(t, told(`{"method": "header.param", "responseHeader": "X-Next", "queryParam": "c"}`, "", "spec"),
		"; or if it is one that rules read (X-Next), unless samePage has ended the list and the token or link differs from the one that was sent audit.missing")
	hints := told(`{"method": "pagenum"}`, "", "keboola")
	_, hints, _ = strings.Cut(hints, "audit, at the end of a list: ")
	hints, _, _ = strings.Cut(hints, "flags of a run")
	require.Contains(t, hints, "audit.total the total of the last page, or else of page 1, exceeds the items read audit.pages a number of pages exceeds")
	require.NotContains(t, hints, "unless")
	require.NotContains(t, hints, "if samePage")
}

// Page 1 has no page before it, but may be the first of one empty page in a row.
func TestTheGuardsOfAListWithOnePageAreNotInEffect(t *testing.T) {
	x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "expression", "nextRequest": {"url": "nil"},
		"stopRules": ["body.done"], "guards": {"repeatedRequest": "fail", "emptyPages": 1}}}, "config": {"jobs": [{"endpoint": "users"}]}}`, nil)
	never := map[string]string{}
	for _, r := range x.Jobs[0].Stops {
		if r.Guard {
			never[r.ID] = r.Never
		}
	}
	const one = "the list has one page"
	require.Equal(t, map[string]string{"samePage": one, "repeatedExchange": one, "sameItems": one, "repeatedItems": one,
		"repeatedRequest": one, "emptyPages": "", "maxPages": one}, never)
}

// A sign that the list of a job cannot have is not told as one that may be found.
func TestSignsThatCannotBeFoundAreNotInEffect(t *testing.T) {
	never := func(pagination, job string) map[string]string {
		why := map[string]string{}
		x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/"`+pagination+`}, "config": {"jobs": [{"endpoint": "users"`+job+`}]}}`, nil)
		for _, r := range x.Jobs[0].Audit {
			why[r.ID] = r.Never
			if r.ID == "audit.pages" && r.Evidence == "" {
				why["evidence of audit.pages"] = "none"
			}
		}
		return why
	}
	one := never("", "")
	for _, id := range []string{"audit.repeated", "audit.shift"} {
		require.Equal(t, "the list has one page", one[id])
	}
	require.Empty(t, one["audit.pages"])
	require.Equal(t, "none", one["evidence of audit.pages"])
	require.Equal(t, "no value is kept (keep)", one["audit.ahead"])
	for _, id := range []string{"audit.duplicate", "audit.noKey", "audit.ambiguous"} {
		require.Equal(t, "the items have no key (key)", one[id])
	}
	require.Equal(t, "no onError rule has the action restart", one["audit.restart"])
	require.Equal(t, "no onError rule has the action stop", one["audit.errorEnd"])

	paged := never(`, "pagination": {"method": "pagenum", "onError": [{"when": "status == 410", "do": "restart"}, {"when": "status == 404", "do": "stop"}]}`,
		`, "key": "id"`)
	for _, id := range []string{"audit.repeated", "audit.shift", "audit.pages", "audit.duplicate", "audit.noKey", "audit.restart", "audit.errorEnd", "audit.beyond"} {
		require.Empty(t, paged[id], id)
	}
	require.Empty(t, paged["evidence of audit.pages"])
	require.Equal(t, "no page is requested ahead", never(`, "pagination": {"method": "response.url", "urlKey": "next"}`, "")["audit.beyond"])
	parts := never("", `, "for": {"k": {"values": ["a", "b"]}}, "params": {"k": {"expr": "k"}}`)
	require.Empty(t, parts["audit.repeated"], "partitions may have the same items")
	require.Equal(t, "the items have no key (key)", parts["audit.duplicate"])
	require.Equal(t, "no onError rule has the action restart", parts["audit.restart"])
	windows := never("", `, "for": {"w": {"from": 1, "to": 9, "step": 3}}, "params": {"k": {"expr": "w.from"}}`)
	require.Empty(t, windows["audit.duplicate"], "windows may have the same items")
}

// configOf returns a configuration with more keys of the API, and with jobs.
func configOf(api, jobs string) string {
	return `{"api": {"baseUrl": "https://x.example/v1/"` + api + `}, "config": {"jobs": [` + jobs + `]}}`
}

// What readers of the ninth trial missed: each fact is told where it applies, and nowhere else.
func TestAFactIsToldWhereItApplies(t *testing.T) {
	config := configOf
	const (
		paged = `, "pagination": {"method": "pagenum"}`
		users = `{"id": "users", "endpoint": "users"`
		posts = `{"id": "posts", "endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}`
		team  = `{"id": "posts", "endpoint": "posts", "params": {"t": {"expr": "user.team"}}, "for": {"user": {"items": "users"`
	)
	for _, c := range []struct{ name, with, without, told string }{
		{"the place of a key in the query", config(`, "authentication": {"type": "query", "name": "key", "#value": "s"}`, users+"}"),
			config(`, "authentication": {"type": "header", "name": "key", "#value": "s"}`, users+"}"),
			"in the query parameter key, after the other parameters or in place of one of the same name"},
		{"the place of a parameter of a login", config(`, "authentication": {"type": "login", "loginRequest": {"endpoint": "s"}, "apiRequest": {"params": {"t": "login.body.t"}}}`, users+"}"),
			config(`, "authentication": {"type": "login", "loginRequest": {"endpoint": "s"}, "apiRequest": {"headers": {"t": "login.body.t"}}}`, users+"}"),
			"a login (those in the query are after the other parameters or in place of one of the same name), shared"},
		{"items of a parent after a failure", config(paged, users+"}, "+posts+"}"), config(paged, users+"}"),
			"(on standard output, these rows come twice), taking the items of users on saved pages from the state, and does not repeat"},
		{"a partition that is skipped", config("", users+`, "for": {"k": {"values": [1, 2]}}, "onPartitionError": "skip", "params": {"k": {"expr": "k"}}}`),
			config("", users+`, "for": {"k": {"values": [1, 2]}}, "params": {"k": {"expr": "k"}}}`),
			"(after --fail-on partial, it requests all partitions again)"},
		{"a partition of a tree that is skipped", config("", users+"}, "+posts+`, "onPartitionError": "skip"}`), config("", users+"}, "+posts+"}"),
			"(after --fail-on partial, it requests the whole tree again)"},
		{"a list that a guard ends", config(paged[:len(paged)-1]+`, "guards": {"sameItems": "stop"}}`, users+"}"), config(paged, users+"}"),
			"(after --fail-on guarded, it requests the list again)"},
		{"the pages that are not written", config(paged, users+`, "for": {"w": {"from": 0, "to": 8, "step": 4, "splitWhen": "body.full"}}, "params": {"w": {"expr": "w.from"}}}`),
			config(paged, users+"}"), "are written, also if it fails the run, but not after samePage or for.w.splitWhen."},
		{"evidence in a tree", config(paged, users+"}, "+posts+"}"), config(paged, users+"}"),
			"after exit status 0, it requests everything again, and after evidence in any job, the whole tree of that job."},
		{"an item without a value of the address", config("", users+"}, "+posts+"}"), config("", users+"}, "+team+"}}}"),
			"If an item has no user.id, or an empty one, its partition fails (exit status 5)."},
		{"a field without its value", config("", users+"}, "+posts+`, "fields": {"a": "user.name"}}`), config("", users+"}, "+posts+`, "fields": {"a": "user.name ?? 1"}}`),
			"If an item has no user.name, fields read nil; if no item has it, audit.missing fails the run (exit status 9), or warns if there is at most one partition."},
		{"a filter without its value", config("", users+"}, "+posts+`, "filter": "item.n > user.least"}`), config("", users+"}, "+posts+`, "filter": "user.least == nil or item.n > user.least"}`),
			"If no item has user.least, and the filter that reads it leaves out items, audit.missing warns or, if no item of several partitions passes, fails the run (exit status 9)."},
		{"a condition without its value", config("", users+"}, "+team+`, "when": "user.on"}}}`), config("", users+"}, "+team+"}}}"),
			"If no item has user.on, and there is no partition, audit.missing warns."},
		{"values without their list", config("", users+`}, {"endpoint": "b/{t}", "for": {"user": {"items": "users"}, "t": {"values": "user.tags"}}}`),
			config(`, "dialect": "keboola"`, users+`}, {"endpoint": "b/{t}", "for": {"user": {"items": "users"}, "t": {"values": "user.tags"}}}`),
			"If no item has user.tags, and there is no partition, audit.missing warns."},
		{"a restart of a parent", config(paged[:len(paged)-1]+`, "onError": [{"when": "status == 410", "do": "restart"}]}`, users+"}, "+posts+"}"),
			config(paged[:len(paged)-1]+`, "onError": [{"when": "status == 410", "do": "restart"}]}`, users+"}"),
			"so that they are there twice, and the jobs for them run again"},
		{"items that are not objects", config("", users+`, "fields": {"a": "item"}}`), config("", users+`, "filter": "item.a"}`),
			`an item that is not an object becomes {"value": …}`},
		{"rows of CSV are objects", config("", users+`, "response": {"format": "csv", "header": false}, "fields": {"a": "item"}}`),
			config("", users+`, "response": {"format": "csv"}, "fields": {"a": "item"}}`), `an item that is not an object becomes {"value": …}`},
		{"a wait that fails", config(`, "pagination": {"method": "expression", "nextRequest": {"after": "-5"}, "stopRules": ["body.done"]}`, users+"}"),
			config(`, "pagination": {"method": "expression", "nextRequest": {"after": "body.n"}, "stopRules": ["body.done"]}`, users+"}"),
			"then fails the run (exit status 5) because of nextRequest.after: want a wait of 0 or more, got -5."},
		{"a wait of a duration", config(`, "pagination": {"method": "expression", "nextRequest": {"after": "30m"}, "stopRules": ["body.done"]}`, users+"}"),
			config(`, "pagination": {"method": "expression", "nextRequest": {"after": "nil"}, "stopRules": ["body.done"]}`, users+"}"), "then after a wait of 30 minutes, sends"},
		{"that requests wait", config(`, "pagination": {"method": "expression", "nextRequest": {"after": "30m"}, "stopRules": ["body.done"]}`, users+"}"),
			config(`, "pagination": {"method": "expression", "nextRequest": {"after": "nil"}, "stopRules": ["body.done"]}`, users+"}"), "each request after the first waits"},
		{"partitions that are alike", config("", users+"}, "+posts+"}"), config("", users+"}"), "audit.repeated the first pages of all partitions have the same items"},
		{"partitions that are alike, beside pages", config(paged, users+"}, "+posts+"}"), config(paged, users+"}"),
			"although another request was made, or the first pages of all partitions have the same items"},
		{"a key in several partitions", config("", users+"}, "+posts+`, "key": "id"}`), config("", users+`, "key": "id"}, `+posts+"}"),
			"two items have the same key, or items of a partition occur in an earlier one"},
		{"other items with one key", config("", users+"}, "+posts+`, "key": "id"}`), config("", users+`, "key": "id"}`), "audit.ambiguous "},
		{"a list that has moved", config(paged, users+"}"), config("", users+"}"),
			"audit.moved a later page lacks the list, but has one of objects that page 1 lacks"},
		{"the end with a bare page", config(paged, users+"}"), config("", users+"}"),
			"audit.bareEnd the last page lacks the list of items, and has a sign of more or nothing else of page 1, or lacks one of several lists, although pages before it have items"},
		{"a lower bound", config(paged[:len(paged)-1]+`, "limitStop": {"field": "numFound"}}`, users+"}"), config(paged, users+"}"),
			"audit.bound a total with a usual name, such as numFound, that the response calls a lower bound or an estimate, or a number of pages beside it, has ended the list"},
	} {
		require.Contains(t, toldOf(t, c.with), c.told, c.name)
		require.NotContains(t, toldOf(t, c.without), c.told, c.name)
	}
	text := toldOf(t, config(paged, users+"}"))
	for _, told := range []string{"audit.surplus the items read exceed the total of the last page", "audit.more the last page has a flag that there is more",
		"Signs are known by their usual names, such as total, hasMore and next, in bodies and in headers, such as Link and X-Total-Count.",
		"a repeated request gets the same body again (a loop)"} {
		require.Contains(t, text, told)
	}
	short := func(config string) string {
		return strings.Join(strings.Fields(explainedConfig(t, config, nil).String()), " ")
	}
	require.Contains(t, short(config(paged, users+"}")), "With --state, the run after one that failed or was interrupted begins after the last page that was saved (one that fails the run is requested again, and replaces its rows in .partial), and adds the rows from there to .partial, which becomes the file, or to standard output; after exit status 0, it requests everything again, and after evidence the lists that have it.")
	require.Contains(t, short(config(paged, users+`, "incremental": {"cursor": "at", "param": "since"}}`)),
		"(one that fails the run is requested again, and replaces its rows in .partial, and so is a last one that is not known to be full), and adds the rows from there to .partial, which becomes the file, or to standard output; after exit status 0, it begins with the kept values, and after evidence the lists that have it, with the kept values that they had.")
	require.NotContains(t, text, "keeps the rows that are in .partial", "--full says more of it")
}

// A sign is evidence only where a run may find it so: a total in a list that tokens lead through only after samePage, and one
// about the first page only if the list begins there.
func TestEvidenceIsToldOnlyWhereItMayBe(t *testing.T) {
	evidence := func(pagination, job string) map[string]string {
		found := map[string]string{}
		x := explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "pagination": `+pagination+`}, "config": {"jobs": [{"endpoint": "users"`+job+`}]}}`, nil)
		for _, r := range x.Jobs[0].Audit {
			switch {
			case r.Never != "":
				found[r.ID] = "never: " + r.Never
			case r.again:
				found[r.ID] = "again"
			case r.Evidence != "":
				found[r.ID] = "yes"
			}
		}
		return found
	}
	const byToken = `{"method": "response.param", "responseParam": "next", "queryParam": "c"`
	for _, c := range []struct{ pagination, job, id, want string }{
		{`{"method": "pagenum"}`, "", "audit.total", "yes"},
		{byToken + `}`, "", "audit.total", "again"},
		{byToken + `, "guards": {"samePage": "ignore"}}`, "", "audit.total", ""},
		{byToken + `, "guards": {"samePage": "stop"}}`, "", "audit.total", ""},
		{`{"method": "pagenum"}`, "", "audit.pages", "again"},
		{`{"method": "pagenum", "forceStop": {"pages": 1}}`, "", "audit.position", "never: the list has one page"},
		{`{"method": "pagenum", "firstPage": 2}`, "", "audit.begin", "yes"},
		{`{"method": "pagenum"}`, `, "params": {"page": 3}`, "audit.begin", "yes"},
		{`{"method": "pagenum"}`, "", "audit.noList", "never: pagenum.empty ends the list at the first empty page"},
		{byToken + `}`, "", "audit.noList", "yes"},
		{byToken + `}`, `, "response": {"format": "csv"}`, "audit.noList", "never: each line of a response is an item"},
		{byToken + `}`, `, "response": {"format": "csv"}`, "audit.moved", "never: each line of a response is an item"},
	} {
		require.Equal(t, c.want, evidence(c.pagination, c.job)[c.id], c.pagination+c.job+" "+c.id)
	}
}

// The paths that the audit misses are named, links and tokens apart, which the only page of a list may lack.
func TestThePathsThatMayBeMissingAreNamed(t *testing.T) {
	told := func(pagination, job string) string {
		return toldOf(t, `{"api": {"baseUrl": "https://x.example/", "pagination": `+pagination+`}, "config": {"jobs": [{"endpoint": "users"`+job+`}]}}`)
	}
	require.Contains(t, told(`{"method": "pagenum"}`, `, "filter": "item.active"`), "audit.missing one of these is in no response: the list of items, item.active")
	require.Contains(t, told(`{"method": "pagenum"}`, `, "filter": "item.n > body.least", "fields": {"a": "item.b", "c": "header('X-C')", "d": "body.d ?? 1"}`),
		`audit.missing one of these is in no response: the list of items, item.n, least, header("X-C")`)
	require.Contains(t, told(`{"method": "response.param", "responseParam": "next", "queryParam": "c"}`, ""),
		"audit.missing no response has the list of items; or none has next, although there is a sign of more")
	require.Contains(t, told(`{"method": "header.param", "responseHeader": "X-Next", "queryParam": "c"}`, ""), "audit.missing no response has the list of items")
	const flag = `{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": false, "ifNotSet": `
	require.Contains(t, told(flag+`true}}`, ""), "audit.missing no response has the list of items", "the list goes on without the flag")
	require.Contains(t, told(flag+`false}}`, ""), "audit.missing one of these is in no response: the list of items, isLast")
	require.NotContains(t, told(`{"method": "expression", "nextRequest": {"params": {"p": "page"}, "after": "header('X-Wait')"}, "stopRules": ["count == 0"]}`, ""),
		"that the rules read", "a wait is not a sign")
}

// What readers of the tenth trial missed or took otherwise: each fact is told where it applies, and nowhere else.
func TestAFactOfTheTenthTrialIsToldWhereItApplies(t *testing.T) {
	config := configOf
	const (
		paged    = `, "pagination": {"method": "pagenum"}`
		users    = `{"id": "users", "endpoint": "users"`
		posts    = `{"id": "posts", "endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}`
		parts    = `, "for": {"k": {"values": [1, 2]}}, "params": {"k": {"expr": "k"}}`
		nilEntry = "a comparison with it is false, unless it is == or !=, and it is in no list"
		aws4     = `, "pagination": {"method": "offset", "limit": 2}, "authentication": {"type": "aws4", "region": "r", "service": "s", "accessKeyId": "a", "#secretAccessKey": "b"}`
	)
	for _, c := range []struct{ name, with, without, told string }{
		{"skipped partitions", config("", users+parts+`, "onPartitionError": "skip"}`), config("", users+parts+"}"), "and does not repeat partitions that have ended, or failed and were skipped (onPartitionError) before a page of a later one was saved; after exit status 0"},
		{"evidence in a partition", config("", users+parts+"}"), config("", users+"}"), "and after evidence all partitions of the jobs that have it."},
		{"a sorted query", config(aws4, users+"}"), config(`, "pagination": {"method": "offset", "limit": 2, "offsetParam": "a"}`, users+"}"), "first request GET https://x.example/v1/users?limit=2&offset=0"},
		{"a filter", config("", users+`, "filter": "item.a"}`), config("", users+"}"), "an item is left out if this is false or nil; any other value than true fails the run (exit status 5)"},
		{"a filter that fails", config(paged, users+`, "filter": "item.a"}`), config(paged, users+"}"), "or another expression fails it (but not if that is an expression of filter)."},
		{"a parent that is not written", config("", users+`, "emit": false}, `+posts+"}"), config("", users+"}"), "With --state FILE, the run after one that failed or was interrupted requests what is not complete, taking the items of users on saved pages from the state"},
		{"children of a job with skipped partitions", config("", users+parts+`, "onPartitionError": "skip"}, `+posts+"}"), config("", users+parts+`, "onPartitionError": "skip"}`),
			"ends a partition only, but those of jobs for its items do not."},
		{"the order of onError and retries", config(`, "pagination": {"method": "pagenum", "onError": [{"when": "status >= 500", "do": "fail"}]}`, users+"}"), config(paged, users+"}"),
			"before any retry: the first that is true decides"},
		{"kept values in all requests", config(paged, users+`, "incremental": {"cursor": "at", "param": "since"}}`),
			config(`, "pagination": {"method": "response.url", "urlKey": "next"}`, users+`, "incremental": {"cursor": "at", "param": "since"}}`),
			"the later requests have them, too, and a run that continues a failed one sends the same values"},
		{"a missing number of pages", config(`, "pagination": {"method": "pagecount", "pagesField": "n"}`, users+"}"), config(paged, users+"}"), nilEntry},
		{"a condition on items", config("", users+`}, {"endpoint": "u/{user.id}", "for": {"user": {"items": "users", "when": "user.n > 0"}}}`), config("", users+"}, "+posts+"}"), nilEntry},
		{"a predicate", config(`, "pagination": {"method": "pagenum", "stopRules": ["any(items, .at < 'a')"]}`, users+"}"), config(paged, users+"}"), "a number and another text fail the rule; two texts"},
		{"the last window of days", config("", users+`, "for": {"w": {"from": "2026-01-01", "to": "2026-03-05", "step": "7d", "granularity": "1d"}}, "params": {"k": {"expr": "w.from"}}}`),
			config("", users+`, "for": {"w": {"from": 1, "to": 9, "step": 3, "granularity": 1}}, "params": {"k": {"expr": "w.from"}}}`), "and so is the whole 1d that begins there: the API must read it so."},
		{"an overlap that is asked for", config("", users+`, "for": {"w": {"from": 1, "to": 9, "step": 3}}, "params": {"k": {"expr": "w.from"}}}`),
			config("", users+`, "for": {"w": {"from": 1, "to": 9, "step": 3, "overlap": 1}}, "params": {"k": {"expr": "w.from"}}}`), "items of a partition occur in an earlier one"},
		{"evidence of one of several jobs", config("", users+"}, "+posts+"}"), config(`, "dialect": "keboola"`, users+"}, "+posts+"}"), "Evidence of the audit stops no job"},
		{"jobs that are cancelled", config("", users+"}, "+posts+"}"),
			`{"api": {"baseUrl": "https://x.example/"}, "config": {"limits": {"partitions": 3}, "jobs": [` + users + "}, " + posts + "}]}}", "those that run with --jobs are cancelled"},
	} {
		require.Contains(t, toldOf(t, c.with), c.told, c.name)
		require.NotContains(t, toldOf(t, c.without), c.told, c.name)
	}
}

// What was wrong or missing in the eleventh trial: each fact is told where it applies, and nowhere else.
func TestAFactOfTheEleventhTrialIsToldWhereItApplies(t *testing.T) {
	config := configOf
	const (
		paged = `, "pagination": {"method": "pagenum"}`
		users = `{"id": "users", "endpoint": "users"`
		byDay = `, "pagination": {"method": "expression", "state": {"day": {"init": "1", "next": "state.day + 1"}}, "nextRequest": {"params": {"d": "state.day"}}, "stopRules": [`
		goOn  = `, "pagination": {"method": "pagenum", "onError": [{"when": "status == 410", "do": "continue"}]}`
		split = `, "for": {"w": {"from": 0, "to": 8, "step": 4, "splitWhen": "body.full"}}, "params": {"w": {"expr": "w.from"}}}`
		whole = `, "for": {"w": {"from": 0, "to": 8, "step": 4}}, "params": {"w": {"expr": "w.from"}}}`
	)
	for _, c := range []struct{ name, with, without, told string }{
		{"an end by the state", config(byDay+`"state.day >= 5"]}`, users+"}"), config(byDay+`"page >= 60"]}`, users+"}"),
			"emptyPages: a rule of stopRules ends the list by state or sent alone"},
		{"a guard of empty pages", config(byDay+`"page >= 60"]}`, users+"}"), config(byDay+`"state.day >= 5"]}`, users+"}"), "20 pages in a row have no item"},
		{"an error body that is an item", config(goOn, users+`, "dataField": "."}`), config(goOn, users+`, "dataField": "data"}`),
			`a body that is an object is an item, and one that is not JSON is the item {"errorData": its text}`},
		{"an error body without a list", config(goOn, users+"}"), config(goOn, users+`, "dataField": "."}`), "an object without the list, or a body that is not JSON, is an empty page; any other body is read as on a page"},
		{"an item without its key", config(paged, users+`, "key": ["a", "b"]}`), config(paged, users+"}"), "audit.noKey items lack every member of their key"},
		{"a path of a filter", config(paged, users+`, "filter": "item.a"}`), config(paged, users+`, "fields": {"b": "item.a + 1"}}`),
			"audit.missing one of these is in no response: the list of items, item.a"},
		{"a first request without a position", config(paged[:len(paged)-1]+`, "firstPageParams": false}`, users+"}"), config(paged, users+"}"),
			"audit.position: the first request has no parameter with a usual name of a page or an offset"},
		{"requests of a day", config(byDay+`"state.day >= 5"]}`, users+"}"), config(byDay+`"state.day >= 5"]}`, users+`, "params": {"page": 1}}`),
			"audit.position: the first request has no parameter with a usual name of a page or an offset"},
		{"a position in a body", config(paged, users+`, "method": "POST"}`), config(paged[:len(paged)-1]+`, "firstPageParams": false}`, users+`, "method": "POST"}`),
			"audit.position a response states a later position than its request, and page 1 states its own"},
		{"a condition that fails", config("", users+`}, {"endpoint": "u/{user.id}", "for": {"user": {"items": "users", "when": "user.n > 0"}}}`),
			config("", users+`}, {"endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}}`),
			"A condition (when) that fails for an item, such as a comparison of a number with another text, fails the run (exit status 5), also with onPartitionError."},
		{"evidence in one of several partitions", config("", users+whole), config("", users+`, "for": {"k": {"values": [1]}}, "params": {"k": {"expr": "k"}}}`),
			"Evidence in one partition does not stop the others."},
		{"evidence of partitions in dialect keboola", config("", users+whole), config(`, "dialect": "keboola"`, users+whole), "Evidence in one partition does not stop the others."},
		{"restarts of several runs", config(`, "pagination": {"method": "pagenum", "onError": [{"when": "status == 410", "do": "restart"}]}`, users+"}"), config(goOn, users+"}"),
			"a run that continues has only the restarts that are left"},
		{"items without the cursor", config(paged, users+`, "incremental": {"cursor": "at", "param": "since"}}`),
			config(`, "pagination": {"method": "pagenum", "keep": {"at": "items[-1].at"}}`, users+"}"),
			"An item without at is passed over; if no item has it, and no run before kept a value, no value of at is saved, and the log warns."},
		{"the totals so far", config(`, "pagination": {"method": "pagenum", "keep": {"n": "total"}}`, users+"}"),
			config(`, "pagination": {"method": "pagenum", "keep": {"n": "body.total"}}`, users+"}"),
			"total what the list has had so far: total.pages, total.items and total.bytes; it is not a total of a response"},
		{"an addition", config("", users+`, "fields": {"a": "item.b + ' '"}}`), config(paged, users+`, "fields": {"a": "item.b"}}`),
			"a + b two texts are joined, and two numbers added; a text and a number fail the rule"},
		{"a window that is continued", config(paged, users+split), config(paged, users+whole),
			"is not split, but written as it is, and the log warns (audit.window); so is, with --state, a window that a run continues after pages that were saved."},
	} {
		require.Contains(t, toldOf(t, c.with), c.told, c.name)
		require.NotContains(t, toldOf(t, c.without), c.told, c.name)
	}
	short := func(config string) string {
		return strings.Join(strings.Fields(explainedConfig(t, config, nil).String()), " ")
	}
	require.Contains(t, short(config(paged, users+split)), "cannot be split further only if an earlier run has written pages of this window (otherwise it warns)")
	const skipped = "and does not repeat partitions that have ended, or failed and were skipped (onPartitionError) before a page of a later one was saved; after exit status 0"
	require.Contains(t, short(config("", users+`, "onPartitionError": "skip"`+whole)), skipped)
	require.NotContains(t, short(config("", users+whole)), skipped)
	const poll = "which repeats the previous request after a wait of more than 0 (nextRequest.after)"
	require.Contains(t, short(config(`, "pagination": {"method": "expression", "nextRequest": {"after": "body.n"}, "stopRules": ["body.done"]}`, users+"}")), poll)
	require.NotContains(t, short(config(paged, users+"}")), poll)
}

// What was wrong or missing in the twelfth trial: each fact is told where it applies, and nowhere else.
func TestAFactOfTheTwelfthTrialIsToldWhereItApplies(t *testing.T) {
	config := configOf
	const (
		paged  = `, "pagination": {"method": "pagenum"}`
		cursor = `, "pagination": {"method": "cursor", "idKey": "id", "param": "since"`
		users  = `{"id": "users", "endpoint": "users"`
		posts  = `{"id": "posts", "endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}`
		form   = users + `, "method": "FORM"}`
		xml    = `, "response": {"format": "xml"}`
		since  = `, "incremental": {"cursor": "at", "param": "since"}`
	)
	windows := func(keys string) string {
		return users + `, "for": {"w": {"from": "2026-01-01", ` + keys + `}}, "params": {"k": {"expr": "w.from"}}}`
	}
	for _, c := range []struct{ name, with, without, told string }{
		{"requests ahead of another method", config(paged, form), config(paged, users+"}"), "fetching ahead not by default, as the method is POST; --prefetch N requests"},
		{"requests ahead of GET", config(paged, users+"}"), config(paged, form), "by default, the next page while one of 64 KiB or more is read; --prefetch N requests"},
		{"requests beyond the end", config(paged, users+"}"), config("", users+"}"), "also beyond the end, where an error changes nothing."},
		{"the last window of days", config("", windows(`"to": "2026-03-05", "step": "7d", "granularity": "1d"`)),
			config("", users+`, "for": {"w": {"from": 1, "to": 9, "step": 3}}, "params": {"k": {"expr": "w.from"}}}`),
			"If the last window would end after for.w.to, its w.to is for.w.to as it is."},
		{"a value that might not be text", config(`, "pagination": {"method": "expression", "nextRequest": {"params": {"c": "body.next"}}, "stopRules": ["body.done"]}`, users+`, "method": "POST"}`),
			config(`, "pagination": {"method": "keyset", "idKey": "id", "param": "c"}`, users+`, "method": "POST"}`), "with its quotes"},
		{"a text in an object", config(`, "pagination": {"method": "expression", "nextRequest": {"body": {"f": "{\"c\": body.next}"}}, "stopRules": ["body.done"]}`, users+`, "method": "POST"}`),
			config(`, "pagination": {"method": "expression", "nextRequest": {"body": {"f": "{\"c\": text(body.next)}"}}, "stopRules": ["body.done"]}`, users+`, "method": "POST"}`),
			"with its quotes"},
		{"a value so far", config(paged, users+since+"}"), config(`, "pagination": {"method": "pagenum", "keep": {"at": "body.at"}}`, users+"}"),
			"The value of at is computed after each page, from its items and the value so far; there, kept.at means this value, and everywhere else that of the run before."},
		{"an identifier that is increased", config(cursor+`, "increment": 1}`, users+"}"), config(cursor+"}", users+"}"), "its id is neither a number nor the text of one, on any page but the last"},
		{"an identifier", config(cursor+"}", users+"}"), config(cursor+`, "increment": 1}`, users+"}"), "its id is neither a number nor a text, on any page but the last"},
		{"a kept identifier", config(`, "pagination": {"method": "pagenum", "keep": {"id": "greatest(items, 'id', kept.id)"}}`, users+"}"), config(cursor+"}", users+"}"),
			"its id is neither a number nor a text (also on the last page)"},
		{"a key", config("", users+`, "key": "id"}`), config("", users+"}"), "--merge The rows of the file stay, also in a run without kept values, but a row of the run replaces those with its key. An item without a value of its key fails the run (exit status 5)."},
		{"the time of a run", config("", windows(`"to": "now()"`)), config("", windows(`"to": "2026-03-05"`)), "in for, the start of the run, or of the one that it continues;"},
		{"a path in XML", config("", users+xml+`, "dataField": "a.b"}`), config("", users+`, "dataField": "a.b"}`), "at a.b of the response (XML), whose first name is that of the root element"},
		{"a restart with kept values", config(paged, users+since+"}"), config(paged, users+"}"), "With --restart, it starts over, with no kept values but those of --kept."},
		{"a restart", config(paged, users+"}"), config(paged, users+since+"}"), "With --restart, it starts over."},
		{"several jobs", config(paged, users+`}, {"endpoint": "teams"}`), config(paged, users+"}, "+posts+"}"), "to standard output, job by job, also with --jobs, or,"},
		{"the name of an item", config("", users+"}, "+posts+"}"), config("", users+"}"), "For each item of users, called user, the job reads user.id, as sent by the API."},
		{"a path with a delimiter", config("", users+`, "dataField": {"path": "a/b", "delimiter": "/"}}`), config("", users+`, "dataField": "a/b"}`), "at a.b of the response"},
		{"params of a link alone", config(`, "pagination": {"method": "response.url", "paramIsQuery": true}`, users+"}"),
			config(`, "pagination": {"method": "response.url", "paramIsQuery": true, "includeParams": true}`, users+"}"), "each member is a param, unless it is null; a list"},
		{"a comparison in a filter", config("", users+`, "filter": "item.n > 3"}`), config(`, "pagination": {"method": "pagenum", "stopRules": ["body.n > 3"]}`, users+"}"),
			"a number and another text fail the rule, or a filter leaves the item out;"},
	} {
		require.Contains(t, toldOf(t, c.with), c.told, c.name)
		require.NotContains(t, toldOf(t, c.without), c.told, c.name)
	}
	env := &EnvExplanation{Names: []string{"BASE", "KEY"}, Paths: map[string][]string{"BASE": {"api.baseUrl"}, "KEY": {"api.authentication.#token"}}}
	require.Contains(t, env.String(), "passed with --env (exit status 2 otherwise), except BASE with --base-url")
	env.Paths["BASE"] = append(env.Paths["BASE"], "inputs.host.default")
	require.NotContains(t, env.String(), "--base-url")
}

// What was missing or ambiguous in the thirteenth trial: each fact is told where it applies, and nowhere else.
func TestAFactOfTheThirteenthTrialIsToldWhereItApplies(t *testing.T) {
	const (
		paged = `, "pagination": {"method": "pagenum"}`
		users = `{"id": "users", "endpoint": "users"`
		posts = `{"id": "posts", "endpoint": "u/{user.id}", "for": {"user": {"items": "users"}}`
		since = `, "incremental": {"cursor": "at", "param": "since"}`
		skip  = `, "onPartitionError": "skip", "for": {"k": {"values": [1, 2]}}, "params": {"k": {"expr": "k"}}}`
	)
	config := configOf
	keeps := func(keys string) string {
		return `, "pagination": {"method": "pagenum", "keep": {"n": "greatest(items, 'n', kept.n)"}, ` + keys + `}`
	}
	const next = `, "pagination": {"method": "expression", "nextRequest": {"endpoint": "body.next", "includeParams": false}}`
	const links = `, "pagination": {"method": "response.url", "urlKey": "next", "includeParams": true}`
	for _, c := range []struct{ name, with, without, told string }{
		{"a param of the first request with a kept value", config(keeps(`"nextRequest": {"params": {"t": "page == 0 ? kept.n : nil"}, "applyToFirst": true}`), users+since+"}"),
			config(paged, users+since+"}"), "the later requests have them, too, except for t, and a run"},
		{"a kept value in all requests", config(paged, users+since+"}"), config(paged, users+"}"), "the later requests have them, too, and a run"},
		{"values that a limited list must have", config(keeps(`"limitStop": {"count": 4}`), users+"}"), config(keeps(`"limit": 4`), users+"}"),
			"(also on the last page, unless the list is limited there)"},
		{"a partial job", config("", users+skip), config("", users+"}"), "the outcome of the job is then partial, however the others end (exit status 0"},
		{"a job that may have no partition", config("", users+"}, "+posts+"}"), config("", users+"}"), "also if no row is written, or there is no partition;"},
		{"a file that rows are added to", config("", users+"}"), config("", users+`, "emit": false}`),
			"--append The rows are added to the file instead of replacing it, without --state only if the whole run succeeds."},
		{"the last page of a parent", config("", users+"}, "+posts+"}"), config("", users+"}"), "It runs for the items of each page, also of the last, before the next page of users."},
		{"several lists", config("", users+`, "dataField": [{"path": "a", "dataType": "a"}, {"path": "b", "dataType": "b"}]}`), config("", users+`, "dataField": "a"}`),
			"; the items of all lists are counted together"},
		{"several files", config("", users+`, "dataField": [{"path": "a", "dataType": "a"}, {"path": "b", "dataType": "b"}]}`), config("", users+`, "dataField": "a"}`),
			"also if the run fails later, and does not name the file of a row. An item that occurs twice is written twice."},
		{"a header of retries", config(`, "http": {"retryHeader": "X-Wait"}`, users+"}"), config("", users+"}"), "The header X-Wait, in place of Retry-After, gives the wait before a retry"},
		{"a body of its own", config(next, users+`, "method": "POST", "body": {"a": 1}}`), config(next, users+`, "method": "POST", "params": {"a": 1}}`),
			"next request: the job's body, without its endpoint and params, with"},
		{"params in a body beside a link", config(links, users+`, "method": "POST", "params": {"a": 1}}`), config(links, users+`, "params": {"a": 1}}`),
			"next request: the job's params in the body, so that those of a link stay as they are, with"},
		{"params in a link beside those of a body", config(links, users+`, "method": "POST", "body": {"a": 1}, "params": {"a": 1}}`),
			config(links, users+`, "method": "FORM", "params": {"a": 1}}`), "since a parameter of the job overrides its own"},
		{"a param that fails", config("", users+`, "params": {"t": {"expr": "now()"}}}`), config("", users+skip), "computed once, before the first request (exit status 2 if this fails)"},
		{"a fresh start", config(paged, users+since+"}"), config(paged, users+"}"), "To read everything again, use --restart with --state, and remove the file of --kept."},
		{"other origins in dialect keboola", config(`, "dialect": "keboola"`, users+"}"), config("", users+"}"),
			"than that of api.baseUrl (https://x.example) is followed, without credentials and other secrets, but with other headers."},
		{"the origin", config("", users+"}"), config(`, "dialect": "keboola"`, users+"}"), "than that of api.baseUrl (https://x.example) fails the run (exit status 6)"},
		{"files beside a job that fails", config("", users+`}, {"endpoint": "teams"}`), config("", users+"}"), "If a job fails, its files stay as they are, and so do those of jobs that did not end and, with --append"},
		{"the time of a list", config("", users+`, "params": {"t": {"expr": "now()"}}}`), config("", users+"}"),
			"in what is computed before the first request, the start of the list, also for a run that continues it;"},
		{"a stopping rule with a kept value", config(keeps(`"stopRules": ["items[-1].n <= kept.n"]`), users+"}"),
			config(keeps(`"stopRules": ["kept.n != nil and items[-1].n <= kept.n"]`), users+"}"),
			"in a run without kept values, kept.n is nil, so that comparisons by < and > are false; if this is true only because it is nil, the run fails (exit status 5)"},
		{"a variable that begins with a kept value", config(keeps(`"state": {"n": {"init": "kept.n", "next": "state.n"}}, "stopRules": ["items[-1].n <= state.n"]`), users+"}"),
			config(keeps(`"state": {"n": {"init": "7", "next": "state.n"}}, "stopRules": ["items[-1].n <= state.n"]`), users+"}"),
			"Fails when stopRules[0] is true only because state.n is nil"},
		{"an identifier in dialect keboola", config(`, "dialect": "keboola", "pagination": {"method": "cursor", "idKey": "a.id", "param": "c"}`, users+"}"),
			config(`, "dialect": "keboola", "pagination": {"method": "pagenum"}`, users+"}"),
			"an item has no a.id, or its a.id is neither a number nor the text of one, on any page but the last"},
		{"a missing address", config(next, users+"}"), config(paged, users+"}"), `there is no next request: body.next is missing, null or ""`},
		{"one of several kept values", config(keeps(`"limit": 4`), users+since+"}"), config(paged, users+since+"}"), "In a run without kept values on which its items depend, as the first one is"},
		{"a file shared with a tree", config("", users+`, "dataType": "all"}, `+posts+`}, {"id": "teams", "endpoint": "teams", "dataType": "all"}`),
			config("", users+`, "dataType": "all"}, {"id": "teams", "endpoint": "teams", "dataType": "all"}`), "and those that write to the same file as one of its jobs"},
		{"an empty text in parts", config("", users+`, "fields": {"a": "split(item.b, ',')"}}`), config("", users+"}"), "an empty text is one part"},
	} {
		require.Contains(t, toldOf(t, c.with), c.told, c.name)
		require.NotContains(t, toldOf(t, c.without), c.told, c.name)
	}
	const leftOut = "An input that is left out is nil."
	const twice = "nextRequest empty(at(\"next\"))"
	const ownLinks = `, "pagination": {"method": "response.url", "urlKey": "next"}`
	require.NotContains(t, toldOf(t, config(`, "dialect": "keboola"`+ownLinks, users+"}")), twice)
	input := func(keys string) string {
		return `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [` + users + `, "params": {"a": {"expr": "input.a"}}}]}, "inputs": {"a": {` + keys + `}}}`
	}
	require.Contains(t, toldOf(t, input(`"optional": true`)), leftOut)
	require.NotContains(t, toldOf(t, input(`"default": 1`)), leftOut)
}

// What was missing or ambiguous in the fourteenth trial.
func TestAFactOfTheFourteenthTrialIsToldWhereItApplies(t *testing.T) {
	const (
		users = `{"id": "users", "endpoint": "users"`
		parts = `, "for": {"k": {"values": [1, 2]}}, "params": {"k": {"expr": "k"}}`
		auto  = `, "response": {"format": "auto"}`
		csv   = `, "response": {"format": "csv"`
		links = `, "pagination": {"method": "header.link", "includeParams": true}`
		basic = `, "authentication": {"type": "basic", "username": "a", "#password": "b"}`
	)
	config := configOf
	values := func(expression string) string {
		return `{"api": {"baseUrl": "https://x.example/"}, "inputs": {"a": {"optional": true}}, "config": {"jobs": [` + users + `, "for": {"k": {"values": ` +
			expression + `}}, "params": {"k": {"expr": "k"}}}]}}`
	}
	for _, c := range []struct{ name, with, without, told string }{
		{"an element of XML by its Content-Type", config("", users+auto+`, "dataField": "a.b"}`), config("", users+`, "dataField": "a.b"}`),
			"each element of this name is an item: a text, or an object if it has attributes (@name, with its text as #text) or children"},
		{"the root element", config("", users+auto+`, "dataField": "."}`), config("", users+auto+"}"), "XML is one item, an object with the root element as its member"},
		{"fields of CSV", config("", users+csv+`}}`), config("", users+csv+`, "header": false}}`), "; a row with more or fewer fields fails the run (exit status 5)"},
		{"a header alone", config("", users+csv+`}}`), config("", users+csv+`, "header": false}}`), "a header alone"},
		{"an index", config("", users+`, "dataField": "a.1"}`), config("", users+`, "dataField": "a.b"}`), "(a number is a place in a list, from 0, or a member of that name)"},
		{"values that are nil", values(`"split(input.a, ',')"`), values(`["a"]`),
			"If for.k.values is nil or not a list, the run fails (exit status 2); if it is an empty list, there is no partition."},
		{"values of an item that are nil", config("", users+`}, {"endpoint": "u", "for": {"o": {"items": "users"}, "k": {"values": "o.all"}}, "params": {"k": {"expr": "k"}}}`), values(`["a"]`),
			"If for.k.values is nil or an empty list, there is no partition; another value that is not a list fails the run (exit status 5)."},
		{"a form", config("", users+`, "method": "FORM", "params": {"a": 1}}`), config("", users+`, "method": "POST", "params": {"a": 1}}`), "body, a URL-encoded form: a=1"},
		{"params in a body", config(links, users+`, "method": "POST", "params": {"a": 1}}`), config(links, users+`, "params": {"a": 1}}`), "next request: the job's params in the body, so that those of a link stay as they are, with"},
		{"a header that is hidden", config("", users+`, "headers": {"X-Key": "abc"}}`), config("", users+`, "headers": {"X-App": "abc"}}`),
			"headers X-Key: *** (configured; it may be a secret)"},
		{"a header of the credentials", config(basic, users+`, "headers": {"authorization": "abc"}}`), config("", users+`, "headers": {"authorization": "abc"}}`),
			"headers authorization (that of the credentials takes its place)"},
		{"the next request of several", config(`, "pagination": {"method": "pagenum"}`, users+"}"), config(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 1}}`, users+"}"),
			"next request: "},
		{"the only request", config(`, "pagination": {"method": "pagenum", "forceStop": {"pages": 1}}`, users+"}"), config(`, "pagination": {"method": "pagenum"}`, users+"}"),
			"the only request: the job's endpoint and params, with nextRequest.params.page state.page"},
		{"a wait that responses decide", config(`, "pagination": {"method": "expression", "nextRequest": {"after": "body.wait"}, "stopRules": ["body.done"]}`, users+"}"),
			config(`, "pagination": {"method": "expression", "nextRequest": {"after": "5"}, "stopRules": ["body.done"]}`, users+"}"),
			"then after a wait if nextRequest.after gives one, sends the same request again"},
		{"the flag about other jobs", config("", users+"}"), config("", users+`}, {"endpoint": "teams"}`), "--keep-going It has no effect, since there is one job, nor has --jobs."},
		{"a limit for each partition", config(`, "pagination": {"method": "pagenum"}`, users+parts+"}"), config(`, "pagination": {"method": "pagenum"}`, users+"}"),
			"--max-pages N A list, that of each partition, ends after N pages, unless another rule ends it on page N."},
	} {
		require.Contains(t, toldOf(t, c.with), c.told, c.name)
		require.NotContains(t, toldOf(t, c.without), c.told, c.name)
	}
}
