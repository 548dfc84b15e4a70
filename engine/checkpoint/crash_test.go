package checkpoint

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// disk is a file system that loses what was not synced when the power fails. It
// counts operations and can fail from any of them on.
type disk struct {
	live, durable map[string]*inode // by name; the durable names are those of the last SyncDir
	operations    int
	stopBefore    int                         // operation before which the power fails; 0: never
	skip          func(operation string) bool // operations that do nothing and report success; nil: none

	failing, failures int // the number of the first operation that fails, and how many of them fail; the next ones work again
}

type inode struct{ live, durable []byte }

var (
	errPower = errors.New("the power failed")
	errFull  = errors.New("no space left on device")
)

func newDisk() *disk { return &disk{live: map[string]*inode{}, durable: map[string]*inode{}} }

// do counts an operation and reports whether to carry it out.
func (d *disk) do(operation string) (bool, error) {
	if d.operations++; d.stopBefore > 0 && d.operations >= d.stopBefore {
		return false, errPower
	}
	if d.failing <= d.operations && d.operations < d.failing+d.failures {
		return false, errFull
	}
	return d.skip == nil || !d.skip(operation), nil
}

func (d *disk) Open(path string) (files.File, error) {
	if _, err := d.do("open " + path); err != nil {
		return nil, err
	}
	node := d.live[path]
	if node == nil {
		return nil, os.ErrNotExist
	}
	return &handle{d, path, node}, nil
}

func (d *disk) Rename(from, to string) error {
	if _, err := d.do("rename " + to); err != nil {
		return err
	}
	if d.live[from] == nil {
		return os.ErrNotExist
	}
	d.live[to] = d.live[from]
	delete(d.live, from)
	return nil
}

func (d *disk) Create(path string, _ os.FileMode) (files.File, error) {
	if d.live[path] != nil {
		return nil, os.ErrExist
	}
	if _, err := d.do("create " + path); err != nil {
		return nil, err
	}
	node := &inode{}
	d.live[path] = node
	return &handle{d, path, node}, nil
}

// Temporary returns the same name each time. Nothing has that name, as nothing has a drawn one.
func (d *disk) Temporary(path string) string {
	delete(d.live, path+".new")
	delete(d.durable, path+".new")
	return path + ".new"
}

func (d *disk) CopyMode(string, string) {}

func (d *disk) Remove(path string) error {
	if _, err := d.do("remove " + path); err != nil {
		return err
	}
	delete(d.live, path)
	return nil
}

func (d *disk) Abs(path string) (string, error) { return path, nil }

func (d *disk) SyncDir(path string) error {
	if carryOut, err := d.do("sync directory of " + path); err != nil || !carryOut {
		return err
	}
	dir := filepath.Dir(path)
	inside := func(name string, _ *inode) bool { return filepath.Dir(name) == dir }
	maps.DeleteFunc(d.durable, inside)
	for name, node := range d.live {
		if inside(name, node) {
			d.durable[name] = node
		}
	}
	return nil
}

type handle struct {
	disk *disk
	path string
	node *inode
}

func (h *handle) Write(p []byte) (int, error) {
	if _, err := h.disk.do("write " + h.path); err != nil {
		return 0, err
	}
	h.node.live = append(h.node.live, p...)
	return len(p), nil
}

func (h *handle) WriteAt(p []byte, at int64) (int, error) {
	if _, err := h.disk.do("write " + h.path); err != nil {
		return 0, err
	}
	h.node.live = append(h.node.live[:at:at], p...)
	return len(p), nil
}

func (h *handle) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(h.node.live).ReadAt(p, at)
}

func (h *handle) Size() (int64, error) { return int64(len(h.node.live)), nil }

func (h *handle) Identity() any { return h.node }

func (h *handle) Is(identity any) bool { return h.node == identity }

func (h *handle) Truncate(size int64) error {
	if _, err := h.disk.do("truncate " + h.path); err != nil {
		return err
	}
	h.node.live = h.node.live[:size:size]
	return nil
}

func (h *handle) Sync() error {
	if carryOut, err := h.disk.do("sync " + h.path); err != nil || !carryOut {
		return err
	}
	h.node.durable = bytes.Clone(h.node.live)
	return nil
}

func (h *handle) Close() error { return nil }

