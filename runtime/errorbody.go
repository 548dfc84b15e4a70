package runtime

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// maxErrorBody limits the bodies in which an error is looked for: those that report
// one instead of items are small.
const maxErrorBody = 1 << 20

// noticeError notices a body that reports an error although the status is one of
// success: a page without items, or one with errors next to its data.
func (r *run) noticeError(reading document.Reading) {
	c, f := &r.Context.Value, &r.Noticed.Facts
	if f.Error != "" || c.Status >= http.StatusBadRequest || reading.Lookup == nil || reading.Bytes > maxErrorBody {
		return
	}
	signs := rules.ErrorSigns()
	if c.Count > 0 {
		if !reading.HasErrors || r.listsErrors() {
			return
		}
		signs = []rules.ErrorSign{rules.ErrorsNextToData}
	}
	body, err := reading.Lookup(errorPaths())
	if err != nil {
		return
	}
	page := rules.Context{Body: body}
	for _, sign := range signs {
		read := compile.Read{Root: "body", Path: sign.Keys}
		v, present := read.Lookup(&page)
		if present && sign.Reports(v) {
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+errorMessage(&page, sign.Keys), c.Page
			return
		}
	}
	if r.lostItems(reading) {
		r.noticeComplaint(&page)
	}
}

// noticeComplaint notices a message in the root of a page that has no list of items,
// if the first page has no such message: {"message": "Rate limit exceeded"}.
func (r *run) noticeComplaint(page *rules.Context) {
	for _, path := range rules.ErrorMessages() {
		read := compile.Read{Root: "body", Path: path}
		v, _ := read.Lookup(page)
		if text, ok := v.(string); ok && len(path) == 1 && !slices.Contains(r.Noticed.FirstPaths, read.String()) && rules.Complains(text) {
			f := &r.Noticed.Facts
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+", and there is no list of items", r.Context.Value.Page
			return
		}
	}
}

// listsErrors reports whether the items of the job are errors by intention.
func (r *run) listsErrors() bool {
	job := r.job.Set.Job
	return job.DataField != nil && slices.Equal(job.DataField.Keys, rules.ErrorsNextToData.Keys) ||
		job.DataField == nil && strings.Contains(strings.ToLower(job.Endpoint), "error")
}

// errorMessage returns what a body says about the error at a path, besides the value
// there.
func errorMessage(page *rules.Context, sign []string) string {
	for _, path := range rules.ErrorMessages() {
		read := compile.Read{Root: "body", Path: path}
		if v, present := read.Lookup(page); present && !slices.Equal(path, sign) {
			if text, ok := v.(string); ok && text != "" {
				return " (" + read.String() + ": " + value.Clip(text, 120) + ")"
			}
		}
	}
	return ""
}

// errorPaths are the paths at which errors are looked for.
var errorPaths = sync.OnceValue(func() *document.Paths {
	paths := slices.Clone(rules.ErrorMessages())
	for _, sign := range rules.ErrorSigns() {
		paths = append(paths, sign.Keys)
	}
	return document.NewPaths(paths)
})
