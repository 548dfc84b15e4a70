package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/runtime/document"
)

// NoticeBeyond notices a page after the end of the list, given its number, that has items which no page of the list
// has. Many APIs return the last page, or the first one, for every request beyond the end.
func (w *Watcher) NoticeBeyond(page int, reading document.Reading) {
	w.repeats().noticeBeyond(page, reading)
}

// noticeBeyond is [Watcher.NoticeBeyond].
func (s repeatSearch) noticeBeyond(page int, reading document.Reading) {
	f := s.facts
	if _, known := s.memory.Lists.Get(reading.IdentityDigest); known || reading.Items.Len() == 0 || f.BeyondPage > 0 {
		return
	}
	isNew := func(item []byte) bool {
		id := document.Identity(item)
		_, known := s.memory.Identities.Get(document.DigestOf(id, document.Digest{}))
		return id == nil || !known
	}
	if slices.ContainsFunc(reading.Compared, isNew) {
		f.BeyondPage, f.BeyondCount = page, reading.Items.Len()
	}
}
