package output

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/contract"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A comparison compares the data of a run with the contract of [PublisherOptions.ContractFile].
type comparison struct {
	*run
	before  *contract.Contract  // of earlier runs
	now     *contract.Contract  // of this run, and of the earlier run that it continues
	writers map[string][]string // jobs that write each output

	judged  map[string]bool // outputs and jobs that were compared; an output is judged with all of its jobs
	drifted bool            // whether something differs
}

// contractNote is the name of the note in a state that holds comparison.now.
const contractNote = "contract"

// openContract reads the contract, whose columns the items are to have, and, from the state, the contract of the run
// that this run continues. It returns nil without a contract.
func openContract(r *run, e *encoding) (*comparison, error) {
	path := r.options.ContractFile
	if path == "" {
		return nil, nil
	}
	mode := cmp.Or(r.options.ContractMode, contract.Evolve)
	if !slices.Contains(contract.Modes(), string(mode)) {
		return nil, &engine.Error{Class: failure.Config, Op: "contract",
			Message: fmt.Sprintf("the mode of the contract: want %s, got %q", strings.Join(contract.Modes(), " or "), mode)}
	}
	before, err := contract.Read(path)
	if err != nil {
		return nil, err
	}
	c := &comparison{
		run: r, before: cmp.Or(before, &contract.Contract{}), now: &contract.Contract{},
		writers: map[string][]string{}, judged: map[string]bool{},
	}
	for _, destination := range Destinations(r.engine, r.options.Dir, r.options.Format) {
		c.writers[destination.DataType] = destination.Jobs
	}
	if note := r.store.Note(contractNote); note != "" {
		if c.now, err = contract.Parse(contractNote, note); err != nil {
			return nil, (&engine.Error{
				Class: failure.State, Op: "contract", Message: fmt.Sprintf("the state has a damaged contract: %v", err), Err: err,
			}).WithRemedy("%s", remedy.StartOver)
		}
	}
	e.known = map[string]*shape.Shape{}
	for output := range c.writers {
		e.known[output] = c.before.Items(output)
	}
	if !r.options.Received {
		r.engine = r.engine.With(engine.WithPagingValues())
	}
	return c, nil
}

// page adds a page to the contract of this run.
func (c *comparison) page(page *engine.Page) {
	if c == nil {
		return
	}
	c.now.AddPage(page)
	for _, list := range page.Lists {
		if slices.Contains(c.writers[list.DataType], page.Job) {
			c.now.AddItems(list.DataType, list.Items)
		}
	}
}

// mark adds the contract of this run to the next commit of the state.
func (c *comparison) mark() {
	if c == nil || !c.hasState() {
		return
	}
	text := c.now.State()
	if len(text) > rules.MaxConfigBytes { // a run that continues this run compares only its own data
		text = nil
	}
	c.store.SetNote(contractNote, string(text))
}

// drift compares the pages of some jobs, and the outputs that only these jobs write, with the contract. It
// compares each of them once in a run. It returns the differences by job. Differences in an output belong
// to the first of its jobs.
func (c *comparison) drift(jobs []string) map[string][]string {
	found := map[string][]string{}
	for _, output := range slices.Sorted(maps.Keys(c.writers)) {
		writers := c.writers[output]
		own := !slices.ContainsFunc(writers, func(job string) bool { return !slices.Contains(jobs, job) })
		if key := "output " + output; own && !c.judged[key] {
			c.judged[key] = true
			found[writers[0]] = append(found[writers[0]], c.before.Drift(c.now, output)...)
		}
	}
	for _, job := range jobs {
		if key := "job " + job; !c.judged[key] {
			c.judged[key] = true
			found[job] = append(found[job], c.before.DriftOfPages(c.now, job)...)
		}
	}
	return found
}

// audit compares the data of jobs that have ended with the contract. It reports whether the run
// accepts the findings.
func (c *comparison) audit(jobs []string, rs *results) bool {
	if c == nil {
		return true
	}
	accepted := true
	found := c.drift(jobs)
	for _, job := range slices.Sorted(maps.Keys(found)) {
		if differences := found[job]; len(differences) > 0 {
			c.drifted = true
			frozen := c.options.ContractMode == contract.Freeze
			differs := c.engine.Auditor().AuditContract(job, c.options.ContractFile, contract.Sentence(differences), frozen)
			accepted = rs.find(job, differs) && accepted
		}
	}
	return accepted
}

// save adds the outputs whose items are published, and the pages of the jobs that wrote them, to
// the contract. To a frozen contract, it adds only outputs and jobs that the contract does not have.
func (c *comparison) save(ts *targets, rs *results) error {
	if c == nil {
		return nil
	}
	outputs, jobs := c.published(ts, rs)
	newOutputs, newJobs := c.before.Without(outputs, jobs)
	if c.options.ContractMode == contract.Freeze {
		outputs, jobs = newOutputs, newJobs
	}
	earlier := string(c.before.Text())
	c.before.Learn(c.now, outputs, jobs)
	if string(c.before.Text()) == earlier {
		return nil
	}
	if err := c.before.Write(c.options.ContractFile); err != nil {
		return err
	}
	level, message := slog.LevelDebug, "the contract says more of the same data"
	switch {
	case newOutputs != nil:
		level, message = slog.LevelInfo, "the contract describes "+strings.Join(newOutputs, ", ")+"; later runs are compared with it"
	case c.drifted:
		level, message = slog.LevelInfo, "the contract has what is new"
	}
	c.log.Log(context.Background(), level, c.options.ContractFile+": "+message, "event", "contract", "file", c.options.ContractFile)
	return nil
}

// published returns the outputs whose items are published, and the complete jobs.
func (c *comparison) published(ts *targets, rs *results) (outputs, jobs []string) {
	for _, output := range slices.Sorted(maps.Keys(c.writers)) {
		waits := func(job string) bool { return !rs.accepted(job) || !ts.published(job, output) }
		if !slices.ContainsFunc(c.writers[output], waits) {
			outputs = append(outputs, output)
		}
	}
	for _, job := range rs.jobs() {
		if rs.accepted(job) && ts.published(job, "") {
			jobs = append(jobs, job)
		}
	}
	return outputs, jobs
}

// forget removes jobs from the contract of this run that the next run requests again from their
// beginning.
func (c *comparison) forget(roots map[string]bool) {
	if c == nil {
		return
	}
	var outputs, jobs []string
	isForgotten := func(job string) bool { return roots[c.engine.Job(job).Root] }
	for output, writers := range c.writers {
		if slices.ContainsFunc(writers, isForgotten) {
			outputs = append(outputs, output)
		}
	}
	for _, job := range c.now.Jobs() {
		if isForgotten(job) {
			jobs = append(jobs, job)
		}
	}
	c.now.Forget(outputs, jobs)
	c.mark()
}

// headOf returns the columns that items of a shape have in a table, with their types. nested joins the names of
// nested members. Columns beyond a limit are left out.
func headOf(s *shape.Shape, nested string, limit int) head {
	var h head
	if s == nil {
		return h
	}
	known := map[string]bool{}
	var add func(name, prefix string, s *shape.Shape)
	add = func(name, prefix string, s *shape.Shape) {
		if own := s.Types &^ shape.Object; own != 0 && !known[name] && len(h.columns) < limit {
			known[name] = true
			h.columns, h.types = append(h.columns, name), append(h.types, own&^shape.Null)
		}
		for _, m := range s.Members {
			add(prefix+m.Name, prefix+m.Name+nested, &m.Shape)
		}
	}
	add(valueColumn, "", s)
	return h
}
