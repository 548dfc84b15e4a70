package checkpoint

import (
	"errors"
	"io"

	"github.com/stopwhen/stopwhen/engine/files"
)

// rewrite writes the content of a published file to a separate file, which is then renamed. The rows
// and the existing file remain unchanged until then.
func (s *Store) rewrite(m *fileMove, part Part) error {
	m.Complete = true
	f, err := replaced(s.disk, m.from(), s.mode)
	if err != nil {
		return ioError("open "+m.from(), err)
	}
	err = s.rewriteTo(f, m, part)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.disk.SyncDir(m.from())
	}
	if err != nil {
		_ = s.disk.Remove(m.from())
	}
	return ioError("rewrite "+part.Output.name, err)
}

func (s *Store) rewriteTo(f files.File, m *fileMove, part Part) error {
	o := part.Output
	partial, err := s.disk.Open(o.path)
	if err != nil {
		return err
	}
	defer partial.Close()
	rows, err := o.compression.NewReader(io.NewSectionReader(partial, 0, o.written.Bytes))
	if err != nil {
		return err
	}
	defer rows.Close()
	var before io.ReadCloser
	if part.Append {
		if before, err = o.Existing(); err != nil {
			return err
		}
	}
	if before != nil {
		defer before.Close()
	}
	sum := digestOf("")
	counted := &counter{w: io.MultiWriter(f, sum)}
	to := o.compression.NewWriter(counted)
	if err := part.Rewrite(to, before, rows); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	m.Bytes, m.Sum = counted.n, ""
	if o.digest != nil {
		m.Sum = sumOf(sum)
	}
	return nil
}

// RewriteRows replaces the rows of an unpublished output that receives no more rows, so that the
// rows of a failed run can be read. It does nothing with a state, which must be able to continue
// the rows. It reports whether it has replaced them.
func (s *Store) RewriteRows(o *Output, write func(to io.Writer, before, rows io.Reader) error) (bool, error) {
	if s.path != "" || o.finished || !o.created {
		return false, nil
	}
	if err := o.close(); err != nil {
		return false, ioError("write the output", err)
	}
	m := &fileMove{Name: o.name}
	if err := s.rewrite(m, Part{Output: o, Rewrite: write}); err != nil {
		return false, err
	}
	err := s.disk.Rename(m.from(), o.path)
	if err == nil {
		err = s.disk.SyncDir(o.path)
	}
	if err != nil {
		return false, ioError("rewrite "+o.path, err)
	}
	o.written.Bytes = m.Bytes
	return true, nil
}

// counter counts the bytes it writes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
