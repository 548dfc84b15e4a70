package airbyte

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/engine/importer/jinja"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// response reads the decoder and the record selector.
func (t *translation) response(retriever node) error {
	if err := t.decoder(retriever.get("decoder")); err != nil {
		return err
	}
	selector := retriever.get("record_selector")
	if selector.kind() == "Custom" {
		return custom("record selector", selector)
	}
	selector.mark("record_filter", "transform_before_filtering", "schema_normalization")
	extractor := selector.get("extractor")
	switch kind := extractor.kind(); kind {
	case "", "DpathExtractor":
	case "Custom":
		return custom("extractor", extractor)
	default:
		return fmt.Errorf("%s: the extractor %s is not translated", extractor.path, kind)
	}
	if expander := extractor.get("record_expander"); expander.given() {
		return fmt.Errorf("%s: lists within records (record_expander) are not expanded", expander.path)
	}
	path := extractor.get("field_path")
	if !path.given() {
		path = extractor.get("field_pointer")
	}
	extractor.mark("decoder", "field_path", "field_pointer")
	var keys []string
	for _, n := range path.list() {
		e, err := t.one(n)
		if err != nil {
			return err
		}
		if !e.Constant {
			return fmt.Errorf("%s: the path of the records is computed, which is not translated: %s", n.path, n.text())
		}
		key := fmt.Sprint(e.Const)
		if strings.Contains(key, "*") && key != "*" {
			return fmt.Errorf("%s: the path of the records is a pattern, which is not translated: %s", n.path, key)
		}
		if e.Const != nil && key != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) > 0 {
		t.out.Items = keypath.Join(keys...)
	}
	return nil
}

// decoder reads the format of the responses.
func (t *translation) decoder(n node) error {
	format := ""
	switch kind := n.kind(); kind {
	case "", "JsonDecoder":
	case "JsonlDecoder":
		format = "ndjson"
	case "XmlDecoder":
		format = "xml"
		t.note(importer.Approximate, n, "response",
			"empty elements are null there, and texts have no white space around them; here they are as they are written")
	case "GzipDecoder", "GzipJsonDecoder":
		return t.decoder(n.get("decoder"))
	case "CompositeRawDecoder", "CsvDecoder":
		return t.parser(n)
	case "Custom":
		return custom("decoder", n)
	default:
		return fmt.Errorf("%s: the decoder %s is not translated", n.path, kind)
	}
	t.format(format)
	return nil
}

func (t *translation) format(format string) {
	if format != "" {
		t.out.Response = append(t.out.Response, importer.Member{Name: "format", Value: importer.Constant(format)})
	}
}

// parser reads the parser of a CompositeRawDecoder.
func (t *translation) parser(n node) error {
	parser := n.get("parser")
	if n.kind() == "CsvDecoder" {
		parser = n
	}
	for parser.own("type").text() == "GzipParser" {
		parser = parser.get("inner_parser")
	}
	switch kind := parser.own("type").text(); kind {
	case "JsonParser":
	case "JsonLineParser":
		t.format("ndjson")
	case "CsvParser", "CsvDecoder":
		t.format("csv")
		if e := strings.ToLower(parser.get("encoding").text()); e != "" && e != "utf-8" && e != "utf8" {
			t.note(importer.Approximate, parser.get("encoding"), "response", "the text is read as UTF-8, unless the response says otherwise")
		}
		if parser.get("set_values_to_none").given() {
			t.note(importer.Partial, parser.get("set_values_to_none"), "fields", "the values that stand for nothing there stay as they are")
		}
		if d := parser.get("delimiter").text(); d != "" && d != "," {
			t.out.Response = append(t.out.Response, importer.Member{Name: "delimiter", Value: importer.Constant(strings.ReplaceAll(d, `\t`, "\t"))})
		}
	default:
		return fmt.Errorf("%s: the parser %s is not translated", parser.path, kind)
	}
	return nil
}

// recordScope returns the names that filters and transformations read.
func (t *translation) recordScope(n node) jinja.Scope {
	record := jinja.Members("item", func(keys []string) (jinja.Expr, error) {
		e, err := t.itemMember("item", keys)
		e.Absent, e.Root, e.Keys = true, "item", keys
		switch _, changed := t.overlay[keypath.Join(keys...)]; {
		case err != nil || e.Constant:
		case changed:
			e = e.OfRecord(jinja.Literal(true))
		default:
			above := append(slices.Clone(t.itemPath), keys[:len(keys)-1]...)
			e = e.OfRecord(jinja.Has(keypath.Format("item", above), keys[len(keys)-1]))
		}
		return e, err
	})
	record.Kind = jinja.Any
	scope := t.scope(n, jinja.Literal(nil))
	return scope.With("record", record)
}

