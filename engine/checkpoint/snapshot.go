package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stopwhen/stopwhen/engine/files"
)

// A Snapshot identifies the content of a file by its size and by the digest of its two ends.
type Snapshot struct {
	Bytes int64  `json:"bytes"`
	Sum   string `json:"sum"`
}

// snapshotEnd is the number of bytes of each end of a file that are part of its snapshot. A file that was
// replaced or rewritten has another size or another end, unless rows in its middle alone have changed and
// none has become longer. Such a file has the same rows up to the kept values.
const snapshotEnd = 64 << 10

func takeSnapshot(f io.ReaderAt, size int64) (Snapshot, error) {
	sum := sha256.New()
	head := min(size, snapshotEnd)
	tail := max(head, size-snapshotEnd)
	_, err := io.Copy(sum, io.NewSectionReader(f, 0, head))
	if err == nil {
		_, err = io.Copy(sum, io.NewSectionReader(f, tail, size-tail))
	}
	return Snapshot{Bytes: size, Sum: hex.EncodeToString(sum.Sum(nil))}, err
}

// Snapshot describes the file with the name of the output. It is that of an empty file if there is no such file.
func (o *Output) Snapshot() (Snapshot, error) { return snapshotOf(o.store.disk, o.name) }

// snapshotOf describes the file with a name.
func snapshotOf(disk files.System, name string) (Snapshot, error) {
	f, err := disk.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return takeSnapshot(strings.NewReader(""), 0)
	}
	if err != nil {
		return Snapshot{}, ioError("open the output", err)
	}
	var s Snapshot
	size, err := f.Size()
	if err == nil {
		s, err = takeSnapshot(f, size)
	}
	return s, ioError("read the output", errors.Join(err, f.Close()))
}

// update adds the kept values of the publication to those of earlier runs, and updates the snapshots beside
// them. It reports whether there was anything to add or to update.
func (p *publicationRecord) update(disk files.System, kept map[string]map[string]json.RawMessage) (bool, error) {
	known, err := keptFiles(kept)
	if err != nil {
		return false, err
	}
	now, err := p.snapshots(disk)
	if err != nil {
		return false, err
	}
	changed := len(p.Kept) > 0
	for job, text := range p.Kept {
		values := map[string]json.RawMessage{}
		if err := json.Unmarshal(text, &values); err != nil {
			return false, err
		}
		kept[job] = values
		if p.RowsIn == nil {
			delete(known, job)
		}
		if names, moved := p.RowsIn[job]; moved {
			known[job] = map[string]Snapshot{}
			for _, name := range names {
				if snapshot, taken := now[name]; taken {
					known[job][name] = snapshot
				}
			}
		}
	}
	for job, before := range known {
		for _, move := range p.moves() { // rows that the run has added for other jobs change the file for this one, too
			name := filepath.Base(move.Name)
			if after, taken := now[name]; taken && move.Before != nil && before[name] == *move.Before && after != *move.Before {
				before[name], changed = after, true
			}
		}
		if kept[job][KeptFilesMember], err = json.Marshal(before); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// snapshots describes the published files by their names in their directory, as far as the kept values need it.
// A file that another program has taken away or that cannot be read has none.
func (p *publicationRecord) snapshots(disk files.System) (map[string]Snapshot, error) {
	all := map[string]Snapshot{}
	for _, move := range p.moves() {
		if len(p.RowsIn) == 0 && move.Before == nil {
			continue
		}
		f, err := disk.Open(move.Name)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
			continue
		case err != nil:
			return nil, ioError("open the output", err)
		}
		size, err := f.Size()
		if err == nil {
			all[filepath.Base(move.Name)], err = takeSnapshot(f, size)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, ioError("read the output", err)
		}
	}
	return all, nil
}
