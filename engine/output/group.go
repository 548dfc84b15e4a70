package output

import "slices"

// A group has the targets that are published together, with the values that their jobs keep. If the jobs of a
// tree keep values, or their rows are added, all files of the tree form a group, because the next run requests
// the rows of all of them again, or of none of them. Any other file has a group of its own.
//
// If rows are added and nothing says so to the next run, it requests and adds all of them again. The files of all
// such trees form one group, which is published last.
type group struct {
	targets []*target
	jobs    []string
	left    int    // number of jobs that have not ended
	leftOut string // a job that was not selected, although it reads values that jobs of the group keep; or ""
	last    bool   // whether it is published at the end of the run, and only if the run succeeds
}

// groups holds the groups of a run.
type groups struct {
	*run
	targets   *targets
	byJob     map[string][]*group
	due       []*group // groups whose jobs have ended, but whose items still wait
	succeeded bool     // whether the run has ended, and nothing has failed
}

// newGroups determines the groups of a run.
func newGroups(r *run, targets *targets) groups {
	gs := groups{run: r, targets: targets, byJob: map[string][]*group{}}
	for _, g := range gs.build() {
		slices.Sort(g.jobs)
		g.jobs = slices.Compact(g.jobs)
		g.left = len(g.jobs)
		for _, job := range g.jobs {
			gs.byJob[job] = append(gs.byJob[job], g)
		}
	}
	gs.noteLeftOut()
	return gs
}

// share reports whether files of two jobs are published together.
func (gs *groups) share(one, other string) bool {
	return slices.ContainsFunc(gs.byJob[one], func(g *group) bool { return slices.Contains(g.jobs, other) })
}

// endJob records that a job is complete.
func (gs *groups) endJob(job string) {
	for _, g := range gs.byJob[job] {
		if g.left--; g.left == 0 {
			gs.due = append(gs.due, g)
		}
	}
}

// A grouping builds the groups of all targets.
type grouping struct {
	all []*group
	of  map[*target]*group // group of each file
}

// begin returns a new group without targets.
func (b *grouping) begin() *group {
	g := &group{}
	b.all = append(b.all, g)
	return g
}

// add adds a target to a group. Only a file belongs to a single group.
func (b *grouping) add(g *group, t *target) {
	if slices.Contains(g.targets, t) {
		return
	}
	g.targets = append(g.targets, t)
	if t.file != nil {
		b.of[t] = g
		g.jobs = append(g.jobs, t.jobs...)
	}
}

// absorb adds the content of another group to a group, and empties the other.
func (b *grouping) absorb(g, other *group) *group {
	for _, t := range other.targets {
		b.add(g, t)
	}
	g.last = g.last || other.last
	g.jobs = append(g.jobs, other.jobs...)
	*other = group{}
	return g
}

// build returns the groups of all targets. Trees that share a file are in one group.
func (gs *groups) build() []*group {
	trees, b := gs.trees(), grouping{of: map[*target]*group{}}
	last := b.begin()
	last.last = true
	for _, root := range gs.engine.Info().Roots {
		if !gs.together(trees[root]) {
			continue
		}
		g := last
		if !gs.addsAgain(trees[root]) {
			g = b.begin()
		}
		for _, job := range trees[root] {
			g.jobs = append(g.jobs, job)
			for _, t := range gs.targets.byJob[job] {
				switch other := b.of[t]; {
				case other == nil, other == g:
				case g == last:
					b.absorb(last, other)
				default:
					g = b.absorb(other, g)
				}
				b.add(g, t)
			}
		}
	}
	for _, t := range gs.targets.all {
		if t.file != nil && b.of[t] == nil {
			b.add(b.begin(), t)
		}
	}
	return b.all
}

// noteLeftOut notes, in each group, a job that was not selected although it reads kept values of the group.
func (gs *groups) noteLeftOut() {
	selected := gs.engine.Jobs()
	for _, job := range gs.engine.AllJobs() {
		info := gs.engine.Job(job)
		if len(info.Keepers) == 0 || !info.Emits || slices.Contains(selected, job) {
			continue
		}
		for _, keeper := range info.Keepers {
			for _, g := range gs.byJob[keeper] {
				g.leftOut = job
			}
		}
	}
}

// trees returns the jobs that run, by root. A job runs if it or one of its descendants is selected.
func (gs *groups) trees() map[string][]string {
	runs := map[string]bool{}
	for _, job := range gs.engine.Jobs() {
		for ; job != "" && !runs[job]; job = gs.engine.Job(job).Parent {
			runs[job] = true
		}
	}
	trees := map[string][]string{}
	for _, job := range gs.engine.AllJobs() {
		if runs[job] {
			root := gs.engine.Job(job).Root
			trees[root] = append(trees[root], job)
		}
	}
	return trees
}

// together reports whether the files of a tree are published together.
func (gs *groups) together(jobs []string) bool {
	return slices.ContainsFunc(jobs, func(job string) bool {
		return len(gs.engine.Job(job).Keepers) > 0 ||
			slices.ContainsFunc(gs.targets.byJob[job], func(t *target) bool { return t.file != nil && t.file.appends })
	})
}

// addsAgain reports whether rows of jobs are added to files, and nothing tells the next run that they were.
func (gs *groups) addsAgain(jobs []string) bool {
	forgets := func(job string) bool {
		return (gs.options.KeptFile == "" || len(gs.engine.Job(job).Keepers) == 0) &&
			slices.ContainsFunc(gs.targets.byJob[job], func(t *target) bool { return t.file != nil })
	}
	return gs.options.Append && !gs.hasState() && slices.ContainsFunc(jobs, forgets)
}

// waitsForAll reports whether the jobs of a file are complete, and its rows wait for the end of the run.
func (gs *groups) waitsForAll(t *target, rs *results) bool {
	incomplete := func(job string) bool { return !rs.has(job) }
	return !t.file.rows.Published() && !slices.ContainsFunc(t.jobs, incomplete) &&
		slices.ContainsFunc(gs.byJob[t.jobs[0]], func(g *group) bool { return g.last })
}

// unpublished returns the jobs of the group, or nil if its files are published, as in a run that
// continues after its publication.
func (g *group) unpublished() []string {
	if slices.ContainsFunc(g.targets, func(t *target) bool { return t.file != nil && t.file.rows.Finished() }) {
		return nil
	}
	return g.jobs
}

// publishDue publishes the groups whose jobs are complete, unless their items still wait for other jobs,
// for the end of a stream or for the end of the run.
func (gs *groups) publishDue(publish func(*group) error) error {
	due := gs.due
	gs.due = nil
	for i, g := range due {
		if g.last && !gs.succeeded || slices.ContainsFunc(g.targets, gs.targets.waits) {
			gs.due = append(gs.due, g)
			continue
		}
		if err := publish(g); err != nil {
			gs.due = append(gs.due, due[i+1:]...)
			return err
		}
	}
	return nil
}
