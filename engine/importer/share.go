package importer

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A paging says how the jobs of a configuration page: the pagination of the API, and the key of each job that says how it
// differs, or that chooses a scroller. A job that needs no key has one without a name.
type paging struct {
	api  value.Object
	jobs []value.Member
}

// paging finds what the paginations of the jobs have in common. The usual one is that of the API. If several jobs have
// another one, or all jobs have rules in common, the paginations are scrollers, beside these rules. A job that alone pages
// in its way has the pagination itself.
func (g *group) paging() paging {
	pagers := g.pagers()
	var shared value.Object
	if kinds := kindsOf(pagers); len(kinds) > 1 {
		shared = sharedRules(pagers)
		const short = 80 // a text that the job without pages may repeat
		isAlone := func(k *kind) bool { return k.isOnePage(shared) && len(pagers) > 2 }
		if len(kinds) == 2 && len(text(shared)) < short && slices.ContainsFunc(kinds, isAlone) {
			shared = nil
		}
		for i, p := range pagers {
			for _, m := range shared {
				p = p.Without(m.Name)
			}
			if text(p) == text(onePage()) {
				p = nil
			}
			pagers[i] = p
		}
	}
	kinds := kindsOf(pagers)
	usual := usualKind(kinds, len(pagers))
	named := slices.DeleteFunc(slices.Clone(kinds), func(k *kind) bool { return k != usual && len(k.jobs) == 1 })
	if len(shared) > 0 && (len(named) == 0 || len(kinds) == 2) {
		named = kinds
	}
	if at := slices.Index(named, usual); at > 0 {
		named = slices.Insert(slices.Delete(slices.Clone(named), at, at+1), 0, usual)
	}
	out := paging{jobs: make([]value.Member, len(pagers))}
	for i, p := range pagers {
		if p != nil {
			out.jobs[i] = value.Member{Name: "pagination", Value: p}
		} else if usual != nil {
			out.jobs[i] = value.Member{Name: "pagination", Value: onePage()}
		}
	}
	isPlain := len(shared) == 0 && (len(named) == 0 || len(named) == 1 && named[0] == usual)
	if isPlain && usual != nil {
		out.api = usual.pager
	} else if !isPlain {
		out.api = append(g.scrollers(named, kinds, usual, out.jobs), shared...)
	}
	if usual != nil {
		for _, i := range usual.jobs {
			out.jobs[i] = value.Member{}
		}
	}
	return out
}

// scrollers returns the method of named paginations, and lets the jobs choose them.
func (g *group) scrollers(named, kinds []*kind, usual *kind, jobs []value.Member) value.Object {
	scrollers, initial := value.Object{}, ""
	for _, k := range named {
		name := g.scrollerName(k, named, kinds, scrollers)
		scrollers = append(scrollers, value.Member{Name: name, Value: k.pager})
		for _, i := range k.jobs {
			jobs[i] = value.Member{Name: "scroller", Value: name}
		}
		if k == usual {
			initial = name
		}
	}
	return value.Given("method", rules.Multiple, "default", initial, "scrollers", scrollers)
}

// A kind is a pagination, and the jobs that have it.
type kind struct {
	pager value.Object
	jobs  []int
}

// kindsOf returns the paginations that differ.
func kindsOf(pagers []value.Object) (kinds []*kind) {
	for i, p := range pagers {
		at := slices.IndexFunc(kinds, func(k *kind) bool { return text(k.pager) == text(p) })
		switch {
		case p == nil:
		case at < 0:
			kinds = append(kinds, &kind{p, []int{i}})
		default:
			kinds[at].jobs = append(kinds[at].jobs, i)
		}
	}
	return kinds
}

// usualKind returns the pagination that most jobs have, or nil if most make a single request. One that a single job has is
// usual only if others differ from it in what they keep.
func usualKind(kinds []*kind, jobs int) (usual *kind) {
	single := jobs
	for _, k := range kinds {
		single -= len(k.jobs)
		switch isBase := len(kinds) == 1 || slices.ContainsFunc(kinds, k.isBaseOf); {
		case usual == nil && len(k.jobs) == 1 && !isBase:
		case usual == nil || len(k.jobs) > len(usual.jobs) || len(k.jobs) == len(usual.jobs) && k.isBaseOf(usual):
			usual = k
		}
	}
	if usual == nil || single > 0 && len(usual.jobs) == 1 || single > len(usual.jobs) && len(kinds) > 1 {
		return nil
	}
	return usual
}

// isBaseOf reports whether another pagination is this one with values that are kept.
func (k *kind) isBaseOf(other *kind) bool {
	return k != other && text(other.pager.Without("keep")) == text(k.pager)
}

// isOnePage reports whether one job alone makes a single request, with rules that all jobs share.
func (k *kind) isOnePage(shared value.Object) bool {
	p := k.pager
	for _, m := range shared {
		p = p.Without(m.Name)
	}
	return len(k.jobs) == 1 && text(p) == text(onePage())
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

// scrollerName names a pagination after its role. If the name is not free, it is that of a job.
func (g *group) scrollerName(k *kind, named, kinds []*kind, taken value.Object) string {
	name := k.role(kinds)
	increments := func(at int) bool { return g.streams[at].Incremental.sends() }
	if len(named) > 1 && name != "all" && !slices.ContainsFunc(k.jobs, func(i int) bool { return !increments(i) }) &&
		slices.ContainsFunc(named, func(other *kind) bool { return other != k && other.role(kinds) == name }) {
		name = "changed"
	}
	_, isTaken := taken.Get(name)
	sameRole := func(other *kind) bool { return other != k && other.role(kinds) == name }
	if isTaken || len(k.jobs) == 1 && slices.ContainsFunc(named, sameRole) ||
		slices.ContainsFunc(g.streams, func(s *Stream) bool { return jobID(s) == name }) {
		return jobID(g.streams[k.jobs[0]])
	}
	return name
}

// role returns the items that a pagination is for, or else what leads to the next page.
func (k *kind) role(kinds []*kind) string {
	if _, keeps := k.pager.Get("keep"); keeps {
		return "changed"
	}
	if slices.ContainsFunc(kinds, k.isBaseOf) {
		return "all"
	}
	return pagerOf(k.pager).name
}

// params returns the parameters that the requests of all jobs have in common, and that need no variables. There are none if
// later requests leave out the parameters of their job, or a login is a request: they would have them, too.
func (g *group) params(pagers []value.Object) []Member {
	if _, set := object(g.first.Common).Get("defaultOptions"); set || g.authenticates("login") || slices.ContainsFunc(pagers, omitsParams) {
		return nil
	}
	return g.inAll(func(s *Stream) []Member {
		sent, _, _ := split(s)
		shared := slices.DeleteFunc(slices.Clone(s.Params), func(m Member) bool {
			_, has := sent.Get(m.Name)
			return !has
		})
		if s.sendsParamsAsBody() {
			return shared
		}
		return lists.Map(shared, func(m Member) Member { return Member{m.Name, plain(m.Value)} })
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
