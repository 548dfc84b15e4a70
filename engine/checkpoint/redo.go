package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RedoSuffix is the file name ending of the record of a publication without a state, and of the
// files that name such a record: see [Repair].
const RedoSuffix = ".redo"

// Repair completes the publication of the file at path, or of the kept values in it, if a run
// without a state ended in the middle of it. It reports whether there was such a publication. If another program has
// changed a file that it would replace, the publication counts as not begun: its rows stay in their partial files, and
// the kept values as they were.
func Repair(path string) (bool, error) { return repair(files.OS(), path) }

func repair(disk files.System, path string) (bool, error) {
	p, err := readRecord(disk, path)
	if p != nil && p.Name == "" {
		owner := strings.TrimSuffix(p.Record, RedoSuffix)
		if p, err = readRecord(disk, owner); p == nil && err == nil { // it has not begun, or was completed
			return false, ioError("remove "+path+RedoSuffix, disk.Remove(path+RedoSuffix))
		}
	}
	if p == nil || err != nil {
		return false, err
	}
	if p.Record == "" {
		p.Name = path
	}
	if done, err := p.carryOut(disk); err != nil {
		if errors.Is(err, errChanged) && done.undo(disk) {
			if err = p.forget(disk); err == nil {
				p.discard(disk)
			}
			return false, err
		}
		if errors.Is(err, errNoRows) {
			err = &failure.Error{
				Class: failure.State, Op: "repair", Message: err.Error(), Err: err,
				Hint: "restore the file, or remove " + p.redo() + " to go on without these rows",
			}
		}
		return false, err
	}
	return true, p.forget(disk)
}

// readRecord reads the record next to a file. It returns nil if there is no record.
func readRecord(disk files.System, path string) (*publicationRecord, error) {
	text, err := readFile(disk, path+RedoSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, ioError("read "+path+RedoSuffix, err)
	}
	p := &publicationRecord{}
	if err := json.Unmarshal(text, p); err != nil || p.Name == "" && p.Record == "" {
		return nil, &failure.Error{
			Class: failure.State, Op: "repair", Message: path + RedoSuffix + " is damaged or was not written by stopwhen",
			Hint: "compare " + path + " with " + path + PartialSuffix + ", then remove it",
		}
	}
	return p, nil
}

// recorded reports whether a publication without a state has a record. A publication by a single
// rename needs no record.
func (p *publicationRecord) recorded() bool {
	return slices.ContainsFunc(p.moves(), func(move *fileMove) bool { return move.Append || move.Complete || p.KeptFile != "" })
}

// redo returns the name of the record.
func (p *publicationRecord) redo() string { return cmp.Or(p.Record, p.Name+RedoSuffix) }

// record saves a publication next to the file of kept values or, without that file, next to the
// first file of rows. If there are several files, a file next to each of them names the record, so that
// every run that opens one of them finds it. Without the record, such a file has no meaning.
func (p *publicationRecord) record(disk files.System) error {
	if !p.recorded() {
		return nil
	}
	saved := *p
	if p.KeptFile != "" || len(p.Also) > 0 {
		var err error
		if saved, err = p.absolute(disk); err != nil {
			return ioError("save the record of the rows", err)
		}
		p.Record = saved.Record
		for _, move := range p.moves() {
			if err := writeRecord(disk, move.Name+RedoSuffix, publicationRecord{Record: saved.Record}); err != nil {
				return err
			}
		}
	}
	return writeRecord(disk, p.redo(), saved)
}

func writeRecord(disk files.System, path string, p publicationRecord) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = replaceFile(disk, path, append(text, '\n'))
	}
	return ioError("save "+path, err)
}

// absolute returns a publication with absolute paths, whose record can stand in any directory.
func (p *publicationRecord) absolute(disk files.System) (publicationRecord, error) {
	combined, others := *p, p.Also
	combined.Also = nil
	for _, move := range others {
		clone := *move
		combined.Also = append(combined.Also, &clone)
	}
	combined.Record = cmp.Or(p.KeptFile, p.Name) + RedoSuffix
	paths := []*string{&combined.Name, &combined.Record}
	if p.KeptFile != "" {
		paths = append(paths, &combined.KeptFile)
	}
	for _, move := range combined.Also {
		paths = append(paths, &move.Name)
	}
	for _, path := range paths {
		var err error
		if *path, err = disk.Abs(*path); err != nil {
			return combined, err
		}
	}
	return combined, nil
}

// forget removes the record of a publication, and then the files that name it.
func (p *publicationRecord) forget(disk files.System) error {
	if !p.recorded() {
		return nil
	}
	err := errors.Join(disk.Remove(p.redo()), disk.SyncDir(p.redo()))
	for _, move := range p.moves() {
		err = errors.Join(err, disk.Remove(move.Name+RedoSuffix))
	}
	return ioError("remove "+p.redo(), err)
}