// survivals are the ways in which a file that was not synced may look after the
// power failed.
var survivals = []struct {
	name    string
	content func(durable, live []byte) []byte
}{
	{"nothing", func(durable, _ []byte) []byte { return durable }},
	{"all", func(_, live []byte) []byte { return live }},
	{"half", func(durable, live []byte) []byte {
		if len(live) <= len(durable) {
			return live
		}
		return live[:(len(durable)+len(live))/2]
	}},
	{"zeros", func(durable, live []byte) []byte {
		if len(live) <= len(durable) {
			return durable
		}
		return append(bytes.Clone(durable), make([]byte, len(live)-len(durable))...)
	}},
}

// afterPowerLoss returns the disk as the next run finds it. In the given
// directories names that were not synced survive, too.
func (d *disk) afterPowerLoss(content func(durable, live []byte) []byte, dirs []string) *disk {
	names := map[string]*inode{}
	for name, node := range d.durable {
		if !slices.Contains(dirs, filepath.Dir(name)) {
			names[name] = node
		}
	}
	for name, node := range d.live {
		if slices.Contains(dirs, filepath.Dir(name)) {
			names[name] = node
		}
	}
	out := newDisk()
	for name, node := range names {
		data := bytes.Clone(content(node.durable, node.live))
		out.live[name] = &inode{data, data}
		out.durable[name] = out.live[name]
	}
	return out
}

// An extraction is a run of five pages that writes rows and, with a state, a trace.
// It is repeated until it ends without a power failure.
type extraction struct {
	every  int  // pages between two commits
	state  bool // the run resumes
	adds   bool // the rows are added to those of the increments before
	kept   bool // the number of the increment is kept in a file
	pair   bool // a second file has the same rows, and is published in the same commit
	again  bool // after an error of Publish, the run publishes another commitment
	before int  // increments that are complete on the disk
	form   form
}

// form says how the rows are written.
type form struct {
	compression Compression
	header      string
	rewrites    bool // they are rewritten before they appear
	open        bool // the last line has no newline
}

const simulatedPages = 5

const (
	simulatedRows  = "out/items.ndjson"
	simulatedMore  = "out/more.ndjson"
	simulatedTrace = "out/trace.json"
	simulatedKept  = "kept/kept.json"
)

func (e extraction) String() string {
	return fmt.Sprintf("a commit every %d pages, state %v, append %v, kept %v, two files %v, %d increments before, form %v",
		e.every, e.state, e.adds, e.kept, e.pair, e.before, e.form)
}

// run runs the extraction, or what is left of it.
func (e extraction) run(d *disk) error {
	s, err := e.open(d)
	if err != nil {
		return err
	}
	defer s.Close()
	increment, err := e.increment(d, s)
	if err != nil {
		return err
	}
	rows, err := s.Rows(simulatedRows, e.form.compression)
	if err != nil {
		return err
	}
	if rows.Finished() {
		return s.End()
	}
	outputs := []*Output{rows}
	if e.pair {
		more, err := s.Rows(simulatedMore, e.form.compression)
		if err != nil {
			return err
		}
		outputs = append(outputs, more)
	}
	lists := len(outputs)
	if e.adds && increment > 1 { // or the rows of this run would not be added
		if err := e.requireSnapshots(d, s); err != nil {
			return err
		}
	}
	if e.state {
		trace, err := s.Rows(simulatedTrace, nil)
		if err != nil {
			return err
		}
		outputs = append(outputs, trace)
	}
	if err := s.Begin(); err != nil {
		return err
	}
	for page := lastPage(s) + 1; page <= simulatedPages; page++ {
		if page == 1 && e.form.header != "" {
			for _, o := range outputs[:lists] {
				if err := o.WriteHeader([]byte(e.form.header)); err != nil {
					return err
				}
			}
		}
		if err := e.writePage(increment, page, outputs[:lists], outputs[lists:]); err != nil {
			return err
		}
		if err := s.Mark("job", json.RawMessage(strconv.Itoa(page)), outputs...); err != nil {
			return err
		}
		if page%e.every == 0 {
			if err := s.Flush(); err != nil {
				return err
			}
		}
	}
	c := Publication{Kept: map[string]json.RawMessage{"job": json.RawMessage(fmt.Sprintf(`{"n":%d}`, increment))}}
	if e.kept {
		c.KeptFile = simulatedKept
	}
	c.RowsIn = map[string][]string{}
	for i, o := range outputs[:lists] {
		c.RowsIn["job"] = append(c.RowsIn["job"], o.Name())
		part := Part{Output: o, Append: e.adds}
		if e.form.rewrites && i == 0 {
			part.Rewrite = func(to io.Writer, before, rows io.Reader) error {
				again, err := o.Reread() // as a merge does
				if err == nil {
					_, err = io.Copy(io.Discard, again)
					err = errors.Join(err, again.Close())
				}
				return errors.Join(err, copyBoth(to, before, rows))
			}
		}
		c.Parts = append(c.Parts, part)
	}
	for _, trace := range outputs[lists:] {
		c.Parts = append(c.Parts, Part{Output: trace})
	}
	if err := s.Publish(c); err != nil {
		if e.again {
			err = errors.Join(err, s.Publish(Publication{}), s.End())
		}
		return err
	}
	return s.End()
}

