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
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A translation makes a stream of a job of the document.
type translation struct {
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
			t := &translation{reader: r, Object: o, path: diag.Index(r.at("config.jobs"), i)}
			t.read()
		}
	}
}

func had(list []any, one any) bool {
	return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, one) })
}

// read reads a job and its children.
func (t *translation) read() {
	t.out = &importer.Stream{Name: t.name(), Place: t.path, Notes: slices.Clone(t.reader.notes),
		Request: importer.Request{BaseURL: t.base, Auth: t.auth, Common: t.common}}
	t.out.ID = t.id()
	if t.top == nil {
		t.top = t.out
	}
	t.streams = append(t.streams, t.out)
	if err := t.translate(); err != nil {
		t.out.Refused = err.Error()
	}
	children, _ := memberOf(t.Object, "children").([]any)
	for i, one := range children {
		o, isObject := value.Members(one)
		if !isObject || had(children[:i], one) {
			continue
		}
		c := &translation{reader: t.reader, Object: o, path: diag.Index(diag.Join(t.path, "children"), i), top: t.top,
			parents: append(slices.Clone(t.parents), t.out), placeholders: slices.Clone(t.placeholders), fields: slices.Clone(t.fields)}
		c.variables = append(slices.Clone(t.variables), variable(t.out.Name, t.variables))
		c.read()
	}
}

