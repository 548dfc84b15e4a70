package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// Job is one list to extract.
type Job struct {
	ID             string
	Endpoint       string
	Method         string // one of [Verbs]
	Params         Object
	Body           Object             // of a JSON or urlencoded body; with it, the query of any method has the Params. Nil: no body
	Lists          requests.ListStyle // how lists are written in queries and forms
	Headers        Object
	SecretHeaders  []string
	DataField      *DataField // nil to find the list automatically
	DataType       string
	Typed          bool        // DataType was chosen: it is configured or, in dialect keboola, the endpoint; otherwise it is the id
	Filter         string      // expression; "" if every item passes
	Fields         []ItemField // in the order in which members are added
	Key            []string    // paths whose values identify an item after Fields; nil without a key
	Response       ResponseFormat
	For            []ForVariable   // variables of its partitions; nil if the job is one partition
	AllowedOrigins []string        // further origins that its requests may go to, besides the origins of the API
	Emits          bool            // its items are written (emit)
	OnFailure      PartitionPolicy // [PartitionFail] or [PartitionSkip]

	scroller   string      // its scroller, if the method is multiple
	pagination *pagination // the pagination of the job, in the place of api.pagination; nil if it has none of its own
	path       string      // config path of the job

	parent int // position of its parent in dialect keboola, from 1; 0 if it is not a child

	increment *increment // nil without incremental

	KeepFor     string // expression that tells apart the partitions whose kept values are their own; "" if all share them
	keepForPath string // config path of keepFor

	keepsStart bool // the next run learns when the job began

	endpointSource Computed // computes the endpoint of a child; may be zero

	secretEndpoint bool // it was read from the environment
	secretQuery    bool // its query has a value that looks like a secret
}

// Path returns the path of the job in the configuration.
func (j Job) Path() string { return j.path }

// ParamPath returns the path of a parameter in the configuration.
func (j Job) ParamPath(name string) string { return diag.Join(diag.Join(j.path, "params"), name) }

var verbs = []string{"GET", "POST", "FORM"}

// Verbs lists the values of method. FORM is a POST with a urlencoded body.
func Verbs() []string { return slices.Clone(verbs) }

