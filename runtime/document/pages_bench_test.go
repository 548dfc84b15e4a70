package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shape writes the members of items of one kind.
type shape struct {
	name string
	item func(b *bytes.Buffer, r *rand.Rand, id int)
}

// The shapes of items that APIs send. What differs from item to item is drawn, so that
// neither the scan nor the processor can learn a page by heart.
var shapes = []shape{
	{"nested", func(b *bytes.Buffer, r *rand.Rand, id int) {
		fmt.Fprintf(b, `{"id":%d,"uid":%d,"name":"Item \"%d\"","price":%d.25,"active":%t,"note":null,"tags":["alpha","b\n","\u00e9t\u00e9"],`+
			`"owner":{"id":9007199254740993,"mail":"user%d@example.com","address":{"city":"Springfield","zip":"%05d","country":"US"}},`+
			`"text":"Lorem ipsum dolor sit amet, consectetur elit."}`,
			id, 1<<60+id, id, id%1000, r.IntN(3) == 0, id, id%100000)
	}},
	{"optional", func(b *bytes.Buffer, r *rand.Rand, id int) {
		fmt.Fprintf(b, `{"id":%d,"title":%q`, id, words(r, 1+r.IntN(8)))
		if r.IntN(2) == 0 {
			fmt.Fprintf(b, `,"description":%q`, words(r, r.IntN(30)))
		}
		if r.IntN(3) == 0 {
			b.WriteString(`,"archived_at":"2026-01-02T03:04:05Z"`)
		}
		b.WriteString(`,"labels":[`)
		for n := range r.IntN(4) {
			if n > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, `{"id":%d,"name":%q,"color":"%06x"}`, r.IntN(1000), words(r, 1), r.IntN(1<<24))
		}
		fmt.Fprintf(b, `],"score":%.3f,"assignee":`, r.Float64()*100)
		if r.IntN(3) == 0 {
			b.WriteString(`null`)
		} else {
			fmt.Fprintf(b, `{"login":%q,"site_admin":false,"url":"https://api.example.com/users/%d"}`, words(r, 1), r.IntN(1e6))
		}
		b.WriteString(`,"state":"open"}`)
	}},
	{"texts", func(b *bytes.Buffer, r *rand.Rand, id int) {
		fmt.Fprintf(b, `{"id":%d,"body":%q,"html":%q}`, id, words(r, 20+r.IntN(200)), `<p class="x">`+words(r, 20+r.IntN(100))+"</p>\n")
	}},
	{"foreign", func(b *bytes.Buffer, r *rand.Rand, id int) {
		fmt.Fprintf(b, `{"id":%d,"name":"%s","city":"Zürich","summary":"%s"}`, id,
			strings.Repeat("日本語", 1+r.IntN(4)), strings.Repeat("строка текста ", r.IntN(12)))
	}},
	{"maps", func(b *bytes.Buffer, r *rand.Rand, id int) {
		fmt.Fprintf(b, `{"id":%d,"values":{`, id)
		for n := range 8 {
			fmt.Fprintf(b, `%s"k%d":%d`, []string{"", ","}[min(n, 1)], r.IntN(1e6), r.IntN(1e4))
		}
		b.WriteString(`}}`)
	}},
	{"numbers", func(b *bytes.Buffer, r *rand.Rand, id int) {
		fmt.Fprintf(b, `{"t":%d,"open":%.2f,"high":%.2f,"low":%.2f,"close":%.2f,"volume":%d,"trades":[%d,%d,%d,%d],"final":true}`,
			1700000000000+id*60000, r.Float64()*1e4, r.Float64()*1e4, r.Float64()*1e4, r.Float64()*1e4, r.IntN(1e9),
			r.IntN(1e3), r.IntN(1e4), r.IntN(1e5), r.IntN(1e6))
	}},
}

// words returns some words.
func words(r *rand.Rand, n int) string {
	all := []string{"a", "to", "list", "pages", "stopwhen", "continues", "until", "it", "ends", "responsibility"}
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(all[r.IntN(len(all))])
	}
	return b.String()
}

// page returns a page of items of the shape.
func (s shape) page(r *rand.Rand, items int) []byte {
	b := &bytes.Buffer{}
	b.WriteString(`{"data":[`)
	for n := range items {
		if n > 0 {
			b.WriteByte(',')
		}
		s.item(b, r, r.IntN(1e6))
	}
	b.WriteString(`],"meta":{"total":200000,"next":"abc"}}`)
	return b.Bytes()
}

// BenchmarkReadPages is BenchmarkRead for pages that differ, one after the other, of items
// of several shapes.
func BenchmarkReadPages(b *testing.B) {
	for _, s := range shapes {
		for _, indented := range []bool{false, true} {
			name := s.name
			if indented {
				name += "-indented"
			}
			r := rand.New(rand.NewPCG(1, 2))
			var pages [][]byte
			size := 0
			for range 20 {
				page := s.page(r, 1000)
				require.True(b, json.Valid(page))
				if indented {
					var out bytes.Buffer
					require.NoError(b, json.Indent(&out, page, "", "  "))
					page = out.Bytes()
				}
				pages = append(pages, page)
				size = max(size, len(page))
			}
			b.Run(name, func(b *testing.B) { readPages(b, pages, make([]byte, size)) })
		}
	}
}

func readPages(b *testing.B, pages [][]byte, buffer []byte) {
	d := benchDocument()
	all := 0
	for _, page := range pages {
		all += len(page)
	}
	b.SetBytes(int64(all))
	b.ReportAllocs()
	for b.Loop() {
		for _, page := range pages {
			if err := d.parse(buffer[:copy(buffer, page)]); err != nil {
				b.Fatal(err)
			}
			list := d.find([]string{"data"})
			d.digests(list, nil)
			if d.elements(list).Len() != 1000 {
				b.Fatal("items lost")
			}
		}
	}
}
