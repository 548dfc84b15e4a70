package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// A commitLine is a line of a state file that follows the whole state in its first line: the changes
// that a commit of pages makes. Such a commit appends a line instead of replacing the file.
type commitLine struct {
	After   string            `json:"after"` // checksum of the line before
	Jobs    map[string]change `json:"jobs"`
	Outputs map[string]extent `json:"outputs,omitempty"`
	Notes   map[string]string `json:"notes,omitempty"`
	Sum     string            `json:"sum"` // checksum of all fields above
}

// A change encodes a checkpoint as its difference from the checkpoint of the same job in the first line:
// it is Head, followed by the last Tail bytes of that checkpoint. A tree of jobs puts its queue of waiting
// values at the end; the queue shrinks from its front, so most checkpoints share its end until a page adds
// values.
type change struct {
	Head []byte `json:"head"`
	Tail int    `json:"tail,omitempty"` // number of bytes at the end of the first checkpoint that follow Head
}

// changeOf returns the change from the checkpoint in the first line to another one.
func changeOf(first, now json.RawMessage) change {
	const block = 4096
	tail, most := 0, min(len(first), len(now))
	for tail+block <= most && bytes.Equal(lastBytes(first, tail+block)[:block], lastBytes(now, tail+block)[:block]) {
		tail += block
	}
	for tail < most && lastBytes(first, tail+1)[0] == lastBytes(now, tail+1)[0] {
		tail++
	}
	return change{now[:len(now)-tail], tail}
}

func lastBytes(text []byte, n int) []byte { return text[len(text)-n:] }

// encode returns the line with its checksum.
func (c commitLine) encode() ([]byte, error) {
	c.Sum = ""
	return seal(c)
}

// seal encodes a value whose last member is an empty checksum, and sets the checksum.
func seal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return sealText(text), nil
}

// sealText sets the checksum of a text in which it is empty.
func sealText(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append(hex.AppendEncode(text[:len(text)-len(sealEnd)], sum[:]), sealEnd+"\n"...)
}

// isSealed reports whether a line is as seal has encoded it, possibly in another release, with other members.
func isSealed(line []byte) bool {
	end := len(line) - len(sealEnd+"\n") - hex.EncodedLen(sha256.Size)
	return end >= 0 && bytes.Equal(line, sealText(append(bytes.Clone(line[:end]), sealEnd...)))
}

// sealEnd ends a line, after its checksum.
const sealEnd = `"}`

// sumOfLine returns the checksum at the end of a line that seal has encoded.
func sumOfLine(line []byte) string {
	end := len(line) - len(sealEnd+"\n")
	return string(line[end-hex.EncodedLen(sha256.Size) : end])
}

// addCommits adds the lines after the first line of a state file to the state. The last line may be
// incomplete if the power failed, or the disk was full, while it was written: its commit has not
// succeeded. Any other line is damaged unless it is complete.
func (s *stateFile) addCommits(first, lines []byte) error {
	jobs, before := maps.Clone(s.Jobs), sumOfLine(first)
	for len(lines) > 0 {
		_, rest, _ := bytes.Cut(lines, []byte{'\n'})
		line := lines[:len(lines)-len(rest)]
		lines = rest
		var c commitLine
		err := json.Unmarshal(line, &c)
		if err == nil {
			err = s.addCommit(c, jobs, before, line)
		}
		if begun := line[0] == '{' || line[0] == 0; err != nil && begun && len(rest) == 0 {
			return nil // what was not written is missing, or zeros
		}
		if err != nil {
			return errDamaged
		}
		before = c.Sum
	}
	return nil
}

// addCommit adds a line to the state. jobs has the checkpoints of the first line.
func (s *stateFile) addCommit(c commitLine, jobs map[string]json.RawMessage, before string, line []byte) error {
	if !isSealed(line) || c.After != before {
		return errDamaged
	}
	for job, changed := range c.Jobs {
		if changed.Tail < 0 || changed.Tail > len(jobs[job]) {
			return errDamaged
		}
		s.Jobs[job] = slices.Concat(changed.Head, lastBytes(jobs[job], changed.Tail))
	}
	maps.Copy(s.Outputs, c.Outputs)
	if c.Notes != nil && s.Notes == nil {
		s.Notes = map[string]string{}
	}
	maps.Copy(s.Notes, c.Notes)
	return nil
}

var errDamaged = errors.New("it is damaged: its checksum does not match its content")

// leastAppended is the number of bytes that commits may append before one of them replaces the file, even if
// the state is smaller.
const leastAppended = 64 << 10

// appendCommit adds a commit of pages to the state file, or replaces the file if it would have grown
// too much: the lines of commits are at most as long as the state, unless that is short.
func (s *Store) appendCommit(c commitLine) error {
	if s.saved.jobs == nil {
		return s.save()
	}
	c.After = s.saved.sum
	line, err := c.encode()
	if err != nil {
		return ioError("save the state", err)
	}
	s.saved.appended += len(line)
	if s.saved.appended > max(s.saved.size, leastAppended) || s.saved.size+s.saved.appended > maxStateBytes {
		return s.save()
	}
	f, err := s.disk.Open(s.path)
	if err == nil {
		_, err = f.Write(line)
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.saved = savedFile{} // nothing can follow an incomplete line
		return ioError("save the state", err)
	}
	s.saved.sum = sumOfLine(line)
	return nil
}

// A savedFile describes a state file to which commits can be appended.
type savedFile struct {
	jobs     map[string]json.RawMessage // checkpoints in the first line; nil if the file must be replaced
	sum      string                     // checksum of the last line
	size     int                        // length of the first line
	appended int                        // length of the other lines
}
