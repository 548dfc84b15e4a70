package store

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A denial is a permission that the server has refused. It refuses silently: the request
// times out, and the connection is told.
type denial struct {
	subject string
	receive bool // the user may not subscribe to it; otherwise it may not publish to it
}

func (d *denial) Error() string {
	if d.receive {
		return "the NATS user may not subscribe to " + d.subject
	}
	return "the NATS user may not publish to " + d.subject
}

// explain returns the error of what could not be done.
func (d *denial) explain(what string) error {
	failed := &failure.Error{Class: failure.Config, Op: "store", Message: what + ": " + d.Error(), Err: d,
		Hint: "give the user this permission, or connect with another user"}
	if stream, creates := d.creates(); creates {
		failed.Message = "nothing has been submitted yet: the stream " + stream + " does not exist, and " + d.Error()
		failed.Hint = "submit a run first, with a user who may create streams"
		failed.Err = errors.Join(d, ErrEmpty)
	}
	return failed
}

// creates returns the name of the stream that could not be created.
func (d *denial) creates() (stream string, ok bool) {
	_, stream, ok = strings.Cut(d.subject, ".STREAM.CREATE.")
	return stream, ok
}

var deniedSubject = regexp.MustCompile(`(?i)violation for (publish|subscription) to "([^"]+)"`)

// denialOf reads the error that a connection is told.
func denialOf(err error) (*denial, bool) {
	found := deniedSubject.FindStringSubmatch(err.Error())
	if found == nil {
		return nil, false
	}
	return &denial{subject: found[2], receive: strings.EqualFold(found[1], "subscription")}, true
}

// isAbout reports whether the subject of a denial is one of a stream: of its messages, or of
// requests about it.
func (d *denial) isAbout(stream string) bool {
	own := []string{workSubject}
	if bucket, ok := strings.CutPrefix(stream, "KV_"); ok {
		own = []string{"$KV." + bucket + "."}
	} else if run, ok := strings.CutPrefix(stream, runStream); ok {
		own = []string{pageSubject + run + "."}
	} else if stream != workStream {
		own = nil
	}
	if slices.ContainsFunc(own, func(subject string) bool { return strings.Contains(d.subject, subject) }) {
		return true
	}
	return slices.Contains(strings.Split(d.subject, "."), stream)
}

// denials tell those who wait for an answer that there will be none.
type denials struct {
	mu      sync.Mutex
	watches map[*deniedWatch]bool
}

// A deniedWatch waits for a denial about a stream.
type deniedWatch struct {
	all    *denials
	stream string
	told   func()        // called once
	denied chan struct{} // closed at the first denial
	denial *denial       // valid after denied is closed
}

// watch watches a stream until end is called. told is called at the first denial; it may be
// nil.
func (d *denials) watch(stream string, told func()) *deniedWatch {
	w := &deniedWatch{all: d, stream: stream, told: told, denied: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watches == nil {
		d.watches = map[*deniedWatch]bool{}
	}
	d.watches[w] = true
	return w
}

func (w *deniedWatch) end() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	delete(w.all.watches, w)
}

// err returns what was denied, or nil.
func (w *deniedWatch) err() error {
	select {
	case <-w.denied:
		return w.denial
	default:
		return nil
	}
}

// tell tells those that wait. It reports whether anybody does.
func (d *denials) tell(err error) (awaited bool) {
	denial, ok := denialOf(err)
	if !ok {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.watches {
		if !denial.isAbout(w.stream) {
			continue
		}
		awaited = true
		if w.denial == nil {
			w.denial = denial
			close(w.denied)
			if w.told != nil {
				w.told()
			}
		}
	}
	return awaited
}

// deniedFor explains an error that may be a denial.
func deniedFor(what string, err error) (error, bool) {
	denial, ok := errors.AsType[*denial](err)
	if !ok {
		return err, false
	}
	return denial.explain(what), true
}
