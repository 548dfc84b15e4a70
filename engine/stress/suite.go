package stress

import (
	"context"
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Suite holds the jobs of a configuration that are put under stress.
type Suite struct {
	Jobs       []*compile.Job // those that run, in their order
	ExitStatus func(err error) int

	// Walk returns a walk that makes its requests in an environment, without the
	// credentials of the configuration.
	Walk func(Environment) partition.Walk

	Config value.Object // the values of the configuration, without the key parameters around them

	// With returns the suite of another configuration. The error says that it is invalid.
	With func(config value.Object) (*Suite, error)
}

// An Environment replaces the network and the time.
type Environment struct {
	Transport http.RoundTripper
	Clock     transport.Clock
}

// A Change sets a value of a configuration.
type Change struct {
	Path   []string `json:"path"`             // keys from the root: api, pagination, limit
	Value  any      `json:"value"`            // what the key is set to
	Append bool     `json:"append,omitempty"` // the value becomes an element of the list at the key
}

// changed returns the suite after changes of its configuration.
func (s *Suite) changed(changes []Change) (*Suite, error) {
	config := s.Config
	for _, c := range changes {
		config = c.apply(config)
	}
	return s.With(config)
}

// apply returns a configuration after the change.
func (c Change) apply(config value.Object) value.Object {
	v := c.Value
	if c.Append {
		list, _ := at(config, c.Path).([]any)
		v = append(slices.Clone(list), v)
	}
	changed, _ := place(config, c.Path, v).(value.Object)
	return changed
}

// Run puts every job under stress.
func (s *Suite) Run(ctx context.Context, o Options) (*Report, error) {
	report := &Report{Version: reportVersion, Seed: o.Seed, Depth: o.depth(), Jobs: []JobReport{}}
	plans := map[string]*plan{} // by job; nil: it has none
	for _, job := range s.Jobs {
		one, p, err := s.job(ctx, job, o)
		if err != nil {
			return report, err
		}
		report.Jobs, plans[one.Job] = append(report.Jobs, one), p
	}
	for i, job := range s.Jobs {
		if job.Parent != nil {
			continue
		}
		j := &report.Jobs[i]
		rows, why := s.tree(ctx, job, plans)
		j.Rows = append(j.Rows, rows...)
		if why != "" {
			j.Left = append(j.Left, LeftOut{partitions, why})
		}
	}
	return report, ctx.Err()
}

// listed returns a job as the model needs it: its responses are JSON, and all items are
// delivered as the API sends them, so that they can be counted.
func listed(job *compile.Job, unlimited bool) *compile.Job {
	changed, set := *job, *job.Set
	set.Job.Response = rules.Response{Format: rules.JSON}
	changed.Set, changed.Shape = &set, compile.Shape{}
	if unlimited {
		changed.Stops = slices.DeleteFunc(slices.Clone(job.Stops), isLimit)
	}
	return &changed
}

// isLimit reports whether a stopping rule is a limit of the user: the list may have more.
func isLimit(c *compile.Condition) bool { return c.Rule.Outcome == rules.Limited && !c.Rule.Guard }
