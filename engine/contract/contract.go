package contract

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A Mode says how a run treats data that differ from a contract.
type Mode string

// The modes.
const (
	// Evolve reports a difference as a hint, and adds it to the contract. "" means the same.
	Evolve Mode = "evolve"
	// Freeze reports a difference as evidence, so that a run fails by default, and changes nothing.
	Freeze Mode = "freeze"
)

// Modes returns all modes.
func Modes() []string { return []string{string(Evolve), string(Freeze)} }

// The limits of a contract. Names beyond them are not listed.
const (
	maxTotal = 5000 // members of the items of an output
	maxName  = 200  // bytes of a name
)

// A Contract describes data: the shapes of the items of each output and of the pages of each job. The zero
// Contract describes no data.
type Contract struct {
	outputs map[string]*shape.Shape
	pages   map[string]*pages
}

// pages describes the pages of a job.
type pages struct {
	size   int         // number of items of each page but the last of a list; 0 if it is not known
	full   int         // number of these pages
	latest int         // number of items of the latest page, which may be the last one of its list; 0 if there is none
	varies bool        // whether their sizes differ
	signs  shape.Shape // of one object for each page, with the values that rules read of the page
}

// Outputs returns the names of the outputs, sorted.
func (c *Contract) Outputs() []string { return slices.Sorted(maps.Keys(c.outputs)) }

// Jobs returns the ids of the jobs whose pages are described, sorted.
func (c *Contract) Jobs() []string { return slices.Sorted(maps.Keys(c.pages)) }

// Items returns the shape of the items of an output, or nil if the contract does not have the output.
func (c *Contract) Items(output string) *shape.Shape { return c.outputs[output] }

// AddItems adds items of an output.
func (c *Contract) AddItems(output string, items engine.Items) {
	if items.Len() == 0 {
		return
	}
	s := c.outputs[output]
	if s == nil {
		s = &shape.Shape{}
		if c.outputs == nil {
			c.outputs = map[string]*shape.Shape{}
		}
		c.outputs[output] = s
	}
	reader := shape.Reader{NamesAreData: namesData, MaxTotal: maxTotal, Total: s.Size()}
	for item := range items.All() {
		reader.Add(s, item)
	}
}

// namesData reports whether the name of a member is data, such as a number, a date or an id: the next run
// has other names.
func namesData(name []byte) bool {
	if len(name) == 0 || len(name) > maxName {
		return true
	}
	digits := func(c rune) bool { return c < '0' || c > '9' }
	return bytes.IndexFunc(name, digits) < 0 || shape.HasFormat(name, "date") || shape.HasFormat(name, "uuid")
}

// AddPage adds a page, which has its PagingValues only with [engine.WithPagingValues]. The pages of a list come in their
// order. An empty page says nothing: the page before it may be the last one of the list, and not full.
func (c *Contract) AddPage(page *engine.Page) {
	if page.Count == 0 {
		return
	}
	p := c.pages[page.Job]
	if p == nil {
		p = &pages{}
		if c.pages == nil {
			c.pages = map[string]*pages{}
		}
		c.pages[page.Job] = p
	}
	if page.Page > 1 && p.latest > 0 {
		p.addSize(p.latest, 1)
	}
	p.latest = page.Count
	if len(page.PagingValues) == 0 {
		return
	}
	signs := make(value.Object, len(page.PagingValues))
	for i, s := range page.PagingValues {
		signs[i] = value.Member{Name: s.At, Value: s.Value}
	}
	if text, err := value.Marshal(signs); err == nil {
		_ = p.signs.Add(text) // it is valid
	}
}

// addSize adds n full pages with the given number of items.
func (p *pages) addSize(size, n int) {
	p.varies = p.varies || p.full > 0 && p.size != size
	p.size, p.full = size, p.full+n
}

// known returns the size of full pages, or 0 if it is not known or differs from page to page.
func (p *pages) known() int {
	if p.varies || p.full < 2 {
		return 0
	}
	return p.size
}

// Learn adds the outputs and the pages of jobs with these names of another contract. A name that the other
// contract does not have changes nothing.
func (c *Contract) Learn(from *Contract, outputs, jobs []string) {
	for _, name := range outputs {
		if s := from.outputs[name]; s != nil {
			if c.outputs == nil {
				c.outputs = map[string]*shape.Shape{}
			}
			earlier := c.outputs[name]
			if earlier == nil {
				earlier = &shape.Shape{}
			}
			c.outputs[name] = shape.Union(earlier, s)
		}
	}
	for _, job := range jobs {
		if p := from.pages[job]; p != nil {
			if c.pages == nil {
				c.pages = map[string]*pages{}
			}
			earlier := c.pages[job]
			if earlier == nil {
				earlier = &pages{}
			}
			c.pages[job] = earlier.union(p)
		}
	}
}

func (p *pages) union(other *pages) *pages {
	u := &pages{size: p.size, full: p.full, varies: p.varies || other.varies, signs: *shape.Union(&p.signs, &other.signs)}
	if other.full > 0 {
		if p.known() > 0 && other.known() > 0 { // the size has changed
			u.full = 0
		}
		u.addSize(other.size, other.full)
	}
	return u
}

// Forget removes an output or the pages of a job.
func (c *Contract) Forget(outputs, jobs []string) {
	for _, name := range outputs {
		delete(c.outputs, name)
	}
	for _, job := range jobs {
		delete(c.pages, job)
	}
}

// Without returns which of the outputs and jobs the contract does not describe.
func (c *Contract) Without(outputs, jobs []string) (newOutputs, newJobs []string) {
	for _, name := range outputs {
		if c.outputs[name] == nil {
			newOutputs = append(newOutputs, name)
		}
	}
	for _, job := range jobs {
		if c.pages[job] == nil {
			newJobs = append(newJobs, job)
		}
	}
	return newOutputs, newJobs
}

// settledPages is a number of pages: if so many pages have a value, every page counts as having it.
const settledPages = 3

// Drift returns how the items of an output, as described by now, differ from the contract. It is nil if they
// do not differ, or if the contract does not describe them.
func (c *Contract) Drift(now *Contract, output string) []string {
	before, seen := c.outputs[output], now.outputs[output]
	if before == nil || seen == nil {
		return nil
	}
	d := drift{settled: shape.Settled}
	d.compare("item", before, seen, before.Objects)
	return d.all
}

// DriftOfPages is [Contract.Drift] for the pages of a job.
func (c *Contract) DriftOfPages(now *Contract, job string) []string {
	before, seen := c.pages[job], now.pages[job]
	if before == nil || seen == nil {
		return nil
	}
	d := drift{settled: settledPages, places: true}
	if was, is := before.known(), seen.known(); was > 0 && is > 0 && was != is {
		d.add("pages have %s, and had %d", wording.Counted(is, "item"), was)
	}
	if before.signs.Objects > 0 && seen.signs.Objects > 0 {
		d.compare("", &before.signs, &seen.signs, before.signs.Objects)
	}
	return d.all
}

// maxDrift is the number of differences that a sentence names.
const maxDrift = 8

// Sentence joins differences.
func Sentence(differences []string) string {
	text := strings.Join(differences[:min(maxDrift, len(differences))], "; ")
	if more := len(differences) - maxDrift; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
