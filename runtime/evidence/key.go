package evidence

import (
	"bytes"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// NoticeKeys notices items whose key an earlier item has, and items without a key. items are the items
// of the last page that are written. The keys of the latest items are remembered; see [Recall].
func (w *Watcher) NoticeKeys(items document.Items) {
	if len(w.subject.keys) == 0 {
		return
	}
	f, page := &w.history.Facts, w.context.Page
	var key []byte
	for item := range items.All() {
		var found bool
		if key, found = document.AppendKey(key[:0], item, w.subject.keys); !found {
			if f.Keyless++; f.Keyless == 1 {
				f.KeylessPage, f.KeyPaths = page, w.subject.keyPaths
			}
			continue
		}
		digest := document.DigestOf(key, document.Digest{})
		if earlier, known := w.history.Keys.Get(digest); known {
			if f.SameKey++; f.SameKey == 1 {
				f.SameKeyPage, f.SameKeyOf, f.KeyPaths = page, int(itemSighting(earlier).page()), w.subject.keyPaths
				f.SameKeyText = value.Clip(w.redactor.Text(string(bytes.TrimSuffix(key, []byte{','}))), 60)
			}
		}
		w.history.Keys.Put(digest, uint64(newItemSighting(page, item)))
	}
}
