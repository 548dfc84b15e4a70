package engine

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
)

// Info describes the runs of a configuration as a whole. The zero value of a field means that the
// configuration does not set it.
type Info struct {
	Roots         []string // IDs of the jobs without a parent in the trees of the jobs that run
	Rules         int      // number of rules about the state, the next request, the ends of lists and error responses, of the jobs that run
	Tests         []string // names of the tests of the selected jobs, in order
	Env           []string // environment variables that the configuration reads, each once; see [WithEnv]
	Inputs        []string // declared inputs; see [WithInputs]
	SecretInputs  []string // the Inputs that are secret
	RotatesTokens bool     // whether the API may replace the refresh token, so that [WithTokenStore] is needed
	Debug         bool     // whether the configuration asks for detailed logs
}

// Info describes the configuration.
func (e *Engine) Info() Info {
	info := Info{Env: slices.Clone(e.cfg.Env), Debug: e.cfg.Debug}
	for _, root := range e.roots() {
		info.Roots = append(info.Roots, root.ID())
	}
	for _, job := range e.running() {
		info.Rules += len(job.Init) + len(job.Next) + len(job.Parts) + len(job.Stops) + len(job.OnErrors)
	}
	for _, test := range e.tests() {
		info.Tests = append(info.Tests, test.Name)
	}
	for _, in := range e.cfg.Inputs {
		info.Inputs = append(info.Inputs, in.Name)
		if in.Secret {
			info.SecretInputs = append(info.SecretInputs, in.Name)
		}
	}
	auth := e.cfg.Auth
	info.RotatesTokens = e.options.run.auth == nil && auth != nil && auth.Values["grant"] == rules.GrantRefresh
	return info
}

// JobInfo describes a job of a configuration. A job whose `for` names the items of another job is
// a child of that job; parents and children form a tree.
type JobInfo struct {
	ID          string
	Parent      string   // ID of the parent; empty for a root
	Root        string   // ID of the root of its tree, to which checkpoints belong; for a job without a parent, its own ID
	DataTypes   []string // types of the items: `dataType`, the endpoint, or the types of the paths of `dataField`
	DefaultType string   // the type in DataTypes that was derived from the id or the endpoint; "" if the configuration sets `dataType`
	Key         []string // paths whose values identify an item that is written: `key`; nil without a key
	Emits       bool     // whether the items are written: `emit`
	Partitioned bool     // whether the job may run more than once, or has children
	Keepers     []string // IDs of the jobs whose values under `keep` decide what the job obtains: the job, its ancestors, or both
}

// Job describes a job of the configuration. It returns the zero JobInfo if there is no job with
// the id.
func (e *Engine) Job(id string) JobInfo {
	job := e.byID[id]
	if job == nil {
		return JobInfo{}
	}
	spec := job.Spec()
	info := JobInfo{ID: id, DataTypes: spec.DataTypes(), Key: spec.Key, Emits: spec.Emits, Partitioned: job.HasPartitions()}
	if !spec.Typed {
		info.DefaultType = spec.DataType
	}
	if job.Parent != nil {
		info.Parent = job.Parent.ID()
	}
	for _, keeper := range job.Analysis().Keepers() {
		info.Keepers = append(info.Keepers, keeper.ID())
	}
	for ; job != nil; job = job.Parent {
		info.Root = job.ID()
	}
	return info
}

// Continues reports whether the items of a job are those that follow the values which one of its Keepers has kept in an
// earlier run. Otherwise, the job obtains all of its items. lacks names a value that was nil although there were items, so
// that they may come again; "" if there is none.
func (e *Engine) Continues(job, keeper string, kept map[string]any) (continues bool, lacks string) {
	keeping := e.byID[keeper]
	if keeping == nil || !slices.Contains(e.Job(job).Keepers, keeper) {
		return false, ""
	}
	return keeping.Analysis().Continues(kept, job != keeper)
}
