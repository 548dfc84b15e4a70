package rules

import (
	"cmp"
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// DataField says where the items of a response are.
type DataField struct {
	Keys []string // the keys of the first path, up to its first star; empty for the root
	Text string   // its spelling in the configuration

	// Lists are the paths, if there are several or a path has a star. If it is nil, Keys is the only path.
	Lists []ItemList
}

// ItemList is a path of items in a response.
type ItemList struct {
	Steps    []PathStep
	Text     string // its spelling in the configuration
	DataType string // the type of its items; "" is that of the job
}

// PathStep is one key of the path of items.
type PathStep struct {
	Key string // "" with All
	All bool   // a star: every element of a list, or every member of an object
}

// Fixed returns the keys before the first star.
func (l ItemList) Fixed() []string {
	var keys []string
	for _, s := range l.Steps {
		if s.All {
			break
		}
		keys = append(keys, s.Key)
	}
	return keys
}

// Places returns the keys of each path, up to its first star. There are none without a field.
func (f *DataField) Places() [][]string {
	switch {
	case f == nil:
		return nil
	case f.Lists == nil:
		return [][]string{f.Keys}
	}
	return lists.Map(f.Lists, ItemList.Fixed)
}

// DataTypes returns the types of the items of the job, each once, in the order of dataField.
func (j Job) DataTypes() []string {
	if j.DataField == nil || j.DataField.Lists == nil {
		return []string{j.DataType}
	}
	var types []string
	for _, l := range j.DataField.Lists {
		types = lists.AppendNew(types, cmp.Or(l.DataType, j.DataType))
	}
	return types
}

var dataFieldFields = []Field{
	{Name: "path", Kind: KindText, Required: true, Doc: "path of the items; in dialect `spec`, `*` is every element of a list or " +
		"every member of an object"},
	{Name: "delimiter", Kind: KindText, Default: ".", Doc: "separator of the keys in path"},
	{Name: "dataType", Kind: KindText, Doc: "type of the items at this path; default: that of the job"},
}

// dataField reads a path, {"path", "delimiter", "dataType"}, or a list of both. Dialect keboola has
// neither lists nor a dataType here.
func (d *decoder) dataField(s setting) *DataField {
	elements, several := s.Value.([]setting)
	if several && d.dialect.Switches().oneDataField {
		d.diags.Errorf(diag.Value(s.path()), "dialect %s has one dataField, not a list", d.dialect).
			WithHint("use dialect " + string(Spec) + ", or a job for each path")
		return nil
	}
	if !several {
		elements = []setting{s}
	}
	var lists []ItemList
	for _, element := range elements {
		list, ok := d.itemList(element, several)
		switch {
		case !ok:
		case slices.ContainsFunc(lists, func(l ItemList) bool { return slices.Equal(l.Steps, list.Steps) }):
			d.diags.Errorf(diag.Value(element.path()), "dataField has %s twice", list.Text).
				WithHint("keep one of them, so that no item is written twice")
		default:
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 {
		return nil
	}
	if lists[0].DataType != "" && d.dialect.Switches().oneDataField {
		d.diags.Errorf(diag.Value(s.path()), "dataField has no dataType in dialect %s", d.dialect).WithHint("set the dataType of the job")
	}
	field := &DataField{Keys: lists[0].Fixed(), Text: lists[0].Text}
	star := slices.ContainsFunc(lists[0].Steps, func(s PathStep) bool { return s.All })
	if len(lists) > 1 || star || lists[0].DataType != "" {
		field.Lists = lists
	}
	for _, l := range lists[1:] {
		field.Text += ", " + l.Text
	}
	return field
}

// itemList reads a path of items. It reports false if there is no valid path. In a list of
// paths, each is required.
func (d *decoder) itemList(s setting, required bool) (ItemList, bool) {
	given, delimiter, dataType := s.Value, ".", ""
	if object, ok := given.(settings); ok {
		if object.get("path").Invalid {
			return ItemList{}, false
		}
		given, delimiter, dataType = object.get("path").Value, object.get("delimiter").text(), object.get("dataType").text()
	}
	text, ok := value.Text(given)
	if _, isFlag := given.(bool); given != nil && (!ok || isFlag) || required && text == "" {
		d.diags.Errorf(diag.Value(s.path()), "want a path, got %s", describe(given)).
			WithHint("write a path like data.items, or . for the whole response")
		return ItemList{}, false
	}
	path := text
	if !d.dialect.Switches().plainTexts {
		var literal bool
		if path, literal = withoutBraces(text); !literal {
			const problem = "dataField %s has an expression in braces, and its path is the same in all requests"
			d.diags.Errorf(diag.Value(s.path()), problem, value.Preview(text)).
				WithHint("write * for a key that differs: data.*; {{ is a brace of a key")
			return ItemList{}, false
		}
	}
	d.warnOfJSONPath(s.path(), text, true)
	return ItemList{Steps: d.steps(d.split(path, delimiter)), Text: text, DataType: dataType}, text != ""
}

// withoutBraces returns a path with each doubled brace replaced by a single brace. It reports
// false if the path has an expression in braces, as an address may have.
func withoutBraces(text string) (string, bool) {
	parts, err := parseAddress(text)
	if err != nil || len(parts) > 1 {
		return "", false
	}
	return parts[0].text, true
}

// steps returns the steps of a path. A key that is a star is escaped: \*. In dialect keboola
// a star has no meaning.
func (r *reader) steps(keys []string) []PathStep {
	out, plain := make([]PathStep, len(keys)), r.dialect.Switches().plainPaths
	for i, key := range keys {
		switch {
		case key == "*" && !plain:
			out[i].All = true
		case key == `\*` && !plain:
			out[i].Key = "*"
		default:
			out[i].Key = key
		}
	}
	return out
}
