//go:build unix

package main

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
)

// A frame is one command of the NATS protocol, as it is sent: a line and, for messages, what
// follows it.
type frame struct {
	verb    string   // MSG, HMSG, PUB, HPUB or another one
	args    []string // of the line
	subject string   // of a message
	reply   string   // of a message; empty: nobody waits for an answer
	headers string   // of a message
	body    []byte   // of a message
	raw     []byte
}

// cut cuts the first complete frame from what was read or written so far. It reports false
// if there is none yet.
func cut(stream []byte) (f frame, rest []byte, ok bool) {
	end := bytes.Index(stream, []byte("\r\n"))
	if end < 0 {
		return frame{}, stream, false
	}
	fields := strings.Fields(string(stream[:end]))
	if len(fields) == 0 {
		return frame{raw: stream[:end+2]}, stream[end+2:], true
	}
	f.verb, f.args = strings.ToUpper(fields[0]), fields[1:]
	start := end + 2
	var sizes, subjects int
	switch f.verb {
	case "PUB":
		sizes, subjects = 1, 1
	case "HPUB":
		sizes, subjects = 2, 1
	case "MSG":
		sizes, subjects = 1, 2
	case "HMSG":
		sizes, subjects = 2, 2
	default:
		f.raw = stream[:start]
		return f, stream[start:], true
	}
	total, _ := strconv.Atoi(f.args[len(f.args)-1])
	if len(stream) < start+total+2 {
		return frame{}, stream, false
	}
	f.subject = f.args[0]
	if len(f.args) == sizes+subjects+1 {
		f.reply = f.args[subjects]
	}
	head := 0
	if sizes == 2 {
		head, _ = strconv.Atoi(f.args[len(f.args)-2])
	}
	f.headers, f.body = string(stream[start:start+head]), stream[start+head:start+total]
	f.raw = stream[:start+total+2]
	return f, stream[start+total+2:], true
}

// withHeaders returns a published frame with other headers.
func (f frame) withHeaders(headers string) []byte {
	line := "HPUB " + f.subject + " "
	if f.reply != "" {
		line += f.reply + " "
	}
	line += strconv.Itoa(len(headers)) + " " + strconv.Itoa(len(headers)+len(f.body)) + "\r\n"
	return bytes.Join([][]byte{[]byte(line + headers), f.body, []byte("\r\n")}, nil)
}

// header returns the value of a header; empty: it has none.
func (f frame) header(name string) string {
	_, rest, found := strings.Cut(f.headers, "\r\n"+name+":")
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return strings.TrimSpace(value)
}

// A wire is a connection to a NATS server that can see and change what goes over it.
type wire struct {
	net.Conn
	faults *faults

	mu       sync.Mutex // of what is sent
	unsent   []byte     // the beginning of a frame
	received []byte     // the beginning of a frame
	ready    []byte     // to be read
}

// Write passes on complete frames.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unsent = append(w.unsent, p...)
	for {
		f, rest, ok := cut(w.unsent)
		if !ok {
			w.unsent = bytes.Clone(rest)
			return len(p), nil
		}
		w.unsent = rest
		raw := w.faults.sending(w, f)
		if _, err := w.Conn.Write(raw); err != nil {
			return 0, err
		}
		w.faults.sent(w, f)
	}
}

// Read returns complete frames.
func (w *wire) Read(p []byte) (int, error) {
	chunk := make([]byte, 64<<10)
	for len(w.ready) == 0 {
		n, err := w.Conn.Read(chunk)
		if err != nil {
			return 0, err
		}
		w.received = append(w.received, chunk[:n]...)
		for {
			f, rest, ok := cut(w.received)
			w.received = rest
			if !ok {
				break
			}
			if !w.faults.receiving(w, f) {
				_ = w.Close()
				return 0, net.ErrClosed
			}
			w.ready = append(w.ready, f.raw...)
		}
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

// publish sends a message of its own.
func (w *wire) publish(subject, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.Conn.Write([]byte("PUB " + subject + " " + strconv.Itoa(len(body)) + "\r\n" + body + "\r\n"))
}

// A dialer connects to a NATS server over wires.
type dialer struct{ faults *faults }

// Dial implements the dialer of package nats.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	var plain net.Dialer
	conn, err := plain.DialContext(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, faults: d.faults}, nil
}
