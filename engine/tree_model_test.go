package engine_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pgregory.net/rapid"
)

// A drawnTree is a generated configuration with partitions, and its API. What the API
// answers depends on the request only.
type drawnTree struct {
	jobs     []*drawnJob
	seed     int
	failures int // of 100 partitions
	mu       sync.Mutex
	requests map[string]int // by address
}

// A drawnJob is a job of a drawnTree.
type drawnJob struct {
	id     string
	parent *drawnJob // of for.items; nil: none
	when   bool      // only for even ids
	values int       // of a list; 0: no list
	window *drawnWindow
	silent bool
	skip   bool
	filter bool // items with odd ids only
}

// A drawnWindow divides the numbers from 0.
type drawnWindow struct {
	to, step, overlap, smallest int
	splitAbove                  int // 0: windows are not split
}

// maxDrawnPages limits the pages of a drawn tree. A few in a thousand have so many that their
// runs take minutes.
const maxDrawnPages = 300

var drawnTrees = rapid.Custom(drawAnyTree).Filter(func(tree *drawnTree) bool { return len(tree.model().pages) <= maxDrawnPages })

func drawTree(t *rapid.T) *drawnTree { return drawnTrees.Draw(t, "tree") }

func drawAnyTree(t *rapid.T) *drawnTree {
	tree := &drawnTree{seed: rapid.IntRange(0, 1<<20).Draw(t, "seed"), requests: map[string]int{}}
	tree.failures = rapid.SampledFrom([]int{0, 0, 15}).Draw(t, "failures")
	skips := rapid.IntRange(0, 3).Draw(t, "skips") > 0
	for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
		job := &drawnJob{id: fmt.Sprintf("j%d", i), skip: skips, silent: rapid.IntRange(0, 3).Draw(t, "silent") == 0}
		if i > 0 && (tree.failures > 0 || rapid.IntRange(0, 5).Draw(t, "child") > 0) { // the trees after a failed one do not run
			job.parent = rapid.SampledFrom(tree.jobs).Draw(t, "parent")
			job.when = rapid.Bool().Draw(t, "when")
		}
		if rapid.IntRange(0, 2).Draw(t, "list") == 0 {
			job.values = rapid.IntRange(1, 4).Draw(t, "values")
		}
		if rapid.IntRange(0, 2).Draw(t, "windows") == 0 {
			job.window = drawWindow(t)
		}
		job.filter = rapid.IntRange(0, 3).Draw(t, "filter") == 0
		tree.jobs = append(tree.jobs, job)
	}
	for _, job := range tree.jobs { // a job that is not written has jobs for its items
		job.silent = job.silent && slices.ContainsFunc(tree.jobs, func(other *drawnJob) bool { return other.parent == job })
	}
	return tree
}

// rootOf returns the root of the tree that a job is in.
func (tree *drawnTree) rootOf(id string) *drawnJob {
	i := slices.IndexFunc(tree.jobs, func(job *drawnJob) bool { return job.id == id })
	job := tree.jobs[i]
	for job.parent != nil {
		job = job.parent
	}
	return job
}

func drawWindow(t *rapid.T) *drawnWindow {
	w := &drawnWindow{to: rapid.IntRange(0, 12).Draw(t, "to"), step: rapid.IntRange(0, 7).Draw(t, "step")}
	if w.step > 0 {
		w.overlap = rapid.IntRange(0, 2).Draw(t, "overlap")
	}
	if rapid.Bool().Draw(t, "splits") {
		w.splitAbove, w.smallest = rapid.IntRange(1, 5).Draw(t, "splitAbove"), rapid.IntRange(0, 3).Draw(t, "smallest")
	}
	return w
}

