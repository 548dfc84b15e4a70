package evidence

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stopwhen/stopwhen/runtime/document"
)

// A Recall maps the latest keys, which are digests, to numbers. Its memory is limited: a new key
// replaces the oldest.
type Recall struct {
	pairs  []pair         // oldest first; from next on, once there are maxRecall
	next   int            // index of the pair to replace next
	places map[uint64]int // indexes of the keys in pairs; nil for few pairs, in which a search is faster
}

// A pair is a key and its value.
type pair struct{ key, value uint64 }

// Limits of a Recall. A checkpoint is written after every page, so it holds only the latest keys:
// repetitions of older ones are found later, or not at all.
const (
	maxRecall   = 1 << 16
	savedRecall = 256
	fewRecalled = 16 // lists of one page have fewer keys
)

// Get returns the number of a key, and whether there is one.
func (m *Recall) Get(key document.Digest) (uint64, bool) {
	index := m.find(key.Half())
	if index < 0 {
		return 0, false
	}
	return m.pairs[index].value, true
}

// find returns the index of a key in pairs, or -1.
func (m *Recall) find(key uint64) int {
	if m.places == nil {
		return slices.IndexFunc(m.pairs, func(p pair) bool { return p.key == key })
	}
	if place, known := m.places[key]; known {
		return place
	}
	return -1
}

// Put sets the number of a key.
func (m *Recall) Put(key document.Digest, v uint64) { m.put(pair{key.Half(), v}) }

func (m *Recall) put(p pair) {
	if slot := m.find(p.key); slot >= 0 {
		m.pairs[slot] = p
		return
	}
	slot := len(m.pairs)
	if slot < maxRecall {
		m.pairs = append(m.pairs, p)
	} else {
		slot = m.next
		delete(m.places, m.pairs[slot].key)
		m.pairs[slot] = p
		m.next = (slot + 1) % maxRecall
	}
	m.place(slot)
}

// place records the index of a key.
func (m *Recall) place(slot int) {
	switch {
	case m.places != nil:
		m.places[m.pairs[slot].key] = slot
	case len(m.pairs) > fewRecalled:
		m.places = make(map[uint64]int, len(m.pairs))
		for slot, p := range m.pairs {
			m.places[p.key] = slot
		}
	}
}

// add adds the keys of another list. It calls again with both numbers of each key that is known.
func (m *Recall) add(other *Recall, again func(known, other uint64)) {
	for _, p := range other.pairs {
		if slot := m.find(p.key); slot >= 0 {
			again(m.pairs[slot].value, p.value)
		}
		m.put(p)
	}
}

// MarshalJSON writes the latest keys and their numbers, oldest first, as one string.
func (m Recall) MarshalJSON() ([]byte, error) {
	n := min(len(m.pairs), savedRecall)
	packed := make([]byte, 0, 16*n)
	for i := range n {
		p := m.pairs[(m.next+len(m.pairs)-n+i)%len(m.pairs)]
		packed = binary.BigEndian.AppendUint64(packed, p.key)
		packed = binary.BigEndian.AppendUint64(packed, p.value)
	}
	return json.Marshal(packed)
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (m *Recall) UnmarshalJSON(text []byte) error {
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil {
		return err
	}
	if len(packed)%16 != 0 {
		return errors.New("the recorded digests are not a list of pairs")
	}
	*m = Recall{}
	for ; len(packed) > 0; packed = packed[16:] {
		m.pairs = append(m.pairs, pair{binary.BigEndian.Uint64(packed), binary.BigEndian.Uint64(packed[8:])})
		m.place(len(m.pairs) - 1)
	}
	return nil
}
