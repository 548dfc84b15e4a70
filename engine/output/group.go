package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

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
	byJob map[string][]*group
	due   []*group // groups whose jobs have ended, but whose items still wait
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

// assignGroups determines the groups.
func (p *Publisher) assignGroups() {
	p.groups.byJob = map[string][]*group{}
	for _, g := range p.allGroups() {
		slices.Sort(g.jobs)
		g.jobs = slices.Compact(g.jobs)
		g.left = len(g.jobs)
		for _, job := range g.jobs {
			p.groups.byJob[job] = append(p.groups.byJob[job], g)
		}
	}
	p.noteLeftOut()
}

// A grouping builds the groups of all targets.
type grouping struct {
	all []*group
	of  map[*target]*group // group of each file
}

// begin returns a new group without targets.
func (gs *grouping) begin() *group {
	g := &group{}
	gs.all = append(gs.all, g)
	return g
}

// add adds a target to a group. Only a file belongs to a single group.
func (gs *grouping) add(g *group, t *target) {
	if slices.Contains(g.targets, t) {
		return
	}
	g.targets = append(g.targets, t)
	if t.file != nil {
		gs.of[t] = g
		g.jobs = append(g.jobs, t.jobs...)
	}
}

// absorb adds the content of another group to a group, and empties the other.
func (gs *grouping) absorb(g, other *group) *group {
	for _, t := range other.targets {
		gs.add(g, t)
	}
	g.last = g.last || other.last
	g.jobs = append(g.jobs, other.jobs...)
	*other = group{}
	return g
}

// allGroups returns the groups of all targets. Trees that share a file are in one group.
func (p *Publisher) allGroups() []*group {
	trees, gs := p.trees(), grouping{of: map[*target]*group{}}
	last := gs.begin()
	last.last = true
	for _, root := range p.engine.Info().Roots {
		if !p.together(trees[root]) {
			continue
		}
		g := last
		if !p.addsAgain(trees[root]) {
			g = gs.begin()
		}
		for _, job := range trees[root] {
			g.jobs = append(g.jobs, job)
			for _, t := range p.byJob[job] {
				switch other := gs.of[t]; {
				case other == nil, other == g:
				case g == last:
					gs.absorb(last, other)
				default:
					g = gs.absorb(other, g)
				}
				gs.add(g, t)
			}
		}
	}
	for _, t := range p.targets {
		if t.file != nil && gs.of[t] == nil {
			gs.add(gs.begin(), t)
		}
	}
	return gs.all
}

// noteLeftOut notes, in each group, a job that was not selected although it reads kept values of the group.
func (p *Publisher) noteLeftOut() {
	selected := p.engine.Jobs()
	for _, job := range p.engine.AllJobs() {
		info := p.engine.Job(job)
		if len(info.Keepers) == 0 || !info.Emits || slices.Contains(selected, job) {
			continue
		}
		for _, keeper := range info.Keepers {
			for _, g := range p.groups.byJob[keeper] {
				g.leftOut = job
			}
		}
	}
}

// trees returns the jobs that run, by root. A job runs if it or one of its descendants is selected.
func (p *Publisher) trees() map[string][]string {
	runs := map[string]bool{}
	for _, job := range p.engine.Jobs() {
		for ; job != "" && !runs[job]; job = p.engine.Job(job).Parent {
			runs[job] = true
		}
	}
	trees := map[string][]string{}
	for _, job := range p.engine.AllJobs() {
		if runs[job] {
			root := p.engine.Job(job).Root
			trees[root] = append(trees[root], job)
		}
	}
	return trees
}

// together reports whether the files of a tree are published together.
func (p *Publisher) together(jobs []string) bool {
	return slices.ContainsFunc(jobs, func(job string) bool {
		return len(p.engine.Job(job).Keepers) > 0 ||
			slices.ContainsFunc(p.byJob[job], func(t *target) bool { return t.file != nil && t.file.appends })
	})
}

// addsAgain reports whether rows of jobs are added to files, and nothing tells the next run that they were.
func (p *Publisher) addsAgain(jobs []string) bool {
	forgets := func(job string) bool {
		return (p.options.KeptFile == "" || len(p.engine.Job(job).Keepers) == 0) &&
			slices.ContainsFunc(p.byJob[job], func(t *target) bool { return t.file != nil })
	}
	return p.options.Append && p.store.Path() == "" && slices.ContainsFunc(jobs, forgets)
}

