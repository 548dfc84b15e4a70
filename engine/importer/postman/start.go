package postman

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
)

// fromStart lets the list begin at its first page, although the request was saved when it asked for a later one: parameters that
// say where to begin are left out. It returns the pagination without that place.
func (t *translation) fromStart(pagination value.Object) value.Object {
	text := ""
	later := func(m importer.Member) bool {
		name := strings.TrimPrefix(m.Name, "#")
		text = t.textOf(m.Value)
		_, err := times.Parse(text)
		isToken := get(pagination, "queryParam") == name || get(pagination, "param") == name
		return err != nil && (apinames.IsLater(name, text) || isToken && apinames.IsLaterPosition(text))
	}
	for _, list := range t.parameterLists() {
		for i, m := range slices.Backward(*list) {
			if !later(m) {
				continue
			}
			*list = slices.Delete(*list, i, i+1)
			name := strings.TrimPrefix(m.Name, "#")
			t.late = append(t.late, name+"="+text)
			change := "is left out"
			switch _, has := pagination.Get("offsetFromJob"); {
			case has && countsFromOne(pagination, text):
				change = "becomes 1"
				*list = slices.Insert(*list, i, importer.Named(m.Name, importer.Constant(1)))
			case has:
				pagination = pagination.Without("offsetFromJob")
			}
			t.note(importer.Check, "request", "pagination",
				"The request was saved for a later page: its %s %s, so that the list is read from its beginning", name, change)
		}
	}
	if first, _ := get(pagination, "firstPage").(int); first > 1 {
		name, _ := value.Text(get(pagination, "pageParam"))
		t.late = append(t.late, name+"="+strconv.Itoa(first))
		t.note(importer.Approximate, "request", "pagination.firstPage",
			"The request was saved for page %d; the list is read from page 1. If the API counts pages from 0, set firstPage to 0", first)
		pagination = pagination.With("firstPage", 1)
	}
	return pagination
}

// parameterLists returns the variables of GraphQL, the parameters and the members of the body of the request.
func (t *translation) parameterLists() []*[]importer.Member {
	outer := []*[]importer.Member{&t.out.Params, &t.out.Body}
	var inner []*[]importer.Member
	for _, list := range outer {
		for i := range *list {
			if m := &(*list)[i]; m.Name == "variables" && m.Value.Object != nil {
				inner = append(inner, &m.Value.Object)
			}
		}
	}
	return append(inner, outer...)
}

// textOf returns the text of a value, or x in the place of one that is not known.
func (t *translation) textOf(v importer.Value) string {
	name, isInput := strings.CutPrefix(v.Source, "input.")
	if i := slices.IndexFunc(t.src.Inputs, func(in importer.Input) bool { return in.Name == name }); isInput && i >= 0 {
		v.Const = t.src.Inputs[i].Default
		if v.Const == nil {
			return "x"
		}
	}
	text, _ := value.Text(v.Const)
	return text
}

// countsFromOne reports whether the index of an item is that of a page of an API that counts items from 1: 21, with pages of
// 20 items.
func countsFromOne(pagination value.Object, text string) bool {
	limit, _ := get(pagination, "limit").(int)
	n, err := strconv.Atoi(text)
	return err == nil && limit > 1 && n%limit == 1
}

// isSettled reports whether a doubt of detect is about where the list begins, which fromStart has changed.
func (t *translation) isSettled(doubt string) bool {
	return slices.ContainsFunc(t.late, func(parameter string) bool { return strings.Contains(doubt, parameter) })
}