// transformations reads the filter and the changes of the records, in the order in which they happen.
func (t *translation) transformations(s, retriever node) error {
	selector := retriever.get("record_selector")
	filter := selector.get("record_filter")
	order, interval := selector.get("transform_before_filtering"), t.cursorNode()
	first := order.flag() || !order.given() && interval.get("is_client_side_incremental").flag() && !interval.get("is_data_feed").flag()
	if !first {
		if err := t.filter(filter); err != nil {
			return err
		}
	}
	list := s.get("transformations").list()
	if len(list) == 0 {
		list = selector.get("transformations").list()
	}
	for _, one := range list {
		if err := t.transformation(one); err != nil {
			return err
		}
	}
	if first {
		return t.filter(filter)
	}
	return nil
}

func (t *translation) filter(n node) error {
	if !n.given() {
		return nil
	}
	if n.kind() == "Custom" {
		return custom("record filter", n)
	}
	condition := n.get("condition")
	if condition.text() == "" {
		return nil
	}
	truth, err := t.condition(condition)
	if err != nil {
		return err
	}
	if truth.Constant {
		if truth.Const == false {
			t.out.Filter = "false"
		}
		return nil
	}
	t.out.Filter = truth.Source
	return nil
}

// condition reads a condition over a record, and notes the cases in which it differs.
func (t *translation) condition(n node) (jinja.Expr, error) {
	truth, doubts, err := jinja.Condition(n.text(), t.recordScope(n))
	if err != nil {
		return jinja.Expr{}, fmt.Errorf("%s: %w", n.path, err)
	}
	for _, doubt := range doubts {
		t.note(importer.Approximate, n, "", "%s", doubt)
	}
	return truth, nil
}

// transformation reads one change of the records.
func (t *translation) transformation(n node) error {
	switch kind := n.kind(); kind {
	case "AddFields":
		return t.addFields(n)
	case "RemoveFields":
		t.removeFields(n)
	case "DpathFlattenFields":
		t.flatten(n)
	case "KeysToLower", "KeysToSnakeCase", "FlattenFields", "KeysReplace":
		n.mark("flatten_lists", "old", "new")
		t.note(importer.Partial, n, "", "the names of members are not changed (%s): the items have them as the API sends them", kind)
	case "Custom":
		t.note(importer.Partial, n, "", "a custom transformation (%s) is Python and is left out: the items are as the API sends them", n.class())
		for _, m := range n.members() {
			n.mark(m.name)
		}
	default:
		return fmt.Errorf("%s: the transformation %s is not known", n.path, kind)
	}
	return nil
}

// set notes a change of a member of the items.
func (t *translation) set(path, source string) {
	t.overlay[path] = source
	name := keypath.Join(append(slices.Clone(t.itemPath), keypath.Split(path)...)...)
	i := slices.IndexFunc(t.out.Fields, func(f importer.Field) bool { return f.Name == name })
	if i >= 0 {
		t.out.Fields[i].Source = source
		return
	}
	t.out.Fields = append(t.out.Fields, importer.Field{Name: name, Source: source})
}

func (t *translation) addFields(n node) error {
	n.mark("condition")
	for _, f := range n.get("fields").list() {
		var keys []string
		for _, k := range f.get("path").list() {
			keys = append(keys, t.plain(k))
		}
		if len(keys) == 0 {
			continue
		}
		v := f.get("value")
		e := jinja.Literal(v.v)
		if text, isText := v.v.(string); isText {
			var err error
			if e, err = jinja.Translate(text, t.recordScope(v)); err != nil {
				t.note(importer.Partial, v, "", "the member %s is left out: %v", strings.Join(keys, "."), err)
				continue
			}
			if constant, isText := e.Const.(string); isText && e.Constant && f.get("value_type").text() != "string" {
				e = jinja.Literal(literalOf(constant))
			}
		}
		f.mark("value_type")
		if e.Kind == jinja.Time {
			e = jinja.Joined([]jinja.Expr{e})
		}
		source, never := e.Source, false
		for _, c := range []node{n.get("condition"), f.get("condition")} {
			if c.text() == "" {
				continue
			}
			truth, err := t.condition(c)
			if err != nil {
				return err
			}
			if !truth.Constant {
				source = fmt.Sprintf("%s ? %s : %s", truth.Operand(), e.Operand(), keypath.Format("item", keys))
				t.note(importer.Approximate, c, "",
					"where the condition is false, the member is not added there; here it is null in an item that lacks it")
			} else if truth.Const == false {
				never = true
			}
		}
		if never {
			continue
		}
		if cursor := t.cursorNode(); cursor.get("cursor_field").text() != strings.Join(keys, ".") ||
			!strings.ContainsAny(cursor.get("datetime_format").text(), separators+"-") { // not a time with separators
			t.noteLiteral(v, e, f.get("value_type").text())
		}
		t.set(keypath.Join(keys...), source)
	}
	return nil
}

