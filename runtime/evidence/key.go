package evidence

import (
	"bytes"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// NoticeKeys notices items whose key an earlier item has, and items without a key. items are the items
// of the last page that are written. The keys of the latest items are remembered; see [Recall].
func (w *Watcher) NoticeKeys(items document.Items) { w.repeats().noticeKeys(items) }

// noticeKeys is [Watcher.NoticeKeys].
func (s repeatSearch) noticeKeys(items document.Items) {
	if len(s.subject.keys) == 0 {
		return
	}
	f, page := s.facts, s.context.Page
	var key []byte
	for item := range items.All() {
		var found bool
		if key, found = document.AppendKey(key[:0], item, s.subject.keys); !found {
			if f.Keyless++; f.Keyless == 1 {
				f.KeylessPage, f.KeyPaths = page, s.subject.keyPaths
			}
			continue
		}
		digest := document.DigestOf(key, document.Digest{})
		if earlier, known := s.memory.Keys.Get(digest); known {
			if f.SameKey++; f.SameKey == 1 {
				f.SameKeyPage, f.SameKeyOf, f.KeyPaths = page, int(itemSighting(earlier).page()), s.subject.keyPaths
				f.SameKeyText = value.Clip(s.redactor.Text(string(bytes.TrimSuffix(key, []byte{','}))), 60)
			}
		}
		s.memory.Keys.Put(digest, uint64(newItemSighting(page, item)))
	}
}