// copyBoth rewrites rows to what they are without it.
func copyBoth(to io.Writer, before, rows io.Reader) error {
	if before != nil {
		if _, err := io.Copy(to, before); err != nil {
			return err
		}
	}
	_, err := io.Copy(to, rows)
	return err
}

// gzipped compresses the rows of a test.
type gzipped struct{}

func (gzipped) NewWriter(w io.Writer) FrameWriter { return gzip.NewWriter(w) }

func (gzipped) NewReader(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }

// open opens the state, or repairs what a run without a state left.
func (e extraction) open(d *disk) (*Store, error) {
	if !e.state {
		var err error
		for _, path := range []string{simulatedMore, simulatedRows, simulatedKept} {
			if _, failed := completePublication(d, path); failed != nil {
				err = failed
			}
		}
		return stateless(d), err
	}
	return open(d, "state.json", "test", map[string]string{"rules": "1"})
}

// increment returns the number of the increment that follows the kept one.
func (e extraction) increment(d *disk, s *Store) (int, error) {
	var n struct{ N int }
	if text := s.state.Kept["job"]; text != nil {
		if err := json.Unmarshal(text, &n); err != nil {
			return 0, err
		}
	}
	if e.kept {
		kept, err := readKeptMembers(d, simulatedKept)
		if err != nil {
			return 0, err
		}
		n.N, _ = strconv.Atoi(string(kept["job"]["n"]))
	}
	return n.N + 1, nil
}

// requireSnapshots checks that the files are as they were when the values were kept.
func (e extraction) requireSnapshots(d *disk, s *Store) error {
	saved, err := s.Kept()
	snapshots := saved.Files
	if e.kept {
		var kept map[string]map[string]json.RawMessage
		if kept, err = readKeptMembers(d, simulatedKept); err == nil {
			snapshots, err = keptFiles(kept)
		}
	}
	if err != nil {
		return err
	}
	names := []string{simulatedRows}
	if e.pair {
		names = append(names, simulatedMore)
	}
	if len(snapshots["job"]) != len(names) {
		return fmt.Errorf("the values have %d snapshots", len(snapshots["job"]))
	}
	for _, name := range names {
		text := d.live[name].live
		now, err := takeSnapshot(&handle{d, name, d.live[name]}, int64(len(text)))
		if err != nil {
			return err
		}
		if before := snapshots["job"][filepath.Base(name)]; before != now {
			return fmt.Errorf("the values follow %s with %d bytes, and it has %d", name, before.Bytes, now.Bytes)
		}
	}
	return nil
}

func lastPage(s *Store) int {
	page, _ := strconv.Atoi(string(s.Jobs()["job"]))
	return page
}

// writePage writes two rows per page to each file, and a line of the trace.
func (e extraction) writePage(increment, page int, lists, traces []*Output) error {
	last := fmt.Sprintf("%d.%d-1\n", increment, page)
	if e.form.open && page == simulatedPages {
		last = strings.TrimSuffix(last, "\n")
	}
	for _, text := range []string{fmt.Sprintf("%d.%d-0\n", increment, page), last} {
		for _, o := range lists {
			if _, err := io.WriteString(o, text); err != nil {
				return err
			}
		}
	}
	for _, o := range traces {
		if _, err := fmt.Fprintf(o, "page %d.%d\n", increment, page); err != nil {
			return err
		}
	}
	return nil
}

