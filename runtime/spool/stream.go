package spool

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Consumer reads the bodies that are too large for memory while they arrive.
type Consumer interface {
	// Consume reads a body up to its end, or to the first mistake in it, and writes the content of the
	// file. It runs in a goroutine of its own. [Buffer.Consumed] returns its result.
	Consume(from *Stream) any
}

const (
	streamParts = 4       // parts of a stream that are in memory
	headroom    = 8 << 10 // room before a part for the rest of the part before it
	headBytes   = 1 << 10 // beginning of a body that is kept as it was sent
)

// A Stream is a large body on its way into the file of its [Buffer]. Its parts are reused, so that
// their number and size are fixed: one goroutine fills a part while another reads the one before.
type Stream struct {
	file *File
	head []byte      // first bytes of the body
	next []byte      // first part, until it is read; it has no headroom
	full chan []byte // later parts that have arrived, with their headroom; closed at the end of the body
	free chan []byte // parts to fill
	size int64       // bytes that have arrived, in full parts

	part []byte // part that is read; nil for the first one
	err  error  // error of the file, or of the consumer

	result  any
	aborted atomic.Bool
	closed  bool          // whether full is closed
	done    chan struct{} // closed when the consumer has returned
}

// errAborted ends the reading of a body that will not be complete.
var errAborted = errors.New("the body is not complete")

// newStream starts a consumer with the first part of a body. parts are free.
func newStream(c Consumer, file *File, first []byte, parts [][]byte) *Stream {
	s := &Stream{
		file: file, head: bytes.Clone(first[:min(len(first), headBytes)]), next: first, size: int64(len(first)),
		full: make(chan []byte, streamParts), free: make(chan []byte, streamParts), done: make(chan struct{}),
	}
	for _, part := range parts {
		s.free <- part
	}
	go func() {
		defer close(s.done)
		defer func() { // after a mistake, or runtime.Goexit in the consumer
			for part := range s.full {
				s.free <- part
			}
		}()
		s.consume(c)
	}()
	return s
}

// consume calls the consumer. A panic in it is an error of the body.
func (s *Stream) consume(c Consumer) {
	err := failure.Exited()
	defer func() {
		if err = failure.Recovered("", recover(), err); err != nil {
			s.err = err
		}
	}()
	s.result, err = c.Consume(s), nil
}

// add passes a part on, with its headroom.
func (s *Stream) add(part []byte) {
	if len(part) > headroom {
		s.size += int64(len(part) - headroom)
		s.full <- part
	}
}

// end ends the body and waits for the consumer.
func (s *Stream) end() {
	if !s.closed {
		s.closed = true
		close(s.full)
	}
	<-s.done
}

// abort is end for a body that is not complete, unless the body has ended.
func (s *Stream) abort() {
	if !s.closed {
		s.aborted.Store(true)
	}
	s.end()
}

// Next writes done to the file, and returns rest with the bytes that follow it. rest is the end of the
// data of the last call, which becomes invalid. At the end of the body, more is false, and nothing
// follows. The error is a [*failure.Error] of the file, or says that the body will not be complete.
func (s *Stream) Next(done, rest []byte) (data []byte, more bool, err error) {
	if len(done) > 0 && s.err == nil {
		_, s.err = s.file.Write(done)
	}
	if s.err != nil {
		return rest, false, s.err
	}
	if data, s.next = s.next, nil; data != nil {
		return data, true, nil
	}
	next, more := <-s.full
	switch {
	case s.aborted.Load():
		return rest, false, errAborted
	case !more:
		return rest, false, nil
	case len(rest) <= headroom:
		data = next[headroom-len(rest):]
		copy(data, rest)
	default: // a long number or key
		data = slices.Concat(rest, next[headroom:])
	}
	if s.part != nil {
		s.free <- s.part
	}
	s.part = next
	return data, true, nil
}
