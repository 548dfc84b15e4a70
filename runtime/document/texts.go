package document

// The short texts of a column share their memory: most of them are too short for an
// allocation each. A text that a rule keeps keeps the others of its group, so a group is
// small, too.
const (
	shortText  = 64      // bytes of the longest one
	groupBytes = 1 << 10 // of a group
)

// shortTexts are texts that are about to be put into a column.
type shortTexts struct {
	to     []any
	joined [groupBytes]byte
	size   int                           // of joined
	ends   [groupBytes / 8]shortTextsEnd // of the texts in it
	texts  int                           // number of ends
}

// A shortTextsEnd is where the text of an item ends.
type shortTextsEnd struct{ item, end int }

// add adds the text of an item.
func (t *shortTexts) add(item int, text []byte) {
	if t.size+len(text) > len(t.joined) || t.texts == len(t.ends) {
		t.flush()
	}
	t.size += copy(t.joined[t.size:], text)
	t.ends[t.texts] = shortTextsEnd{item, t.size}
	t.texts++
}

// flush puts the texts into the column.
func (t *shortTexts) flush() {
	all, start := string(t.joined[:t.size]), 0
	for _, text := range t.ends[:t.texts] {
		t.to[text.item] = all[start:text.end]
		start = text.end
	}
	t.size, t.texts = 0, 0
}
