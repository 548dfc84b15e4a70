package docs

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
)

// textType is implemented by types that are a string in JSON.
var textType = reflect.TypeFor[encoding.TextMarshaler]()

// explanationType is the type that `explain --format json` prints.
var explanationType = reflect.TypeOf((*engine.Engine).Explain).Out(0).Elem()

// An object is a row of a table of JSON keys: a struct type, with the keys that
// hold it and the keys within it.
type object struct {
	of      reflect.Type
	holders []string
	keys    []string
}

// keyTable lists the JSON keys of a struct and of the structs within it, one row
// per type.
func keyTable(name string, root reflect.Type) (string, error) {
	objects := []*object{{of: root, holders: []string{name}}}
	for i := 0; i < len(objects); i++ { // reading an object may append others
		objects = objects[i].read(objects)
	}
	b := &strings.Builder{}
	b.WriteString("| object | keys |\n|---|---|\n")
	for _, o := range objects {
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(o.holders, ", "), strings.Join(o.keys, ", "))
	}
	return b.String(), nil
}

// read notes the keys of an object, and adds the objects that they hold to a list.
func (o *object) read(objects []*object) []*object {
	for _, f := range reflect.VisibleFields(o.of) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Anonymous || key == "-" {
			continue
		}
		o.keys = append(o.keys, "`"+key+"`")
		holder := "`" + key + "`"
		if f.Type.Kind() == reflect.Slice {
			holder = "`" + key + "[]`"
		}
		if inner := elem(f.Type); inner.Kind() == reflect.Struct && !inner.Implements(textType) {
			objects = hold(objects, inner, holder)
		}
	}
	return objects
}

// hold notes that a key holds a type.
func hold(objects []*object, inner reflect.Type, holder string) []*object {
	for _, o := range objects {
		if o.of == inner {
			if !slices.Contains(o.holders, holder) {
				o.holders = append(o.holders, holder)
			}
			return objects
		}
	}
	return append(objects, &object{of: inner, holders: []string{holder}})
}

// elem returns the type that pointers and slices hold.
func elem(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}