// waitsForAll reports whether the jobs of a file are complete, and its rows wait for the end of the run.
func (p *Publisher) waitsForAll(t *target) bool {
	incomplete := func(job string) bool { _, ended := p.ended[job]; return !ended }
	return !t.file.rows.Published() && !slices.ContainsFunc(t.jobs, incomplete) &&
		slices.ContainsFunc(p.groups.byJob[t.jobs[0]], func(g *group) bool { return g.last })
}

// unpublished returns the jobs of the group, or nil if its files are published, as in a run that
// continues after its publication.
func (g *group) unpublished() []string {
	if slices.ContainsFunc(g.targets, func(t *target) bool { return t.file != nil && t.file.rows.Finished() }) {
		return nil
	}
	return g.jobs
}

// endJob records that a job is complete.
func (p *Publisher) endJob(job engine.JobResult) {
	if _, ended := p.ended[job.Job]; !ended {
		p.ended[job.Job] = job
		p.groups.endJob(job.Job)
	}
}

// publishDue publishes the groups whose jobs are complete, unless their items still wait for other jobs,
// for the end of a stream or for the end of the run.
func (p *Publisher) publishDue() error {
	due := p.groups.due
	p.groups.due = nil
	for i, g := range due {
		if g.last && !p.succeeded || slices.ContainsFunc(g.targets, p.waits) {
			p.groups.due = append(p.groups.due, g)
			continue
		}
		if err := p.publish(g); err != nil {
			p.groups.due = append(p.groups.due, due[i+1:]...)
			return err
		}
	}
	return nil
}

// waits reports whether items of a target are not written yet.
func (p *Publisher) waits(t *target) bool {
	q := p.queues[t]
	return t.stream != nil && t.stream.waits() || q != nil && !q.empty()
}

// endQueues writes the items that wait for other jobs or for the end of a stream. It saves the
// values of completed jobs that waited for this, even if another job of the stream has failed.
func (p *Publisher) endQueues() error {
	queues := p.queues
	p.queues = nil
	for _, t := range p.targets {
		if q := queues[t]; q != nil {
			if err := q.end(); err != nil {
				return err
			}
		}
		if t.stream != nil && t.stream.waits() {
			if err := p.endStream(t.stream); err != nil {
				return err
			}
		}
	}
	return p.publishDue()
}

// publish publishes the rows of a group together with the values that its jobs keep.
func (p *Publisher) publish(g *group) error {
	if !p.audit(g) {
		return nil
	}
	repeats := slices.ContainsFunc(g.targets, p.repeats)
	kept, err := p.keptOf(g, repeats)
	if err != nil {
		return err
	}
	maps.Copy(p.kept.values, kept)
	if g.leftOut != "" && p.savesKept() {
		p.log.Warn(fmt.Sprintf("the kept values were not updated, because job %s, which depends on them, was not selected; "+
			"select it too, or the next run requests the same data again", g.leftOut),
			"event", "kept_unchanged", "job", g.leftOut)
	}
	parts, err := p.completeRows(g, kept, repeats)
	hasFiles := slices.ContainsFunc(g.targets, func(t *target) bool { return t.file != nil })
	if err != nil || len(parts) == 0 && (hasFiles || len(kept) == 0 || !p.savesKept()) {
		return err
	}
	err = p.store.Publish(checkpoint.Publication{
		Parts: parts, Kept: kept, KeptFile: p.options.KeptFile, KeptFor: p.kept.fingerprints,
		RowsIn: p.rowsIn(g, kept),
	})
	switch {
	case errors.Is(err, failure.ErrResponse): // rows without a key cannot be merged; other files can be published
		p.unmerged.jobs, p.unmerged.err = append(p.unmerged.jobs, g.jobs...), errors.Join(p.unmerged.err, err)
		return nil
	case err != nil:
		return err
	}
	for job := range kept {
		p.kept.saved[job] = true
	}
	return nil
}

