package importer

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// jobID returns the id of the job of a stream.
func jobID(s *Stream) string {
	if s.ID != "" {
		return s.ID
	}
	return s.Name
}

// object returns members as an object of a configuration.
func object(members []Member) value.Object {
	var out value.Object
	for _, m := range members {
		out = append(out, value.Member{Name: m.Name, Value: configured(m.Value)})
	}
	return out
}

// configured converts a value to its form in a configuration.
func configured(v Value) any {
	switch {
	case v.Source != "":
		return value.ObjectOf("expr", v.Source)
	case v.Object != nil:
		out := value.Object{}
		for _, m := range v.Object {
			out = append(out, value.Member{Name: m.Name, Value: configured(m.Value)})
		}
		return out
	case v.List != nil:
		out := []any{}
		for _, e := range v.List {
			out = append(out, configured(e))
		}
		return out
	}
	return v.Const
}

// root returns the configuration of a group, without tests.
func (w *writer) root(g *group) value.Object {
	pages, shared := g.paging(), sharing{headers: g.headers()}
	shared.params = g.params(g.pagers())
	var jobs []any
	for i, s := range g.streams {
		jobs = append(jobs, w.job(g, s, shared, pages.jobs[i]))
	}
	common := g.http()
	if len(shared.headers) > 0 {
		common = common.With("headers", object(shared.headers))
	}
	if len(shared.params) > 0 {
		common = common.With("defaultOptions", value.ObjectOf("params", object(shared.params)))
	}
	api := value.Given(
		"baseUrl", g.first.BaseURL, "authentication", object(g.first.Auth), "http", common, "pagination", pages.api)
	root := value.Given("api", api, "config", value.ObjectOf("jobs", jobs))
	root = w.setInputs(g, root)
	return append(value.Given("inputs", declarations(g.inputs, root)), root...)
}

// A sharing is what the requests of all jobs have in common.
type sharing struct{ headers, params []Member }

// text returns a value as JSON, for comparisons.
func text(v any) string {
	out, err := value.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}

// headers returns the headers that several jobs have in common, and that need no variables. Requests for
// tokens would have them, too, so there are none with credentials that make such requests.
func (g *group) headers() []Member {
	if _, set := object(apart(g.first.Common)).Get("headers"); set || g.authenticates("oauth2", "login") {
		return nil
	}
	return g.inAll(func(s *Stream) []Member { return s.Headers })
}

