package lsp

import (
	"context"
	"fmt"
	"strings"

	"github.com/creachadair/jrpc2"

	"github.com/stopwhen/stopwhen/engine/workbench"
)

// The numbers by which the protocol names severities, and kinds of completions and symbols.
var (
	severities      = map[string]int{"error": 1, "warning": 2}
	completionKinds = map[string]int{"key": 10, "value": 12, "field": 5, "function": 3, "variable": 6, "path": 5, "header": 12}
	symbolKinds     = map[string]int{
		"object": 19, "list": 18, "value": 7, "job": 5, "test": 6, "input": 13, "scroller": 11,
	}
)

func diagnosticOf(d workbench.Diagnostic) map[string]any {
	text := d.Message
	if d.Hint != "" {
		text += "; " + d.Hint
	}
	return map[string]any{"range": d.Range, "severity": severities[d.Severity], "source": "stopwhen", "message": text}
}

// markdown returns documentation.
func markdown(text string) any {
	return map[string]string{"kind": "markdown", "value": text}
}

func (s *server) completion(_ context.Context, f *openFile, q question) (any, error) {
	items := []map[string]any{}
	for i, c := range f.document.Completion(q.At) {
		item := map[string]any{
			"label": c.Label, "kind": completionKinds[c.Kind], "textEdit": c.Edit,
			"filterText": filterText(f.document, c), "sortText": fmt.Sprintf("%04d", i),
		}
		if c.Detail != "" {
			item["detail"] = c.Detail
		}
		if c.Doc != "" {
			item["documentation"] = markdown(c.Doc)
		}
		items = append(items, item)
	}
	return map[string]any{"isIncomplete": false, "items": items}, nil
}

// filterText returns the text that the client matches against the typed text, including its opening quote.
func filterText(d *workbench.Document, c workbench.Completion) string {
	if before := workbench.Slice(d.Text, c.Edit.Range); before != "" && strings.ContainsAny(before[:1], `"'`) {
		return before[:1] + c.Label
	}
	return c.Label
}

func (s *server) hover(_ context.Context, f *openFile, q question) (any, error) {
	h := f.document.Hover(q.At)
	if h == nil {
		return nil, nil
	}
	return map[string]any{"range": h.Range, "contents": markdown(h.Text)}, nil
}

// A location is a part of a document.
type location struct {
	URI   string          `json:"uri"`
	Range workbench.Range `json:"range"`
}

func locations(uri string, ranges []workbench.Range) []location {
	locations := []location{}
	for _, r := range ranges {
		locations = append(locations, location{uri, r})
	}
	return locations
}

func (s *server) definition(_ context.Context, f *openFile, q question) (any, error) {
	return locations(f.uri, f.document.Definition(q.At)), nil
}

func (s *server) references(_ context.Context, f *openFile, q question) (any, error) {
	references := f.document.References(q.At)
	if q.Context.IncludeDeclaration {
		return locations(f.uri, references), nil
	}
	given := map[workbench.Range]bool{}
	for _, r := range f.document.Definition(q.At) {
		given[r] = true
	}
	ranges := []workbench.Range{}
	for _, r := range references {
		if !given[r] {
			ranges = append(ranges, r)
		}
	}
	return locations(f.uri, ranges), nil
}

func (s *server) highlights(_ context.Context, f *openFile, q question) (any, error) {
	list := []map[string]any{}
	for _, r := range f.document.References(q.At) {
		list = append(list, map[string]any{"range": r})
	}
	return list, nil
}

func (s *server) prepareRename(_ context.Context, f *openFile, q question) (any, error) {
	r, name, ok := f.document.Renamable(q.At)
	if !ok {
		return nil, nil
	}
	return map[string]any{"range": r, "placeholder": name}, nil
}

func (s *server) rename(_ context.Context, f *openFile, q question) (any, error) {
	edits, err := f.document.Rename(q.At, q.Name)
	if err != nil {
		return nil, jrpc2.Errorf(requestFailed, "%v", err)
	}
	return workspaceEdit(f, edits), nil
}

// requestFailed is the code of the protocol for a request that cannot be met.
const requestFailed jrpc2.Code = -32803

// workspaceEdit returns edits of a document.
func workspaceEdit(f *openFile, edits []workbench.Edit) any {
	return map[string]any{"changes": map[string]any{f.uri: edits}}
}

func (s *server) symbols(_ context.Context, f *openFile, _ question) (any, error) {
	return symbolsOf(f.document.Symbols()), nil
}

func symbolsOf(symbols []workbench.Symbol) []map[string]any {
	list := []map[string]any{}
	for _, symbol := range symbols {
		item := map[string]any{
			"name": symbol.Name, "kind": symbolKinds[symbol.Kind], "range": symbol.Range, "selectionRange": symbol.Selected,
		}
		if symbol.Detail != "" {
			item["detail"] = symbol.Detail
		}
		if len(symbol.Inner) > 0 {
			item["children"] = symbolsOf(symbol.Inner)
		}
		list = append(list, item)
	}
	return list
}

func (s *server) inlays(_ context.Context, f *openFile, q question) (any, error) {
	list := []map[string]any{}
	for _, inlay := range f.document.Inlays(q.Range) {
		list = append(list, map[string]any{"position": inlay.At, "label": inlay.Label, "tooltip": markdown(inlay.Doc), "paddingLeft": true})
	}
	return list, nil
}

func (s *server) format(_ context.Context, f *openFile, _ question) (any, error) {
	return f.document.Format(), nil
}

// actions returns the fixes of the diagnostics in a part of the text.
func (s *server) actions(_ context.Context, f *openFile, q question) (any, error) {
	list := []map[string]any{}
	for _, d := range f.diagnostics() {
		if d.Fix == nil || after(d.Range.Start, q.Range.End) || after(q.Range.Start, d.Range.End) {
			continue
		}
		list = append(list, map[string]any{
			"title": d.Fix.Title, "kind": "quickfix", "isPreferred": true, "diagnostics": []any{diagnosticOf(d)},
			"edit": workspaceEdit(f, d.Fix.Edits),
		})
	}
	return list, nil
}

// after reports whether a position is after another.
func after(a, b workbench.Position) bool {
	return a.Line > b.Line || a.Line == b.Line && a.Character > b.Character
}
