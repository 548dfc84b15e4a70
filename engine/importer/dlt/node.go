package dlt

import (
	"fmt"

	"github.com/stopwhen/stopwhen/engine/importer"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A node is a value of the document with its place.
type node struct {
	v    any
	has  bool   // whether the document has it; it may be null
	name string // of a member
	path string
}

// get returns a member.
func (n node) get(key string) node {
	object, _ := value.Members(n.v)
	v, has := object.Get(key)
	return node{v: v, has: has, name: key, path: diag.Join(n.path, key)}
}

func (n node) given() bool { return n.v != nil }

func (n node) isObject() bool {
	_, is := value.Members(n.v)
	return is
}

// text returns a text, or "".
func (n node) text() string {
	text, _ := n.v.(string)
	return text
}

// scalar returns a scalar as text. It reports false for objects, lists and null.
func (n node) scalar() (string, bool) {
	if n.v == nil {
		return "", false
	}
	return value.Text(n.v)
}

func (n node) members() []node {
	object, _ := value.Members(n.v)
	var out []node
	for _, m := range object {
		out = append(out, node{v: m.Value, has: true, name: m.Name, path: diag.Join(n.path, m.Name)})
	}
	return out
}

func (n node) list() []node {
	list, _ := n.v.([]any)
	var out []node
	for i, e := range list {
		out = append(out, node{v: e, has: true, path: fmt.Sprintf("%s[%d]", n.path, i)})
	}
	return out
}

// texts returns the texts of a list, or a text as a list of one.
func (n node) texts() []string {
	if text := n.text(); text != "" {
		return []string{text}
	}
	var out []string
	for _, e := range n.list() {
		if text := e.text(); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func unknownKey(m node) importer.Note {
	return importer.Note{Grade: importer.Approximate, Source: m.path, Text: "The key " + m.name + " is not known here, and was left out"}
}