// check compares the outputs of complete runs with those of runs that were never
// interrupted.
func (e extraction) check(d *disk) error {
	last, err := e.increment(d, stateless(d))
	if last--; e.state {
		var s *Store
		if s, err = e.open(d); err == nil {
			last, err = e.increment(d, s)
			last--
		}
	}
	if err != nil {
		return err
	}
	if last <= e.before && (e.kept || e.state) {
		return fmt.Errorf("the last increment that was kept is %d", last)
	}
	var rows strings.Builder
	first := last
	if e.adds {
		first = 1
	}
	if !e.kept && !e.state {
		first, last = 1, 1
	}
	for increment := first; increment <= last; increment++ {
		for page := 1; page <= simulatedPages; page++ {
			fmt.Fprintf(&rows, "%d.%d-0\n%d.%d-1\n", increment, page, increment, page)
		}
	}
	if d.live[simulatedKept+RedoSuffix] != nil {
		return fmt.Errorf("%s is left", simulatedKept+RedoSuffix)
	}
	if e.kept || e.state {
		s, err := e.open(d)
		if err == nil {
			err = e.requireSnapshots(d, s)
		}
		if err != nil {
			return err
		}
	}
	want := e.form.header + rows.String()
	if e.form.open {
		want = strings.TrimSuffix(want, "\n")
	}
	if e.pair {
		if err := d.require(simulatedMore, e.form.compression, want); err != nil {
			return err
		}
	}
	if err := d.require(simulatedRows, e.form.compression, want); err != nil || !e.state {
		return err
	}
	return d.require(simulatedTrace, nil, fmt.Sprintf("page %[1]d.1\npage %[1]d.2\npage %[1]d.3\npage %[1]d.4\npage %[1]d.5\n", last))
}

// require compares the content of a file, and checks that nothing is left of its
// publication.
func (d *disk) require(name string, c Compression, want string) error {
	for _, suffix := range []string{PartialSuffix, RedoSuffix, CompleteSuffix} {
		if d.live[name+suffix] != nil {
			return fmt.Errorf("%s is left", name+suffix)
		}
	}
	if d.live[name] == nil {
		return fmt.Errorf("%s is missing", name)
	}
	content, err := cmp.Or[Compression](c, uncompressed{}).NewReader(bytes.NewReader(d.live[name].live))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	got, err := io.ReadAll(content)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if string(got) != want {
		return fmt.Errorf("%s is %q, want %q", name, got, want)
	}
	return nil
}

// prepared returns a disk with the increments before, and the number of operations
// of the next one.
func (e extraction) prepared(t *testing.T) (d *disk, operations int) {
	t.Helper()
	d = newDisk()
	for range e.before {
		require.NoError(t, e.run(d))
	}
	d.operations = 0
	next := d.clone()
	require.NoError(t, e.run(next))
	operations = next.operations
	require.NoError(t, e.check(next))
	return d, operations
}

// clone returns a copy of a disk on which everything is durable.
func (d *disk) clone() *disk {
	return d.afterPowerLoss(func(_, live []byte) []byte { return live }, []string{".", "out", "kept"})
}

// simulatePowerLoss stops a run before each of its operations, lets every
// combination of unsynced data survive, and then completes the run. It returns
// the number of cases and a description of those with wrong outputs. Disks that are
// alike are completed once.
func simulatePowerLoss(t *testing.T, e extraction, skip func(string) bool) (cases int, wrong []string) {
	t.Helper()
	prepared, operations := e.prepared(t)
	for stop := 1; stop <= operations; stop++ {
		d := prepared.clone()
		d.stopBefore, d.skip = stop, skip
		require.ErrorIs(t, e.run(d), errPower)
		completed := map[string]error{}
		for _, survival := range survivals {
			for _, dirs := range [][]string{nil, {"."}, {"out"}, {".", "out"}, {"kept"}} {
				next := d.afterPowerLoss(survival.content, dirs)
				content := next.content()
				err, ok := completed[content]
				if !ok {
					if err = e.run(next); err == nil {
						err = e.check(next)
					}
					completed[content] = err
				}
				cases++
				if err != nil {
					wrong = append(wrong, fmt.Sprintf("power lost before operation %d; survivors: %s of the unsynced data, unsynced names in %q: %v",
						stop, survival.name, dirs, err))
				}
			}
		}
	}
	return cases, wrong
}

// content returns the names and the content of all files.
func (d *disk) content() string {
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.live)) {
		fmt.Fprintf(&all, "%q: %q\n", name, d.live[name].live)
	}
	return all.String()
}

