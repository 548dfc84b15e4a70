package keboola

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A job is a job of the document that is read.
type job struct {
	*reader
	value.Object
	path string // of the document: config.jobs[0].children[1]
	out  *importer.Stream

	top          *importer.Stream   // the job that it is a child of at any level, or itself
	parents      []*importer.Stream // the jobs above it, the outermost first
	variables    []string           // names of the variables that hold an item of each parent
	placeholders value.Object       // the expressions for placeholders, also of the jobs above
	fields       []importer.Field   // the members that placeholders give
}

// runVariable holds the times of runs, which a job and its children share.
const runVariable = "run"

// jobs reads the jobs of an iteration. Of equal jobs, the first counts.
func (r *reader) jobs() {
	list, _ := memberOf(r.config, "jobs").([]any)
	for i, one := range list {
		if o, isObject := value.Members(one); isObject && !had(list[:i], one) {
			j := &job{reader: r, Object: o, path: diag.Index(r.at("config.jobs"), i)}
			j.read()
		}
	}
}

func had(list []any, one any) bool {
	return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, one) })
}

// read reads a job and its children.
func (j *job) read() {
	j.out = &importer.Stream{Name: j.name(), Place: j.path, Notes: slices.Clone(j.reader.notes),
		Request: importer.Request{BaseURL: j.base, Auth: j.auth, Common: j.common}}
	j.out.ID = j.id()
	if j.top == nil {
		j.top = j.out
	}
	j.streams = append(j.streams, j.out)
	if err := j.translate(); err != nil {
		j.out.Refused = err.Error()
	}
	children, _ := memberOf(j.Object, "children").([]any)
	for i, one := range children {
		o, isObject := value.Members(one)
		if !isObject || had(children[:i], one) {
			continue
		}
		c := &job{reader: j.reader, Object: o, path: diag.Index(diag.Join(j.path, "children"), i), top: j.top,
			parents: append(slices.Clone(j.parents), j.out), placeholders: slices.Clone(j.placeholders), fields: slices.Clone(j.fields)}
		c.variables = append(slices.Clone(j.variables), variable(j.out.Name, j.variables))
		c.read()
	}
}

