package rules

// The configuration outside pagination. The specification shows a part of it
// (2.6); the rest follows its public reference.

var rootFields = []Field{
	{Name: "$schema", Kind: Text, Doc: "the JSON Schema that an editor checks this file with"},
	{Name: "api", Kind: Block, Fields: apiFields, Required: true, Doc: "where the API is and how it pages"},
	{Name: "config", Kind: Block, Fields: configFields, Required: true, Doc: "what to extract"},
	{Name: "tests", Kind: Blocks, Fields: testFields, Doc: "what must come of what the API answers; `stopwhen test` runs them, everything else leaves them alone"},
}

var apiFields = []Field{
	{Name: "baseUrl", Kind: Text, Required: true, Doc: "base address; endpoints are resolved against it (RFC 3986), so a path that is to be kept ends in a slash"},
	{Name: "pagination", Kind: Nested, Doc: "how the API pages; without it each job makes one request"},
	{Name: "dialect", Kind: Text, Default: "spec", Values: Dialects, Doc: "`spec` follows the specification to the letter, `keboola` its reference implementation"},
	{Name: "http", Kind: Block, Fields: httpFields, Doc: "headers, retries and limits of every request"},
	{Name: "authentication", Kind: Block, Fields: authenticationFields, Doc: "credentials, sent to the origin of `baseUrl` alone"},
	{Name: "allowedOrigins", Kind: List, Each: &Field{Kind: Text}, Doc: "other origins (`https://host:port`) that next URLs and redirects may lead to, without credentials"},
	{Name: "name", Kind: Text, Unsupported: OnOutput, Doc: "a name for the API"},
	{Name: "retryConfig", Kind: Block, Fields: retryFields, Doc: "retries, as the reference writes them"},
	{Name: "caCertificate", Kind: Text, Unsupported: OnRequest},
	{Name: "clientCertificate", Kind: Text, Unsupported: OnRequest},
	{Name: "#clientCertificate", Kind: Text, Unsupported: OnRequest},
}

var retryFields = []Field{
	{Name: "maxRetries", Kind: Integer, Default: 4, Doc: "how often a request is repeated after a passing fault"},
	{Name: "codes", Kind: List, Each: &Field{Kind: Integer}, Doc: "the statuses that are repeated, in place of the usual ones"},
	{Name: "http", Kind: Block, Doc: "the same, one level deeper", Fields: []Field{
		{Name: "retryHeader", Kind: Text, Default: "Retry-After", Doc: "the header that says when to come back"},
		{Name: "codes", Kind: List, Each: &Field{Kind: Integer}, Doc: "the statuses that are repeated, in place of the usual ones"},
	}},
	{Name: "curl", Kind: Any, Unsupported: OnRequest},
}

var httpFields = []Field{
	{Name: "headers", Kind: Map, Doc: "headers of every request; a `#` before a name makes its value a secret"},
	{Name: "defaultOptions", Kind: Block, Doc: "what every request carries, merged under its own", Fields: []Field{
		{Name: "params", Kind: Map, Doc: "parameters of every request"},
		{Name: "headers", Kind: Map, Doc: "headers of every request"},
	}},
	{Name: "maxRetries", Kind: Integer, Default: 4, Doc: "how often a request is repeated after a passing fault"},
	{Name: "codes", Kind: List, Each: &Field{Kind: Integer}, Doc: "the statuses that are repeated, in place of 408, 425, 429, 500, 502, 503, 504, 520 to 524 and 529"},
	{Name: "retryHeader", Kind: Text, Default: "Retry-After", Doc: "the header that says when to come back"},
	{Name: "rateLimit", Kind: Block, Doc: "headers by which the API says how many requests are left: where none is, the next one waits", Fields: rateLimitFields},
	{Name: "ignoreErrors", Kind: List, Each: &Field{Kind: Integer}, Doc: "statuses whose response counts as a page"},
	{Name: "maxBodyBytes", Kind: Count, Default: 1 << 30, Doc: "the longest response, decompressed, in bytes"},
	{Name: "maxItemsPerPage", Kind: Count, Default: 1_000_000, Doc: "the most items of a response"},
	{Name: "maxDepth", Kind: Count, Default: 512, Doc: "the deepest nesting of a response"},
	{Name: "requiredHeaders", Kind: List, Unsupported: OnRequest},
}

