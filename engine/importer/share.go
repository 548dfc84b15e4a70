package importer

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A paging says how the jobs of a configuration page: the pagination of the API, and the key of each job that says how it
// differs, or that chooses a scroller. A job that needs no key has one without a name.
type paging struct {
	api  value.Object
	jobs []value.Member
}

// paging finds what the paginations of the jobs have in common. One that several jobs have is that of the API. If there
// are several, they are scrollers, beside the rules that all jobs have.
func (g *group) paging() paging {
	pagers := g.pagers()
	out := paging{jobs: make([]value.Member, len(pagers))}
	kinds, repeated := kindsOf(pagers)
	switch {
	case len(kinds) == 1 && (repeated || len(pagers) == 1):
		out.api = kinds[0]
		for i, p := range pagers {
			if p == nil {
				out.jobs[i] = value.Member{Name: "pagination", Value: onePage()}
			}
		}
	case len(kinds) > 1:
		shared := sharedRules(pagers)
		for i, p := range pagers {
			for _, m := range shared {
				p = p.Without(m.Name)
			}
			if text(p) == text(onePage()) {
				p = nil
			}
			pagers[i] = p
		}
		scrollers := value.Object{}
		for i, p := range pagers {
			if p == nil {
				continue
			}
			at := slices.IndexFunc(scrollers, func(m value.Member) bool { return text(m.Value) == text(p) })
			if at < 0 {
				at = len(scrollers)
				scrollers = append(scrollers, value.Member{Name: g.scrollerName(i, pagers, scrollers), Value: p})
			}
			out.jobs[i] = value.Member{Name: "scroller", Value: scrollers[at].Name}
		}
		out.api = append(value.ObjectOf("method", rules.Multiple, "scrollers", scrollers), shared...)
	default:
		for i, p := range pagers {
			if p != nil {
				out.jobs[i] = value.Member{Name: "pagination", Value: p}
			}
		}
	}
	return out
}

// kindsOf returns the paginations that differ, and reports whether several jobs have one of them.
func kindsOf(pagers []value.Object) (kinds []value.Object, repeated bool) {
	for i, p := range pagers {
		same := func(q value.Object) bool { return text(q) == text(p) }
		switch {
		case p == nil:
		case slices.ContainsFunc(pagers[:i], same):
			repeated = true
		default:
			kinds = append(kinds, p)
		}
	}
	return kinds, repeated
}

// sharedRules returns the rules that the paginations of all jobs have.
func sharedRules(pagers []value.Object) (shared value.Object) {
	for _, name := range []string{"hasMore", "stopRules", "onError"} {
		first, has := pagers[0].Get(name)
		differs := func(p value.Object) bool {
			v, _ := p.Get(name)
			return text(v) != text(first)
		}
		if has && !slices.ContainsFunc(pagers, differs) {
			shared = append(shared, value.Member{Name: name, Value: first})
		}
	}
	return shared
}

// scrollerName names the pagination of a job: after its kind if other jobs have it too and the name is free, and otherwise
// after the job.
func (g *group) scrollerName(job int, pagers []value.Object, taken value.Object) string {
	shared := slices.ContainsFunc(pagers[job+1:], func(p value.Object) bool { return text(p) == text(pagers[job]) })
	name := pagerName(pagers[job])
	if _, keeps := pagers[job].Get("keep"); keeps {
		name = "changed"
	}
	_, isTaken := taken.Get(name)
	if !shared || isTaken || slices.ContainsFunc(g.streams, func(s *Stream) bool { return jobID(s) == name }) {
		return jobID(g.streams[job])
	}
	return name
}

// params returns the parameters that the requests of all jobs have in common, and that need no variables. There are none if
// later requests leave out the parameters of their job, or a login is a request: they would have them, too.
func (g *group) params(pagers []value.Object) []Member {
	if _, set := object(g.first.Common).Get("defaultOptions"); set || g.authenticates("login") || slices.ContainsFunc(pagers, omitsParams) {
		return nil
	}
	return g.inAll(func(s *Stream) []Member {
		sent, _, _ := split(s)
		return slices.DeleteFunc(slices.Clone(s.Params), func(m Member) bool {
			_, has := sent.Get(m.Name)
			return !has
		})
	})
}

// inAll returns the members of the first stream that all streams have, and that need no variables.
func (g *group) inAll(members func(*Stream) []Member) []Member {
	if len(g.streams) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(members(g.first)), func(m Member) bool {
		lacks := func(s *Stream) bool {
			return !slices.ContainsFunc(members(s), func(other Member) bool { return sameMember(other, m) })
		}
		return m.Value.ReadsPage || !m.Value.IsConst() && !onlyInput().MatchString(m.Value.Source) || slices.ContainsFunc(g.streams, lacks)
	})
}

// authenticates reports whether the credentials are of one of some types.
func (g *group) authenticates(types ...any) bool {
	kind := slices.IndexFunc(g.first.Auth, func(m Member) bool { return m.Name == "type" })
	return kind >= 0 && slices.Contains(types, g.first.Auth[kind].Value.Const)
}

// without returns the members that are not among others.
func without(members, others []Member) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		return slices.ContainsFunc(others, func(o Member) bool { return sameMember(o, m) })
	})
}