var jobFields = []Field{
	{Name: "id", Kind: KindText, Doc: "name in logs, trace and result; default: the endpoint, with the position if that is not unique"},
	{Name: "endpoint", Kind: KindText, Required: true, Env: true, Sources: BraceSource,
		Doc: "path of the resource, relative to `baseUrl`; with a leading slash relative to the root of the host; " +
			"expressions in braces are values in it: `orders/{order.id}`"},
	{Name: "method", Kind: KindText, Default: "GET", QuietDefault: true, Values: verbs, FoldCase: true,
		Doc: "`POST` sends the parameters as a JSON body, `FORM` urlencoded"},
	{Name: "params", Kind: KindMap, Doc: "query parameters of GET, body fields of POST and FORM, sent in this order; " +
		`{"expr": "…"}` + " computes a value, once for each partition"},
	{Name: "body", Kind: KindMap, Doc: "the body of the requests of any method: JSON, or urlencoded with `FORM`. " +
		"With it, `params` are in the query; " + `{"expr": "…"}` + " computes a value"},
	{Name: "listStyle", Kind: KindText, Default: string(requests.Indices), QuietDefault: true, Values: requests.ListStyles(),
		Doc: "how lists are written in queries and urlencoded bodies: `indices` as `a[0]=1&a[1]=2`, `brackets` as `a[]=1&a[]=2`, " +
			"`repeat` as `a=1&a=2`, `comma` as `a=1,2`"},
	{Name: "headers", Kind: KindMap, Doc: "headers of this job's requests; a `#` before a name makes its value a secret"},
	{Name: "dataField", Kind: KindAny, Fields: dataFieldFields, Each: &Field{Kind: KindAny, Fields: dataFieldFields},
		Doc: "path of the list of items (`.` is the whole response), or `{\"path\", \"delimiter\", \"dataType\"}`, or a list of both; " +
			"in dialect `spec`, `*` is every element of a list or every member of an object; " +
			"default: the root, or the only list in the root"},
	{Name: "dataType", Kind: KindText, DefaultOf: "endpoint",
		Doc: "type of the items, and name of their file under `--out`; " +
			"default: the id or, without one and in dialect `keboola`, the endpoint"},
	{Name: "filter", Kind: KindExpression, Scope: ScopeItem,
		Doc: "expression over `item`: an item for which it is not true is not written; " +
			"the other rules see all items"},
	{Name: "fields", Kind: KindMap, Scope: ScopeItem, Each: &Field{Kind: KindExpression, OrNull: true},
		Doc: "members of the items: names, or paths, and expressions " +
			"over `item`; `null` removes the member; other members keep their bytes and their order"},
	{Name: "response", Kind: KindBlock, Fields: responseFields, QuietDefault: true,
		Doc: "the format of this job's responses; its keys override `api.response`"},
	{Name: "scroller", Kind: KindText, KeboolaKind: phpText, Doc: "with method `multiple`: the scroller that pages this job"},
	{Name: "pagination", Kind: KindNested, Doc: "how this job pages, in the place of `api.pagination`; " +
		"rules next to method `multiple` there also apply to it"},
	{Name: "for", Kind: KindMap, Each: &Field{Kind: KindBlock, Fields: forFields, OneOf: []string{"items", "values", "from"}},
		Doc: "variables: the job is run once for each of their values (a partition), each time from the beginning; " +
			"several variables are nested loops. Expressions read them by their names"},
	{Name: "key", Kind: KindPathList, Doc: "path, or paths, of what identifies an item as it is written, such as `id`: " +
		"two items with the same are a finding of the audit, `--merge` replaces rows by it, and it is the `key_properties` of Singer"},
	{Name: "allowedOrigins", Kind: KindList, Sources: BraceSource, Each: &Field{Kind: KindText},
		Doc: "further origins that the requests of this job and its " +
			"redirects may go to, next to those of the API; values in braces: `https://{account.host}`. They get no credentials"},
	{Name: "incremental", Kind: KindBlock, Fields: incrementalFields,
		Doc: "only what has changed since the last run (`--kept` or `--state`): " +
			"short for a value under `keep` and a computed parameter"},
	{Name: "keepFor", Kind: KindExpression,
		Doc: "expression over the variables, such as `order.id`: the values under `keep`, and that of " +
			"`incremental`, are kept for each of its values, and each partition reads its own; default: one for all partitions"},
	{Name: "emit", Kind: KindFlag, Default: true, QuietDefault: true,
		Doc: "if false, the items are not written: they are needed for other jobs only"},
	{Name: "onPartitionError", Kind: KindText, Default: string(PartitionFail), DefaultWith: "for",
		Values: []string{string(PartitionFail), string(PartitionSkip)},
		Doc:    "what to do when a partition fails: `fail` ends the run, `skip` counts and names the partition, and goes on"},
	{Name: "children", Kind: KindAny, Support: OnlyKeboola, Doc: "jobs that run for each item of this one"},
	{Name: "recursionParams", Kind: KindAny, Support: Refused},
	{Name: "recursionFilter", Kind: KindAny, Support: OnlyKeboola, Doc: "of a child: the items for which it runs: `type==admin&id>20`"},
	{Name: "placeholders", Kind: KindAny, Support: OnlyKeboola,
		Doc: "of a child: the names in braces in its endpoint, each with its path in an item of the parent"},
	{Name: "userData", Kind: KindAny, Support: OnlyKeboola, Doc: "members that are added to every item of this job"},
	{Name: "responseFilter", Kind: KindAny, Support: Ignored},
	{Name: "responseFilterDelimiter", Kind: KindAny, Support: Ignored},
	{Name: "parentId", Kind: KindAny, Support: Ignored},
}

