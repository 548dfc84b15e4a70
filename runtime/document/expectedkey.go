package document

import "encoding/binary"

// An expectedKey is a key of the previous element, which probably repeats in this
// one: its quotes and the colon included, at most 16 bytes. A longer key, or one
// with whitespace before the colon, has size 0.
type expectedKey struct {
	low, lowMask, high, highMask uint64
	size                         int

	parent, child *fieldTree // where fieldName met the key, and what it returned; nil: nowhere yet
}

// matches reports whether data, of at least 16 bytes, begins with the key.
func (k *expectedKey) matches(data []byte) bool {
	low, high := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
	return (low^k.low)&k.lowMask|(high^k.high)&k.highMask == 0 && k.size > 0
}

// inner reads an object in which nothing is looked for. Most are items, or parts of
// one, and have the keys of the item before: then a key costs two comparisons.
func (s *scanner) inner(i, depth int) int {
	data := s.data
	i = s.gap(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1
	}
	for {
		var key *expectedKey
		if s.key < len(s.keys) {
			key = &s.keys[s.key]
			s.key++
		}
		if key != nil && i+16 <= len(data) && key.matches(data[i:]) {
			i += key.size
		} else if i = s.name(i, key); i < 0 {
			return i
		}
		i = s.gap(data, i)
		if i < len(data) && data[i] == '"' {
			i = s.text(i)
		} else {
			i = s.value(i, depth, nil)
		}
		if i < 0 {
			return i
		}
		i = s.gap(data, i)
		if i < len(data) && data[i] == ',' {
			i = s.gap(data, i+1)
			continue
		}
		if i < len(data) && data[i] == '}' {
			return i + 1
		}
		return s.unexpected(i, "after an object member")
	}
}

// name reads a key and its colon, and stores it in key, which may be nil.
func (s *scanner) name(i int, key *expectedKey) int {
	data := s.data
	if i >= len(data) || data[i] != '"' {
		return s.unexpected(i, "where an object key should begin")
	}
	start := i
	if i = s.text(i); i < 0 {
		return i
	}
	direct := i < len(data) && data[i] == ':'
	if !direct && i < len(data) && data[i] <= ' ' {
		i = s.space(i)
	}
	if i >= len(data) || data[i] != ':' {
		return s.unexpected(i, "after an object key")
	}
	i++
	if key == nil {
		return i
	}
	*key = expectedKey{}
	if direct && i-start <= 16 {
		var text, mask [16]byte
		for n := range copy(text[:], data[start:i]) {
			mask[n] = 0xff
		}
		*key = expectedKey{
			low: binary.LittleEndian.Uint64(text[:]), lowMask: binary.LittleEndian.Uint64(mask[:]),
			high: binary.LittleEndian.Uint64(text[8:]), highMask: binary.LittleEndian.Uint64(mask[8:]), size: i - start,
		}
	}
	return i
}