// inBraces matches a placeholder, with the slashes around it.
var inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/*\{[^{}]*\}/*`) })

// name returns the name of a stream: its dataType, or its endpoint without placeholders.
func (j *job) name() string {
	if name, _ := memberOf(j.Object, "dataType").(string); name != "" && !strings.ContainsAny(name, "{}") {
		return name
	}
	endpoint, _ := value.Text(memberOf(j.Object, "endpoint"))
	endpoint, _, _ = strings.Cut(endpoint, "?")
	if _, rest, absolute := strings.Cut(endpoint, "://"); absolute {
		_, endpoint, _ = strings.Cut(rest, "/")
	}
	endpoint = strings.Trim(inBraces().ReplaceAllString(endpoint, "/"), "/")
	return cmp.Or(strings.NewReplacer("{", "", "}", "").Replace(endpoint), "items")
}

// id returns an id that no other stream has.
func (j *job) id() string {
	id, _ := value.Text(memberOf(j.Object, "id"))
	id = cmp.Or(strings.NewReplacer("{", "", "}", "").Replace(id), j.out.Name)
	if j.iteration > 0 {
		id += "-" + strconv.Itoa(j.iteration)
	}
	for i, first := 2, id; j.ids[id]; i++ {
		id = first + "-" + strconv.Itoa(i)
	}
	j.ids[id] = true
	return id
}

var notInVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// variable returns a name for the variable that holds an item of a stream: user for users.
func variable(stream string, taken []string) string {
	name := strings.ToLower(stream)
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.Trim(notInVariable().ReplaceAllString(name, "_"), "_")
	switch {
	case strings.HasSuffix(name, "ies"):
		name = strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss"):
		name = strings.TrimSuffix(name, "s")
	}
	if importer.IsReserved(name) || name == runVariable {
		name = "the_" + name
	}
	for i, first := 2, name; slices.Contains(taken, name); i++ {
		name = first + "_" + strconv.Itoa(i)
	}
	return name
}

func (j *job) note(grade importer.Grade, key, target, format string, args ...any) {
	j.out.Note(importer.Note{Grade: grade, Text: fmt.Sprintf(format, args...), Source: diag.Join(j.path, key), Target: target})
}

// beyond are keys of the engine that the extractor does not have: who uses them writes a configuration of
// dialect spec by hand.
var beyond = []string{"for", "incremental", "keepFor", "onPartitionError", "body", "response"}

// translate fills in the stream.
func (j *job) translate() error {
	for _, key := range beyond {
		if isGiven(memberOf(j.Object, key)) {
			return fmt.Errorf("the key %s is one of this engine: write the job by hand", key)
		}
	}
	for _, place := range sorted(j.without) {
		if key, own := strings.CutPrefix(place, j.path+"."); own && !strings.HasPrefix(key, "children[") && j.ineffective(place) {
			j.note(importer.Left, key, "", "In dialect keboola, %s", j.without[place])
		}
	}
	if len(j.parents) > 0 {
		parent := j.parents[len(j.parents)-1]
		filter, _ := memberOf(j.Object, "recursionFilter").(string)
		j.out.For = []importer.Variable{{Name: j.item(1), Parent: parent, When: j.filter(filter)}}
		if err := j.findPlaceholders(); err != nil {
			return err
		}
	}
	j.endpoint()
	for _, step := range []func() error{j.parameters, j.items, j.userData, j.paging} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// item returns the variable that holds an item so many jobs above.
func (j *job) item(level int) string { return j.variables[len(j.variables)-level] }

// findPlaceholders reads the placeholders of a child.
func (j *job) findPlaceholders() error {
	for _, m := range objectAt(j.Object, "placeholders") {
		level := 1
		if number, _, leveled := strings.Cut(m.Name, ":"); leveled {
			level, _ = strconv.Atoi(number)
		}
		written := m.Value
		function, isFunction := value.Members(m.Value)
		if isFunction {
			written = memberOf(function, "path")
		}
		field, _ := value.Text(written)
		source := rules.FormatPath(j.item(level), strings.Split(field, "."))
		e := expression{source: source}
		if isFunction && !isURLEncode(function) {
			var err error
			e, err = j.expression(function.Without("path"), references{"placeholder": func(string) (string, error) { return source, nil }})
			if err != nil {
				return err
			}
		}
		if isURLEncode(function) {
			j.note(importer.Approximate, "placeholders."+m.Name, "endpoint", "A space in %s is sent as %%20; the extractor sends +", field)
		} else {
			j.note(importer.Approximate, "placeholders."+m.Name, "endpoint",
				"A value at %s must be one text or number, and is encoded in the address. "+
					"The extractor makes a request for each element of a list, and does not encode", field)
		}
		j.placeholders = j.placeholders.With(m.Name, e.source)
		j.fields = withField(j.fields, "parent_"+strings.TrimPrefix(field, "parent_"), asText(e))
	}
	return nil
}

// asText returns the expression for a value as text, as the extractor has the values of placeholders.
func asText(e expression) string {
	if strings.HasPrefix(e.source, "php") { // its functions give texts
		return e.source
	}
	return "text(" + e.source + ")"
}

// isURLEncode reports whether a placeholder is only encoded, as all are in addresses.
func isURLEncode(function value.Object) bool {
	args, _ := memberOf(function, "args").([]any)
	return memberOf(function, "function") == "urlencode" && len(args) == 1 && len(objectAt(value.ObjectOf("a", args[0]), "a")) == 1
}

// withField returns fields with another field, in place of a field of the same name.
func withField(fields []importer.Field, name, source string) []importer.Field {
	name = rules.JoinPath(name)
	for i, f := range fields {
		if f.Name == name {
			fields = slices.Clone(fields)
			fields[i].Source = source
			return fields
		}
	}
	return append(fields, importer.Field{Name: name, Source: source})
}

// placeholder matches texts that may be placeholders.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([^{}]*)\}`) })

// endpoint fills in the placeholders.
func (j *job) endpoint() {
	endpoint, _ := value.Text(memberOf(j.Object, "endpoint"))
	braces := strings.NewReplacer("{", "{{", "}", "}}")
	last := 0
	for _, match := range placeholder().FindAllStringSubmatchIndex(endpoint, -1) {
		if source, known := j.placeholders.Get(endpoint[match[2]:match[3]]); known {
			mark := "{"
			if match[0] == 0 { // a path, or an address
				mark = "{+"
			}
			j.out.Endpoint += braces.Replace(endpoint[last:match[0]]) + mark + source.(string) + "}"
			last = match[1]
		}
	}
	j.out.Endpoint += braces.Replace(endpoint[last:])
}

// parameters reads method, params and headers.
func (j *job) parameters() error {
	method, _ := memberOf(j.Object, "method").(string)
	if method = strings.ToUpper(method); method != "GET" {
		j.out.Method = method
	}
	refs := times(now, "")
	needsRun := isPreviousStart
	if len(j.parents) > 0 {
		needsRun = isAnyTime
	}
	if readsTime(memberOf(j.Object, "params"), needsRun) {
		refs = j.run()
	}
	params := objectAt(j.Object, "params")
	var err error
	if method == "POST" {
		var all importer.Value
		all, err = j.value(params, refs)
		j.out.Params = all.Object
		if len(params) == 0 {
			j.note(importer.Approximate, "params", "params", "The body is {}; the extractor sends []")
		}
	} else {
		j.out.Params, err = j.query(params, refs)
	}
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	for _, m := range objectAt(j.Object, "headers") {
		j.out.Headers = append(j.out.Headers, importer.Member{Name: m.Name, Value: importer.Constant(m.Value)})
	}
	origins := slices.Concat(listOf(memberOf(objectAt(j.root, "api"), "allowedOrigins")), listOf(memberOf(j.Object, "allowedOrigins")))
	for _, origin := range origins {
		text, _ := origin.(string)
		j.out.Origins = append(j.out.Origins, text)
	}
	return nil
}

func listOf(v any) []any { list, _ := v.([]any); return list }

// readsTime reports whether a value, at any depth, reads a time of runs whose name is selected.
func readsTime(v any, selects func(name any) bool) bool {
	object, isObject := value.Members(v)
	if name, isTime := object.Get("time"); isTime && len(object) == 1 {
		return selects(name)
	}
	list, _ := v.([]any)
	if isObject {
		list = object.Values()
	}
	return slices.ContainsFunc(list, func(e any) bool { return readsTime(e, selects) })
}

func isAnyTime(any) bool { return true }

func isPreviousStart(name any) bool { return name == "previousStart" }

// run returns the times of runs, which a variable of the uppermost job holds, and keeps the time for
// the next run.
func (j *job) run() references {
	if !slices.ContainsFunc(j.top.For, func(v importer.Variable) bool { return v.Name == runVariable }) {
		j.top.For = append(j.top.For, importer.Variable{Name: runVariable,
			Values: importer.Computed("[{start: " + now + ", previous: kept.previousStart ?? 0}]")})
		j.top.Keep = []importer.Field{{Name: "previousStart", Source: runVariable + ".start"}}
	}
	return times(runVariable+".start", runVariable+".previous")
}

// items reads how a response becomes items.
func (j *job) items() error {
	field := memberOf(j.Object, "dataField")
	delimiter := "."
	if o, isObject := value.Members(field); isObject {
		field = memberOf(o, "path")
		if d, isText := memberOf(o, "delimiter").(string); isText && d != "" {
			delimiter = d
		}
	}
	text, _ := value.Text(field)
	switch {
	case !isGiven(field):
		j.out.AnyList = true
	case text == ".":
	default:
		j.out.Items = strings.ReplaceAll(pathOf(text, delimiter), "*", `\*`)
	}
	j.out.Filter, _ = memberOf(j.Object, "filter").(string)
	if key := memberOf(j.Object, "key"); key != nil {
		for _, one := range append(listOf(key), key) {
			if text, isText := one.(string); isText {
				j.out.Key = append(j.out.Key, text)
			}
		}
	}
	if memberOf(j.Object, "emit") == false {
		j.out.Hidden = true
	}
	return nil
}

// userData reads the members that are added to items.
func (j *job) userData() error {
	own := memberOf(j.Object, "userData")
	data := []value.Member{{Name: "job_parent_id", Value: own}}
	if len(j.parents) == 0 {
		data = append([]value.Member{{Name: "userData", Value: memberOf(j.config, "userData")}}, data...)
	}
	var refs references
	for _, member := range data {
		if !isGiven(member.Value) {
			continue
		}
		members, isObject := value.Members(member.Value)
		if !isObject {
			members = value.Object{member}
		}
		if refs == nil && readsTime(members, isAnyTime) {
			refs = j.run()
		}
		for _, m := range members {
			e, err := j.expression(m.Value, refs)
			if err != nil {
				return fmt.Errorf("userData: %w", err)
			}
			j.out.Fields = withField(j.out.Fields, m.Name, e.source)
		}
	}
	j.out.Fields = append(j.out.Fields, j.fields...)
	for _, m := range objectAt(j.Object, "fields") {
		source, _ := m.Value.(string)
		j.out.Fields = append(j.out.Fields, importer.Field{Name: m.Name, Source: source})
	}
	return nil
}

// The comparisons of a filter. Comparisons of two characters come first.
var (
	longComparison  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[<>=!]=|~~|!~`) })
	shortComparison = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[<>]`) })
)

// filter returns the expression for a recursionFilter: comparisons with & and |. & binds more tightly.
func (j *job) filter(text string) string {
	if text == "" {
		return ""
	}
	var either []string
	for group := range strings.SplitSeq(text, "|") {
		var parts []string
		for one := range strings.SplitSeq(group, "&") {
			parts = append(parts, j.comparison(one))
		}
		either = append(either, strings.Join(parts, " and "))
	}
	return strings.Join(either, " or ")
}

func (j *job) comparison(text string) string {
	found := longComparison().FindStringIndex(text)
	if found == nil {
		found = shortComparison().FindStringIndex(text)
	}
	if found == nil {
		return "true" // the dialect refuses it
	}
	operator := text[found[0]:found[1]]
	operand, _, _ := strings.Cut(text[found[1]:], operator)
	left, right := rules.FormatPath(j.item(1), strings.Split(text[:found[0]], ".")), importer.Quote(operand)
	switch operator {
	case "==", "!=":
		return fmt.Sprintf("phpText(%s) %s %s", left, operator, right)
	case "~~":
		return fmt.Sprintf("phpLike(%s, %s)", left, right)
	case "!~":
		return fmt.Sprintf("not phpLike(%s, %s)", left, right)
	}
	return fmt.Sprintf("phpCompare(%s, %s) %s 0", left, right, operator)
}
