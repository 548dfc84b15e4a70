package language

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A key stands for a value in a Go map: equal values of one kind have equal keys.
// Unlike ==, it does not take a string for a number.
type key string

// keyOf returns the key of a value, in time that is linear in its size. Long keys are
// replaced by a digest.
func keyOf(m *meter, v any) (key, error) {
	k, err := appendKey(m, nil, v)
	if len(k) > 2*sha256.Size {
		sum := sha256.Sum256(k)
		return key("#") + key(sum[:]), err
	}
	return key(k), err
}

// appendKey appends a text that no other value has. Strings, lists and objects
// begin with their length, so that none is the beginning of another.
func appendKey(m *meter, to []byte, v any) ([]byte, error) {
	if err := m.spend(1); err != nil {
		return nil, err
	}
	switch v := fieldsOf(v).(type) {
	case nil:
		return append(to, '0'), nil
	case bool:
		return strconv.AppendBool(append(to, 'b'), v), nil
	case int, int64, float64, json.Number:
		return appendNumber(append(to, 'n'), v), nil
	case string:
		return append(appendLength(append(to, 's'), len(v)), v...), m.spend(len(v))
	case time.Time:
		return append(append(to, 't'), v.UTC().Format(time.RFC3339Nano)...), nil
	case time.Duration:
		return strconv.AppendInt(append(to, 'd'), int64(v), 10), nil
	case []any:
		to = appendLength(append(to, 'l'), len(v))
		var err error
		for i := 0; i < len(v) && err == nil; i++ {
			to, err = appendKey(m, to, v[i])
		}
		return to, err
	case map[string]any, rules.Object:
		return appendObject(m, to, v)
	}
	return nil, fmt.Errorf("want a value that can be compared, got %s", kindOf(v))
}

func appendObject(m *meter, to []byte, v any) ([]byte, error) {
	if err := m.spend(product(members(v), 16)); err != nil {
		return nil, err
	}
	find := lookup(v)
	to = appendLength(append(to, 'o'), members(v))
	for _, name := range sortedNames(v) {
		to = append(appendLength(append(to, 's'), len(name)), name...)
		inner, _ := find(name)
		var err error
		if to, err = appendKey(m, to, inner); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func appendLength(to []byte, n int) []byte { return binary.AppendUvarint(to, uint64(n)) }

// appendNumber appends a number without its kind: 1, 1.0 and 1e0 are the same.
func appendNumber(to []byte, v any) []byte {
	f, isFloat := v.(float64)
	switch {
	case !isFloat:
		text, _ := value.Text(v)
		return append(append(to, text...), ';')
	case f == math.Trunc(f) && !math.IsInf(f, 0):
		n, _ := new(big.Float).SetFloat64(f).Int(nil)
		return append(n.Append(to, 10), ';')
	}
	return append(strconv.AppendFloat(to, f, 'g', -1, 64), ';')
}

// distinct is a set of values by their keys. Integers and strings, which are the most
// frequent values, are their own keys.
type distinct struct {
	expected int // values; 0: unknown
	integers map[int]struct{}
	texts    map[string]struct{}
	others   map[key]struct{}
}

// add adds a value, and reports whether the set did not have it.
func (d *distinct) add(m *meter, v any) (added bool, err error) {
	switch v := v.(type) {
	case int:
		added = insert(&d.integers, v, d.expected)
		return added, m.spend(1)
	case float64:
		if n := int(v); float64(n) == v && -1<<53 <= n && n <= 1<<53 { // 1 and 1.0 are the same
			return d.add(m, n)
		}
	case string:
		added = insert(&d.texts, v, d.expected)
		return added, m.spend(1 + len(v))
	}
	k, err := keyOf(m, v)
	if n, ok := k.integer(); ok {
		return insert(&d.integers, n, d.expected), err
	}
	return err == nil && insert(&d.others, k, d.expected), err
}

// maxExpected limits how many values a set has room for before there are any.
const maxExpected = 1 << 10

// insert adds a key to a set, and reports whether the set did not have it.
func insert[K comparable](set *map[K]struct{}, k K, expected int) bool {
	if *set == nil {
		*set = make(map[K]struct{}, min(expected, maxExpected))
	}
	n := len(*set)
	(*set)[k] = struct{}{}
	return len(*set) > n
}

// integer returns the number that a key stands for, if it is an int.
func (k key) integer() (int, bool) {
	if len(k) < 3 || k[0] != 'n' {
		return 0, false
	}
	n, err := strconv.Atoi(string(k[1 : len(k)-1]))
	return n, err == nil && strconv.Itoa(n) == string(k[1:len(k)-1])
}

// A set answers whether a list contains a value, as == compares, in constant time.
type set map[key]bool

// The kinds of entries of a set: a value, and the number that a string is.
const (
	exactly key = "="
	numeric key = "~"
)

func newSet(m *meter, list []any) (set, error) {
	s := make(set, len(list))
	for _, v := range list {
		k, err := keyOf(m, v)
		if err != nil {
			return nil, err
		}
		if err := m.grow(32); err != nil {
			return nil, err
		}
		s[exactly+k] = true
		if text, ok := v.(string); ok {
			if n, ok := numberIn(text); ok {
				s[numeric+key(appendNumber(nil, n))] = true
			}
		}
	}
	return s, nil
}

// has looks for a scalar.
func (s set) has(m *meter, v any) (bool, error) {
	k, err := keyOf(m, v)
	if err != nil || s[exactly+k] {
		return err == nil, err
	}
	if isNumber(v) {
		return s[numeric+key(appendNumber(nil, v))], nil
	}
	text, _ := v.(string)
	n, ok := numberIn(text)
	return ok && s[exactly+"n"+key(appendNumber(nil, n))], nil
}

// searched is a list in which a value was looked for, and the set of its values once
// it is worth making.
type searched struct {
	times int
	set   set
}

// A listID identifies a list, which does not change during an evaluation.
type listID struct {
	first  *any
	length int
}

// A list is searched this often, and is this long, before a set is made of it.
const (
	searchesBeforeSet = 4
	lengthOfSet       = 16
)

// contains reports whether a list has an element that equals v.
func (m *meter) contains(list []any, v any) (bool, error) {
	if len(list) >= lengthOfSet && isScalar(v) {
		if s, err := m.setOf(list); s != nil || err != nil {
			if err != nil {
				return false, err
			}
			return s.has(m, v)
		}
	}
	for _, e := range list {
		if same, err := equal(m, v, e); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// setOf returns the set of a list that is searched again and again, or nil.
func (m *meter) setOf(list []any) (set, error) {
	if m.searches == nil {
		m.searches = map[listID]*searched{}
	}
	id := listID{&list[0], len(list)}
	s := m.searches[id]
	if s == nil {
		s = &searched{}
		m.searches[id] = s
	}
	if s.times++; s.times < searchesBeforeSet {
		return nil, nil
	}
	var err error
	if s.set == nil {
		s.set, err = newSet(m, list)
	}
	return s.set, err
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string:
		return true
	}
	return isNumber(v)
}
