package runtime

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/stopwhen/stopwhen/runtime/document"
)

// A recall remembers a number for each of the latest keys, which are digests. It
// needs a bounded amount of memory, and forgets the oldest key for a new one.
type recall struct {
	values map[uint64]uint64
	order  []uint64 // the keys, oldest first from next on, once there are maxRecall
	next   int
}

// Limits of a recall. A checkpoint holds the latest keys only, since it is written
// after every page: what they would have shown is found later, or not at all.
const (
	maxRecall   = 1 << 16
	savedRecall = 256
)

func (m *recall) get(key document.Digest) (uint64, bool) {
	v, ok := m.values[key.Half()]
	return v, ok
}

func (m *recall) put(key document.Digest, v uint64) {
	k := key.Half()
	if m.values == nil {
		m.values = map[uint64]uint64{}
	}
	if _, known := m.values[k]; !known {
		if len(m.order) < maxRecall {
			m.order = append(m.order, k)
		} else {
			delete(m.values, m.order[m.next])
			m.order[m.next] = k
			m.next = (m.next + 1) % maxRecall
		}
	}
	m.values[k] = v
}

// MarshalJSON writes the latest keys and their numbers, oldest first, as one string.
func (m recall) MarshalJSON() ([]byte, error) {
	n := min(len(m.order), savedRecall)
	packed := make([]byte, 0, 16*n)
	for i := range n {
		key := m.order[(m.next+len(m.order)-n+i)%len(m.order)]
		packed = binary.BigEndian.AppendUint64(packed, key)
		packed = binary.BigEndian.AppendUint64(packed, m.values[key])
	}
	return json.Marshal(packed)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *recall) UnmarshalJSON(text []byte) error {
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil {
		return err
	}
	if len(packed)%16 != 0 {
		return errors.New("what was remembered is not a list of pairs")
	}
	*m = recall{values: map[uint64]uint64{}}
	for ; len(packed) > 0; packed = packed[16:] {
		key := binary.BigEndian.Uint64(packed)
		m.order = append(m.order, key)
		m.values[key] = binary.BigEndian.Uint64(packed[8:])
	}
	return nil
}
