package checkpoint

import (
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

// disk is a file system that forgets, when the power goes, what was not synced.
// It counts operations, and stops before the one that it is told.
type disk struct {
	live, lasting map[string]*inode // names; the lasting ones are those of the last SyncFolder
	operations    int
	stopBefore    int                  // 0: never
	lies          func(op string) bool // operations that say that they are done, and do nothing; nil: none
}

type inode struct{ live, lasting []byte }

var errPower = errors.New("the power is gone")

func newDisk() *disk { return &disk{live: map[string]*inode{}, lasting: map[string]*inode{}} }

// do counts an operation. It reports false for one that is skipped.
func (d *disk) do(op string) (bool, error) {
	if d.operations++; d.stopBefore > 0 && d.operations >= d.stopBefore {
		return false, errPower
	}
	return d.lies == nil || !d.lies(op), nil
}

func (d *disk) Open(path string, create bool) (File, error) {
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

func (d *disk) SyncFolder(path string) error {
	if done, err := d.do("sync folder of " + path); err != nil || !done {
		return err
	}
	folder := filepath.Dir(path)
	inside := func(name string, _ *inode) bool { return filepath.Dir(name) == folder }
	maps.DeleteFunc(d.lasting, inside)
	for name, node := range d.live {
		if inside(name, node) {
			d.lasting[name] = node
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
	if done, err := h.disk.do("sync " + h.path); err != nil || !done {
		return err
	}
	h.node.lasting = append([]byte(nil), h.node.live...)
	return nil
}

func (h *handle) Close() error { return nil }

// What may be left of what was not synced.
var survivals = map[string]func(lasting, live []byte) []byte{
	"nothing": func(lasting, _ []byte) []byte { return lasting },
	"all":     func(_, live []byte) []byte { return live },
	"half": func(lasting, live []byte) []byte {
		if len(live) <= len(lasting) {
			return live
		}
		return live[:(len(lasting)+len(live))/2]
	},
	"zeros": func(lasting, live []byte) []byte {
		if len(live) <= len(lasting) {
			return lasting
		}
		return append(append([]byte(nil), lasting...), make([]byte, len(live)-len(lasting))...)
	},
}

// after is the disk when the power is back. Of the folders that are named, the
// names that were not synced survive too.
func (d *disk) after(survival string, folders []string) *disk {
	names := map[string]*inode{}
	for _, kept := range []bool{false, true} {
		of := d.lasting
		if kept {
			of = d.live
		}
		for name, node := range of {
			if slices.Contains(folders, filepath.Dir(name)) == kept {
				names[name] = node
			}
		}
	}
	out := newDisk()
	for name, node := range names {
		data := append([]byte(nil), survivals[survival](node.lasting, node.live)...)
		out.live[name] = &inode{data, data}
		out.lasting[name] = out.live[name]
	}
	return out
}

// extract is a run of pages, each of which writes to two outputs: it goes on where
// the state says, and commits every page or every second one.
func extract(d *disk, pages, every int) error {
	s, err := Open(d, "state.json", "test", map[string]string{"rules": "1"})
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
	from := 0
	if at := s.Jobs()["job"]; at != nil {
		if err := json.Unmarshal(at, &from); err != nil {
			return err
		}
	}
	for page := from + 1; page <= pages; page++ {
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

// whole tells what is wrong with the outputs of a run that has ended.
func whole(d *disk, pages int) string {
	var items, trace strings.Builder
	for page := 1; page <= pages; page++ {
		fmt.Fprintf(&items, "%d-0\n%d-1\n", page, page)
		fmt.Fprintf(&trace, "page %d\n", page)
	}
	for name, want := range map[string]string{"out/items.ndjson": items.String(), "out/trace.json": trace.String()} {
		if got := string(d.live[name].live); got != want {
			return fmt.Sprintf("%s is %q, want %q", name, got, want)
		}
	}
	return ""
}

// crashes stops a run before each of its operations, lets every combination of
// what was not synced survive, and runs it again to its end. It counts the cases
// and tells those that did not end as a run that was never stopped.
func crashes(t *testing.T, every int, lies func(string) bool) (cases int, wrong []string) {
	const pages = 5
	count := newDisk()
	require.NoError(t, extract(count, pages, every))
	require.Empty(t, whole(count, pages))
	for stop := 1; stop <= count.operations; stop++ {
		for survival := range survivals {
			for _, folders := range [][]string{nil, {"."}, {"out"}, {".", "out"}} {
				d := newDisk()
				d.stopBefore, d.lies = stop, lies
				require.ErrorIs(t, extract(d, pages, every), errPower)
				again := d.after(survival, folders)
				cases++
				err := extract(again, pages, every)
				problem := ""
				if err != nil {
					problem = err.Error()
				} else {
					problem = whole(again, pages)
				}
				if problem != "" {
					wrong = append(wrong, fmt.Sprintf("stopped before operation %d, %s of what was not synced survives, names kept in %q: %s", stop, survival, folders, problem))
				}
			}
		}
	}
	return cases, wrong
}

func TestThePowerMayGoAtAnyMoment(t *testing.T) {
	all := 0
	for _, every := range []int{1, 2, 5} {
		cases, wrong := crashes(t, every, nil)
		require.Empty(t, wrong)
		all += cases
	}
	require.Greater(t, all, 960)
	t.Logf("%d cases, each exact", all)
}

// TestEverySyncIsNeeded takes one of them away: then some case must go wrong.
func TestEverySyncIsNeeded(t *testing.T) {
	for what, skipped := range map[string]func(string) bool{
		"of the items":           func(op string) bool { return op == "sync out/items.ndjson" },
		"of the trace":           func(op string) bool { return op == "sync out/trace.json" },
		"of the state":           func(op string) bool { return op == "sync state.json.new" },
		"of the outputs' folder": func(op string) bool { return strings.HasPrefix(op, "sync folder of out/") },
	} {
		_, wrong := crashes(t, 1, skipped)
		require.NotEmpty(t, wrong, "without the sync %s", what)
	}
}