func (tree *drawnTree) config() []byte {
	var jobs []map[string]any
	for _, job := range tree.jobs {
		jobs = append(jobs, job.config())
	}
	text, err := json.MarshalIndent(map[string]any{
		"api": map[string]any{"baseUrl": "https://api.test/", "pagination": map[string]any{
			"method": "pagenum", "nextPageFlag": map[string]any{"field": "more", "stopOn": false, "ifNotSet": false},
			"stopRules": []any{
				map[string]any{"name": "bad", "when": "truthy(body.bad)", "outcome": "failed"},
				map[string]any{"name": "enough", "when": "truthy(body.enough)", "outcome": "limited"},
			},
		}},
		"config": map[string]any{"jobs": jobs},
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return text
}

func (j *drawnJob) config() map[string]any {
	c := map[string]any{"id": j.id, "dataField": "data", "endpoint": j.endpoint()}
	if j.silent {
		c["emit"] = false
	}
	if sources := j.sources(); sources != "" {
		c["for"] = json.RawMessage(sources)
		if j.skip {
			c["onPartitionError"] = "skip"
		}
	}
	if j.window != nil {
		c["params"] = json.RawMessage(fmt.Sprintf(`{"from": {"expr": "%[1]s.from"}, "to": {"expr": "%[1]s.to"}}`, "w_"+j.id))
	}
	if j.filter {
		c["filter"] = "item.odd"
	}
	return c
}

// endpoint returns the template of the path, which has all variables but windows.
func (j *drawnJob) endpoint() string {
	parts := []string{j.id}
	for a := j; a != nil; a = a.parent {
		if a.parent != nil {
			parts = append(parts, "{i_"+a.id+".id}")
		}
		if a.values > 0 {
			parts = append(parts, "{v_"+a.id+"}")
		}
		if a.window != nil && a != j {
			parts = append(parts, "{w_"+a.id+".from}-{w_"+a.id+".to}")
		}
	}
	return strings.Join(parts, "/")
}

func (j *drawnJob) sources() string {
	var all []string
	if j.parent != nil {
		when := ""
		if j.when {
			when = fmt.Sprintf(`, "when": "i_%s.id %% 2 == 0"`, j.id)
		}
		all = append(all, fmt.Sprintf(`"i_%s": {"items": %q%s}`, j.id, j.parent.id, when))
	}
	if j.values > 0 {
		all = append(all, fmt.Sprintf(`"v_%s": {"values": %s}`, j.id, strings.Join(strings.Fields(fmt.Sprint(upTo(j.values))), ",")))
	}
	if w := j.window; w != nil {
		text := fmt.Sprintf(`"w_%s": {"from": 0, "to": %d`, j.id, w.to)
		if w.step > 0 {
			text += fmt.Sprintf(`, "step": %d`, w.step)
		}
		if w.overlap > 0 {
			text += fmt.Sprintf(`, "overlap": %d`, w.overlap)
		}
		if w.splitAbove > 0 {
			text += fmt.Sprintf(`, "splitWhen": "body.total > %d"`, w.splitAbove)
		}
		if w.smallest > 0 {
			text += fmt.Sprintf(`, "smallest": %d`, w.smallest)
		}
		all = append(all, text+"}")
	}
	if len(all) == 0 {
		return ""
	}
	return "{" + strings.Join(all, ", ") + "}"
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// A treePage is a page of a partition.
type treePage struct {
	ids    []int
	total  int  // of a window
	more   bool // another page follows
	bad    bool // a rule fails on it
	enough bool // a rule ends the list as limited
	fails  bool // the API refuses it
}

// at returns a page of a partition, whose key is the address without the page.
func (tree *drawnTree) at(key string, page int) treePage {
	h := fnv.New32a()
	fmt.Fprintf(h, "%d %s", tree.seed, key)
	sum := int(h.Sum32() >> 1)
	var a treePage
	if found := windowInKey.FindStringSubmatch(key); found != nil {
		from, _ := strconv.Atoi(found[1])
		to, _ := strconv.Atoi(found[2])
		a.total = to - from
		a.ids = upTo(max(to, 0))[min(max(from+2*(page-1), 0), max(to, 0)):min(max(from+2*page, 0), max(to, 0))]
		a.more = from+2*page < to
	} else {
		pages := sum % 4
		for i := range (sum/7 + page) % 3 {
			a.ids = append(a.ids, 10*page+i)
		}
		a.more = page < pages
	}
	if fault := (sum / 11) % 100; fault < tree.failures && page == 1+fault%2 {
		a.bad, a.fails = fault%3 == 0, fault%3 != 0
	}
	a.enough = page == 2 && (sum/13)%5 == 0
	switch { // the rules of the list come first
	case len(a.ids) == 0:
		a.bad, a.enough = false, false
	case a.bad || a.enough:
		a.more = true
	}
	return a
}

var windowInKey = regexp.MustCompile(`\?from=(-?\d+)&to=(-?\d+)$`)

// items returns the items of a page as they are sent.
func (a treePage) items(key string) []string {
	var items []string
	for _, id := range a.ids {
		items = append(items, fmt.Sprintf(`{"id":%d,"odd":%t,"of":%q}`, id, id%2 == 1, strings.ReplaceAll(key, "&", " ")))
	}
	return items
}

// RoundTrip answers a request.
func (tree *drawnTree) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	page, _ := strconv.Atoi(q.Get("page"))
	key := r.URL.Path
	if q.Has("from") {
		key += "?from=" + q.Get("from") + "&to=" + q.Get("to")
	}
	tree.mu.Lock()
	tree.requests[r.URL.String()]++
	tree.mu.Unlock()
	a := tree.at(key, page)
	if a.fails {
		response, err := respond(r, "no")
		response.StatusCode = http.StatusForbidden
		return response, err
	}
	return respond(r, fmt.Sprintf(`{"data": [%s], "total": %d, "more": %t, "bad": %t, "enough": %t}`,
		strings.Join(a.items(key), ","), a.total, a.more, a.bad, a.enough))
}

// A walk is what the model of a tree expects.
type walk struct {
	tree   *drawnTree
	pages  []string
	failed bool
	ends   map[*drawnJob]*partitionEnds
}

// partitionEnds counts the partitions of a job.
type partitionEnds struct{ all, skipped, items int }

// refused reports whether there is evidence that a list is incomplete: several partitions, all of which failed
// before the first item.
func (w *walk) refused() bool {
	for _, e := range w.ends {
		if e.all > 1 && e.skipped == e.all && e.items == 0 {
			return true
		}
	}
	return false
}

// pageOf returns of a page that a sink has received what the model knows.
func pageOf(seen string) string {
	job, _, _ := strings.Cut(seen, " ")
	_, rest, _ := strings.Cut(seen, " page ")
	page, rest, _ := strings.Cut(rest, ":")
	_, items, _ := strings.Cut(rest, ": ")
	return job + " page " + page + ": " + items
}

func (tree *drawnTree) model() *walk {
	w := &walk{tree: tree, ends: map[*drawnJob]*partitionEnds{}}
	for _, job := range tree.jobs {
		if job.parent == nil && !w.failed {
			w.variables(job, map[string]string{}, 1)
		}
	}
	return w
}

// variables walks over the values of a job's variables: 1 the list, 2 the windows.
func (w *walk) variables(job *drawnJob, bound map[string]string, level int) {
	switch {
	case level == 1 && job.values > 0:
		for i := range job.values {
			bound["v_"+job.id] = strconv.Itoa(i)
			if w.variables(job, bound, 2); w.failed {
				return
			}
		}
	case level == 1:
		w.variables(job, bound, 2)
	case job.window != nil:
		w.windows(job, bound)
	default:
		w.partition(job, w.key(job, bound), bound)
	}
}

func (w *walk) windows(job *drawnJob, bound map[string]string) {
	window := job.window
	step := window.step
	if step == 0 {
		step = max(window.to, 1)
	}
	for from := 0; from < window.to && !w.failed; from += step {
		overlap := 0
		if from > 0 {
			overlap = window.overlap
		}
		w.window(job, bound, from-overlap, min(from+step, window.to))
	}
}

// window walks over a window, or over its halves.
func (w *walk) window(job *drawnJob, bound map[string]string, from, to int) {
	bound["w_"+job.id] = fmt.Sprintf("%d-%d", from, to)
	smallest := max(job.window.smallest, 1)
	key := fmt.Sprintf("%s?from=%d&to=%d", w.key(job, bound), from, to)
	if job.window.splitAbove > 0 && to-from > job.window.splitAbove && to-from > smallest && !w.tree.at(key, 1).fails {
		middle := from + max((to-from)/2/smallest, 1)*smallest
		if w.window(job, bound, from, middle); !w.failed {
			w.window(job, bound, middle, to)
		}
		return
	}
	w.partition(job, key, bound)
}

// key returns the path of a partition.
func (w *walk) key(job *drawnJob, bound map[string]string) string {
	path := "/" + job.endpoint()
	for name, v := range bound {
		path = strings.NewReplacer("{"+name+"}", v, "{"+name+".id}", v, "{"+name+".from}-{"+name+".to}", v).Replace(path)
	}
	return path
}

func (w *walk) partition(job *drawnJob, key string, bound map[string]string) {
	skips := job.sources() != "" && job.skip
	ends := w.ends[job]
	if ends == nil {
		ends = &partitionEnds{}
		w.ends[job] = ends
	}
	ends.all++
	for page := 1; ; page++ {
		a := w.tree.at(key, page)
		if a.fails || a.bad {
			ends.skipped++
		}
		if w.failed = a.fails && !skips; a.fails {
			return
		}
		ends.items += len(a.ids)
		var written strings.Builder
		for i, item := range a.items(key) {
			if !job.filter || a.ids[i]%2 == 1 {
				written.WriteString(item + "\n")
			}
		}
		if job.silent {
			written.Reset()
		}
		w.pages = append(w.pages, fmt.Sprintf("%s page %d: %s", job.id, page, written.String()))
		if w.failed = a.bad && !skips; w.failed {
			return
		}
		if w.children(job, a.ids, bound); w.failed || a.bad {
			return
		}
		if a.enough || !a.more || len(a.ids) == 0 {
			return
		}
	}
}

// children walks over the jobs for the items of a page.
func (w *walk) children(job *drawnJob, ids []int, bound map[string]string) {
	for _, child := range w.tree.jobs {
		if child.parent != job {
			continue
		}
		for _, id := range ids {
			if child.when && id%2 == 1 {
				continue
			}
			bound["i_"+child.id] = strconv.Itoa(id)
			if w.variables(child, bound, 1); w.failed {
				return
			}
		}
	}
}
