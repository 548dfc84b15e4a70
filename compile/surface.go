package compile

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// A Surface holds the values that the rules of a job read of responses, and the constants in the rules:
// everything that an API has to provide for the job to page through a list.
type Surface struct {
	Values   []ResponseValue // in the order of the rules, each place once
	Keys     [][]string      // paths in an item; a path without keys is the item itself
	Literals []any           // the texts and numbers in the rules, each once, except statuses and limits on the run
}

// A ResponseValue is one place of a response whose value rules read.
type ResponseValue struct {
	Header string   // name of a header; empty for another place
	Link   string   // relation of a Link header; empty for another place
	Param  string   // parameter of the link, instead of its target
	Path   []string // path in the body

	Sent    bool // its value is part of a later request
	Address bool // its value is the address of a later request
	Waits   bool // it says how long to wait before the next request
	Judged  bool // a stopping rule reads it
	Flag    bool // a rule converts it to a boolean
	Fails   bool // only rules that fail the run read it

	Failing string // source of the first rule that fails the run and reads it; may be empty
}

// String returns the expression for the value.
func (p ResponseValue) String() string {
	switch {
	case p.Header != "":
		return "header(" + strconv.Quote(p.Header) + ")"
	case p.Param != "":
		return "link(" + strconv.Quote(p.Link) + ", " + strconv.Quote(p.Param) + ")"
	case p.Link != "":
		return "link(" + strconv.Quote(p.Link) + ")"
	}
	return keypath.Format(rules.ContextBody, p.Path)
}

// Surface returns the values that the job reads of responses. It ignores guards, the
// audit, filter and fields.
func (a Analysis) Surface() Surface {
	finder := &surfaceFinder{}
	if field := a.job.Spec().DataField; field != nil {
		finder.items = field.Keys
	}
	for _, e := range a.job.Stops {
		if !e.Rule.Guard {
			finder.add(e.Expression)
		}
	}
	for _, e := range a.job.OnErrors {
		finder.addLiterals(e.Expression)
	}
	for _, e := range slices.Concat(a.job.Next, a.job.Parts) {
		finder.add(e)
	}
	return finder.found
}

// A surfaceFinder collects the values of a [Surface].
type surfaceFinder struct {
	items []string // the path of the items in the body, as far as it is fixed
	found Surface
}

func (s *surfaceFinder) add(e *language.Expression) {
	s.addLiterals(e)
	for _, r := range e.ShownReads() {
		switch path, ofItem := s.ofItem(r); {
		case ofItem:
			s.addKey(path)
		case r.Root == rules.ContextHeader && len(r.Args) > 0:
			s.addValue(e, ResponseValue{Header: r.Args[0]})
		case r.Root == rules.ContextLink && len(r.Args) == 1:
			s.addValue(e, ResponseValue{Link: r.Args[0]})
		case r.Root == rules.ContextLink && len(r.Args) > 1:
			s.addValue(e, ResponseValue{Link: r.Args[0], Param: r.Args[1]})
		case r.Root == rules.ContextBody && len(r.Path) > 0 && !s.containsItems(r.Path):
			isFlag := func(f language.Read) bool { return f.String() == r.String() }
			s.addValue(e, ResponseValue{Path: r.Path, Flag: slices.ContainsFunc(e.Flags(), isFlag)})
		}
	}
	for _, r := range e.Elements() {
		if path, ofItem := s.ofItem(r.List); ofItem || r.List.Root == rules.ContextItems || s.isItems(r.List.Path) {
			s.addKey(slices.Concat(path, r.Path))
		}
	}
	for _, path := range e.ItemKeys() {
		s.addKey(path)
	}
}

// addValue adds a value, with its use in the rule of an expression.
func (s *surfaceFinder) addValue(e *language.Expression, p ResponseValue) {
	role := e.Rule.Role
	p.Judged = role == rules.RoleStop
	p.Sent = role == rules.RoleNext || role.Builds() && role != rules.RoleAfter
	p.Address = role.Addresses()
	p.Waits = role == rules.RoleAfter
	if p.Fails = p.Judged && e.Rule.Outcome == rules.Failed; p.Fails {
		p.Failing = e.Rule.Source
	}
	for i := range s.found.Values {
		if earlier := &s.found.Values[i]; earlier.String() == p.String() {
			earlier.Sent, earlier.Address = earlier.Sent || p.Sent, earlier.Address || p.Address
			earlier.Judged, earlier.Flag = earlier.Judged || p.Judged, earlier.Flag || p.Flag
			earlier.Waits, earlier.Fails = earlier.Waits || p.Waits, earlier.Fails && p.Fails
			earlier.Failing = cmp.Or(earlier.Failing, p.Failing)
			return
		}
	}
	s.found.Values = append(s.found.Values, p)
}

func (s *surfaceFinder) addKey(path []string) { s.found.Keys = withPath(s.found.Keys, path) }

func (s *surfaceFinder) isItems(path []string) bool {
	return s.items != nil && slices.Equal(s.items, path)
}

// containsItems reports whether the path is that of the items or leads to it.
func (s *surfaceFinder) containsItems(path []string) bool {
	return len(path) <= len(s.items) && slices.Equal(s.items[:len(path)], path)
}

// ofItem reports whether a read is about one item, and returns the path in that item.
func (s *surfaceFinder) ofItem(r language.Read) (path []string, ofItem bool) {
	path = r.Path
	switch n := len(s.items); {
	case r.Root == rules.ContextItems:
	case r.Root == rules.ContextBody && n > 0 && len(path) > n && slices.Equal(path[:n], s.items):
		path = path[n:]
	default:
		return nil, false
	}
	if len(path) == 0 {
		return nil, false
	}
	if _, err := strconv.Atoi(path[0]); err != nil {
		return nil, false
	}
	return path[1:], true
}