// extractions are the combinations of state, appending and kept values.
func extractions() []extraction {
	var all []extraction
	for _, every := range []int{1, 2, 5} {
		all = append(all,
			extraction{every: every, state: true},
			extraction{every: every, state: true, adds: true, before: 1},
			extraction{every: every, state: true, adds: true, kept: true, before: 2})
	}
	return append(all,
		extraction{every: 2, state: true, form: form{compression: gzipped{}}},
		extraction{every: 2, state: true, adds: true, kept: true, before: 1, form: form{compression: gzipped{}, header: "header\n"}},
		extraction{every: 1, adds: true, kept: true, before: 1, form: form{compression: gzipped{}, header: "header\n"}},
		extraction{every: 2, state: true, form: form{rewrites: true}},
		extraction{every: 2, state: true, adds: true, kept: true, before: 1, form: form{compression: gzipped{}, rewrites: true}},
		extraction{every: 2, state: true, adds: true, kept: true, before: 1, form: form{open: true}},
		extraction{every: 2, state: true, adds: true, kept: true, before: 1, form: form{compression: gzipped{}, header: "header\n", open: true}},
		extraction{every: 1, adds: true, kept: true, pair: true, before: 1, form: form{compression: gzipped{}, open: true}},
		extraction{every: 1, form: form{rewrites: true}},
		extraction{every: 1, adds: true, kept: true, before: 1, form: form{rewrites: true}},
		extraction{every: 1},
		extraction{every: 1, adds: true, kept: true},
		extraction{every: 1, adds: true, kept: true, before: 2},
		extraction{every: 1, kept: true, before: 1},
		extraction{every: 2, adds: true, kept: true, pair: true, before: 1},
		extraction{every: 1, adds: true, kept: true, pair: true, before: 1},
		extraction{every: 1, kept: true, pair: true},
		extraction{every: 2, adds: true, kept: true, pair: true, before: 1, form: form{compression: gzipped{}, rewrites: true}},
		extraction{every: 2, state: true, adds: true, kept: true, pair: true, before: 1},
		extraction{every: 2, state: true, adds: true, pair: true, before: 1, form: form{rewrites: true}})
}

func TestPowerLossAtAnyMomentLosesAndRepeatsNothing(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	total := 0
	for _, e := range extractions() {
		t.Run(e.String(), func(t *testing.T) {
			cases, wrong := simulatePowerLoss(t, e, nil)
			require.Empty(t, wrong)
			total += cases
		})
	}
	require.Greater(t, total, 5000)
	t.Logf("%d cases, each exact", total)
}

// TestEverySyncIsNeeded omits one sync at a time, which must make some case fail.
func TestEverySyncIsNeeded(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	resumed := extraction{every: 1, state: true, adds: true, kept: true, before: 1}
	plain := extraction{every: 1, adds: true, kept: true, before: 1}
	rewritten, rewrittenState := plain, resumed
	rewritten.form.rewrites, rewrittenState.form.rewrites = true, true
	for _, test := range []struct {
		name       string
		extraction extraction
		operation  string // its beginning
	}{
		{"of the rows", resumed, "sync out/items.ndjson.partial"},
		{"of the trace", resumed, "sync out/trace.json.partial"},
		{"of the state", resumed, "sync state.json.new"},
		{"of the directory of the outputs", resumed, "sync directory of out/"},
		{"of the rows without a state", plain, "sync out/items.ndjson.partial"},
		{"of what is appended", plain, "sync out/items.ndjson"},
		{"of the record of the publication", plain, "sync kept/kept.json.redo.new"},
		{"of the name of the record", plain, "sync out/items.ndjson.redo.new"},
		{"of the kept values", plain, "sync kept/kept.json.new"},
		{"of rewritten rows", rewritten, "sync out/items.ndjson.complete"},
		{"of rewritten rows that are resumed", rewrittenState, "sync out/items.ndjson.complete"},
		{"of the directory of the kept values", plain, "sync directory of kept/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, wrong := simulatePowerLoss(t, test.extraction, func(operation string) bool {
				if strings.HasPrefix(test.operation, "sync directory") {
					return strings.HasPrefix(operation, test.operation)
				}
				return operation == test.operation
			})
			require.NotEmpty(t, wrong)
		})
	}
}

// TestAWriteErrorAtAnyMomentLosesAndRepeatsNothing lets one or several operations of a run
// fail, as on a full disk, and repeats the run until it succeeds.
func TestAWriteErrorAtAnyMomentLosesAndRepeatsNothing(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	cases := 0
	for _, e := range extractions() {
		prepared, operations := e.prepared(t)
		for first := 1; first <= operations; first++ {
			for _, failures := range []int{1, 2, 5, operations} {
				d := prepared.clone()
				d.failing, d.failures = first, failures
				err := e.run(d)
				for tries := 0; err != nil && tries < 2*operations; tries++ {
					err = e.run(d)
				}
				require.NoError(t, err, "%v: %d failures from operation %d", e, failures, first)
				require.NoError(t, e.check(d), "%v: %d failures from operation %d", e, failures, first)
				cases++
			}
		}
	}
	require.Greater(t, cases, 1000)
	t.Logf("%d cases, each exact", cases)
}

