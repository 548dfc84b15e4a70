package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Publication describes the changes that [Store.Publish] makes at once.
type Publication struct {
	// Parts are the outputs to be published.
	Parts []Part

	// Kept holds the values for the next run, by job, as JSON objects. They become part of the
	// state and, unless KeptFile is "", of that file, in which the values of other jobs remain.
	Kept     map[string]json.RawMessage
	KeptFile string

	// KeptFor holds, by job, the fingerprint ([saved.KeepPart]) of the list that Kept is about. In
	// KeptFile, it stands with the values.
	KeptFor map[string]string

	// RowsIn holds, by job of Kept, the names of the published files that have the rows up to its values. A
	// snapshot of each of them is saved with the values. A job without an entry
	// has the values that it had, and the snapshots that it had. If RowsIn is nil, it is not known which files
	// have the rows, and no snapshots are saved.
	RowsIn map[string][]string
}

// A Part of a publication is an output whose rows are published.
type Part struct {
	Output *Output

	// Append adds the rows to the existing file instead of replacing it.
	Append bool

	// Rewrite writes the content to be published; if it is nil, the rows are published unchanged.
	// before reads the existing file, and is nil unless Append is set and the file exists; rows
	// reads the data written to the output.
	Rewrite func(to io.Writer, before, rows io.Reader) error
}

// Publish publishes the rows of outputs under their names, together with the values that are kept
// for the next run and, with a state, all marked data. If the process ends in the middle, the next
// run that opens the state, the file of kept values or one of the outputs completes the
// publication. If rows cannot be moved before a file was replaced, the published files are as they
// were before, and the publication counts as not begun.
func (s *Store) Publish(c Publication) error {
	if err := s.completePublication(); err != nil { // a publication that failed in this run
		return err
	}
	p, err := s.plan(c)
	if err != nil {
		p.discard(s.disk)
		return err
	}
	if err := s.recordPublication(p); err != nil {
		return err
	}
	done, err := p.carryOut(s.disk)
	switch {
	case err == nil:
		return s.finishPublication(p)
	case done.undo(s.disk):
		if failed, ok := errors.AsType[*failure.Error](err); ok && errors.Is(err, errChanged) {
			err = failed.WithHint("repeat the run, which publishes the rows")
		}
		return errors.Join(err, s.abandon(p))
	}
	// The next run completes the publication, so this run must not write to the outputs: see [Output.Finished].
	for _, part := range c.Parts {
		part.Output.finished = true
	}
	return err
}

// plan prepares outputs for their publication. The result is not nil, even with an error.
func (s *Store) plan(c Publication) (*publicationRecord, error) {
	p := &publicationRecord{}
	if err := s.addMarked(); err != nil {
		return p, err
	}
	for i, part := range c.Parts {
		move := &p.fileMove
		if i > 0 {
			move = &fileMove{}
			p.Also = append(p.Also, move)
		}
		if err := s.planPart(move, part); err != nil {
			return p, err
		}
	}
	p.Kept, p.KeptFile, p.KeptFor = c.Kept, c.KeptFile, c.KeptFor
	if c.RowsIn != nil {
		p.RowsIn = map[string][]string{}
	}
	for job, names := range c.RowsIn {
		p.RowsIn[job] = []string{}
		for _, name := range names {
			p.RowsIn[job] = append(p.RowsIn[job], filepath.Base(name))
		}
	}
	if p.KeptFile != "" {
		_, err := readKeptMembers(s.disk, p.KeptFile) // a damaged file must not fail the publication after its rows were moved
		return p, ioError("read the kept values", err)
	}
	return p, nil
}

// planPart completes the file of an output and makes it durable, and then decides how to publish it: by
// rewriting the rows, by appending them to the existing file, or by renaming the file.
func (s *Store) planPart(m *fileMove, part Part) error {
	o := part.Output
	var before files.File
	var base int64 // size of the published file
	if part.Append {
		var err error
		if before, base, err = o.openExisting(); before != nil {
			defer before.Close()
		}
		if err != nil {
			return ioError("open the output", err)
		}
		snapshot, err := o.Snapshot()
		if err != nil {
			return err
		}
		m.Before = &snapshot
	}
	if _, err := s.use(o); err != nil { // also creates the file of an output without rows
		return err
	}
	if err := o.complete(base); err != nil {
		return ioError("write the output", err)
	}
	if err := s.sync(o); err != nil {
		return err
	}
	if err := o.close(); err != nil {
		return ioError("save the output", err)
	}
	f, err := s.reopen(o) // the name may be that of another file now
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return ioError("save the output", err)
	}
	m.Name, m.Bytes = o.name, o.written.Bytes
	if o.digest != nil {
		m.Sum = sumOf(o.digest)
	}
	switch {
	case part.Rewrite != nil:
		return s.rewrite(m, part)
	case before != nil:
		return m.appendTo(before, base, o)
	}
	return nil
}

