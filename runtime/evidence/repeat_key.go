package evidence

import (
	"bytes"

	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// noticeKeys notices items whose key an earlier item of the same type has, and items without a key. lists are the items of the
// last page that are written.
func (s repeatSearch) noticeKeys(lists []document.TypedItems) {
	if len(s.subject.keys) == 0 {
		return
	}
	for _, list := range lists {
		var file document.Digest // types have files of their own, so their keys may be the same
		if list.DataType != s.subject.job.Spec().DataType {
			file = document.DigestOf([]byte(list.DataType), file)
		}
		s.noticeKeysIn(list.Items, file)
	}
}

// noticeKeysIn notices the keys of the items of one type. file is the seed of their digests.
func (s repeatSearch) noticeKeysIn(items document.Items, file document.Digest) {
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
		digest := document.DigestOf(key, file)
		if earlier, known := s.memory.Keys.Get(digest); known {
			if f.SameKey++; f.SameKey == 1 {
				f.SameKeyPage, f.SameKeyOf, f.KeyPaths = page, int(itemSighting(earlier).page()), s.subject.keyPaths
				f.SameKeyText = wording.Clip(s.redactor.Text(string(bytes.TrimSuffix(key, []byte{','}))), 60)
			}
		}
		s.memory.Keys.Put(digest, uint64(newItemSighting(page, item)))
	}
}