// noteLiteral notes that a member may have another type than there, since the CDK reads a rendered text as a literal of Python
// unless value_type forbids it.
func (t *translation) noteLiteral(n node, e jinja.Expr, valueType string) {
	switch {
	case e.Constant, e.Kind != jinja.Any && e.Kind != jinja.Text:
	case valueType == "string" && e.Kind == jinja.Any:
		t.note(importer.Approximate, n, "", "a value that is no text, such as 8001, is one there (value_type: string); here it stays as it is")
	case valueType != "string" && !t.isNoLiteral(n, e):
		t.note(importer.Approximate, n, "", "a text that is a literal of Python, such as \"8001\" or \"True\", is a number, a boolean "+
			"or the like there; here it stays a text")
	}
}

// separators are characters that no literal of a number has.
const separators = ":/@"

// isNoLiteral reports whether the text of a template is certainly no literal of Python: it is a formatted time or has a constant part,
// with a separator that no number has, or it is one of the values of a variable, which are no literals.
func (t *translation) isNoLiteral(n node, e jinja.Expr) bool {
	for _, v := range t.out.For {
		if v.Name == e.Source && len(v.Values.List) > 0 {
			return !slices.ContainsFunc(v.Values.List, func(one importer.Value) bool {
				text, isText := one.Const.(string)
				return isText && literalOf(text) != any(text)
			})
		}
	}
	if formatted := formattedTime().FindStringSubmatch(e.Source); formatted != nil {
		return strings.ContainsAny(formatted[1], separators+"-")
	}
	parts, err := jinja.Parts(n.text(), t.recordScope(n))
	return err == nil && slices.ContainsFunc(parts, func(p jinja.Expr) bool {
		text, isText := p.Const.(string)
		return isText && strings.ContainsAny(text, separators) && !strings.ContainsAny(text, `'"[{(`)
	})
}

var formattedTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.Format\('([^']*)'\)$`) })

func (t *translation) removeFields(n node) {
	if c := n.get("condition"); c.text() != "" {
		t.note(importer.Partial, c, "", "members are removed under a condition there; here they stay")
		n.mark("field_pointers")
		return
	}
	for _, pointer := range n.get("field_pointers").list() {
		var keys []string
		for _, k := range pointer.list() {
			keys = append(keys, t.plain(k))
		}
		if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, "*") }) {
			t.note(importer.Partial, pointer, "", "members that a pattern names stay: %s", strings.Join(keys, "."))
			continue
		}
		t.set(keypath.Join(keys...), "")
	}
}

// flatten reads DpathFlattenFields, which replaces the record by a part of it, or adds the members of that part.
func (t *translation) flatten(n node) {
	var keys []string
	for _, k := range n.get("field_path").list() {
		keys = append(keys, t.plain(k))
	}
	n.mark("delete_origin_value", "key_transformation")
	if n.get("replace_record").flag() && len(t.out.Fields) == 0 && !n.get("key_transformation").given() {
		t.out.Items = keypath.Join(append(append(keypath.Split(t.out.Items), "*"), keys...)...)
		return
	}
	t.note(importer.Partial, n, "", "the members of %s stay where they are: their names are not known", strings.Join(keys, "."))
	if n.get("replace_record").flag() {
		t.within(keys)
	}
}

// within says that records are the objects at a path of the items.
func (t *translation) within(keys []string) {
	inside := keypath.Join(keys...) + "."
	for path, source := range maps.Clone(t.overlay) {
		delete(t.overlay, path)
		if below, ok := strings.CutPrefix(path, inside); ok {
			t.overlay[below] = source
		}
	}
	for i, key := range t.out.Key {
		t.out.Key[i] = inside + key
	}
	t.itemPath = append(t.itemPath, keys...)
}
