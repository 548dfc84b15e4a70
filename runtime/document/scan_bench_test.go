package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
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

// A namedPage is a page of a benchmark.
type namedPage struct {
	name string
	body []byte
}

// benchPages returns the same page without and with insignificant whitespace.
func benchPages(tb testing.TB) []namedPage {
	page := benchPage(tb)
	var indented bytes.Buffer
	require.NoError(tb, json.Indent(&indented, page, "", "  "))
	return []namedPage{{"minified", page}, {"indented", indented.Bytes()}}
}

var benchPaths = [][]string{{"data"}, {"meta", "total"}, {"meta", "next"}}

// benchDocument returns a document whose items are at data.
func benchDocument() *document {
	body := scan.NewTree(nil, benchPaths)
	return &document{scanner: scan.New(scan.Targets{Body: body, Items: body.Root.At("data"), Compact: true, MaxDepth: 512})}
}

func BenchmarkScan(b *testing.B) {
	for _, page := range benchPages(b) {
		b.Run(page.name, func(b *testing.B) {
			b.SetBytes(int64(len(page.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := newDocument(page.body, benchPaths, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, page := range benchPages(b) {
		doc, err := newDocument(page.body, benchPaths, 0)
		require.NoError(b, err)
		raw, _ := lookupRaw(doc, []string{"data"})
		b.Run(page.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if splitItems(raw).Len() != 1000 {
					b.Fatal("items lost")
				}
			}
		})
	}
}

// BenchmarkRead measures what happens to a page before it is judged: validation,
// compaction, digests and items.
func BenchmarkRead(b *testing.B) {
	for _, page := range benchPages(b) {
		d := benchDocument()
		buffer := bytes.Clone(page.body)
		b.Run(page.name, func(b *testing.B) {
			b.SetBytes(int64(len(page.body)))
			b.ReportAllocs()
			for b.Loop() {
				copy(buffer, page.body)
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
		DigestOf(page, zeroDigest)
	}
}

// BenchmarkDecode measures the decoding of the values that rules read.
func BenchmarkDecode(b *testing.B) {
	doc, err := newDocument(benchPage(b), benchPaths, 0)
	require.NoError(b, err)
	items, _ := lookupRaw(doc, []string{"data"})
	for _, c := range []struct {
		name string
		path []string
	}{{"small object", []string{"meta"}}, {"one item", []string{"data", "0"}}} {
		raw, _ := lookupRaw(doc, c.path)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("1000 items", func(b *testing.B) {
		split := splitItems(items)
		b.SetBytes(int64(len(items)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodeItems(split, newAllowance(0)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