// TestAPublicationAfterAFailedOneLosesAndRepeatsNothing lets one operation fail, publishes another
// commitment, as the command does for another output, and ends the process in the middle of it.
func TestAPublicationAfterAFailedOneLosesAndRepeatsNothing(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	cases := 0
	for _, e := range []extraction{
		{every: simulatedPages, again: true, state: true},
		{every: simulatedPages, again: true, state: true, adds: true, kept: true, before: 1},
		{every: simulatedPages, again: true, state: true, pair: true},
		{every: simulatedPages, again: true, adds: true, kept: true, before: 1},
	} {
		prepared, operations := e.prepared(t)
		for first := 1; first <= operations; first++ {
			for stop := first + 1; ; stop++ {
				d := prepared.clone()
				d.failing, d.failures, d.stopBefore = first, 1, stop
				err := e.run(d)
				if !errors.Is(err, errPower) {
					break
				}
				next := d.clone() // the process was killed
				err = e.run(next)
				if err == nil {
					err = e.check(next)
				}
				require.NoError(t, err, "%v: failure of operation %d, killed before operation %d", e, first, stop)
				cases++
			}
		}
	}
	require.Greater(t, cases, 500)
	t.Logf("%d cases, each exact", cases)
}

// TestRowsThatCannotBeAppendedAreNotAppendedByTheNextRun: the run has failed, so its rows
// are those of the run that follows it.
func TestRowsThatCannotBeAppendedAreNotAppendedByTheNextRun(t *testing.T) {
	e := extraction{every: 1, adds: true}
	d := newDisk()
	require.NoError(t, e.run(d))
	before := string(d.live[simulatedRows].live)
	full := d.clone()
	for full.failing = 1; full.failures == 0; full.failing++ { // the operation that appends
		probe := d.clone()
		probe.stopBefore = full.failing + 1
		_ = e.run(probe)
		if string(probe.live[simulatedRows].live) != before {
			full.failures = 1
			break
		}
	}
	require.ErrorIs(t, e.run(full), errFull)
	require.Equal(t, before, string(full.live[simulatedRows].live))
	require.Equal(t, before, string(full.live[simulatedRows+PartialSuffix].live), "the rows remain")
	require.NoError(t, e.run(full))
	require.Equal(t, before+before, string(full.live[simulatedRows].live))
}

// TestARepairKeepsWhatOthersHaveWritten: a publication that is repaired adds its rows to
// its own beginning only, and only the rows that were recorded.
func TestARepairKeepsWhatOthersHaveWritten(t *testing.T) {
	e := extraction{every: 1, state: true, adds: true, before: 1}
	prepared, operations := e.prepared(t)
	for stop := 1; stop <= operations; stop++ {
		d := prepared.clone()
		d.stopBefore = stop
		require.ErrorIs(t, e.run(d), errPower)
		found := newStore(d, "state.json", "test", nil)
		d.stopBefore = 0
		text, err := readFile(d, "state.json")
		require.NoError(t, err)
		require.NoError(t, parse(text, &found.state))
		if found.state.Publish == nil || d.live[simulatedRows+PartialSuffix] == nil {
			continue
		}
		base := found.state.Publish.Base

		foreign := d.clone()
		node := foreign.live[simulatedRows]
		node.live = append(node.live[:base:base], "another program\n"...)
		require.ErrorContains(t, e.run(foreign), "another program has written to out/items.ndjson")
		require.Equal(t, "another program\n", string(foreign.live[simulatedRows].live[base:]))

		replaced := d.clone()
		replaced.live[simulatedRows+PartialSuffix].live = bytes.Repeat([]byte("x"), 100)
		require.ErrorContains(t, e.run(replaced), "out/items.ndjson.partial was modified after the last commit")
		require.NotContains(t, string(replaced.live[simulatedRows].live), "x")
		return
	}
	t.Fatal("no moment between the record and the rows")
}

