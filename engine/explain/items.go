package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// items says where the items of the job's responses are.
func (j explainer) items() ItemsExplanation {
	x := ItemsExplanation{From: j.Ruleset.ItemsFrom, Key: j.Spec().Key}
	response, field := j.Spec().Response, j.Spec().DataField
	if response.Format != rules.FormatJSON {
		x.Format = response.Format
	}
	switch {
	case x.Format == rules.FormatNDJSON:
		x.Where = "each line of the response (NDJSON)"
	case x.Format == rules.FormatCSV:
		x.objects = response.Columns != nil || response.Header
		x.Where = "each row of the response (CSV" + tableInWords(response) + "), " + rowInWords(response)
	case field == nil:
		x.Where = "the response if it is a list, otherwise the only list in its root (no dataField)"
		x.Otherwise = fmt.Sprintf("no list in an object, or status 204, is an empty page; several, or another response, fail the run (%s)",
			statusResponse)
		x.From = rules.Origin{By: rules.Author{Kind: rules.AuthorDefault}}
	case field.Lists != nil:
		x.Path, x.Where, x.ordered = field.Text, listsInWords(field.Lists), len(field.Lists) > 1
		if slices.ContainsFunc(field.Lists, func(l rules.ItemList) bool { return len(l.Fixed()) < len(l.Steps) }) {
			x.Where += " (* is every element of a list, or every member of an object)"
		}
		x.Otherwise = j.valuesOfItems("at one of them", "no item", field.Lists)
		if len(field.Lists) > 1 {
			x.Otherwise += "; the items of all lists are counted together"
		}
	case len(field.Keys) == 0:
		x.Path, x.Where = field.Text, wholeResponse
		x.Otherwise = fmt.Sprintf("null, or status 204, is an empty page; a text, number or boolean fails the run (%s)", statusResponse)
	default:
		x.Path, x.Where = field.Text, "at "+placeOf(field.Text, field.Keys)+" of the response"
		switch {
		case slices.ContainsFunc(field.Keys, isIndex):
			x.Where += " (a number is a place in a list, from 0, or a member of that name)"
		case strings.Contains(field.Text, `\*`):
			x.Where += ` (\* is a member named *)`
		case strings.Contains(field.Text, "*"):
			x.Where += " (* is a member of that name)"
		}
		x.Otherwise = j.valuesOfItems("there", "an empty page", nil)
	}
	if x.Format.IsLines() {
		x.Otherwise = "an empty body, or status 204, is an empty page"
	}
	if x.Format == rules.FormatCSV && response.Header {
		x.Otherwise = "an empty body, a header alone, or status 204, is an empty page"
	}
	if x.Format == rules.FormatCSV && response.Header && response.Columns == nil && response.Delimiter == 0 {
		x.Otherwise += fmt.Sprintf("; a header with another delimiter than a comma fails the run (%s)", statusResponse)
	}
	switch x.Format {
	case rules.FormatXML:
		x.Where += " (XML)"
		if field != nil && field.Lists == nil && len(field.Keys) == 0 {
			x.Otherwise = "an object with the root element as its member: " + elementInWords
		}
		if field != nil && len(field.Text) > 0 && field.Text != "." {
			x.Where += ", whose first name is that of the root element"
			if field.Lists == nil && len(field.Keys) == 1 {
				x.Where += ", so that this is the only item"
			}
		}
	case rules.FormatAuto:
		const detected = "(the format is that of Content-Type or, if it names none, JSON, NDJSON or XML by how the body begins"
		if slices.ContainsFunc(j.Spec().ItemPaths(), func(path []string) bool { return len(path) > 0 }) {
			x.Where += " " + detected + ")"
			x.Otherwise += fmt.Sprintf("; of XML, the path begins with the root element, and each element of this name is an item: %s; "+
				"NDJSON or CSV fails the run (%s)", elementInWords, statusResponse)
			break
		}
		x.Where += "; each line or row of NDJSON and CSV " + detected + tableInWords(response) +
			"; a row of CSV is " + rowInWords(response) + ")"
		if field == nil {
			x.Otherwise += ", and so does XML"
		} else {
			x.Otherwise += "; XML is one item, an object with the root element as its member: " + elementInWords
		}
	}
	return x
}

// valuesOfItems says which items the values at the paths of dataField have: there names the paths, and none is the
// consequence of having nothing.
func (j explainer) valuesOfItems(there, none string, lists []rules.ItemList) string {
	if j.Spec().Response.Format == rules.FormatXML {
		return "each element of this name is an item, also a single one: " + elementInWords + "; no such element, or status 204, is " + none
	}
	if j.Ruleset.Dialect.Switches().EmptyIsAbsent {
		return fmt.Sprintf(`the elements of a list %s are the items; `+
			`nothing, null, 0, "0", an empty text or false there, or status 204, is %s; `+
			"any other value is one item", there, none)
	}
	starred, response := 0, "as the response"
	for _, l := range lists {
		if slices.ContainsFunc(l.Steps, func(s rules.PathStep) bool { return s.All }) {
			response = "in place of the response, or of the list or object before *"
		}
		if n := len(l.Steps); n > 0 && l.Steps[n-1].All {
			starred++
		}
	}
	if starred > 0 && starred == len(lists) {
		return fmt.Sprintf("the elements of a list %s are items, and any other value except null is one item; nothing there, or "+
			"status 204, is %s; "+
			"a text, number or boolean in place of the response, or of the list or object before *, fails the run (%s)",
			there, none, statusResponse)
	}
	text := fmt.Sprintf("the elements of a list %s are the items, and an object is one item; nothing, null or {} there, or status "+
		"204, is %s; "+
		"a text, number or boolean there, or %s, fails the run (%s)",
		there, none, response, statusResponse)
	if starred > 0 {
		text += ", except at a path that ends with *, where any value except null is an item"
	}
	return text
}