// onlyInput matches expressions that are the value of an input.
var onlyInput = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^input\.\w+$`) })

// sameMember reports whether two members are written alike.
func sameMember(a, b Member) bool {
	return a.Name == b.Name && text(configured(a.Value)) == text(configured(b.Value))
}

// job returns the job of a stream, without what all jobs have in common, and with the key that says how it pages.
func (w *writer) job(g *group, s *Stream, shared sharing, pages value.Member) value.Object {
	params, body, _ := split(s)
	for _, m := range shared.params {
		params = params.Without(m.Name)
	}
	dataType := s.Name
	if s.ID == "" || s.ID == s.Name {
		dataType = ""
	}
	out := value.Given("id", jobID(s), "for", variables(s.For), "endpoint", w.endpoint(g, s), "method", value.Unless("GET", s.Method),
		"allowedOrigins", lists.Map(s.Origins, func(o string) any { return o }), "params", params)
	if s.Body != nil { // an empty body counts, too
		out = append(out, value.Member{Name: "body", Value: body})
	}
	out = append(out, value.Given("listStyle", s.ListStyle, "headers", object(without(s.Headers, shared.headers)),
		"response", object(s.Response), "dataField", dataField(s), "dataType", dataType, "filter", s.Filter, "fields", fields(s.Fields),
		"key", oneOrList(s.Key), "incremental", incremental(s.Incremental), "keepFor", s.KeepFor, pages.Name, pages.Value)...)
	if s.Hidden || !g.emitted[s] {
		for _, name := range []string{"dataType", "filter", "fields", "key", "keepFor"} {
			out = out.Without(name)
		}
		out = append(out, value.Member{Name: "emit", Value: false})
	}
	return out
}

// alone returns the job of a stream with a pagination as if there were no other job.
func (w *writer) alone(s *Stream, p value.Object, emitted bool) value.Object {
	g := &group{first: s, emitted: map[*Stream]bool{s: emitted}}
	return w.job(g, s, sharing{}, value.Member{Name: "pagination", Value: p})
}

// dataField returns the path of the items, or the paths of several lists with their names.
func dataField(s *Stream) any {
	var lists []any
	for _, l := range s.Lists {
		lists = append(lists, value.Given("path", l.Path, "dataType", l.Name))
	}
	if lists != nil {
		return lists
	}
	if s.AnyList || s.Items == "" && (lines(s) || s.Paging.ofBareLists()) {
		return nil
	}
	return cmp.Or(s.Items, ".")
}

// lines reports whether each line of a response is an item.
func lines(s *Stream) bool {
	return slices.ContainsFunc(s.Response, func(m Member) bool {
		return m.Name == "format" && (m.Value.Const == string(rules.FormatNDJSON) || m.Value.Const == string(rules.FormatCSV))
	})
}

// endpoint returns the endpoint of a stream, which is absolute if it has another address than the
// configuration.
func (w *writer) endpoint(g *group, s *Stream) string {
	if s.BaseURL == g.first.BaseURL || strings.Contains(s.Endpoint, "://") {
		return s.Endpoint
	}
	if host := origin(s.BaseURL); host == origin(g.first.BaseURL) {
		if strings.HasPrefix(s.Endpoint, "/") {
			return s.Endpoint
		}
		return s.BaseURL[len(host)-1:] + s.Endpoint
	}
	return s.BaseURL + strings.TrimPrefix(s.Endpoint, "/")
}

// split returns the parameters and the body of the first request, and the parts of the later requests.
func split(s *Stream) (params, body value.Object, next []Next) {
	place := InParam
	if s.sendsParamsAsBody() {
		place = InBody
	}
	sizeIn := ""
	if p := s.Paging; p != nil && p.sendsSize() {
		sizeIn = p.SizeIn
	}
	take := func(members []Member, place Place) value.Object {
		out := value.Object{}
		for _, m := range members {
			if m.Value.ReadsPage {
				next = append(next, Next{Target{place, m.Name}, m.Value.Source})
				continue
			}
			if place == InParam && m.Name == sizeIn && m.Value.IsConst() {
				continue // the method sends it
			}
			v, inner := splitValue(m.Value, keypath.Join(m.Name))
			if place == InParam {
				v = plain(v)
			}
			out = append(out, value.Member{Name: m.Name, Value: configured(v)})
			next = append(next, inner...)
		}
		return out
	}
	return take(s.Params, place), take(s.Body, InBody), next
}

// plain returns a number or a boolean for a text that a query has in the same form.
func plain(v Value) Value {
	text, _ := v.Const.(string)
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		return Constant(n)
	}
	if text == "true" || text == "false" {
		return Constant(text == "true")
	}
	return v
}

// splitValue leaves out the members of a value of the body that read a page.
func splitValue(v Value, path string) (Value, []Next) {
	if v.Object == nil {
		return v, nil
	}
	var next []Next
	out := Value{Object: []Member{}}
	for _, m := range v.Object {
		memberPath := keypath.Join(append(keypath.Split(path), m.Name)...)
		if m.Value.ReadsPage {
			next = append(next, Next{Target{InBody, memberPath}, m.Value.Source})
			continue
		}
		inner, more := splitValue(m.Value, memberPath)
		out.Object = append(out.Object, Member{m.Name, inner})
		next = append(next, more...)
	}
	return out, next
}

func variables(list []Variable) value.Object {
	var out value.Object
	for _, v := range list {
		var variable value.Object
		switch {
		case v.Parent != nil:
			variable = value.Given("items", jobID(v.Parent), "when", v.When)
		case v.From != "":
			variable = value.Given("from", v.From, "to", v.To, "step", v.Step, "granularity", v.Granularity)
		case v.Values.Source != "":
			variable = value.Given("values", v.Values.Source)
		default:
			variable = value.Given("values", configured(v.Values))
		}
		out = append(out, value.Member{Name: v.Name, Value: variable})
	}
	return out
}

func fields(list []Field) value.Object {
	var out value.Object
	for _, f := range list {
		var v any
		if f.Source != "" {
			v = f.Source
		}
		out = append(out, value.Member{Name: f.Name, Value: v})
	}
	return out
}

func incremental(i *Incremental) value.Object {
	if i == nil {
		return nil
	}
	return value.Given("cursor", i.Cursor, "param", i.Param, "lag", i.Lag, "from", i.From, "format", i.Format)
}

func oneOrList(list []string) any {
	if len(list) == 1 {
		return list[0]
	}
	var out []any
	for _, e := range list {
		out = append(out, e)
	}
	return out
}

// Both returns the condition that two conditions are true, of which the first one may be empty.
func Both(a, b string) string {
	if a == "" {
		return b
	}
	return conjunct(a) + " and " + conjunct(b)
}

// conjunct returns a condition in parentheses if it binds less tightly than and.
func conjunct(condition string) string {
	for i, c := range topLevel(condition) {
		if c == '?' || strings.HasPrefix(condition[i:], " or ") {
			return "(" + condition + ")"
		}
	}
	return condition
}

// Argument returns the argument of a call of a function that an expression is, or "" if it is another expression or has
// several arguments.
func Argument(function, source string) string {
	inner, begins := strings.CutPrefix(source, function+"(")
	inner, ends := strings.CutSuffix(inner, ")")
	if !begins || !ends {
		return ""
	}
	for _, c := range topLevel(inner) {
		if c == ',' || c == ')' {
			return ""
		}
	}
	return inner
}

// topLevel returns the characters of an expression that are in neither quotes nor brackets, with their places. Brackets
// without a counterpart are among them.
func topLevel(source string) iter.Seq2[int, rune] {
	return func(yield func(int, rune) bool) {
		depth, quote := 0, rune(0)
		for i, c := range source {
			switch {
			case quote != 0:
				if c == quote && source[i-1] != '\\' {
					quote = 0
				}
			case c == '\'' || c == '"':
				quote = c
			case strings.ContainsRune("([{", c):
				depth++
			case depth > 0 && strings.ContainsRune(")]}", c):
				depth--
			case depth == 0 && !yield(i, c):
				return
			}
		}
	}
}
