package engine

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
)

// Info is what a configuration says about its runs as a whole. The zero value of a field
// is that of a configuration that says nothing about it.
type Info struct {
	Roots         []string // ids of the jobs without a parent in the trees of the jobs that run
	Rules         int      // of the jobs that run, without those of the audit and of keep
	Tests         []string // names of the tests of the jobs that run, in their order
	Env           []string // environment variables that the configuration reads, each once; see [WithEnv]
	Inputs        []string // inputs that it declares; see [WithInputs]
	SecretInputs  []string // those of Inputs that are secrets
	RotatesTokens bool     // the API may replace the refresh token, so [WithTokenStore] is needed
	Debug         bool     // the configuration asks for detailed logs
}

// Info describes the configuration.
func (e *Engine) Info() Info {
	info := Info{Env: slices.Clone(e.cfg.Env), Debug: e.cfg.Debug}
	for _, root := range e.roots() {
		info.Roots = append(info.Roots, root.Set.Job.ID)
	}
	for _, job := range e.selected() {
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
	info.RotatesTokens = e.settings.run.auth == nil && auth != nil && auth.Values["grant"] == rules.GrantRefresh
	return info
}

// JobInfo is what a configuration says about a job. A job whose `for` names the items of
// another job is a child of that job; parents and children are a tree.
type JobInfo struct {
	ID          string
	Parent      string   // id of the parent; empty: the job has none
	Root        string   // id of the root of its tree, whose checkpoint is that of the tree; the job's own without a parent
	DataTypes   []string // types of the items: `dataType`, the endpoint, or those of the paths of `dataField`
	Emits       bool     // the items are written: `emit`
	Partitioned bool     // it may run more than once, or has children
	Keepers     []string // the job and its ancestors, as far as they save values with `keep`, which decide what it requests
}

// Job describes a job of the configuration. Of an unknown job, only ID and Root are set.
func (e *Engine) Job(id string) JobInfo {
	job := e.byID[id]
	if job == nil {
		return JobInfo{ID: id, Root: id}
	}
	info := JobInfo{ID: id, DataTypes: job.Set.Job.DataTypes(), Emits: !job.Set.Job.Silent, Partitioned: job.Partitioned()}
	if job.Parent != nil {
		info.Parent = job.Parent.Set.Job.ID
	}
	for ; job != nil; job = job.Parent {
		info.Root = job.Set.Job.ID
		if len(job.Keeps) > 0 {
			info.Keepers = append(info.Keepers, job.Set.Job.ID)
		}
	}
	return info
}
