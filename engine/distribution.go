package engine

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Distribution shares runs of an engine among machines, as package engine/cluster does: a run is
// divided into tasks, and each machine opens a [Session], which runs some of them.
type Distribution struct{ engine *Engine }

// Distribution returns the operations for programs that share a run among machines.
func (e *Engine) Distribution() Distribution { return Distribution{e} }

// RunFacts hold the facts about a shared run that all machines know.
type RunFacts struct {
	ID      string    // ID of the run, the same on all machines; Run in events
	Worker  string    // name of this machine, in events
	Started time.Time // start of the run, the same on all machines; now() returns it to the expressions of variables
}

// Origin returns the scheme, host and port of the API, such as "https://api.example.com". It is
// empty if they come from the environment or from a secret input, which this process may lack (see
// [WithPlaceholders]).
func (d Distribution) Origin() string {
	e := d.engine
	inputs, _ := e.cfg.BindInputs(e.options.run.Inputs)
	text, err := e.baseURL(inputs)
	if err != nil {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || rules.HasPlaceholder(u.Host) {
		return ""
	}
	for _, in := range e.cfg.Inputs {
		secret, ok := value.Text(e.options.run.Inputs[in.Name])
		if in.Secret && ok && secret != "" && strings.Contains(u.Host, secret) {
			return ""
		}
	}
	return transport.OriginOf(u)
}

// Parallel returns the number of requests that the configuration allows in flight:
// api.http.parallel. 0 means no limit.
func (d Distribution) Parallel() int { return d.engine.cfg.HTTP.Pace.Parallel }

// ahead returns the policy by which a session requests pages ahead. Because storing a page takes a
// while, the next page is requested meanwhile, unless the user wants no page ahead. If the
// configuration limits the requests in flight, each task makes one request at a time.
func (d Distribution) ahead(p ahead.Policy) ahead.Policy {
	switch {
	case p.Large == 0:
		return p
	case d.Parallel() > 0:
		return ahead.Policy{Delivering: true}
	}
	p.Delivering = true
	return p
}

// RootTasks returns the tasks with which a run begins: one for each of [Info].Roots. With
// limits.partitions there is one task for all jobs, because only a fixed order omits the same
// partitions in every run.
func (d Distribution) RootTasks() []partition.Task {
	return partition.RootTasks(d.engine.roots(), partition.NewQuota(d.engine.cfg.MaxPartitions))
}

// Tallies returns a tally for each tree of the jobs that run, by the ID of the root job. They make
// no requests and need no secrets.
func (d Distribution) Tallies() map[string]*partition.Tally {
	e := d.engine
	log := e.log()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	kept := map[string]map[string]any{} // whoever collects the run may keep its values
	maps.Copy(kept, e.options.run.KeptBefore)
	walk := e.walk(runtime.Loop{Log: log, Redactor: e.Redactor(), EarlierRuns: runtime.EarlierRuns{KeptBefore: kept}})
	tallies := map[string]*partition.Tally{}
	for _, root := range e.roots() {
		tallies[root.ID()] = walk.NewTally(root)
	}
	return tallies
}

// Outlines returns the outlines of the jobs that run, parents before their children.
func (d Distribution) Outlines() []partition.Outline {
	return partition.Outlines(d.engine.roots(), d.engine.selected())
}

// Checkpoints returns the checkpoints of [WithResume], by job.
func (d Distribution) Checkpoints() map[string]json.RawMessage {
	return maps.Clone(d.engine.options.run.Resume)
}