// elementInWords says what an element of XML becomes.
const elementInWords = "a text, or an object if it has attributes (@name, with its text as #text) or children (a list if several have " +
	"one name, and \"\" if empty)"

// wholeResponse says where the items are if dataField is a dot.
const wholeResponse = "the elements of the response if it is a list, otherwise the response as one item"

// isIndex reports whether a key of a path may be an index of a list.
func isIndex(key string) bool {
	_, err := strconv.ParseUint(key, 10, 32)
	return err == nil
}

// placeOf returns the path of items as it is spelt or, if it has a delimiter other than a dot, with dots.
func placeOf(text string, keys []string) string {
	if strings.Contains(text, "*") || slices.Equal(keypath.Split(text), keys) {
		return text
	}
	return keypath.Join(keys...)
}

// listsInWords says where the items of several lists are, in their order.
func listsInWords(lists []rules.ItemList) string {
	var places []string
	for _, l := range lists {
		place := "at " + placeOf(l.Text, l.Fixed()) + " of the response"
		if len(l.Steps) == 0 {
			place = wholeResponse
		}
		if l.DataType != "" {
			place += " (" + l.DataType + ")"
		}
		places = append(places, place)
	}
	return strings.Join(places, ", then ")
}

// tableInWords says how CSV is read, if that is configured.
func tableInWords(r rules.ResponseFormat) string {
	out := ""
	if r.Delimiter != 0 {
		out += fmt.Sprintf(", delimiter %q", r.Delimiter)
	}
	switch {
	case r.Columns != nil:
		out += fmt.Sprintf(", columns %s", strings.Join(r.Columns, ", "))
		if r.Header {
			out += " in place of the names in the first row"
		} else {
			out += ", and the first row is an item"
		}
	case !r.Header:
		out += ", no header"
	}
	return out
}

// otherFields says what happens to a row of CSV that has another number of fields than there are columns.
var otherFields = fmt.Sprintf("; a row with more or fewer fields fails the run (%s)", statusResponse)

// rowInWords says what the item of a row of CSV is.
func rowInWords(r rules.ResponseFormat) string {
	switch {
	case r.Columns != nil:
		return "an object of texts" + otherFields
	case !r.Header:
		return "a list of texts, as many as it has fields"
	}
	return "an object of texts by the names in the first row" + otherFields
}

// A NeedExplanation is a value that items must have.
type NeedExplanation struct {
	Path string `json:"path" doc:"path in an item; empty: the item itself"`
	Rule string `json:"rule" doc:"id of the rule that fails the run if an item lacks it"`

	where  string // the end of the sentence: the pages on which the value is needed
	number bool   // a text must be a number
}

// needs returns the values that the rules of the job need of every item: greatest(items, "id") fails
// if an item has no id. cutOff are the outcomes with which the list may end although there may be more.
func (j explainer) needs(cutOff []string) (needs []NeedExplanation) {
	for _, e := range slices.Concat(j.Next, compile.Expressions(j.Stops), j.Parts, j.Keeps) {
		for _, keys := range neededKeys(e) {
			need := NeedExplanation{Path: keypath.Join(keys...), Rule: e.Rule.ID}
			switch e.Rule.Role {
			case rules.RoleNext:
				need.where = ", on any page but the last"
				need.number = readsIntegers(e) || slices.ContainsFunc(j.Parts, func(part *language.Expression) bool {
					return strings.Contains(part.Rule.Source, "number(state."+e.Rule.Target+")")
				})
			case rules.RoleKeep:
				need.where = " (also on the last page"
				if cutOff != nil {
					need.where += ", unless the list is " + wording.OrList(cutOff) + " there"
				}
				need.where += ")"
			}
			i := slices.IndexFunc(needs, func(had NeedExplanation) bool { return had.Path == need.Path })
			if i < 0 {
				needs = append(needs, need)
			} else if needs[i].where != "" {
				needs[i].where = need.where
			}
		}
	}
	return needs
}

// neededKeys returns the paths that an expression needs of every item.
func neededKeys(e *language.Expression) [][]string {
	if texts := e.Literals(); readsIntegers(e) && len(texts) > 0 {
		path, _ := texts[0].(string)
		return [][]string{keypath.Split(path)}
	}
	return e.NeededKeys()
}

// readsIntegers reports whether an expression reads the identifiers of items as integers.
func readsIntegers(e *language.Expression) bool {
	return slices.Contains(e.Calls(), "phpGreatest") || slices.Contains(e.Calls(), "phpLeast")
}

// String says when the run fails.
func (n NeedExplanation) String() string {
	text := "a text"
	if n.number {
		text = "the text of one"
	}
	if n.Path == "" {
		return fmt.Sprintf("an item is neither a number nor %s%s", text, n.where)
	}
	return fmt.Sprintf("an item has no %[1]s, or its %[1]s is neither a number nor %[2]s%[3]s", n.Path, text, n.where)
}
