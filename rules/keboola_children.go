package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/value"
)

// In the reference implementation, a job has children, which are requested for each of its items. A
// child becomes a job with a variable (for) whose values are the items of its parent; its placeholders
// become variables, too.

// ancestors are the jobs above a child.
type ancestors struct {
	position     int      // the position of the parent in the list of jobs
	items        []string // variables that hold an item of each job above, the outermost first
	placeholders Object   // the variables of placeholders, by the names of the placeholders
	variables    []string // the names of all variables
	fields       []ItemField
}

// addChildren adds the children of a job to the jobs. Equal children are requested once.
func (k *keboolaConfig) addChildren(job Job, s settings, api settings, above ancestors) {
	above.position = len(k.cfg.Jobs)
	k.cfg.Jobs = append(k.cfg.Jobs, job)
	written := s.get("children")
	if php.EmptyConfig(written.Value) {
		return
	}
	list, ok := written.Value.([]any)
	if !ok {
		k.diags.Errorf(diag.Value(written.path()), "want a list of jobs, got %s", describe(written.Value))
	}
	above.items = append(slices.Clone(above.items), fmt.Sprintf("parent%d", len(above.items)+1))
	for i, element := range list {
		path := diag.Index(written.path(), i)
		if repeats(list, written.path(), path) {
			continue
		}
		if _, isObject := value.Members(element); !isObject {
			k.diags.Errorf(diag.Value(path), "want a job, got %s", describe(element))
			continue
		}
		k.addChild(path, element, api, above)
	}
}

// addChild adds a child and its own children.
func (k *keboolaConfig) addChild(path string, v any, api settings, above ancestors) {
	s := k.object(path, v, jobFields)
	k.inChild = true
	job := k.job(s, api)
	k.checkPath(&job, s.get("dataField"))
	k.inChild = false
	job.parent = above.position + 1
	item := above.items[len(above.items)-1]
	given := settings{entries: []setting{{Name: "items", Value: "", base: path}}} // the parent has no id yet
	filter := s.get("recursionFilter")
	if when := k.filter(filter, item); when != "" {
		given.set(setting{Name: "when", Value: when, base: filter.path()})
	}
	job.For = []ForVariable{{Name: item, path: path, settings: given}}
	above.placeholders, above.variables = slices.Clone(above.placeholders), slices.Clone(above.variables)
	above.fields = slices.Clone(above.fields)
	k.addPlaceholders(&job, s.get("placeholders"), &above)
	k.fillIn(&job, s.get("endpoint"), above)
	k.inChild = true
	job.Fields = slices.Concat(k.userData(setting{}, s.get("userData")), above.fields, job.Fields)
	k.inChild = false
	k.addChildren(job, s, api, above)
}

// sharedTimes is the variable that holds the times of runs for the children of a job. All children have
// the times of the job, because the next run must not begin later than the first child.
const sharedTimes = "times"

// shareTimes adds the times of runs to a job whose children ask for them.
func (k *keboolaConfig) shareTimes(job *Job) {
	if !k.childReadsTimes {
		return
	}
	k.childReadsTimes, job.keepsStart = false, true
	source := fmt.Sprintf(`[{"currentStart": %s, %q: kept.%s ?? 0}]`, sourceOfNow, previousStart, previousStart)
	at := diag.Join(job.path, "children")
	given := settings{entries: []setting{{Name: "values", Value: source, base: at}}}
	job.For = append(job.For, ForVariable{Name: sharedTimes, path: at, settings: given})
}

// addPlaceholders adds a variable for each placeholder: the value at a path of an item above.
// A list has one value for each element.
func (k *keboolaConfig) addPlaceholders(job *Job, s setting, above *ancestors) {
	object, ok := value.Members(s.Value)
	if !ok && !php.EmptyConfig(s.Value) {
		k.diags.Errorf(diag.Value(s.path()), "want an object, got %s", describe(s.Value))
	}
	for _, m := range object {
		path := diag.Join(s.path(), m.Name)
		source, unchanged, field := k.placeholder(path, m, *above)
		if source == "" {
			continue
		}
		name := above.variable(m.Name)
		each := setting{Name: "values", Value: "phpEach(" + source + ")", base: path}
		job.For = append(job.For, ForVariable{Name: name, Placeholder: unchanged, path: path, settings: settings{entries: []setting{each}}})
		above.placeholders = above.placeholders.With(m.Name, name)
		tag := "parent_" + strings.TrimPrefix(field, "parent_")
		above.fields = withMember(above.fields, tag, name, path)
	}
}

// variable returns a name for the variable of a placeholder that no variable above has.
func (a *ancestors) variable(placeholder string) string {
	_, bare, levelled := strings.Cut(placeholder, ":")
	if !levelled {
		bare = placeholder
	}
	name := "placeholder_" + strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, bare)
	for i, first := 2, name; slices.Contains(a.variables, name); i++ {
		name = first + "_" + strconv.Itoa(i)
	}
	a.variables = append(a.variables, name)
	return name
}

