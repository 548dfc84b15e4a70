package stress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A Server is the API of one row of a report as an HTTP server, for one run of the job. It answers any
// number of requests, one at a time, as the model has answered the requests of the row. Its clock is the
// clock of the system.
type Server struct {
	lock  sync.Mutex
	run   *run
	apiOf func(r *http.Request) (*api, error)
	job   *compile.Job // job of the row; nil if the row is about a tree of jobs
}

// Server returns the API of the row of a behaviour. It returns nil if the report has no such row.
func (j *JobReport) Server(behaviour string) *Server {
	i := slices.IndexFunc(j.Rows, func(r Row) bool { return r.Behaviour == behaviour })
	if j.modelled == nil || i < 0 {
		return nil
	}
	if j.Rows[i].Group == partitions {
		return j.tree.server(behaviour)
	}
	a := j.modelled.behaving(combinationOf(behaviour))
	a.base = "" // the first request sets it
	r := newRun(0)
	r.apis, r.rowOf = []*api{a}, a.rowOf
	return &Server{run: r, apiOf: func(*http.Request) (*api, error) { return a, nil }, job: j.modelled.job}
}

// server returns the API of a row about a tree of jobs. A request does not say which partition it is
// for, but the run of the row has made the same request.
func (t *tree) server(behaviour string) *Server {
	b := treeBehaviours[slices.IndexFunc(treeBehaviours, func(b *Behaviour) bool { return b.Name == behaviour })]
	asked := map[string][]runtime.Partition{}
	first := t.runWith(context.Background(), b)
	for i, a := range first.apis {
		for _, e := range a.exchanges {
			asked[e.request.key()] = append(asked[e.request.key()], first.partitions[i])
		}
	}
	r := t.newRun(b)
	return &Server{run: r.run, apiOf: func(request *http.Request) (*api, error) {
		q, err := requestOf(request)
		if err != nil {
			return nil, err
		}
		partitions := asked[q.key()]
		switch len(partitions) {
		case 0:
			return nil, errors.New("the run of the row did not make this request")
		case 1: // it may be repeated
		default:
			asked[q.key()] = partitions[1:]
		}
		return r.partition(partitions[0]), nil
	}}
}

// key identifies a request, whatever the connection adds to it.
func (q request) key() string {
	b := &strings.Builder{}
	for _, name := range q.names {
		if !slices.Contains(connectionHeaders, name) {
			fmt.Fprintf(b, "%s=%s\n", name, q.values[name])
		}
	}
	return b.String()
}

// connectionHeaders are the places of headers that depend on the connection.
var connectionHeaders = []string{"header Accept-Encoding", "header Connection", "header Content-Length", "header User-Agent"}

// ServeHTTP answers a request. A response that the API cuts off ends with its connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	sent := r.Clone(r.Context())
	sent.URL.Scheme, sent.URL.Host = "http", r.Host
	if r.TLS != nil {
		sent.URL.Scheme = "https"
	}
	response, err := s.respond(sent)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotImplemented)
		return
	}
	defer response.Body.Close()
	maps.Copy(w.Header(), response.Header)
	if response.StatusCode != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.FormatInt(response.ContentLength, 10))
	}
	w.WriteHeader(response.StatusCode)
	if _, err := io.Copy(w, response.Body); err != nil {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// respond returns the response of the model.
func (s *Server) respond(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	a, err := s.apiOf(r)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return a.respond(r, time.Now())
}

// Tally compares the items that a run has written, each as JSON, with the list. It returns how many
// of the items that were in the list during all of the run were obtained, how many are missing, and how
// often an item came again: the numbers of a [Row].
func (s *Server) Tally(items [][]byte) (obtained, missing, duplicated int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.run.obtained = map[int]int{}
	for _, text := range items {
		item, _ := document.Decode(text)
		s.run.obtained[s.run.rowOf(item)]++
	}
	if s.job == nil {
		delete(s.run.obtained, 0) // as for the row
	}
	served, missing, duplicated := s.run.tally()
	return served - missing, missing, duplicated
}

// Variables returns the values that the variables of the job have in the run of the row, by name. A
// window is a map with from and to. It returns nil if the job has no variables, or if the row is
// about several partitions.
func (s *Server) Variables() map[string]any {
	if s.job == nil {
		return nil
	}
	return sampleBinding(s.job)
}
