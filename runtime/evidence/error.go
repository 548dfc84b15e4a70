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

// maxErrorBody is the size of the largest body that is searched for an error: a body with an error
// in place of items is small.
const maxErrorBody = 1 << 20

// noticeError notices a body that reports an error despite a status of success: a page without
// items, a page with an error next to its data, or one whose last line is an error.
func (w *Watcher) noticeError() {
	c, f := w.Context, &w.Facts
	if f.Error != "" || c.Status >= http.StatusBadRequest || w.page.Lookup == nil || w.page.Bytes > maxErrorBody {
		return
	}
	signs := apinames.ErrorSigns()
	if c.Count > 0 {
		w.noticeObjectForList()
		if f.Error == "" && !w.listsErrors() {
			w.noticeErrorLine()
		}
		if f.Error != "" || !w.page.HasErrors || w.listsErrors() {
			return
		}
		signs = apinames.ErrorsNextToData()
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
			text, isText := v.(string)
			f.ErrorMild = c.Page == 1 && c.Count == 0 && w.page.HasField && isText && !apinames.Complains(text)
			return
		}
	}
	switch w.noticeErrorBeside(); {
	case f.Error != "":
	case w.page.Columns != nil:
		w.noticeStrangeHeader()
	case w.lostItems():
		w.noticeMessage(&page, "there is no list of items", apinames.Complains)
	case w.page.HasField && (c.Page == 1 || len(w.FirstPaths) > 0):
		w.noticeMessage(&page, "the list of items is empty", apinames.Fails)
	case c.Page == 1:
		w.noticeMessage(&page, "there is no list of items", apinames.Fails)
	}
}

// noticeErrorBeside notices an error next to the place of the items, on a page without items, if that
// place is within another object: {"users": {"error": "expired"}}.
func (w *Watcher) noticeErrorBeside() {
	field := w.Subject.job.Spec().DataField
	if field == nil || len(field.Keys) < 2 {
		return
	}
	parent := field.Keys[:len(field.Keys)-1]
	names := w.page.Names(parent)
	for _, sign := range apinames.ErrorsNextToData() {
		if name := sign.Keys[0]; len(sign.Keys) == 1 && slices.Contains(names, name) {
			path := append(slices.Clip(parent), name)
			if v, _ := w.lookup(path); sign.Reports(v) {
				w.Facts.Error, w.Facts.ErrorPage = rules.FormatPath("body", path)+" is "+shortText(v), w.Context.Page
				return
			}
		}
	}
}

// noticeErrorLine notices a page in NDJSON whose last line is an error: it has no member of the other
// lines. The only line of the first page is an error if [isErrorObject] says so.
func (w *Watcher) noticeErrorLine() {
	lines, f := w.page.Compared, &w.Facts
	if !w.page.Lines || len(lines) == 0 {
		return
	}
	last, ok := membersOf(lines[len(lines)-1])
	firstNames := w.FirstNames
	if len(lines) > 1 {
		first, _ := membersOf(lines[0])
		firstNames = namesOf(first)
	}
	if first := w.Context.Page == 1 && len(lines) == 1; !ok || slices.ContainsFunc(last, func(m rules.Member) bool {
		return first && !apinames.NamesError(m.Name) || !first && slices.Contains(firstNames, m.Name)
	}) {
		return
	}
	for _, sign := range apinames.ErrorSigns() {
		if v, has := last.Get(sign.Keys[0]); has && len(sign.Keys) == 1 && sign.Reports(v) {
			f.Error, f.ErrorPage = "its last line is "+shortText(last)+", which has no member of the other lines", w.Context.Page
			return
		}
	}
}

// noticeStrangeHeader notices a page in CSV that is a single line, and is not the header of the list: the
// line has no column of the first page, or is a sentence about a failure.
func (w *Watcher) noticeStrangeHeader() {
	columns, f := w.page.Columns, &w.Facts
	line := strings.Join(columns, ",")
	strange := len(w.FirstNames) > 0 && !slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(w.FirstNames, name) })
	if w.Context.Page > 1 && strange || strings.Contains(columns[0], " ") && apinames.Fails(line) {
		f.Error, f.ErrorPage = "its only line is "+shortText(line)+", which is not the header of the list", w.Context.Page
	}
}