// placeholder returns the expression for the value of a placeholder, the value of the item without checks if no function
// changes it, and its path. The number before a colon in its name says how many jobs above the child the item is.
func (k *keboolaConfig) placeholder(path string, m Member, above ancestors) (source, unchanged, field string) {
	level := 1
	if number, _, ok := strings.Cut(m.Name, ":"); ok {
		level, _ = strconv.Atoi(number)
	}
	if level < 1 || level > len(above.items) {
		k.diags.Errorf(diag.Key(path), "there is no job %d levels above this one; the highest level is %d", level, len(above.items))
		return "", "", ""
	}
	written := m.Value
	function, isFunction := value.Members(m.Value)
	if isFunction {
		written = function.Value("path")
	}
	field, ok := value.Text(written)
	if !ok || field == "" {
		k.diags.Errorf(diag.Value(path), `want a path in the items of the parent, or an object with "path" and "function"`)
		return "", "", ""
	}
	item := above.items[len(above.items)-level]
	unchanged = keypath.Format(item, k.split(field, "."))
	source = fmt.Sprintf("phpFound(%s, %q)", unchanged, "value at "+field+" of the parent's item")
	if isFunction {
		f := functions{decoder: k.decoder, placeholder: true, references: map[string]resolver{
			"placeholder": func(at, name string) (string, bool) {
				if name != "value" {
					k.diags.Errorf(diag.Value(at), "want value, got %q", name)
				}
				return source, false
			},
		}}
		source, _ = f.source(path, function.Without("path"))
		unchanged = ""
	}
	return source, unchanged, field
}

// fillIn puts the values of placeholders into the endpoint of a child.
func (k *keboolaConfig) fillIn(job *Job, endpoint setting, above ancestors) {
	names := lists.Map(above.placeholders.Names(), regexp.QuoteMeta)
	var parts []string
	last := 0
	for _, match := range regexp.MustCompile(`\{(`+strings.Join(names, "|")+`)\}`).FindAllStringSubmatchIndex(job.Endpoint, -1) {
		variable, known := above.placeholders.Get(job.Endpoint[match[2]:match[3]])
		if known {
			parts = append(parts, strconv.Quote(job.Endpoint[last:match[0]]), variable.(string))
			last = match[1]
		}
	}
	if parts != nil {
		parts = append(parts, strconv.Quote(job.Endpoint[last:]))
		parts = slices.DeleteFunc(parts, func(part string) bool { return part == `""` })
		job.endpointSource = Computed{Source: "phpConcat(" + strings.Join(parts, ", ") + ")", Path: endpoint.path()}
	}
}

// The comparisons of a filter. The reference looks for comparisons of two characters first.
var (
	longComparison  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[<>=!]=|~~|!~`) })
	shortComparison = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[<>]`) })
)

// filter returns the expression for a filter over an item: comparisons joined by & and |, where & binds
// tighter. Spaces are part of the texts.
func (k *keboolaConfig) filter(s setting, item string) string {
	text, ok := s.Value.(string)
	if !ok {
		if !php.EmptyConfig(s.Value) {
			k.diags.Errorf(diag.Value(s.path()), "want a filter like id>20, got %s", describe(s.Value))
		}
		return ""
	}
	if text == "" {
		return ""
	}
	var either []string
	for group := range strings.SplitSeq(text, "|") {
		var sources []string
		for condition := range strings.SplitSeq(group, "&") {
			sources = append(sources, k.comparison(s.path(), condition, item))
		}
		either = append(either, strings.Join(sources, " && "))
	}
	return strings.Join(either, " || ")
}

func (k *keboolaConfig) comparison(path, text, item string) string {
	match := longComparison().FindStringIndex(text)
	if match == nil {
		match = shortComparison().FindStringIndex(text)
	}
	if match == nil {
		k.diags.Errorf(diag.Value(path), "there is no comparison in %q", text).
			WithHint("write one of ==, !=, <, >, <=, >=, ~~ (like) and !~ (unlike)")
		return "true"
	}
	operator := text[match[0]:match[1]]
	operand, _, _ := strings.Cut(text[match[1]:], operator)
	left, right := keypath.Format(item, k.split(text[:match[0]], ".")), strconv.Quote(operand)
	switch operator {
	case "==", "!=":
		return fmt.Sprintf("phpText(%s) %s %s", left, operator, right)
	case "~~":
		return fmt.Sprintf("phpLike(%s, %s)", left, right)
	case "!~":
		return fmt.Sprintf("!phpLike(%s, %s)", left, right)
	}
	return fmt.Sprintf("phpCompare(%s, %s) %s 0", left, right, operator)
}
