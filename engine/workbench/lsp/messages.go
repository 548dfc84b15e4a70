package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxMessage is the size of the largest message of a client in bytes. Whoever reads a message reserves memory
// for it first.
const maxMessage = 64 << 20

// messages is a stream of messages that returns an error before a message that is larger than maxMessage.
type messages struct {
	in      *bufio.Reader
	pending []byte // the rest of a line of the header
	length  int    // length of the message whose header is being read
	body    int    // number of bytes of the message that have not been read
}

func newMessages(in io.Reader) *messages { return &messages{in: bufio.NewReader(in)} }

// Read implements [io.Reader].
func (m *messages) Read(p []byte) (int, error) {
	if len(m.pending) == 0 && m.body > 0 {
		n, err := m.in.Read(p[:min(len(p), m.body)])
		m.body -= n
		return n, err
	}
	if len(m.pending) == 0 {
		line, err := m.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, errors.New("a line of a header is too long")
		case len(line) == 0:
			return 0, err
		}
		if err := m.readHeader(string(bytes.TrimSpace(line))); err != nil {
			return 0, err
		}
		m.pending = line
	}
	n := copy(p, m.pending)
	m.pending = m.pending[n:]
	return n, nil
}

// readHeader reads a line of a header. An empty line ends the header.
func (m *messages) readHeader(line string) error {
	name, v, _ := strings.Cut(line, ":")
	switch {
	case line == "":
		m.body, m.length = m.length, 0
	case strings.EqualFold(strings.TrimSpace(name), "Content-Length"):
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if errors.Is(err, strconv.ErrRange) || n > maxMessage {
			return fmt.Errorf("a message of %s bytes is larger than %d", strings.TrimSpace(v), maxMessage)
		}
		m.length = max(n, 0) // the reader of messages refuses other values
	}
	return nil
}
