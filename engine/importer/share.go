package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// The lengths of JSON texts that decide what stands in one place.
const (
	fewBytes   = 30 // a value that is not longer is repeated
	mergeBytes = 12 // what it takes to merge a value
)

// sharedPagination returns the pagination for api.pagination: that which spares most of the text of the jobs. A job may
// need nothing else, or have it with further keys. It returns nil if each job should have its own.
func sharedPagination(pagers []value.Object) value.Object {
	var best value.Object
	most := 0
	for _, p := range pagers {
		if !slices.ContainsFunc(pagers, func(q value.Object) bool { return text(q) != text(p) }) {
			return p
		}
		for _, candidate := range []value.Object{p, p.Without("keep")} {
			if spared := sparedBy(candidate, pagers); spared > most {
				best, most = candidate, spared
			}
		}
	}
	return best
}

// sparedBy returns the bytes that a pagination in api.pagination spares.
func sparedBy(shared value.Object, pagers []value.Object) int {
	size := len(text(shared))
	spared, used := -size, false
	for _, p := range pagers {
		switch {
		case len(p) == 0:
			spared -= fewBytes
		case text(p) == text(shared):
			spared, used = spared+size, true
		case extends(p, shared):
			spared += size - mergeBytes
		}
	}
	if !used { // it would draw a warning
		return 0
	}
	return spared
}

// extends reports whether a pagination is another one with further keys. The values that it keeps may be others.
func extends(p, base value.Object) bool {
	for _, m := range base {
		if v, has := p.Get(m.Name); !has || m.Name != "keep" && text(v) != text(m.Value) {
			return false
		}
	}
	return len(base) > 0
}

// common returns the length of the members that two jobs have alike. It is 0 if the first job lacks one of the second,
// because a member that is merged cannot be left out, or has another method.
func common(job, original value.Object) int {
	length := 0
	for _, m := range original {
		switch v, has := job.Get(m.Name); {
		case !has, m.Name == "method" && text(v) != text(m.Value):
			return 0
		case text(v) == text(m.Value):
			length += len(m.Name) + len(text(v))
		}
	}
	return length
}

// quiet are the keys of a job without an effect on its children and on its requests.
var quiet = []string{"dataType", "filter", "fields", "key", "keepFor"}

// original returns the index of the job of which a hidden job is a copy, or -1.
func (g *group) original(i int) int {
	s := g.streams[i]
	if g.emitted[s] {
		return -1
	}
	return slices.IndexFunc(g.streams[:i], func(t *Stream) bool { return g.emitted[t] && t.Name == s.Name })
}

// asCopy returns a job that is written as a copy of another one: with the keys of that job that have no effect, and
// null for the others that it does not have. It returns the job as it is if the two have little in common.
func asCopy(job, original value.Object) value.Object {
	out, missing := slices.Clip(job), 0
	for _, m := range original {
		switch _, has := job.Get(m.Name); {
		case has:
		case slices.Contains(quiet, m.Name) && !strings.Contains(text(m.Value), "kept"):
			out = append(out, m)
		default:
			out = append(out, value.Member{Name: m.Name})
			missing++
		}
	}
	if missing > 1 || common(out, original) <= fewBytes {
		return job
	}
	return out
}

// A sharing says which values of a configuration are named or merged where they stand again, as the fields of
// yaml.Layout do.
type sharing struct {
	bases, names map[string]string
	known        []place // values that stand before
	job          string  // the name of the job that is looked at, or ""
	common       string  // the name for the pagination of all jobs, or ""
}

// A place is a value of a job with its config path.
type place struct {
	path, job string
	v         any
}

