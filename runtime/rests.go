package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
)

// The values that are still to come are most of the checkpoint of a tree: one for each item
// of the parent's page. Each is encoded once, when a checkpoint has it first, and lies
// apart from the branches, so that it is only copied into the checkpoints after that.

// each calls f for every branch below a member.
func (m *memberState) each(f func(*branchState)) {
	if m == nil {
		return
	}
	m.Branch.each(f)
	for _, b := range m.Children {
		b.each(f)
	}
}

// each calls f for a branch, and for every branch below it.
func (b *branchState) each(f func(*branchState)) {
	if b == nil {
		return
	}
	f(b)
	b.Active.each(f)
}

func (m treeMembers) each(f func(*branchState)) {
	m.Branch.each(f)
	m.Member.each(f)
}

// takeRests returns the values of all branches that are still to come as JSON, one list for
// each branch, and numbers the branches that have any.
func (m treeMembers) takeRests(c *concealer) ([]byte, error) {
	var rests []byte
	var first error
	lists := 0
	m.each(func(b *branchState) {
		b.RestAt = 0
		if len(b.waiting) == 0 {
			return
		}
		lists++
		b.RestAt = lists
		for i, one := range b.waiting {
			raw, err := one.encoded(c)
			if err != nil && first == nil {
				first = err
			}
			rests = append(append(rests, separator(lists, i)...), raw...)
		}
	})
	if rests != nil {
		rests = append(rests, "]]"...)
	}
	return rests, first
}

// separator returns what stands before an element of a list of lists.
func separator(list, i int) string {
	switch {
	case i > 0:
		return ","
	case list > 1:
		return "],["
	}
	return "[["
}

// putRests gives the branches the values that takeRests took.
func (m treeMembers) putRests(rests [][]snapshot[any]) (err error) {
	m.each(func(b *branchState) {
		switch {
		case b.RestAt == 0:
		case b.RestAt < 0 || b.RestAt > len(rests) || b.Rest != nil || rests[b.RestAt-1] == nil:
			err = errors.New("it lacks values that are still to come")
		default:
			b.Rest, rests[b.RestAt-1] = rests[b.RestAt-1], nil
		}
	})
	for _, rest := range rests {
		if rest != nil {
			err = errors.New("it has values that belong to no variable")
		}
	}
	return err
}

// encoded returns the value of a member as a checkpoint has it. It is encoded again only if
// there are other secrets.
func (m *member) encoded(c *concealer) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.raw != nil && m.rawWith == c.secretsNow {
		return m.raw, nil
	}
	raw, err := encode(m.value)
	if err == nil {
		raw, err = c.concealValue(raw)
	}
	if err == nil {
		m.raw, m.rawWith = raw, c.secretsNow
	}
	return raw, err
}

// concealValue replaces the secrets in a value of a checkpoint by their names.
func (c *concealer) concealValue(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(c.concealed(v))
}
