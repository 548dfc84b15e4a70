package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchPage is a page of 1000 items of about 274 bytes each, minified.
func benchPage(tb testing.TB) []byte {
	type item map[string]any
	items := make([]item, 1000)
	for i := range items {
		items[i] = item{
			"id": 1000000 + i, "name": fmt.Sprintf("Customer number %d", i), "email": fmt.Sprintf("c%d@example.com", i),
			"active": i%3 == 0, "balance": float64(i) * 1.25, "note": nil,
			"created_at": "2024-05-06T07:08:09Z", "tags": []string{"alpha", "beta", "gamma"},
			"address": item{"street": "Long Street 12", "city": "Springfield", "zip": "12345", "country": "US"},
		}
	}
	raw, err := json.Marshal(map[string]any{"data": items, "meta": item{"total": 200000, "next": "abc"}})
	require.NoError(tb, err)
	return raw
}

var benchPaths = [][]string{{"data"}, {"meta", "total"}, {"meta", "next"}}

func BenchmarkScan(b *testing.B) {
	page := benchPage(b)
	var indented bytes.Buffer
	require.NoError(b, json.Indent(&indented, page, "", "  "))
	for name, body := range map[string][]byte{"minified": page, "indented": indented.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(body, benchPaths, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	page := benchPage(b)
	var indented bytes.Buffer
	require.NoError(b, json.Indent(&indented, page, "", "  "))
	for name, body := range map[string][]byte{"minified": page, "indented": indented.Bytes()} {
		doc, err := Parse(body, benchPaths, Limits{})
		require.NoError(b, err)
		raw, _ := doc.Lookup([]string{"data"})
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if Split(raw).Len() != 1000 {
					b.Fatal("items lost")
				}
			}
		})
	}
}

// BenchmarkRead is all that happens to a page between its arrival and its rules:
// validation, compaction, digests, items.
func BenchmarkRead(b *testing.B) {
	page := benchPage(b)
	var indented bytes.Buffer
	require.NoError(b, json.Indent(&indented, page, "", "  "))
	for name, body := range map[string][]byte{"minified": page, "indented": indented.Bytes()} {
		d := &Document{limit: DefaultDepth, facts: &scanner{compact: true, keys: make([]foretold, 64)}, tree: newPathTree(benchPaths)}
		d.tree.at([]string{"data"}).items = true
		buffer := bytes.Clone(body)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				copy(buffer, body)
				if err := d.parse(buffer); err != nil {
					b.Fatal(err)
				}
				list := d.find([]string{"data"})
				d.digests(list, nil)
				if d.elements(list).Len() != 1000 {
					b.Fatal("items lost")
				}
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	page := benchPage(b)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		DigestOf(page, none)
	}
}
