package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// comment returns the comment at the top: what the configuration extracts, how its lists are paged, which inputs to set,
// and where it comes from.
func (w *writer) comment(g *group, root value.Object) string {
	var lists []*Stream
	var pages, inputs []string
	for _, s := range g.streams {
		if !g.emitted[s] {
			continue
		}
		lists = append(lists, s)
		if p := s.Paging.inWords(); p != "" && len(p) < 70 && !slices.Contains(pages, p) {
			pages = append(pages, p)
		}
	}
	for _, in := range g.inputs {
		declared, _ := value.At(root, []string{"inputs", in.Name})
		if members, isDeclared := value.Members(declared); isDeclared && in.Default == nil && !in.Optional && members != nil {
			inputs = append(inputs, in.Name)
		}
	}
	text := inWords(lists) + "."
	if name := words(w.src.Name); name != "" && name != "config" {
		text = name + ": " + text
	}
	text = capital(text)
	if len(pages) > 0 && len(pages) < 4 {
		text += " " + capital(strings.Join(pages, "; ")) + "."
	}
	text += g.rereads()
	var set []string
	if len(inputs) > 0 {
		set = append(set, enumerated(inputs, 6))
	}
	if variables := environment(root); len(variables) > 0 {
		set = append(set, enumerated(variables, 4)+" in the environment")
	}
	if set != nil {
		text += " Set " + strings.Join(set, ", and ") + "."
	}
	text += " Imported from " + cmp.Or(w.src.From, w.src.Name) + "."
	return strings.Join(wording.Wrap(text, 98), "\n")
}

// rereads says which lists are read as a whole in every run, although only their new items are written, and why.
func (g *group) rereads() string {
	why := []string{"no request can ask for changes", "other lists need all of them"}
	names := map[string][]string{}
	for _, s := range g.streams {
		requests := text([]any{variables(s.For), s.Endpoint, object(s.Params), object(s.Body), object(s.Headers)})
		if !g.emitted[s] || !strings.Contains(s.Filter, "kept.") || strings.Contains(requests, "kept.") || s.Incremental.sends() {
			continue
		}
		reason := why[0]
		if slices.ContainsFunc(g.streams, func(t *Stream) bool { return t.needs(s) }) {
			reason = why[1]
		}
		names[reason] = append(names[reason], words(jobID(s)))
	}
	return strings.Join(lists.Map(why, func(reason string) string {
		if names[reason] == nil {
			return ""
		}
		return " Every run reads all " + enumerated(names[reason], 6) + ", because " + reason + ", and writes the new ones."
	}), "")
}

// environment returns the variables of the environment that a configuration reads, in their order.
func environment(v any) (names []string) {
	add := func(part any) {
		for _, name := range environment(part) {
			names = lists.AppendNew(names, name)
		}
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			add(e)
		}
	case value.Object:
		if name, has := v.Get("env"); has && len(v) == 1 {
			return []string{fmt.Sprint(name)}
		}
		for _, m := range v {
			add(m.Value)
		}
	}
	return names
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

// inWords returns the lists of streams for a comment: issues and users, and worklogs of each issue.
func inWords(streams []*Stream) string {
	const most = 8
	var kinds []string
	names := map[string][]string{}
	add := func(name, kind string) {
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], name)
	}
	for i, s := range streams {
		if i == most-1 && len(streams) > most {
			add(fmt.Sprintf("%d more", len(streams)-i), "")
			break
		}
		add(words(jobID(s)), s.kind())
	}
	joint := " and "
	parts := lists.Map(kinds, func(kind string) string {
		if len(names[kind]) > 1 {
			joint = ", and "
		}
		return enumerated(names[kind], most) + kind
	})
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + joint + parts[last]
	}
	return strings.Join(parts, "")
}

// kind returns how the list of a stream is divided, for a comment: of each issue.
func (s *Stream) kind() string {
	for _, v := range slices.Backward(s.For) {
		if v.Parent != nil && v.Parent.Name != s.Name {
			if v.Name == "parent" {
				return " of each " + Singular(words(v.Parent.Name))
			}
			return " of each " + words(v.Name)
		}
	}
	if s.Incremental != nil || len(s.Keep) > 0 {
		return " since the last run"
	}
	return ""
}

// words returns a name as words.
func words(name string) string { return strings.NewReplacer("-", " ", "_", " ").Replace(name) }

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
