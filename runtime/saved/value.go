package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A Value is a value of the expression language that keeps its meaning as JSON: numbers keep their
// digits and kind, objects their order, and times stay times. A struct is written with the names
// that expressions use for its fields.
type Value[T any] struct{ Value T }

// MarshalJSON writes the value.
func (s Value[T]) MarshalJSON() ([]byte, error) { return encode(s.Value) }

// UnmarshalJSON decodes the result of MarshalJSON.
func (s *Value[T]) UnmarshalJSON(text []byte) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	return assign(reflect.ValueOf(&s.Value).Elem(), v)
}

// An object with one of these keys, and no other key, is a value that plain JSON cannot express.
const (
	orderedTag  = "$ordered" // an ordered object, as a list of names and values
	objectTag   = "$object"  // an object of an API that has one of these keys
	timeTag     = "$time"
	durationTag = "$duration"
	zoneTag     = "$zone"
)

// encode encodes a value so that decode returns the same value.
func encode(v any) (json.RawMessage, error) {
	v, err := tagged(v)
	if err != nil {
		return nil, err
	}
	return value.Marshal(v)
}

// tagged returns a value with tagged objects in place of the values that plain JSON cannot express.
func tagged(v any) (_ any, err error) {
	switch v := v.(type) {
	case nil, bool, string, int, int64, json.Number:
		return v, nil
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		if !json.Valid([]byte(text)) {
			return nil, &Error{message: fmt.Sprintf("is %v, which cannot be saved", v)}
		}
		return json.Number(text), nil
	case time.Time:
		return map[string]any{timeTag: spelled(v)}, nil
	case time.Duration:
		return map[string]any{durationTag: v.String()}, nil
	case *time.Location:
		return map[string]any{zoneTag: v.String()}, nil
	case compile.PartValues:
		return tagged([]any(v))
	case compile.ComputedValues:
		return tagged([]any(v))
	case []any:
		if v == nil {
			return nil, nil
		}
		out := make([]any, len(v))
		for i := range v {
			if out[i], err = tagged(v[i]); err != nil {
				return nil, withKey(fmt.Sprintf("[%d]", i), err)
			}
		}
		return out, nil
	case rules.Object:
		pairs := make([]any, 0, 2*len(v))
		for _, m := range v {
			pairs = append(pairs, m.Name, m.Value)
		}
		list, err := tagged(pairs)
		return map[string]any{orderedTag: list}, err
	case map[string]any:
		if v == nil {
			return nil, nil
		}
		out := make(map[string]any, len(v))
		for name := range v {
			if out[name], err = tagged(v[name]); err != nil {
				return nil, withKey("."+name, err)
			}
		}
		if len(v) == 1 && isTag(v) {
			return map[string]any{objectTag: out}, nil
		}
		return out, nil
	}
	return taggedStruct(reflect.ValueOf(v))
}

// taggedStruct returns the members of a struct of the page context.
func taggedStruct(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, nil
	}
	v = reflect.Indirect(v)
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[rules.Context]().PkgPath() {
		return nil, &Error{
			message: fmt.Sprintf("holds a value that cannot be saved for a later run (%s); turn it into text or a number", v.Type()),
		}
	}
	members := map[string]any{}
	for name, i := range savedFields(v.Type()) {
		members[name] = v.FieldByIndex(i).Interface()
	}
	return tagged(members)
}

// savedFields returns the indexes, by name, of the fields of a struct of the page context that
// survive a resume: of the context itself the saved fields, and of any other struct all fields.
func savedFields(t reflect.Type) map[string][]int {
	if t == reflect.TypeFor[rules.Context]() {
		return savedOfContext()
	}
	fields := map[string][]int{}
	for i := range t.NumField() {
		fields[t.Field(i).Tag.Get("expr")] = []int{i}
	}
	return fields
}

// savedOfContext is computed once, since every checkpoint needs it.
var savedOfContext = sync.OnceValue(func() map[string][]int {
	fields := map[string][]int{}
	for _, f := range rules.ContextFields() {
		if f.Saved {
			fields[f.Name] = f.Index
		}
	}
	return fields
})

// RestoreUnsaved copies the fields of the context that come neither from a checkpoint nor from a
// response.
func RestoreUnsaved(to *rules.Context, from rules.Context) {
	for _, f := range rules.ContextFields() {
		if !f.Saved && f.Phase != rules.PhaseResponse {
			reflect.ValueOf(to).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(from).FieldByIndex(f.Index))
		}
	}
}

