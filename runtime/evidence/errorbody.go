package evidence

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// maxErrorBody limits the bodies in which an error is looked for: those that report
// one instead of items are small.
const maxErrorBody = 1 << 20

// noticeError notices a body that reports an error although the status is one of
// success: a page without items, or one with errors next to its data.
func (w *Watcher) noticeError() {
	c, f := w.Context, &w.Facts
	if f.Error != "" || c.Status >= http.StatusBadRequest || w.page.Lookup == nil || w.page.Bytes > maxErrorBody {
		return
	}
	signs := apinames.ErrorSigns()
	if c.Count > 0 {
		if !w.page.HasErrors || w.listsErrors() {
			return
		}
		signs = []apinames.ErrorSign{apinames.ErrorsNextToData}
	}
	body, err := w.page.Lookup(errorPaths())
	if err != nil {
		return
	}
	page := rules.Context{Body: body}
	for _, sign := range signs {
		read := language.Read{Root: "body", Path: sign.Keys}
		v, present := read.Lookup(&page)
		if present && sign.Reports(v) {
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+errorMessage(&page, sign.Keys), c.Page
			return
		}
	}
	if w.lostItems() {
		w.noticeComplaint(&page)
	}
}

// noticeComplaint notices a message in the root of a page that has no list of items,
// if the first page has no such message: {"message": "Rate limit exceeded"}.
func (w *Watcher) noticeComplaint(page *rules.Context) {
	for _, path := range apinames.ErrorMessages() {
		read := language.Read{Root: "body", Path: path}
		v, _ := read.Lookup(page)
		if text, ok := v.(string); ok && len(path) == 1 && !slices.Contains(w.FirstPaths, read.String()) && apinames.Complains(text) {
			f := &w.Facts
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+", and there is no list of items", w.Context.Page
			return
		}
	}
}

// listsErrors reports whether the items of the job are errors by intention.
func (w *Watcher) listsErrors() bool {
	job := w.Subject.job.Set.Job
	return job.DataField != nil && slices.Equal(job.DataField.Keys, apinames.ErrorsNextToData.Keys) ||
		job.DataField == nil && strings.Contains(strings.ToLower(job.Endpoint), "error")
}

// errorMessage returns what a body says about the error at a path, besides the value
// there.
func errorMessage(page *rules.Context, sign []string) string {
	for _, path := range apinames.ErrorMessages() {
		read := language.Read{Root: "body", Path: path}
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
	paths := slices.Clone(apinames.ErrorMessages())
	for _, sign := range apinames.ErrorSigns() {
		paths = append(paths, sign.Keys)
	}
	return document.NewPaths(paths)
})
