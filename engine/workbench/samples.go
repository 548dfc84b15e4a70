package workbench

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// A responseShape is the shape of the recorded responses of a job.
type responseShape struct {
	body    shape.Shape
	headers http.Header // of all pages
}

// samples are the shapes of a recording. They are read once, since they do not depend on what is being written
// as long as the jobs make the same requests.
type samples struct {
	once sync.Once
	jobs map[string]*responseShape
	all  responseShape // of every response
}

// maxSampled is the number of bytes of all bodies that are read.
const maxSampled = 8 << 20

// sampled returns the shape of the responses of a job, or of all jobs if there are none for the job. It returns
// nil without a recording.
func (d *Document) sampled(job string) *responseShape {
	if d.Recording == nil {
		return nil
	}
	d.samples.once.Do(func() { d.samples.read(d) })
	if s := d.samples.jobs[job]; s != nil {
		return s
	}
	return &d.samples.all
}

func (s *samples) read(d *Document) {
	s.jobs, s.all.headers = map[string]*responseShape{}, http.Header{}
	size := 0
	for _, x := range d.Recording.Exchanges {
		if size += len(x.ResponseBody); size > maxSampled {
			break
		}
		if json.Valid(x.ResponseBody) {
			_ = s.all.body.Add(x.ResponseBody)
			maps.Copy(s.all.headers, x.ResponseHeader)
		}
	}
	e, _ := d.engine()
	if e == nil {
		return
	}
	size = 0
	for job, pages := range recording.Samples(context.Background(), e, d.Recording).Pages {
		sample := &responseShape{headers: http.Header{}}
		for _, page := range pages {
			if size += len(page.Body); size <= maxSampled && json.Valid(page.Body) {
				_ = sample.body.Add(page.Body)
				maps.Copy(sample.headers, page.Header)
			}
		}
		s.jobs[job] = sample
	}
}

// shapeAt returns the shape of the values at a path, in which * and numbers are elements of a list. It returns
// nil if there are none.
func shapeAt(s *shape.Shape, path []string) *shape.Shape {
	for _, step := range path {
		if s == nil {
			return nil
		}
		_, notIndex := strconv.Atoi(step)
		switch member := s.Member(step); {
		case member != nil:
			s = member
		case step == "*" || notIndex == nil:
			s = s.Element
		default:
			return nil
		}
	}
	return s
}

// itemsOf returns the shape of the items of a job, or nil.
func (d *Document) itemsOf(job string) *shape.Shape {
	s := d.sampled(job)
	if s == nil {
		return nil
	}
	path, known := []string{}, false
	for _, n := range d.nameIndex().jobs {
		if jobID(n) != job {
			continue
		}
		field := n.Member("dataField")
		if field != nil && len(field.Inner) > 0 && field.Member("path") == nil {
			field = field.Inner[0]
		}
		if inner := field.Member("path"); inner != nil {
			field = inner
		}
		if field != nil && field.Text != "" {
			path, known = keypath.Split(field.Text), true
		}
	}
	list := shapeAt(&s.body, path)
	if !known {
		list = shapeAt(&s.body, strings.FieldsFunc(strings.TrimPrefix(onlyList(&s.body), "body"), func(c rune) bool { return c == '.' }))
	}
	if list == nil || list.Element == nil {
		return nil
	}
	return list.Element
}

// headerNames returns the names of the headers of a job's recorded responses.
func (d *Document) headerNames(job string) []string {
	s := d.sampled(job)
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.headers))
}

// pathsIn returns the paths in a shape, as settings write them: a.b.
func pathsIn(s *shape.Shape, visit func(path string, s *shape.Shape)) {
	var walk func(s *shape.Shape, path []string, left int)
	walk = func(s *shape.Shape, path []string, left int) {
		for _, m := range s.Members {
			inner := append(slices.Clone(path), m.Name)
			visit(keypath.Join(inner...), &m.Shape)
			if left > 0 {
				walk(&m.Shape, inner, left-1)
			}
		}
	}
	walk(s, nil, 3)
}
