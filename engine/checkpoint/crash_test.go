package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// disk is a file system that loses what was not synced when the power fails. It
// counts operations and can fail from any of them on.
type disk struct {
	live, durable map[string]*inode // by name; the durable names are those of the last SyncDir
	operations    int
	stopBefore    int                         // operation before which the power fails; 0: never
	skip          func(operation string) bool // operations that do nothing and report success; nil: none
}

type inode struct{ live, durable []byte }

var errPower = errors.New("the power failed")

func newDisk() *disk { return &disk{live: map[string]*inode{}, durable: map[string]*inode{}} }

// do counts an operation and reports whether to carry it out.
func (d *disk) do(operation string) (bool, error) {
	if d.operations++; d.stopBefore > 0 && d.operations >= d.stopBefore {
		return false, errPower
	}
	return d.skip == nil || !d.skip(operation), nil
}

func (d *disk) Open(path string, create bool) (file, error) {
	if _, err := d.do("open " + path); err != nil {
		return nil, err
	}
	node := d.live[path]
	if node == nil {
		if !create {
			return nil, os.ErrNotExist
		}
		node = &inode{}
		d.live[path] = node
	}
	return &handle{d, path, node}, nil
}

func (d *disk) Rename(from, to string) error {
	if _, err := d.do("rename " + to); err != nil {
		return err
	}
	d.live[to] = d.live[from]
	delete(d.live, from)
	return nil
}

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

func (h *handle) ReadAt(p []byte, at int64) (int, error) {
	return copy(p, h.node.live[at:]), nil
}

func (h *handle) Size() (int64, error) { return int64(len(h.node.live)), nil }

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

// extract is a run that writes every page to two outputs. It resumes from the
// state on the disk and commits after every few pages.
func extract(d *disk, pages, every int) error {
	s, err := open(d, "state.json", "test", map[string]string{"rules": "1"})
	if err != nil {
		return err
	}
	defer s.Close()
	items, err := s.Output("out/items.ndjson")
	if err != nil {
		return err
	}
	trace, err := s.Output("out/trace.json")
	if err != nil {
		return err
	}
	if err := s.Begin(); err != nil {
		return err
	}
	last := 0
	if checkpoint := s.Jobs()["job"]; checkpoint != nil {
		if err := json.Unmarshal(checkpoint, &last); err != nil {
			return err
		}
	}
	for page := last + 1; page <= pages; page++ {
		for item := range 2 {
			if _, err := fmt.Fprintf(items, "%d-%d\n", page, item); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(trace, "page %d\n", page); err != nil {
			return err
		}
		if page%every != 0 && page != pages {
			continue
		}
		if err := s.Commit(map[string]json.RawMessage{"job": json.RawMessage(strconv.Itoa(page))}); err != nil {
			return err
		}
	}
	return nil
}

// checkOutputs compares the outputs of a completed run with those of a run that
// was never interrupted.
func checkOutputs(d *disk, pages int) error {
	var items, trace strings.Builder
	for page := 1; page <= pages; page++ {
		fmt.Fprintf(&items, "%d-0\n%d-1\n", page, page)
		fmt.Fprintf(&trace, "page %d\n", page)
	}
	for _, output := range []struct{ name, want string }{{"out/items.ndjson", items.String()}, {"out/trace.json", trace.String()}} {
		if got := string(d.live[output.name].live); got != output.want {
			return fmt.Errorf("%s is %q, want %q", output.name, got, output.want)
		}
	}
	return nil
}

// simulatePowerLoss stops a run before each of its operations, lets every
// combination of unsynced data survive, and then completes the run. It returns
// the number of cases and a description of those with wrong outputs.
func simulatePowerLoss(t *testing.T, every int, skip func(string) bool) (cases int, wrong []string) {
	t.Helper()
	const pages = 5
	uninterrupted := newDisk()
	require.NoError(t, extract(uninterrupted, pages, every))
	require.NoError(t, checkOutputs(uninterrupted, pages))
	for stop := 1; stop <= uninterrupted.operations; stop++ {
		for _, survival := range survivals {
			for _, dirs := range [][]string{nil, {"."}, {"out"}, {".", "out"}} {
				d := newDisk()
				d.stopBefore, d.skip = stop, skip
				require.ErrorIs(t, extract(d, pages, every), errPower)
				next := d.afterPowerLoss(survival.content, dirs)
				cases++
				err := extract(next, pages, every)
				if err == nil {
					err = checkOutputs(next, pages)
				}
				if err != nil {
					wrong = append(wrong, fmt.Sprintf("power lost before operation %d; survivors: %s of the unsynced data, unsynced names in %q: %v",
						stop, survival.name, dirs, err))
				}
			}
		}
	}
	return cases, wrong
}

func TestPowerLossAtAnyMomentLosesAndRepeatsNothing(t *testing.T) {
	total := 0
	for _, every := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("a commit every %d pages", every), func(t *testing.T) {
			cases, wrong := simulatePowerLoss(t, every, nil)
			require.Empty(t, wrong)
			total += cases
		})
	}
	require.Greater(t, total, 960)
	t.Logf("%d cases, each exact", total)
}

// TestEverySyncIsNeeded omits one sync at a time, which must make some case fail.
func TestEverySyncIsNeeded(t *testing.T) {
	for _, test := range []struct {
		name string
		skip func(operation string) bool
	}{
		{"of the items", func(operation string) bool { return operation == "sync out/items.ndjson" }},
		{"of the trace", func(operation string) bool { return operation == "sync out/trace.json" }},
		{"of the state", func(operation string) bool { return operation == "sync state.json.new" }},
		{"of the directory of the outputs", func(operation string) bool { return strings.HasPrefix(operation, "sync directory of out/") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, wrong := simulatePowerLoss(t, 1, test.skip)
			require.NotEmpty(t, wrong)
		})
	}
}