// TestARepairReplacesNoFileThatAnotherProgramHasChanged stops a run before each of its operations, lets another
// program change the file that rows are merged into, and opens the state or the file of kept values again.
func TestARepairReplacesNoFileThatAnotherProgramHasChanged(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	changes := map[string]func(*disk){
		"a row is added": func(d *disk) {
			d.live[simulatedRows] = &inode{live: []byte(d.text(simulatedRows) + "another program\n")}
		},
		"it is emptied":    func(d *disk) { d.live[simulatedRows] = &inode{} },
		"it is moved away": func(d *disk) { delete(d.live, simulatedRows) },
	}
	rewrites := form{rewrites: true}
	postponed := 0
	for _, e := range []extraction{
		{every: 1, state: true, adds: true, before: 1, form: rewrites},
		{every: 1, state: true, adds: true, kept: true, before: 1, form: rewrites},
		{every: 1, adds: true, kept: true, before: 1, form: rewrites},
		{every: 1, adds: true, kept: true, pair: true, before: 1, form: rewrites},
		{every: 1, state: true, adds: true, kept: true, pair: true, before: 1, form: rewrites},
		{every: 1, state: true, adds: true, form: rewrites}, // the other program creates the file
		{every: 1, adds: true, kept: true},
	} {
		prepared, operations := e.prepared(t)
		more := prepared.text(simulatedMore)
		for stop := 1; stop <= operations; stop++ {
			for name, change := range changes {
				d := prepared.clone()
				d.stopBefore = stop
				require.ErrorIs(t, e.run(d), errPower)
				d = d.clone()
				own := d.text(simulatedRows)
				if own == "" && name != "a row is added" {
					continue
				}
				change(d)
				changed := d.text(simulatedRows)
				where := fmt.Sprintf("%v: killed before operation %d, %s", e, stop, name)

				rewritten := d.live[simulatedRows+CompleteSuffix] != nil
				_, err := e.open(d)
				require.Equal(t, changed, d.text(simulatedRows), where)
				if !rewritten {
					continue
				}
				require.NoError(t, err, where)
				require.Equal(t, more, d.text(simulatedMore), "%s: one commit with the other file", where)
				if own == "" {
					require.NoError(t, e.run(d), where)
					require.Equal(t, 2*simulatedPages, strings.Count(strings.TrimPrefix(d.text(simulatedRows), changed), "\n"), where)
				} else { // the file that the kept values follow
					d.live[simulatedRows] = prepared.clone().live[simulatedRows]
					require.NoError(t, e.run(d), where)
					require.NoError(t, e.check(d), where)
				}
				postponed++
			}
		}
	}
	require.Greater(t, postponed, 50)
}

// text returns the content of a file, or nothing if it does not exist.
func (d *disk) text(name string) string {
	if node := d.live[name]; node != nil {
		return string(node.live)
	}
	return ""
}

// TestAFileThatIsChangedWhileRowsAreMergedIntoItStaysAsItIs: the run fails, and can be repeated.
func TestAFileThatIsChangedWhileRowsAreMergedIntoItStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "items.ndjson")
	require.NoError(t, os.WriteFile(name, []byte("before\n"), 0o600))
	s := Stateless()
	defer s.Close()
	o, err := s.Rows(name, nil)
	require.NoError(t, err)
	_, err = io.WriteString(o, "new\n")
	require.NoError(t, err)
	foreign := func(to io.Writer, before, rows io.Reader) error {
		return errors.Join(copyBoth(to, before, rows), os.WriteFile(name, []byte("another program\n"), 0o600))
	}
	err = s.Publish(Publication{Parts: []Part{{Output: o, Append: true, Rewrite: foreign}}})
	require.ErrorIs(t, err, failure.ErrState)
	require.ErrorContains(t, err, "items.ndjson is not as it was when the rows for it were completed: "+
		"another program has changed it since then (repeat the run, which publishes the rows)")
	require.Equal(t, "another program\n", readText(t, name))
	require.Equal(t, "new\n", readText(t, name+PartialSuffix))
	require.NoFileExists(t, name+CompleteSuffix)
	require.NoFileExists(t, name+RedoSuffix)
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// TestRowsAreNotAddedToAFileThatWasMovedAwayAndMayHaveThem stops a run before each of its operations, and moves the
// file away or empties it. Each of the ways out that the message names completes the publication.
func TestRowsAreNotAddedToAFileThatWasMovedAwayAndMayHaveThem(t *testing.T) {
	refused := 0
	for _, e := range []extraction{
		{every: 1, state: true, adds: true, before: 1},
		{every: 1, state: true, adds: true, kept: true, pair: true, before: 1},
		{every: 1, adds: true, kept: true, before: 1},
		{every: 1, state: true, adds: true, before: 1, form: form{compression: gzipped{}, header: "header\n"}},
	} {
		prepared, operations := e.prepared(t)
		for stop := 1; stop <= operations; stop++ {
			for _, emptied := range []bool{false, true} {
				d := prepared.clone()
				d.stopBefore = stop
				require.ErrorIs(t, e.run(d), errPower)
				d = d.clone()
				restored := d.clone().live[simulatedRows]
				how := "out/items.ndjson does not exist: it was moved away"
				if delete(d.live, simulatedRows); emptied {
					d.live[simulatedRows] = &inode{}
					how = fmt.Sprintf("out/items.ndjson has 0 bytes, fewer than the %d that it had: it was moved away",
						len(prepared.live[simulatedRows].live))
				}
				_, err := e.open(d)
				if err == nil {
					continue // the publication has not begun, or was complete
				}
				require.ErrorIs(t, err, failure.ErrState)
				partial := d.live[simulatedRows+PartialSuffix]
				if partial == nil {
					require.ErrorContains(t, err, "restore the file")
				} else {
					require.ErrorContains(t, err, how)
					require.ErrorContains(t, err, "restore the file, repeat the command, and move the file away again; if it cannot be restored, "+
						"rename out/items.ndjson.partial to out/items.ndjson, to begin a new file with these rows")

					renamed := d.clone()
					renamed.live[simulatedRows] = renamed.live[simulatedRows+PartialSuffix]
					delete(renamed.live, simulatedRows+PartialSuffix)
					_, err := e.open(renamed)
					require.NoError(t, err)
					require.Equal(t, string(partial.live), renamed.text(simulatedRows))
				}
				d.live[simulatedRows] = restored
				require.NoError(t, e.run(d))
				require.NoError(t, e.check(d))
				refused++
			}
		}
	}
	require.Greater(t, refused, 10)
}