// shared finds the values that stand in several places of a configuration.
func (g *group) shared(root value.Object) (bases, names map[string]string) {
	s := &sharing{bases: map[string]string{}, names: map[string]string{}}
	if p, has := value.At(root, []string{"api", "pagination"}); has {
		s.pagination("api.pagination", p)
		shared, _ := value.Members(p)
		s.common = pagerName(shared)
	}
	all, _ := value.At(root, []string{"config", "jobs"})
	jobs, _ := all.([]any)
	for i, job := range jobs {
		path := fmt.Sprintf("config.jobs[%d]", i)
		object, _ := value.Members(job)
		if at := g.original(i); at >= 0 {
			if original, _ := value.Members(jobs[at]); common(object, original) > fewBytes {
				s.use(path, place{path: fmt.Sprintf("config.jobs[%d]", at)}, anchor(jobID(g.streams[at])))
				object = slices.DeleteFunc(slices.Clone(object), func(m value.Member) bool { // merged members are not written
					v, _ := original.Get(m.Name)
					return text(v) == text(m.Value)
				})
			}
		}
		s.job = anchor(jobID(g.streams[i]))
		if since, _ := object.Get("incremental"); since != nil {
			s.again(path+".incremental", since, "by_"+cursorName(since))
		}
		if p, has := object.Get("pagination"); has {
			s.pagination(path+".pagination", p)
		}
	}
	s.job = ""
	tests, _ := root.Get("tests")
	list, _ := tests.([]any)
	for i, test := range list {
		if inputs, has := value.At(test, []string{"inputs"}); has {
			s.again(fmt.Sprintf("tests[%d].inputs", i), inputs, "sample")
		}
	}
	return s.bases, s.names
}

// pagination finds the base of a pagination, or of its rules for errors.
func (s *sharing) pagination(path string, v any) {
	p, _ := value.Members(v)
	if s.again(path, v, pagerName(p)) {
		return
	}
	var base place
	longest := fewBytes
	for _, k := range s.known {
		b, _ := value.Members(k.v)
		if length := common(p, b); k.path != path && extends(p, b) && length > longest {
			base, longest = k, length
		}
	}
	rules, has := p.Get("onError")
	if base.path != "" {
		b, _ := value.Members(base.v)
		s.use(path, base, pagerName(b))
		before, _ := b.Get("onError")
		has = has && text(before) != text(rules)
	}
	if has {
		s.again(path+".onError", rules, errorsName(rules))
	}
}

// again reports whether a value has stood before, and names it there. Otherwise the value is known from now on.
func (s *sharing) again(path string, v any, name string) bool {
	if len(text(v)) <= fewBytes {
		return false
	}
	for _, k := range s.known {
		if text(k.v) == text(v) {
			s.use(path, k, name)
			return true
		}
	}
	s.known = append(s.known, place{path, s.job, v})
	return false
}

// use says that a value is written by the name of an earlier one. If the name is taken, that of its job follows it.
func (s *sharing) use(path string, base place, name string) {
	s.bases[path] = base.path
	if s.names[base.path] != "" {
		return
	}
	isTaken := func(name string) bool { return slices.Contains(slices.Collect(maps.Values(s.names)), name) }
	if (isTaken(name) || name == s.common) && base.job != "" {
		name += "_of_" + base.job
	}
	free := name
	for n := 2; isTaken(free); n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	s.names[base.path] = free
}

// cursorName returns the name of the member by which items are incremental.
func cursorName(incremental any) string {
	cursor, _ := value.At(incremental, []string{"cursor"})
	path, _ := cursor.(string)
	keys := rules.SplitPath(path)
	return anchor(keys[len(keys)-1])
}

// errorsName returns the name of rules for errors: what they do.
func errorsName(v any) string {
	names := map[any]string{"stop": "ignored_errors", "retry": "retried_errors", "restart": "retried_errors", "fail": "fatal_errors"}
	name := ""
	list, _ := v.([]any)
	for _, e := range list {
		object, _ := value.Members(e)
		do, _ := object.Get("do")
		if name != "" && name != names[do] {
			return "errors"
		}
		name = names[do]
	}
	return name
}

// anchor returns the id of a job as the name of its anchor.
func anchor(id string) string {
	if rules.IsIdentifier(id) {
		return id
	}
	return InputName(id)
}