// RoundTripAll replaces values by what a resumed run reads, and returns them, so that a run does the same whether it is
// interrupted or not. After an error, which names a value as a member of the object, some of them are replaced.
func RoundTripAll(object string, values map[string]any) (map[string]any, error) {
	for name, v := range values {
		switch v.(type) {
		case nil, bool, string, int, int64, float64, json.Number: // the usual kinds
			continue
		}
		var err error
		if values[name], err = Reread(v); err != nil {
			return nil, withKey(object+"."+name, err)
		}
	}
	return values, nil
}

// Reread returns a value as a resumed run reads it.
func Reread(v any) (any, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

// decode decodes the result of encode.
func decode(raw json.RawMessage) (any, error) {
	v, err := document.Decode(raw)
	if err != nil {
		return nil, err
	}
	return untagged(v), nil
}

// untagged replaces objects that hold tagged values.
func untagged(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = untagged(v[i])
		}
	case map[string]any:
		if len(v) == 1 {
			if special, ok := untag(v); ok {
				return special
			}
		}
		for name := range v {
			v[name] = untagged(v[name])
		}
	}
	return v
}

// isTag reports whether an object consists of one of the keys for tagged values.
func isTag(v map[string]any) bool {
	for _, tag := range []string{orderedTag, timeTag, durationTag, zoneTag, objectTag} {
		if _, ok := v[tag]; ok {
			return true
		}
	}
	return false
}

func untag(v map[string]any) (any, bool) {
	if inner, ok := v[objectTag].(map[string]any); ok {
		for name := range inner {
			inner[name] = untagged(inner[name])
		}
		return inner, true
	}
	if text, ok := v[timeTag].(string); ok {
		t, err := readSpelled(text)
		return t, err == nil
	}
	if text, ok := v[durationTag].(string); ok {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	if text, ok := v[zoneTag].(string); ok {
		zone, err := time.LoadLocation(text)
		return zone, err == nil
	}
	pairs, ok := v[orderedTag].([]any)
	if !ok || len(pairs)%2 != 0 {
		return nil, false
	}
	object := make(rules.Object, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		object = append(object, rules.Member{Name: name, Value: untagged(pairs[i+1])})
	}
	return object, true
}

// spelled formats a time with the name of its zone, so that a later day or month is computed in
// that zone also after a resume (RFC 9557): 2026-03-29T00:00:00+01:00[Europe/Prague].
func spelled(t time.Time) string {
	text := t.Format(time.RFC3339Nano)
	if zone := t.Location(); zone != time.Local && (strings.Contains(zone.String(), "/") || zone != time.UTC && isNamed(zone, t.Year())) {
		text += "[" + zone.String() + "]"
	}
	return text
}

// isNamed reports whether a zone is the one of its name in the database of time zones, and not an offset that a time
// such as "01 Mar 2026 10:00 CET" gave the name.
func isNamed(zone *time.Location, year int) bool {
	known, err := time.LoadLocation(zone.String())
	if err != nil {
		return false
	}
	for _, month := range []time.Month{time.January, time.July} {
		_, offset := time.Date(year, month, 1, 0, 0, 0, 0, zone).Zone()
		if _, want := time.Date(year, month, 1, 0, 0, 0, 0, known).Zone(); offset != want {
			return false
		}
	}
	return true
}

// readSpelled parses the result of spelled. A zone without a name is its offset, whatever the zone of the machine.
func readSpelled(text string) (time.Time, error) {
	text, zone, named := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !named {
		if _, offset := t.Zone(); t.Location() == time.Local {
			t = t.In(time.FixedZone("", offset))
		}
		return t, err
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return t, err
	}
	return t.In(location), nil
}

// assign sets a variable to a decoded value of the type that was encoded.
func assign(to reflect.Value, v any) error {
	if v == nil {
		to.SetZero()
		return nil
	}
	if members, ok := v.(map[string]any); ok {
		switch {
		case to.Kind() == reflect.Pointer:
			to.Set(reflect.New(to.Type().Elem()))
			return assign(to.Elem(), v)
		case to.Kind() == reflect.Struct:
			for name, i := range savedFields(to.Type()) {
				if err := assign(to.FieldByIndex(i), members[name]); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		}
	}
	if from := reflect.ValueOf(v); from.Type().AssignableTo(to.Type()) {
		to.Set(from)
		return nil
	}
	return fmt.Errorf("want %s, got %s", to.Type(), value.KindOf(v))
}

// An Error reports a value that JSON cannot represent.
type Error struct{ path, message string }

// Error writes the path of the value and what is wrong with it.
func (e *Error) Error() string { return strings.TrimPrefix(e.path, ".") + " " + e.message }

// withKey adds a key or an index to the path of an error.
func withKey(key string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{key + e.path, e.message}
	}
	return err
}
