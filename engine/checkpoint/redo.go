package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RedoSuffix is the file name ending of the record of a publication without a state, and of the
// files that name such a record: see [Repair].
const RedoSuffix = ".redo"

// Repair completes the publication of the file at path, or of the kept values in it, if a run
// without a state ended in the middle of it. It reports whether there was such a publication.
func Repair(path string) (bool, error) { return repair(system{}, path) }

func repair(files fileSystem, path string) (bool, error) {
	p, err := readRecord(files, path)
	if p != nil && p.Name == "" {
		owner := strings.TrimSuffix(p.Record, RedoSuffix)
		if p, err = readRecord(files, owner); p == nil && err == nil { // it has not begun, or was completed
			return false, ioError("remove "+path+RedoSuffix, files.Remove(path+RedoSuffix))
		}
	}
	if p == nil || err != nil {
		return false, err
	}
	if p.Record == "" {
		p.Name = path
	}
	if _, err := p.carryOut(files); err != nil {
		if errors.Is(err, errNoRows) {
			err = &failure.Error{
				Class: failure.State, Op: "repair", Message: err.Error(), Err: err,
				Hint: "restore the file, or remove " + p.redo() + " to go on without these rows",
			}
		}
		return false, err
	}
	return true, p.forget(files)
}

// readRecord reads the record next to a file. It returns nil if there is no record.
func readRecord(files fileSystem, path string) (*publicationRecord, error) {
	text, err := readFile(files, path+RedoSuffix)
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
func (p *publicationRecord) record(files fileSystem) error {
	if !p.recorded() {
		return nil
	}
	saved := *p
	if p.KeptFile != "" || len(p.Also) > 0 {
		var err error
		if saved, err = p.absolute(files); err != nil {
			return ioError("save the record of the rows", err)
		}
		p.Record = saved.Record
		for _, move := range p.moves() {
			if err := writeRecord(files, move.Name+RedoSuffix, publicationRecord{Record: saved.Record}); err != nil {
				return err
			}
		}
	}
	return writeRecord(files, p.redo(), saved)
}

func writeRecord(files fileSystem, path string, p publicationRecord) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = replaceFile(files, path, append(text, '\n'))
	}
	return ioError("save "+path, err)
}

// absolute returns a publication with absolute paths, whose record can stand in any directory.
func (p *publicationRecord) absolute(files fileSystem) (publicationRecord, error) {
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
		if *path, err = files.Abs(*path); err != nil {
			return combined, err
		}
	}
	return combined, nil
}

// forget removes the record of a publication, and then the files that name it.
func (p *publicationRecord) forget(files fileSystem) error {
	if !p.recorded() {
		return nil
	}
	err := errors.Join(files.Remove(p.redo()), files.SyncDir(p.redo()))
	for _, move := range p.moves() {
		err = errors.Join(err, files.Remove(move.Name+RedoSuffix))
	}
	return ioError("remove "+p.redo(), err)
}