var rateLimitFields = []Field{
	{Name: "remaining", Kind: Text, Doc: "header with the number of requests that are left: `X-RateLimit-Remaining`; without it every response with `reset` counts"},
	{Name: "reset", Kind: Text, Required: true, Doc: "header that says when there are more: `X-RateLimit-Reset`, in seconds from now or as a time in seconds or milliseconds since 1970"},
}

var authenticationFields = []Field{
	{Name: "type", Kind: Text, Required: true, Values: authTypes, Doc: "`basic`, `bearer`, `header` or `query`"},
	{Name: "username", Kind: Secret, Doc: "of `basic`"},
	{Name: "#password", Kind: Secret, Doc: "of `basic`"},
	{Name: "password", Kind: Secret, Doc: "of `basic`; better written `#password`"},
	{Name: "#token", Kind: Secret, Doc: "of `bearer`"},
	{Name: "token", Kind: Secret, Doc: "of `bearer`; better written `#token`"},
	{Name: "name", Kind: Text, Doc: "of `header` and `query`: the name that carries the key"},
	{Name: "#value", Kind: Secret, Doc: "of `header` and `query`: the key"},
	{Name: "value", Kind: Secret, Doc: "of `header` and `query`; better written `#value`"},
}

var configFields = []Field{
	{Name: "jobs", Kind: Blocks, Fields: jobFields, Required: true, Doc: "what to extract, in this order"},
	{Name: "outputBucket", Kind: Text, Unsupported: OnOutput, Doc: "the reference's output bucket; items go to standard output or to `--out`"},
	{Name: "debug", Kind: Flag, Default: false, Doc: "log what happens in detail"},
	{Name: "http", Kind: Block, Doc: "more headers", Fields: []Field{
		{Name: "headers", Kind: Map, Doc: "headers of every request; they take the place of `api.http.headers` of the same name"},
	}},
	{Name: "username", Kind: Secret, Doc: "of `api.authentication` `basic`, where the reference keeps it"},
	{Name: "#password", Kind: Secret, Doc: "of `api.authentication` `basic`, where the reference keeps it"},
	{Name: "password", Kind: Secret, Doc: "of `api.authentication` `basic`; better written `#password`"},
	{Name: "id", Kind: Any, Unsupported: OnOutput},
	{Name: "mappings", Kind: Any, Unsupported: OnOutput},
	{Name: "incrementalOutput", Kind: Any, Unsupported: OnOutput},
	{Name: "compatLevel", Kind: Any, Unsupported: OnOutput},
	{Name: "userData", Kind: Any, Unsupported: OnOutput},
	{Name: "iterations", Kind: Any, Unsupported: OnRequest},
}

var dataFieldFields = []Field{
	{Name: "path", Kind: Text, Required: true, Doc: "where the items stand"},
	{Name: "delimiter", Kind: Text, Default: ".", Doc: "what separates its keys"},
}

var jobFields = []Field{
	{Name: "id", Kind: Text, Doc: "name in logs, trace and result; default: the endpoint and, where that is not unique, the position"},
	{Name: "endpoint", Kind: Text, Required: true, Doc: "the path of the resource, relative to `baseUrl`; with a leading slash from the host's root"},
	{Name: "method", Kind: Text, Default: "GET", Values: anyCase(HTTPMethods), Doc: "`GET`, `POST` (parameters as a JSON body) or `FORM` (urlencoded)"},
	{Name: "params", Kind: Map, Doc: "query parameters of GET, body fields of POST and FORM, sent in this order"},
	{Name: "headers", Kind: Map, Doc: "headers of this job's requests; a `#` before a name makes its value a secret"},
	{Name: "dataField", Kind: Any, Fields: dataFieldFields, Doc: "path of the list of items (`.` is the whole response), or `{\"path\", \"delimiter\"}`; default: the root list, or the only list in the root object"},
	{Name: "dataType", Kind: Text, Doc: "name of the items' type, and of the file under `--out`; default: the endpoint"},
	{Name: "scroller", Kind: Text, Doc: "with method `multiple`: which scroller pages this job"},
	{Name: "children", Kind: Any, Unsupported: OnRequest},
	{Name: "recursionParams", Kind: Any, Unsupported: OnRequest},
	{Name: "recursionFilter", Kind: Any, Unsupported: OnRequest},
	{Name: "placeholders", Kind: Any, Unsupported: OnRequest},
	{Name: "responseFilter", Kind: Any, Unsupported: OnOutput},
	{Name: "responseFilterDelimiter", Kind: Any, Unsupported: OnOutput},
	{Name: "parentId", Kind: Any, Unsupported: OnOutput},
}
