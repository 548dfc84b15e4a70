package stress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Suite holds the jobs of a configuration that are put under stress.
type Suite struct {
	Jobs       []*compile.Job // jobs that run, in order
	ExitStatus func(err error) int

	// Walk returns a walk that makes its requests in an environment, without the
	// credentials of the configuration.
	Walk func(Environment) partition.Walk

	Config  value.Object   // values of the configuration, without the outer key parameters
	Methods []rules.Method // methods that the configuration may have

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
	Path   []string `json:"path"`             // keys from the root, such as api, pagination, limit
	Value  any      `json:"value"`            // new value of the key
	Append bool     `json:"append,omitempty"` // whether the value is appended to the list at the key
	Remove bool     `json:"remove,omitempty"` // whether the key, or the element of a list, is removed
}

// changed returns the suite after changes of its configuration.
func (s *Suite) changed(changes []Change) (*Suite, error) {
	return s.With(Apply(s.Config, changes))
}

// Apply returns the values of a configuration, without the outer key parameters, after changes.
func Apply(config value.Object, changes []Change) value.Object {
	for _, c := range changes {
		config = c.apply(config)
	}
	return config
}

// apply returns a configuration after the change.
func (c Change) apply(config value.Object) value.Object {
	path, v := c.Path, c.Value
	switch {
	case c.Append:
		list, _ := at(config, path).([]any)
		v = append(slices.Clone(list), v)
	case c.Remove:
		last := path[len(path)-1]
		path = path[:len(path)-1]
		around := at(config, path)
		list, isList := around.([]any)
		if i, err := strconv.Atoi(last); isList && err == nil && i < len(list) {
			v = slices.Delete(slices.Clone(list), i, i+1)
		} else {
			members, _ := value.Members(around)
			v = members.Without(last)
		}
	}
	changed, _ := place(config, path, v).(value.Object)
	return changed
}

// Run puts every job under stress.
func (s *Suite) Run(ctx context.Context, o Options) (*Report, error) {
	report := &Report{Version: reportVersion, Seed: o.Seed, Depth: o.depth(), Jobs: []JobReport{}}
	plans := map[string]*plan{} // plans by job; nil for a job without a plan
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
		tree, rows, why := s.tree(ctx, job, plans)
		if j.Rows = append(j.Rows, rows...); tree != nil {
			j.tree = tree
		}
		if why != "" {
			j.Left = append(j.Left, LeftOut{partitions, why})
		}
	}
	return report, ctx.Err()
}

// plain returns a job as the model needs it: its responses are JSON, and all items are delivered as
// the API sends them, so that they can be counted.
func plain(job *compile.Job) *compile.Job {
	changed, set := *job, *job.Ruleset
	set.Job.Response = rules.Response{Format: rules.JSON}
	changed.Ruleset, changed.Shape = &set, compile.Shape{}
	return &changed
}

// withoutLimits returns a job without the limits of the user.
func withoutLimits(job *compile.Job) *compile.Job {
	changed := *job
	changed.Stops = slices.DeleteFunc(slices.Clone(job.Stops), isLimit)
	return &changed
}

// jobOf returns a job of a configuration as it runs against the model of the plan.
func (p *plan) jobOf(job *compile.Job) *compile.Job {
	if p.unlimited {
		job = withoutLimits(job)
	}
	return plain(job)
}

// isLimit reports whether a stopping rule is a limit of the user: the list may have more.
func isLimit(c *compile.Trigger) bool { return c.Rule.Outcome == rules.Limited && !c.Rule.Guard }

// A Spec describes the API of a [Simulation]: it serves pages of certain sizes, or has
// one or two behaviours.
type Spec struct {
	text string
	all  combination
}

// Limits of a list of page sizes.
const (
	maxSizes     = 50
	maxSimulated = 10_000
)

// ParseSpec reads the sizes of pages, as in "10,10,3", the name of a behaviour, or two names
// joined by "+". The error quotes the unknown name and suggests the nearest one.
func ParseSpec(text string) (Spec, error) {
	spec := Spec{text: text}
	if first := strings.TrimSpace(text); first == "" || strings.ContainsAny(first[:1], "0123456789-,") {
		sizes, err := parseSizes(text)
		if err != nil {
			return Spec{}, err
		}
		spec.all = combination{ofSizes(text, sizes)}
		return spec, nil
	}
	names := strings.Split(text, "+")
	if len(names) > 2 {
		return Spec{}, fmt.Errorf("want at most two behaviours, got %d", len(names))
	}
	for _, name := range names {
		b, err := find(strings.TrimSpace(name))
		if err != nil {
			return Spec{}, err
		}
		spec.all = append(spec.all, b)
	}
	if len(spec.all) == 2 && spec.all.contradicts() {
		return Spec{}, fmt.Errorf("%s and %s cannot happen at the same time", spec.all[0].Name, spec.all[1].Name)
	}
	return spec, nil
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	total := 0
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("want the sizes of pages, such as 10,10,3, or the name of a behaviour, got %q", text)
		}
		sizes, total = append(sizes, n), total+n
		if total > maxSimulated || len(sizes) > maxSizes {
			return nil, fmt.Errorf("want at most %d pages with %d items", maxSizes, maxSimulated)
		}
	}
	return sizes, nil
}

// find returns the behaviour with the given name.
func find(name string) (*Behaviour, error) {
	names := make([]string, len(behaviours))
	for i, b := range behaviours {
		if strings.EqualFold(b.Name, name) {
			return b, nil
		}
		names[i] = b.Name
	}
	if slices.ContainsFunc(treeBehaviours, func(b *Behaviour) bool { return strings.EqualFold(b.Name, name) }) {
		return nil, fmt.Errorf("%q is about several partitions, and a simulation is of one list; run Engine.Stress", name)
	}
	text := fmt.Sprintf("there is no behaviour %q; ", name)
	if hint := diag.DidYouMean(name, names); hint != "" {
		text += hint + " "
	}
	return nil, errors.New(text + "the behaviours are " + strings.Join(names, ", "))
}

// ofSizes is the behaviour of an API that ignores the parameters of requests and answers with pages
// of these sizes, one after the other, and then with empty pages. A page that is smaller than
// the largest one was filtered by the API, unless it is the last.
func ofSizes(name string, sizes []int) *Behaviour {
	largest := max(1, slices.Max(sizes))
	last := len(sizes) - 1
	n := largest*last + sizes[last]
	begin := func(a *api) {
		a.size, a.chosen = largest, true
		a.hide(func(i int) bool { return i/largest < last && i%largest >= sizes[i/largest] })
	}
	words := texts(sizes, strconv.Itoa)
	says := "The API answers with one page of " + value.Counted(sizes[0], "item") + "."
	if last > 0 {
		says = fmt.Sprintf("The API answers with pages of %s and %s items.", strings.Join(words[:last], ", "), words[last])
	}
	return &Behaviour{
		Name: name, Says: says, items: exactly(n), begin: begin,
		reply: func(a *api, r *reply) {
			r.page(a, min((r.nth-1)*largest, len(a.rows)))
			if r.nth <= last {
				r.next = r.start + largest
			}
			if r.nth <= len(sizes) {
				r.status = http.StatusOK
			}
		},
	}
}
