package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RedoSuffix is the file name ending of the record of a publication without a state, and of the
// files that name such a record: see [CompletePublication].
const RedoSuffix = ".redo"

// CompletePublication completes the publication of the file at path, or of the kept values in it, if a run
// without a state ended in the middle of it. It reports whether there was such a publication. If another program has
// changed a file that it would replace, the publication counts as not begun: its rows stay in their partial files, and
// the kept values as they were.
func CompletePublication(path string) (bool, error) { return completePublication(files.OS(), path) }

func completePublication(disk files.System, path string) (bool, error) {
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

// readRecord reads the record next to a file. The paths in a record of several files are relative to its directory; those
// of the result are absolute. It returns nil if there is no record.
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
	if p.Record == "" {
		return p, nil
	}
	all, err := p.withPaths(func(name string) (string, error) { return absolute(disk, path, name) })
	return &all, ioError("read "+path+RedoSuffix, err)
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
		p.Record = cmp.Or(p.KeptFile, p.Name) + RedoSuffix
		saved, err = p.withPaths(func(path string) (string, error) { return relative(disk, p.Record, path) })
		if err != nil {
			return ioError("save the record of the rows", err)
		}
		for _, move := range p.moves() {
			record, err := relative(disk, move.Name, p.Record)
			if err != nil {
				return ioError("save the record of the rows", err)
			}
			if err := writeRecord(disk, move.Name+RedoSuffix, publicationRecord{Record: record}); err != nil {
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

// withPaths returns a publication with converted paths.
func (p *publicationRecord) withPaths(convert func(path string) (string, error)) (publicationRecord, error) {
	converted := *p
	converted.Also = nil
	for _, move := range p.Also {
		clone := *move
		converted.Also = append(converted.Also, &clone)
	}
	paths := []*string{&converted.Name, &converted.Record, &converted.KeptFile}
	for _, move := range converted.Also {
		paths = append(paths, &move.Name)
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = convert(*path); err != nil {
			return converted, err
		}
	}
	return converted, nil
}

// relative returns a path relative to the directory of a file, so that both can be moved together.
func relative(disk files.System, file, path string) (string, error) {
	from, err := disk.Abs(file)
	if err != nil {
		return "", err
	}
	to, err := disk.Abs(path)
	if err != nil {
		return "", err
	}
	if name, err := filepath.Rel(filepath.Dir(from), to); err == nil {
		return name, nil
	}
	return to, nil // it is on another drive
}

// absolute returns the path that relative has made relative to the directory of a file. The path
// is absolute if it is on another drive.
func absolute(disk files.System, file, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	from, err := disk.Abs(file)
	return filepath.Join(filepath.Dir(from), path), err
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