// inBraces matches a placeholder, with the slashes around it.
var inBraces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/*\{[^{}]*\}/*`) })

// name returns the name of a stream: its dataType, or its endpoint without placeholders.
func (t *translation) name() string {
	if name, _ := memberOf(t.Object, "dataType").(string); name != "" && !strings.ContainsAny(name, "{}") {
		return name
	}
	endpoint, _ := value.Text(memberOf(t.Object, "endpoint"))
	endpoint, _, _ = strings.Cut(endpoint, "?")
	if _, rest, absolute := strings.Cut(endpoint, "://"); absolute {
		_, endpoint, _ = strings.Cut(rest, "/")
	}
	endpoint = strings.Trim(inBraces().ReplaceAllString(endpoint, "/"), "/")
	return cmp.Or(strings.NewReplacer("{", "", "}", "").Replace(endpoint), "items")
}

// id returns an id that no other stream has.
func (t *translation) id() string {
	id, _ := value.Text(memberOf(t.Object, "id"))
	id = cmp.Or(strings.NewReplacer("{", "", "}", "").Replace(id), t.out.Name)
	if t.iteration > 0 {
		id += "-" + strconv.Itoa(t.iteration)
	}
	for i, first := 2, id; t.ids[id]; i++ {
		id = first + "-" + strconv.Itoa(i)
	}
	t.ids[id] = true
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

func (t *translation) note(grade importer.Grade, key, target, format string, args ...any) {
	t.out.Note(importer.Note{Grade: grade, Text: fmt.Sprintf(format, args...), Source: diag.Join(t.path, key), Target: target})
}

// beyond are keys of the engine that the extractor does not have: who uses them writes a configuration of
// dialect spec by hand.
var beyond = []string{"for", "incremental", "keepFor", "onPartitionError", "body", "response"}

// translate fills in the stream.
func (t *translation) translate() error {
	for _, key := range beyond {
		if isGiven(memberOf(t.Object, key)) {
			return fmt.Errorf("the key %s is one of this engine: write the job by hand", key)
		}
	}
	for _, place := range sorted(t.without) {
		if key, own := strings.CutPrefix(place, t.path+"."); own && !strings.HasPrefix(key, "children[") && t.ineffective(place) {
			t.note(importer.Left, key, "", "In dialect keboola, %s", t.without[place])
		}
	}
	if len(t.parents) > 0 {
		parent := t.parents[len(t.parents)-1]
		filter, _ := memberOf(t.Object, "recursionFilter").(string)
		t.out.For = []importer.Variable{{Name: t.item(1), Parent: parent, When: t.filter(filter)}}
		if err := t.findPlaceholders(); err != nil {
			return err
		}
	}
	t.endpoint()
	for _, step := range []func() error{t.parameters, t.items, t.userData, t.paging} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// item returns the variable that holds an item so many jobs above.
func (t *translation) item(level int) string { return t.variables[len(t.variables)-level] }

// findPlaceholders reads the placeholders of a child.
func (t *translation) findPlaceholders() error {
	for _, m := range objectAt(t.Object, "placeholders") {
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
		source := keypath.Format(t.item(level), strings.Split(field, "."))
		e := expression{source: source}
		if isFunction && !isURLEncode(function) {
			var err error
			e, err = t.expression(function.Without("path"), references{"placeholder": func(string) (string, error) { return source, nil }})
			if err != nil {
				return err
			}
		}
		if isURLEncode(function) {
			t.note(importer.Approximate, "placeholders."+m.Name, "endpoint", "A space in %s is sent as %%20; the extractor sends +", field)
		} else {
			t.note(importer.Approximate, "placeholders."+m.Name, "endpoint",
				"A value at %s must be one text or number, and is encoded in the address. "+
					"The extractor makes a request for each element of a list, and does not encode", field)
		}
		t.placeholders = t.placeholders.With(m.Name, e.source)
		t.fields = withField(t.fields, "parent_"+strings.TrimPrefix(field, "parent_"), asText(e))
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
	name = keypath.Join(name)
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
func (t *translation) endpoint() {
	endpoint, _ := value.Text(memberOf(t.Object, "endpoint"))
	braces := strings.NewReplacer("{", "{{", "}", "}}")
	last := 0
	for _, match := range placeholder().FindAllStringSubmatchIndex(endpoint, -1) {
		if source, known := t.placeholders.Get(endpoint[match[2]:match[3]]); known {
			mark := "{"
			if match[0] == 0 { // a path, or an address
				mark = "{+"
			}
			t.out.Endpoint += braces.Replace(endpoint[last:match[0]]) + mark + source.(string) + "}"
			last = match[1]
		}
	}
	t.out.Endpoint += braces.Replace(endpoint[last:])
}

// parameters reads method, params and headers.
func (t *translation) parameters() error {
	method, _ := memberOf(t.Object, "method").(string)
	if method = strings.ToUpper(method); method != "GET" {
		t.out.Method = method
	}
	refs := times(now, "")
	needsRun := isPreviousStart
	if len(t.parents) > 0 {
		needsRun = isAnyTime
	}
	if readsTime(memberOf(t.Object, "params"), needsRun) {
		refs = t.run()
	}
	params := objectAt(t.Object, "params")
	var err error
	if method == "POST" {
		var all importer.Value
		all, err = t.value(params, refs)
		t.out.Params = all.Object
		if len(params) == 0 {
			t.note(importer.Approximate, "params", "params", "The body is {}; the extractor sends []")
		}
	} else {
		t.out.Params, err = t.query(params, refs)
	}
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	for _, m := range objectAt(t.Object, "headers") {
		t.out.Headers = append(t.out.Headers, importer.Member{Name: m.Name, Value: importer.Constant(m.Value)})
	}
	origins := slices.Concat(listOf(memberOf(objectAt(t.root, "api"), "allowedOrigins")), listOf(memberOf(t.Object, "allowedOrigins")))
	for _, origin := range origins {
		text, _ := origin.(string)
		t.out.Origins = append(t.out.Origins, text)
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
func (t *translation) run() references {
	if !slices.ContainsFunc(t.top.For, func(v importer.Variable) bool { return v.Name == runVariable }) {
		t.top.For = append(t.top.For, importer.Variable{Name: runVariable,
			Values: importer.Computed("[{start: " + now + ", previous: kept.previousStart ?? 0}]")})
		t.top.Keep = []importer.Field{{Name: "previousStart", Source: runVariable + ".start"}}
	}
	return times(runVariable+".start", runVariable+".previous")
}

// items reads how a response becomes items.
func (t *translation) items() error {
	field := memberOf(t.Object, "dataField")
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
		t.out.AnyList = true
	case text == ".":
	default:
		t.out.Items = strings.ReplaceAll(pathOf(text, delimiter), "*", `\*`)
	}
	t.out.Filter, _ = memberOf(t.Object, "filter").(string)
	if key := memberOf(t.Object, "key"); key != nil {
		for _, one := range append(listOf(key), key) {
			if text, isText := one.(string); isText {
				t.out.Key = append(t.out.Key, text)
			}
		}
	}
	if memberOf(t.Object, "emit") == false {
		t.out.Hidden = true
	}
	return nil
}

// userData reads the members that are added to items.
func (t *translation) userData() error {
	own := memberOf(t.Object, "userData")
	data := []value.Member{{Name: "job_parent_id", Value: own}}
	if len(t.parents) == 0 {
		data = append([]value.Member{{Name: "userData", Value: memberOf(t.config, "userData")}}, data...)
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
			refs = t.run()
		}
		for _, m := range members {
			e, err := t.expression(m.Value, refs)
			if err != nil {
				return fmt.Errorf("userData: %w", err)
			}
			t.out.Fields = withField(t.out.Fields, m.Name, e.source)
		}
	}
	t.out.Fields = append(t.out.Fields, t.fields...)
	for _, m := range objectAt(t.Object, "fields") {
		source, _ := m.Value.(string)
		t.out.Fields = append(t.out.Fields, importer.Field{Name: m.Name, Source: source})
	}
	return nil
}

// The comparisons of a filter. Comparisons of two characters come first.
var (
	longComparison  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[<>=!]=|~~|!~`) })
	shortComparison = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[<>]`) })
)

// filter returns the expression for a recursionFilter: comparisons with & and |. & binds more tightly.
func (t *translation) filter(text string) string {
	if text == "" {
		return ""
	}
	var either []string
	for group := range strings.SplitSeq(text, "|") {
		var parts []string
		for one := range strings.SplitSeq(group, "&") {
			parts = append(parts, t.comparison(one))
		}
		either = append(either, strings.Join(parts, " and "))
	}
	return strings.Join(either, " or ")
}

func (t *translation) comparison(text string) string {
	found := longComparison().FindStringIndex(text)
	if found == nil {
		found = shortComparison().FindStringIndex(text)
	}
	if found == nil {
		return "true" // the dialect refuses it
	}
	operator := text[found[0]:found[1]]
	operand, _, _ := strings.Cut(text[found[1]:], operator)
	left, right := keypath.Format(t.item(1), strings.Split(text[:found[0]], ".")), importer.Quote(operand)
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
