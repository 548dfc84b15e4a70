package language

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A set holds the keys of values, and answers in constant time whether it has a value.
type set map[any]struct{}

// maxRoom limits the number of values for which a new set reserves room.
const maxRoom = 1 << 16

// add adds a key, and reports whether the set did not have it.
func (s set) add(key any) bool {
	n := len(s)
	s[key] = struct{}{}
	return len(s) > n
}

func (s set) has(key any) bool {
	_, ok := s[key]
	return ok
}

// composite is the key of a value that cannot be its own key, such as a list.
type composite string

// keyOf returns the key of a value, in time that is linear in its size: equal values of one
// kind have equal keys. Unlike ==, it does not take a string for a number. Booleans, strings
// and numbers, which are the most frequent values, are their own keys.
func keyOf(m *meter, v any) (any, error) {
	switch v := fieldsOf(v).(type) {
	case nil, bool, int, int64, float64, json.Number:
		m.spend(valueUnits)
		return numberKey(v), nil
	case string:
		m.spend(valueUnits + len(v))
		return v, nil
	}
	var room [2 * sha256.Size]byte
	k, err := appendKey(m, room[:0], v)
	if len(k) > len(room) {
		sum := sha256.Sum256(k)
		k = append([]byte("#"), sum[:]...)
	}
	return composite(k), err
}

// numberKey returns a number without its kind: 1, 1.0 and 1e0 are the same. Any other value is
// returned unchanged.
func numberKey(v any) any {
	switch n := v.(type) {
	case int64:
		return int(n)
	case float64:
		if i := int(n); float64(i) == n && -1<<53 <= i && i <= 1<<53 {
			return i
		}
		if n == math.Trunc(n) && !math.IsInf(n, 0) {
			i, _ := new(big.Float).SetFloat64(n).Int(nil)
			return shortest(i)
		}
	case json.Number:
		if i, ok := bigInteger(n); ok {
			return shortest(i)
		}
		if isLongFraction(n) {
			return json.Number(strings.TrimRight(n.String(), "0"))
		}
	}
	return v
}

// appendKey appends a text that no other value has. Strings, lists and objects
// begin with their length, so that no key is the beginning of another key.
func appendKey(m *meter, to []byte, v any) ([]byte, error) {
	m.spend(valueUnits)
	var err error
	switch v := fieldsOf(v).(type) {
	case nil:
		return append(to, '0'), nil
	case bool:
		return strconv.AppendBool(append(to, 'b'), v), nil
	case int, int64, float64, json.Number:
		text, _ := value.Text(numberKey(v))
		return append(append(append(to, 'n'), text...), ';'), nil
	case string:
		m.spend(len(v))
		return appendText(to, 's', v), nil
	case time.Time:
		return append(append(to, 't'), v.UTC().Format(time.RFC3339Nano)...), nil
	case time.Duration:
		return strconv.AppendInt(append(to, 'd'), int64(v), 10), nil
	case []any:
		to = binary.AppendUvarint(append(to, 'l'), uint64(len(v)))
		for i := 0; i < len(v) && err == nil; i++ {
			to, err = appendKey(m, to, v[i])
		}
		return to, err
	case map[string]any, rules.Object:
		members, names := byName(v), sortedNames(v)
		m.spend(product(len(names), 2*valueUnits)) // they are sorted
		to = binary.AppendUvarint(append(to, 'o'), uint64(len(names)))
		for i := 0; i < len(names) && err == nil; i++ {
			to, err = appendKey(m, appendText(to, 's', names[i]), members[names[i]])
		}
		return to, err
	}
	return nil, fmt.Errorf("want a value that can be compared, got %s", KindOf(v))
}

func appendText(to []byte, kind byte, text string) []byte {
	return append(binary.AppendUvarint(append(to, kind), uint64(len(text))), text...)
}

// searched is a list that expressions search for values. After some searches, it has a set of its values.
type searched struct {
	times int
	set   set
}

// A listID identifies a list, which does not change during an evaluation.
type listID struct {
	first  *any
	length int
}

// A set of a list is made once the list has been searched this often, if it is this long.
const (
	searchesBeforeSet = 4
	lengthOfSet       = 16
)

// contains reports whether a list has an element that equals v.
func (m *meter) contains(list []any, v any) bool {
	if len(list) >= lengthOfSet && isScalar(v) {
		if s := m.setOf(list); s != nil {
			return s.equals(m, v)
		}
	}
	return slices.ContainsFunc(list, func(e any) bool { return equal(m, v, e) })
}

// numeric is the key of a number, for strings that hold it.
type numeric struct{ key any }

// setOf returns the set of a list that is searched again and again, or nil.
func (m *meter) setOf(list []any) set {
	if m.searches == nil {
		m.searches = map[listID]searched{}
	}
	id := listID{&list[0], len(list)}
	s := m.searches[id]
	if s.times++; s.times == searchesBeforeSet {
		s.set = m.newSet(list)
	}
	m.searches[id] = s
	return s.set
}

// newSet returns the set of a list.
func (m *meter) newSet(list []any) set {
	s := make(set, len(list))
	for _, v := range list {
		s.add(must(keyOf(m, v)))
		m.grow(32)
		text, _ := v.(string)
		if n, ok := numberIn(text); ok {
			s.add(numeric{numberKey(n)})
		}
	}
	return s
}

// equals reports whether the set has a value that equals a scalar, as == compares.
func (s set) equals(m *meter, v any) bool {
	k, _ := keyOf(m, v) // a scalar always has a key
	if s.has(k) || isNumber(v) && s.has(numeric{k}) {
		return true
	}
	text, _ := v.(string)
	n, ok := numberIn(text)
	return ok && s.has(numberKey(n))
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string:
		return true
	}
	return isNumber(v)
}
