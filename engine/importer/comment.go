package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/stopwhen/stopwhen/rules/value"
)

// comment returns the comment at the top: what the configuration extracts, how its lists are paged, which inputs to set,
// and where it comes from.
func (w *writer) comment(g *group, root value.Object) string {
	var lists, pages, inputs []string
	for _, s := range g.streams {
		if !g.emitted[s] {
			continue
		}
		lists = append(lists, s.inWords())
		if p := s.Paging.inWords(); p != "" && len(p) < 70 && !slices.Contains(pages, p) {
			pages = append(pages, p)
		}
	}
	for _, in := range g.inputs {
		declared, _ := value.At(root, []string{"inputs", in.Name})
		if members, isDeclared := value.Members(declared); isDeclared && in.Default == nil && members != nil {
			inputs = append(inputs, in.Name)
		}
	}
	text := enumerated(lists, 8) + "."
	if name := strings.NewReplacer("-", " ", "_", " ").Replace(w.src.Name); name != "" && name != "config" {
		text = name + ": " + text
	}
	text = capital(text)
	if len(pages) > 0 && len(pages) < 4 {
		text += " " + capital(strings.Join(pages, "; ")) + "."
	}
	if len(inputs) > 0 {
		text += " Set " + enumerated(inputs, 6) + "."
	}
	text += " Imported from " + cmp.Or(w.src.From, w.src.Name) + "."
	return strings.Join(value.Wrap(text, 98), "\n")
}

// enumerated returns the first names of a list as a text, and says how many there are besides.
func enumerated(names []string, most int) string {
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d more", len(names)-most+1))
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// capital returns a text with a capital letter at its beginning.
func capital(text string) string {
	for i, r := range text {
		return string(unicode.ToUpper(r)) + text[i+len(string(r)):]
	}
	return text
}

// inWords returns the list of a stream for a comment: worklogs of each issue.
func (s *Stream) inWords() string {
	name := strings.ReplaceAll(jobID(s), "_", " ")
	for _, v := range slices.Backward(s.For) {
		if v.Parent != nil {
			return name + " of each " + v.Name
		}
	}
	if s.Incremental != nil || len(s.Keep) > 0 {
		return name + " since the last run"
	}
	return name
}

// inWords says how pages follow each other, or "".
func (p *Paging) inWords() string {
	switch {
	case p == nil || p.Poll != "":
		return ""
	case p.Kind == Link:
		return "the `Link` header has the next page"
	case p.Kind == NextURL && p.Path != "":
		return "`" + p.Path + "` has the next page"
	case p.Into.Name == "":
		return ""
	case p.Kind == Pages:
		return "`" + p.Into.Name + "` counts the pages"
	case p.Kind == Offset:
		return "`" + p.Into.Name + "` counts the items"
	case p.Kind == Token && p.Path == p.Into.Name:
		return "`" + p.Path + "` of a page is sent with the next request"
	case p.Kind == Token && cmp.Or(p.Path, p.Header) != "":
		return "`" + p.Into.Name + "` carries `" + cmp.Or(p.Path, p.Header) + "`"
	case p.Kind == LastItem:
		return "`" + p.Into.Name + "` carries the `" + p.Path + "` of the last item"
	}
	return ""
}
