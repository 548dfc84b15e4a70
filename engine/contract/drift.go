package contract

import (
	"fmt"

	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A drift collects differences.
type drift struct {
	settled int  // number of objects, as [shape.Settled]
	places  bool // whether the names of members are whole places, instead of parts of a path
	all     []string
}

func (d *drift) add(format string, args ...any) { d.all = append(d.all, fmt.Sprintf(format, args...)) }

// path returns the path of a member.
func (d *drift) path(parent, name string) string {
	if d.places {
		return name
	}
	return keypath.Format(parent, []string{name})
}

// compare compares the values at a path with the values before. count is the number of values before, as
// far as it is known.
func (d *drift) compare(path string, before, now *shape.Shape, count int) {
	if d.types(path, before, now, count) {
		return
	}
	if before.Format != "" && now.Texts > 0 && now.Format != before.Format && count >= d.settled {
		d.add("%s has texts that do not have the format %s", path, before.Format)
	}
	if before.Types&shape.Object != 0 && now.Types&shape.Object != 0 {
		d.members(path, before, now)
	}
	if before.Element != nil && now.Element != nil {
		d.compare(path+"[*]", before.Element, now.Element, before.Element.Count)
	}
}

// members compares the members of objects. If names are data, or if no object had members, they are not
// compared.
func (d *drift) members(path string, before, now *shape.Shape) {
	if before.Unnamed == 0 {
		for _, m := range now.Members {
			if before.Member(m.Name) == nil {
				d.add("%s is new (%s)", d.path(path, m.Name), names(m.Types))
			}
		}
	}
	for _, m := range before.Members {
		seen := now.Member(m.Name)
		switch {
		case seen != nil:
			d.compare(d.path(path, m.Name), &m.Shape, seen, min(m.Count, before.Objects))
		case before.Objects >= d.settled && m.Count >= before.Objects && now.Unnamed == 0:
			d.add("%s is gone", d.path(path, m.Name))
		}
	}
}

// types compares types, and reports whether they differ. Where only nulls were seen, nothing is known.
func (d *drift) types(path string, before, now *shape.Shape, count int) bool {
	beforePlain, nowPlain := plain(before.Types), plain(now.Types)
	known := beforePlain &^ shape.Null
	switch {
	case known == 0:
		return false
	case nowPlain == shape.Null:
		if beforePlain&shape.Null == 0 && count >= d.settled {
			d.add("%s is always null, and never was (%s)", path, names(before.Types))
			return true
		}
		return false
	case nowPlain&^(beforePlain|shape.Null) == 0:
		return false
	}
	d.add("%s is %s, and was %s", path, names(now.Types), names(before.Types))
	return true
}

// plain reduces types to the types that are compared: an integer is a number, and an empty object is an
// object.
func plain(t shape.Types) shape.Types {
	for _, change := range []struct{ from, to shape.Types }{
		{shape.BigInt, shape.Integer}, {shape.Decimal, shape.Number}, {shape.Empty, shape.Object},
	} {
		if t&change.from != 0 {
			t = t&^change.from | change.to
		}
	}
	if t&shape.Number != 0 {
		t |= shape.Integer
	}
	return t &^ shape.LongText
}

// names names types for people: "number", "text or null". An integer is a number.
func names(t shape.Types) string {
	if t&(shape.Number|shape.Decimal) != 0 {
		t &^= shape.Integer | shape.BigInt
	}
	return wording.OrList(t.Names())
}