// appendTo prepares a move that adds rows to a file of size base.
func (m *fileMove) appendTo(before files.File, base int64, o *Output) error {
	m.Append, m.Base = true, base
	if base == 0 {
		return nil
	}
	m.Skip = o.written.Head
	open, err := endsWithOpenLine(before, base, o.compression)
	if err != nil {
		return ioError("read "+o.name, err)
	}
	if open {
		m.Prefix, err = compressed(o.compression, []byte{'\n'})
	}
	return err
}

// recordPublication records a publication.
func (s *Store) recordPublication(p *publicationRecord) error {
	s.state.Publish = p
	if s.path == "" {
		err := p.record(s.disk)
		if err != nil {
			s.state.Publish = nil
		}
		return err
	}
	return s.save()
}

// finishPublication replaces the record of a completed publication with its results.
func (s *Store) finishPublication(p *publicationRecord) error {
	if err := s.keepValues(p); err != nil {
		return ioError("save the kept values", err)
	}
	for _, move := range p.moves() {
		e := s.state.Outputs[move.Name]
		e.Partial = false
		s.state.Outputs[move.Name] = e
		if o := s.outputs[move.Name]; o != nil {
			o.finished, o.marked = true, e
		}
	}
	return s.removePublication(p)
}

// keepValues adds the kept values of a publication to the state.
func (s *Store) keepValues(p *publicationRecord) error {
	kept, err := s.keptMembers()
	if err != nil {
		return err
	}
	if changed, err := p.update(s.disk, kept); !changed || err != nil {
		return err
	}
	s.state.Kept = map[string]json.RawMessage{}
	for job, values := range kept {
		if s.state.Kept[job], err = json.Marshal(values); err != nil {
			return err
		}
	}
	return nil
}

// abandon forgets a publication that has changed no file. Its rows are still in their partial files.
func (s *Store) abandon(p *publicationRecord) error {
	err := s.removePublication(p)
	if err == nil { // with a record, rows that are missing count as moved
		p.discard(s.disk)
	}
	return err
}

// removePublication removes the record of a publication.
func (s *Store) removePublication(p *publicationRecord) error {
	s.state.Publish = nil
	if s.path == "" {
		return p.forget(s.disk)
	}
	return s.save()
}

// Release declares that the rows of an output will not be published. The file stays until the next
// run replaces it, and no longer belongs to the state.
func (s *Store) Release(o *Output) error {
	if s.path == "" {
		return nil
	}
	if err := s.addMarked(); err != nil {
		return err
	}
	e := s.state.Outputs[o.name]
	e.Partial, e.Released = false, true
	s.state.Outputs[o.name], o.marked = e, e
	return s.save()
}

// Discard forgets the positions of jobs, and the rows of outputs that are not published: the next
// run requests the lists of the jobs again from their start. The files stay until it replaces them.
// If no position is left, the run is over as after [Store.End]: the next one may have another
// configuration. Discard does nothing without a state.
func (s *Store) Discard(jobs []string, outputs ...*Output) error {
	if s.path == "" {
		return nil
	}
	if err := s.addMarked(); err != nil {
		return err
	}
	for _, job := range jobs {
		delete(s.state.Jobs, job)
	}
	for _, o := range outputs {
		if !o.finished {
			o.marked = extent{Sum: sumOf(digestOf("")), Partial: true}
			s.state.Outputs[o.name] = o.marked
		}
	}
	s.state.Ended = len(s.state.Jobs) == 0
	return s.save()
}

// completePublication completes the publication in the state if the previous run ended in the middle of it. If another
// program has changed a file that it would replace, the publication counts as not begun, so that this run publishes the
// rows.
func (s *Store) completePublication() error {
	p := s.state.Publish
	if p == nil {
		return nil
	}
	var err error
	for _, move := range p.moves() {
		err = cmp.Or(err, move.verify(s.disk))
	}
	if err == nil && s.path != "" {
		err = s.save() // recordPublication may have failed to save it
	}
	var done progress
	if err == nil {
		done, err = p.carryOut(s.disk)
	}
	switch {
	case errors.Is(err, errNoRows):
		return s.refuse("%v", err).WithRemedy("restore the file; once the next run has ended, it may be moved away"+orStartOver, remedy.StartOver)
	case errors.Is(err, errChanged) && done.undo(s.disk):
		return s.abandon(p)
	case err != nil:
		return err
	}
	return s.finishPublication(p)
}