func (d *decoder) job(s, api settings) Job {
	j := Job{
		path: s.path, ID: s.get("id").text(), Endpoint: s.get("endpoint").text(), Method: s.get("method").text(),
		DataType: s.get("dataType").text(), scroller: s.get("scroller").text(),
		Params: d.params(d.keboola.params(s.get("params"))), DataField: d.dataField(s.get("dataField")),
		Filter: s.get("filter").text(), Fields: d.itemFields(s.get("fields")),
		Response: d.response(s, api),
	}
	j.pagination = s.get("pagination").pagination()
	j.For, j.Emits, j.OnFailure = d.forVariables(s.get("for")), s.get("emit").flag(), PartitionPolicy(s.get("onPartitionError").text())
	d.warnOfAddressTemplate(s.get("endpoint"))
	d.warnOfBraces(s.get("id"))
	d.warnOfBraces(s.get("dataType"))
	j.secretEndpoint = s.get("endpoint").fromEnv
	d.readHeaders(s.get("headers"), &j.Headers, &j.SecretHeaders)
	j.Body = d.params(s.get("body"))
	style := s.get("listStyle")
	j.Lists = requests.ListStyle(style.text())
	if d.dialect.Switches().Encoding == requests.PHP && j.Lists != "" && !style.Default {
		d.diags.Errorf(diag.Value(diag.Join(s.path, "listStyle")), "dialect %s writes lists with indices, as PHP does", d.dialect).
			WithHint("remove it, or use dialect spec")
	}
	j.AllowedOrigins = s.get("allowedOrigins").texts()
	j.Key, _ = s.get("key").Value.([]string)
	d.readIncremental(s, &j)
	j.KeepFor, j.keepForPath = s.get("keepFor").text(), s.get("keepFor").path()
	j.secretQuery = d.hideSecretsInEndpoint(s.get("endpoint"))
	byEndpoint := d.dialect.Switches().namedByEndpoint
	j.Typed = !s.get("dataType").Default || byEndpoint
	if s.get("dataType").Default && (j.ID != "" && !byEndpoint || j.secretEndpoint || j.secretQuery) {
		j.DataType = j.ID // if it is empty, [Config.finishJobs] sets the id that the job gets
	}
	return j
}

// label returns the text that names a job without an id: its endpoint, as far as that is
// not secret.
func (j Job) label() string {
	if j.secretEndpoint {
		return "job"
	}
	if j.secretQuery {
		path, _, _ := strings.Cut(j.Endpoint, "?")
		return path
	}
	return j.Endpoint
}

// jobIDs returns the ids of the jobs, in their order.
func (c *Config) jobIDs() []string { return lists.Map(c.Jobs, func(j Job) string { return j.ID }) }

// checkFiles warns if items of the job have a type whose file would be that of another type. files holds the type of
// each file, by its name in lower case.
func (j *Job) checkFiles(files map[string]string, diags *diag.Collector) {
	if !j.Emits {
		return
	}
	for _, dataType := range j.DataTypes() {
		name := FileName(dataType)
		if other, used := files[strings.ToLower(name)]; used && other != dataType {
			diags.Warnf(diag.Value(j.path), "items of the types %q and %q cannot be written to files, as both would be named %s",
				other, dataType, name).WithHint("set dataType to another name")
			continue
		}
		files[strings.ToLower(name)] = dataType
	}
}

// finishJobs sets the id of every job that has none: its endpoint, with its position if two jobs would share
// it. Ids in the configuration must differ.
func (c *Config) finishJobs(diags *diag.Collector) {
	count := map[string]int{}
	for _, j := range c.Jobs {
		if j.ID == "" {
			count[j.label()]++
		}
	}
	seen, types, files := make(map[string]bool, len(c.Jobs)), map[string]string{}, map[string]string{}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		if j.ID == "" {
			j.ID = j.label()
			if count[j.label()] > 1 {
				j.ID = fmt.Sprintf("%s#%d", j.label(), i+1)
			}
		}
		if j.DataType == "" {
			j.DataType = j.ID
		}
		j.checkFiles(files, diags)
		if other, shared := types[j.DataType]; !j.Typed && j.Emits && slices.Contains(j.DataTypes(), j.DataType) {
			if shared {
				diags.Warnf(diag.Value(j.path), "the jobs %s and %s cannot be written to files, as both would be named %s",
					other, j.ID, j.DataType).
					WithHint("give each of them an id, or the same dataType if one file is to have the items of both")
			}
			types[j.DataType] = j.ID
		}
		if seen[j.ID] {
			diags.Errorf(diag.Value(diag.Join(j.path, "id")), "duplicate job id %q", j.ID).
				WithHint("ids name jobs in logs and results, so they must differ")
		}
		seen[j.ID] = true
		if j.parent > 0 { // the id of the parent is known by now
			j.For[0].Items = c.Jobs[j.parent-1].ID
		}
	}
}