// TestARepairInACopyChangesTheCopyAlone stops a run before each of its operations and copies its directories.
func TestARepairInACopyChangesTheCopyAlone(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	repaired := 0
	for _, e := range []extraction{
		{every: 1, adds: true, kept: true, before: 1},
		{every: 1, adds: true, kept: true, pair: true, before: 1},
		{every: 1, adds: true, kept: true, before: 1, form: form{rewrites: true}},
		{every: 1, kept: true, pair: true},
	} {
		prepared, operations := e.prepared(t)
		for stop := 1; stop <= operations; stop++ {
			d := prepared.clone()
			d.stopBefore = stop
			require.ErrorIs(t, e.run(d), errPower)
			d = d.clone()
			copied := d.clone()
			for name, node := range d.clone().live {
				copied.live["copy/"+name] = node
			}
			for _, path := range []string{simulatedMore, simulatedRows, simulatedKept} {
				own, err := completePublication(d, path)
				require.NoError(t, err)
				here, err := completePublication(copied, "copy/"+path)
				require.NoError(t, err)
				require.Equal(t, own, here, "%v: killed before operation %d: %s", e, stop, path)
				if own {
					repaired++
				}
			}
			for name, node := range d.live {
				require.Equal(t, string(node.live), copied.text("copy/"+name), "%v: killed before operation %d: %s", e, stop, name)
			}
			for _, path := range []string{simulatedMore, simulatedRows, simulatedKept} {
				_, err := completePublication(copied, path)
				require.NoError(t, err)
			}
			for name, node := range copied.live {
				if original, ok := strings.CutPrefix(name, "copy/"); ok {
					require.Equal(t, string(node.live), copied.text(original))
				}
			}
			require.Len(t, copied.live, 2*len(d.live))
		}
	}
	require.Greater(t, repaired, 20)
}

// TestARunThatIsRefusedCompletesNoPublication stops a run before each of its operations, and opens its
// state with another configuration.
func TestARunThatIsRefusedCompletesNoPublication(t *testing.T) {
	e := extraction{every: 1, state: true, adds: true, before: 1}
	prepared, operations := e.prepared(t)
	publications := 0
	for stop := 1; stop <= operations; stop++ {
		d := prepared.clone()
		d.stopBefore = stop
		require.ErrorIs(t, e.run(d), errPower)
		d.stopBefore = 0
		found := stateFile{}
		if text, err := readFile(d, "state.json"); err != nil || parse(text, &found) != nil || found.Ended {
			continue
		}
		if found.Publish != nil {
			publications++
		}
		before := d.clone()
		_, err := open(d, "state.json", "test", map[string]string{"rules": "others"})
		require.ErrorContains(t, err, "it belongs to another configuration: rules changed")
		require.Equal(t, before.live, d.clone().live)
	}
	require.Positive(t, publications)
}