// noticeMessage notices a message on a page without items, in its root or next to the place of the
// items, if the first page has no such message: {"message": "Rate limit exceeded"}. Beside an empty list
// on the first page, a caption does not count, since no page before shows that the API has none.
func (w *Watcher) noticeMessage(page *rules.Context, state string, complains func(message string) bool) {
	var parent []string
	if field := w.Subject.job.Spec().DataField; field != nil && len(field.Keys) > 0 {
		parent = field.Keys[:len(field.Keys)-1]
	}
	first := w.Context.Page == 1 && w.page.HasField
	for _, path := range apinames.ErrorMessages() {
		if first && apinames.IsCaption(path[len(path)-1]) {
			continue
		}
		read := language.Read{Root: "body", Path: path}
		v, _ := read.Lookup(page)
		near := len(path) == 1 || slices.Equal(path[:len(path)-1], parent)
		usual := w.Context.Page > 1 && slices.Contains(w.FirstPaths, read.String())
		if text, ok := v.(string); ok && near && !usual && complains(text) {
			f := &w.Facts
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+", and "+state, w.Context.Page
			return
		}
	}
}

// listsErrors reports whether the job lists errors on purpose.
func (w *Watcher) listsErrors() bool {
	job := w.Subject.job.Spec()
	return job.DataField == nil && strings.Contains(strings.ToLower(job.Endpoint), "error") ||
		job.DataField != nil && slices.ContainsFunc(apinames.ErrorsNextToData(), func(sign apinames.ErrorSign) bool {
			return slices.Equal(job.DataField.Keys, sign.Keys)
		})
}

// errorMessage returns the text of a body that describes the error at a path, apart from the value
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

// errorPaths are the paths that are searched for errors.
var errorPaths = sync.OnceValue(func() *document.Paths {
	paths := slices.Clone(apinames.ErrorMessages())
	for _, sign := range apinames.ErrorSigns() {
		paths = append(paths, sign.Keys)
	}
	return document.NewPaths(paths)
})

// noticeObjectForList notices an object in the place where the first page has a list, if it has no
// member of an item: {"data": {"code": 500}}. An object that is like an item may be the only item of
// a page. The first page has no earlier page to differ from, so there only an error counts; see
// [isErrorObject].
func (w *Watcher) noticeObjectForList() {
	c, f := w.Context, &w.Facts
	field := w.Subject.job.Spec().DataField
	if !w.page.Single || field == nil || w.page.Bytes > maxErrorBody {
		return
	}
	if c.Page == 1 {
		found, _ := w.lookup(field.Keys)
		if members, _ := value.Members(found); isErrorObject(members) {
			f.Error, f.ErrorPage = rules.FormatPath("body", field.Keys)+" is "+shortText(found)+", which is no list", c.Page
		}
		return
	}
	known := func(name string) bool { return slices.Contains(w.FirstNames, name) }
	if len(w.FirstNames) == 0 || slices.ContainsFunc(w.page.Names(field.Keys), known) {
		return
	}
	found, _ := w.lookup(field.Keys)
	f.Error = rules.FormatPath("body", field.Keys) + " is " + shortText(found) + ", where page 1 has a list, and has no member of its items"
	f.ErrorPage = c.Page
}

// isErrorObject reports whether an object has only members that errors usually have, and one of them
// says that there is an error.
func isErrorObject(object rules.Object) bool {
	reports := false
	for _, m := range object {
		if !apinames.NamesError(m.Name) {
			return false
		}
		text, _ := m.Value.(string)
		reports = reports || apinames.Fails(text) || slices.ContainsFunc(apinames.ErrorSigns(), func(sign apinames.ErrorSign) bool {
			return len(sign.Keys) == 1 && sign.Keys[0] == m.Name && sign.Reports(m.Value)
		})
	}
	return reports
}
