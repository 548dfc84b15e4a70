package rules

// A keboolaMethod is a method in dialect keboola: how it differs from the row of its name in
// [builtinMethods].
type keboolaMethod struct {
	name     string
	only     *Method           // the method, if the specification does not have it
	kinds    map[string]Kind   // kinds of settings that the reference implementation reads differently
	defaults map[string]any    // defaults that differ, by the paths of settings; [Off] means no default
	values   map[string]string // expressions of variables and parts, by the expressions that they replace
	more     []StopRule        // further stopping rules
}

// keboolaMethods is the table of methods that differ in dialect keboola, in the order of
// [builtinMethods]. A method that only the dialect has follows the method of the row before it.
var keboolaMethods = []keboolaMethod{
	{name: "offset",
		kinds:  map[string]Kind{"limit": phpNumber, "offsetParam": phpText, "firstPageParams": phpFlag, "offsetFromJob": phpFlag},
		values: map[string]string{`number(job.params[${offsetParam}]) ?? 0`: `phpInt(job.params[${offsetParam}])`}},
	{name: "pagenum",
		kinds: pageNumberKinds,
		more: []StopRule{
			{ID: "pagenum.short", When: `limit != nil and count < limit`, Clause: shortClause, Message: shortMessage},
		}},
	{name: "cursor",
		kinds: map[string]Kind{"idKey": phpStrict, "param": phpText, "increment": phpWhole, "reverse": phpFlag},
		values: map[string]string{
			`greatest(items, ${idKey}, state.id)`: `phpGreatest(items, ${idKey}, state.id)`,
			`least(items, ${idKey}, state.id)`:    `phpLeast(items, ${idKey}, state.id)`,
		}},
	{name: "response.url",
		kinds: map[string]Kind{
			"urlKey": phpText, "includeParams": phpFlag, "paramIsQuery": phpFlag, "delimiter": phpSet,
		},
		values: map[string]string{`query(at(${urlKey}))`: `phpQuery(at(${urlKey}))`}},
	{name: "zendesk.response.url",
		only: &Method{
			Doc:     "Zendesk's incremental exports: like response.url, but there is always a link, and its start time says when to stop.",
			Example: Object{},
			Fields:  responseURLFields(""),
			Next:    responseURLNext,
			Stops: []StopRule{
				{ID: "zendesk.response.url.end", When: `phpEmpty(at(${urlKey}))`,
					Clause: "the response has no link at ${urlKey}", Message: "the response to page {page} has no next link"},
				{ID: "zendesk.response.url.recent",
					When: `not phpEmpty(at(${urlKey})) and phpNumeric(query(at(${urlKey}), "start_time"))` +
						` and phpInt(query(at(${urlKey}), "start_time")) > now().Unix() - 360`,
					Clause:  "the next page starts less than six minutes in the past",
					Message: "the next page starts less than six minutes in the past"},
			},
		},
		kinds:  map[string]Kind{"urlKey": phpText, "includeParams": phpFlag, "paramIsQuery": phpFlag},
		values: map[string]string{`query(at(${urlKey}))`: `phpQuery(at(${urlKey}))`}},
	{name: "response.param",
		kinds:    map[string]Kind{"responseParam": phpText, "queryParam": phpText, "includeParams": phpFlag},
		defaults: map[string]any{"scrollRequest.method": Off},
		values:   map[string]string{`text(at(${responseParam}))`: `at(${responseParam})`}},
	{name: "response.params", kinds: map[string]Kind{"includeParams": phpFlag}},
	{name: "header.link", kinds: map[string]Kind{"includeParams": phpFlag}},
	{name: "header.param", kinds: map[string]Kind{"includeParams": phpFlag}},
	{name: "pagecount", kinds: pageNumberKinds},
	{name: Multiple, kinds: map[string]Kind{"default": phpStrict}},
}

var pageNumberKinds = map[string]Kind{"limit": phpInt, "pageParam": phpText, "firstPage": phpInt, "firstPageParams": phpFlag}

// keboolaStops overrides expressions of stopping rules in dialect keboola, by the ids of the rules: those of methods, those
// that all methods share, and guards. [Off] takes the rule out of force.
var keboolaStops = map[string]string{
	"offset.empty":         Off,
	"pagenum.empty":        `limit == nil and count == 0`,
	"response.url.end":     `phpEmpty(at(${urlKey}))`,
	"response.url.noQuery": Off,
	"response.param.end":   `phpEmpty(at(${responseParam}))`,

	"samePage":         `samePage`,
	"limitStop.field":  `total.items >= phpTotal(at(${limitStop.field}))`,
	"limitStop.absent": Off,
	"forceStop.volume": `total.bytes > ${forceStop.volume}`,
	"nextPageFlag":     `phpTruthy(at(${nextPageFlag.field}) ?? ${nextPageFlag.ifNotSet}) == ${nextPageFlag.stopOn}`,
}

// apply returns the method in dialect keboola, but for the differences of stopping rules: see [stopsIn]. m is the method of
// the specification, if there is one of this name.
func (k keboolaMethod) apply(m Method) Method {
	if k.only != nil {
		m = *k.only
		m.Name = k.name
	}
	m = m.clone()
	for path, kind := range k.kinds {
		findInner(m.Fields, path).KeboolaKind = kind
	}
	for path, v := range k.defaults {
		findInner(m.Fields, path).KeboolaDefault = v
	}
	for i := range m.State {
		k.replace(&m.State[i].Init)
		k.replace(&m.State[i].Next)
	}
	for i := range m.Next.Params {
		k.replace(&m.Next.Params[i].Value)
	}
	m.Stops = append(m.Stops, k.more...)
	return m
}

// replace replaces the expression of a variable or a part, if it differs.
func (k keboolaMethod) replace(source *string) {
	if other, differs := k.values[*source]; differs {
		*source = other
	}
}