// completeRows completes the rows of a group: a stream receives the kept values, and the files become the
// parts of a publication. If the next run requests the rows again (repeats), added rows are withheld.
func (p *Publisher) completeRows(g *group, kept map[string]json.RawMessage, repeats bool) (parts []checkpoint.Part, err error) {
	for _, t := range g.targets {
		switch {
		case t.stream != nil:
			if len(kept) > 0 {
				err = t.stream.state(p.kept.values)
			}
		case t.file.rows.Finished():
		case p.leavesOut(t):
			p.log.Warn(fmt.Sprintf("%s stays as it was: the limit on the partitions of the run (limits.partitions) left out all of them "+
				"whose items belong there", t.file.rows.Name()), "event", "withheld", "file", t.file.rows.Name(), "rows", 0)
			err = p.store.Release(t.file.rows)
		case repeats && t.file.appends:
			err = p.withhold(t, g.leftOut)
		default:
			var part checkpoint.Part
			part, err = t.file.part(p.keptAfter(t, kept))
			p.warnMixed(t.file.rows.Name(), t.file.encoder)
			parts = append(parts, part)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// leavesOut reports whether the limit on the partitions of the run left out all partitions of the jobs of a file, so that
// nothing is known of its rows.
func (p *Publisher) leavesOut(t *target) bool {
	return !slices.ContainsFunc(t.jobs, func(job string) bool {
		ended := p.ended[job]
		return ended.Outcome != rules.Limited || ended.Partitions == nil || ended.Partitions.Count > 0
	})
}

// endStream ends a stream.
func (p *Publisher) endStream(s *stream) error {
	for _, e := range s.encoders {
		if s.waits() {
			p.warnMixed("the table", e)
		}
	}
	return s.close()
}

// warnMixed warns about the columns of a table that are texts because no other type holds all of their values.
func (p *Publisher) warnMixed(name string, e encoder) {
	w, ok := e.(interface{ mixed() []string })
	if !ok {
		return
	}
	for _, column := range w.mixed() {
		p.log.Warn(fmt.Sprintf("%s: %s, so all of its values are written as texts", name, column), "event", "mixed_column", "file", name)
	}
}

// keptOf returns the values that the jobs of a group keep. If the next run requests rows of the group
// again (repeats), these are only the values that have stayed as they were.
func (p *Publisher) keptOf(g *group, repeats bool) (map[string]json.RawMessage, error) {
	kept := map[string]json.RawMessage{}
	for _, job := range g.jobs {
		ended := p.ended[job]
		if ended.Kept == nil || repeats && !ended.StartsOver {
			continue
		}
		text, err := json.Marshal(ended.Kept)
		if err != nil {
			return nil, err
		}
		kept[job] = text
	}
	return kept, nil
}

// rowsIn returns, by job whose kept values have moved on, the files with the rows up to these values.
func (p *Publisher) rowsIn(g *group, kept map[string]json.RawMessage) map[string][]string {
	files := map[string][]string{}
	for job := range kept {
		if p.ended[job].StartsOver {
			continue
		}
		names := []string{}
		for _, t := range g.targets {
			follows := func(other string) bool { return slices.Contains(p.engine.Job(other).Keepers, job) }
			if t.file != nil && slices.ContainsFunc(t.jobs, follows) {
				names = append(names, t.file.rows.Name())
			}
		}
		if _, known := p.kept.files[job]; known || len(names) > 0 { // values without files need to know none
			files[job] = names
		}
	}
	return files
}

// keptAfter returns the kept values that follow the rows of a file. The values of a job follow its rows in
// its last file.
func (p *Publisher) keptAfter(t *target, kept map[string]json.RawMessage) map[string]json.RawMessage {
	checkpoints := map[string]json.RawMessage{}
	for _, job := range t.jobs {
		if all := p.byJob[job]; kept[job] != nil && all[len(all)-1] == t {
			checkpoints[job] = kept[job]
		}
	}
	return checkpoints
}

// repeats reports whether the next run will request the rows of a target again, because a list
// that continued from kept values is incomplete. The kept values have not changed, so rows added
// now would be added twice.
func (p *Publisher) repeats(t *target) bool {
	return t.file != nil && t.file.appends && p.savesKept() && slices.ContainsFunc(t.jobs, func(job string) bool {
		return p.ended[job].StartsOver && len(p.engine.Job(job).Keepers) > 0
	})
}

// withhold leaves the rows of a file unpublished, and warns if there are any.
func (p *Publisher) withhold(t *target, leftOut string) error {
	rows := t.file.rows
	if !rows.Created() {
		return p.store.Release(rows)
	}
	t.withheld = true
	why, fix := "a list that continues from kept values is incomplete",
		"raise the limit that ended it or, if any page says where to go on, use a stop rule with outcome complete"
	if leftOut != "" {
		why, fix = fmt.Sprintf("job %s, which depends on the same kept values, was not selected", leftOut), "select it too"
	}
	p.log.Warn(fmt.Sprintf("%s is unchanged: %s, so the next run requests its rows again; those of this run (%s) are in %s (%s)",
		rows.Name(), why, value.Counted(int(rows.RowCount()), "row"), rows.Path(), fix),
		"event", "withheld", "file", rows.Name(), "partial", rows.Path(), "rows", rows.RowCount())
	return p.store.Release(rows)
}