// addLiterals adds the constants in an expression, except statuses and limits on the run.
func (s *surfaceFinder) addLiterals(e *language.Expression) {
	literals := e.Literals()
	for _, field := range []string{"status", "page", "total.pages", "total.items", "total.bytes", "total.seconds"} {
		for _, v := range e.ComparedWith(field) {
			if i := slices.Index(literals, v); i >= 0 {
				literals = slices.Delete(literals, i, i+1)
			}
		}
	}
	for _, v := range literals {
		s.found.Literals = lists.AppendNew(s.found.Literals, v)
	}
}

// A Watch is a path of the response that decides how a list goes on, or a path or a header that filter or fields read. If no
// response has it, it is probably misspelt.
type Watch struct {
	language.Read
	Rule rules.Rule // the first rule that reads it

	// Link says that the value may lead to the next page. The last page may lack it, and so may the
	// only page of a short list.
	Link bool

	// Total says that the value is the number of items in the list, without which the list ends: null counts as
	// an absent value.
	Total bool

	// Flag says that the value is a flag, by which a full page may be the last: null on such a page counts as an absent value.
	Flag bool

	// Optional says that the rule allows for its absence: the rule checks whether the path exists, or
	// recognizes an error.
	Optional bool
}

// Watches returns the paths of the body that the stopping rules and the next request
// read, each once.
func (a Analysis) Watches() []Watch {
	var found watches
	for i, e := range slices.Concat(Expressions(a.job.Stops), a.job.Next, a.job.NextParts) {
		found.add(e, inBodies, func(r language.Read) Watch {
			r.Past = "" // a path that an earlier page has is not misspelt
			return Watch{
				Read:     r,
				Total:    e.Rule.Stop.Signal == rules.SignalNoTotal,
				Flag:     e.Rule.Stop.Signal == rules.SignalFlag,
				Link:     i >= len(a.job.Stops) || apinames.Key(r.Path[len(r.Path)-1]).Is(apinames.SignNext),
				Optional: e.Rule.Outcome == rules.Failed || e.Rule.Shared || !e.Rule.Stop.ExpectsRead && checksPresence(e, r),
			}
		})
	}
	return found
}

// inBodies reports whether a read is about the body of a page.
func inBodies(r language.Read) bool { return r.Root == rules.ContextBody }

// watches are paths and headers, each once.
type watches []Watch

// add adds the selected paths and headers that an expression reads, as watch describes them.
func (list *watches) add(e *language.Expression, selects func(language.Read) bool, watch func(language.Read) Watch) {
	for _, r := range e.AllReads() {
		if !selects(r) || len(r.Path)+len(r.Args) == 0 || r.Has {
			continue
		}
		w := watch(r)
		if i := slices.IndexFunc(*list, func(had Watch) bool { return had.String() == w.String() }); i >= 0 {
			had := &(*list)[i]
			had.Link, had.Total, had.Flag = had.Link || w.Link, had.Total || w.Total, had.Flag || w.Flag
			if had.Optional && !w.Optional {
				had.Rule, had.Optional = e.Rule, false
			}
			continue
		}
		w.Rule = e.Rule
		*list = append(*list, w)
	}
}

// checksPresence reports whether an expression also checks that a read exists.
func checksPresence(e *language.Expression, read language.Read) bool {
	return e.ReadsFunc(func(other language.Read) bool { return other.Has && slices.Equal(other.Path, read.Path) })
}

// Decisive returns the values by which the stopping rules and the next request decide how the list
// goes on: parts of the response, and variables of the state. If a request is repeated and these
// values are the same, the list goes round in circles. A rule that splits a window does not count: it
// decides which list is read, and not where that list ends.
func (a Analysis) Decisive() []language.Read {
	decides := func(r language.Read) bool { return r.InResponse() || r.Is(rules.ContextState) }
	var found []language.Read
	for _, e := range slices.Concat(Expressions(a.job.Stops), a.job.Next, a.job.NextParts) {
		for _, read := range e.Reads {
			same := func(other language.Read) bool { return other.String() == read.String() }
			if e.Rule.Outcome != rules.Split && decides(read) && !slices.ContainsFunc(found, same) {
				found = append(found, read)
			}
		}
	}
	return found
}

// StatedCounts returns the totals and numbers of pages that the API states and a stopping rule reads. It recognizes them by
// their names, by the name of the enclosing object, or, in the rule of a setting, by the conversion to a number.
func (t *Trigger) StatedCounts() (counts []language.Read) {
	isSetting := t.Rule.Origin.By.Kind == rules.AuthorMethod || t.Rule.Stop.Signal == rules.SignalTotal
	converts := isSetting && slices.Contains(t.Calls(), "number")
	for _, read := range t.Reads {
		names := slices.Concat(read.Path, read.Args)
		if len(names) == 0 || read.Root == rules.ContextTotal {
			continue
		}
		name := names[len(names)-1]
		if name == "value" && len(names) > 1 { // {"total": {"value": 57, "relation": "eq"}}
			name = names[len(names)-2]
		}
		if converts || apinames.Key(name).Is(apinames.SignTotal) || apinames.Key(name).Is(apinames.SignPages) {
			counts = append(counts, read)
		}
	}
	return counts
}
