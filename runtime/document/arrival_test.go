package document

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// An arriving is a document that arrives in parts of a size.
type arriving struct {
	body []byte
	size int
	file []byte // what it has passed on
}

func (a *arriving) Next(done, rest []byte) (data []byte, more bool, err error) {
	a.file = append(a.file, done...)
	n := min(a.size, len(a.body))
	data, a.body = append(bytes.Clone(rest), a.body[:n]...), a.body[n:]
	return data, n > 0, nil
}

// A list that was summed up while it arrived has the digest of the list in memory, and the same items are
// drawn from it, wherever its parts end.
func TestAListIsSummedUpWhileItArrives(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	random := rand.New(rand.NewPCG(7, 8))
	list := func(items int, of func(i int) string) string {
		texts := make([]string, items)
		for i := range texts {
			texts[i] = of(i)
		}
		return "[" + strings.Join(texts, ",") + "]"
	}
	short := func(i int) string { return fmt.Sprint(i) }
	same := func(int) string { return `{"name":"the same for every item of the page"}` }
	mixed := func(i int) string {
		return `{"id":` + fmt.Sprint(i) + `,"t":"` + strings.Repeat("x", random.IntN(90)) + `"}`
	}
	for name, body := range map[string]string{
		"numbers": list(3000, short), "equal items": list(3000, same), "all lengths": list(3000, mixed), "few": list(65, mixed), "none": "[]",
		"after another list": `{"before":` + list(500, mixed) + `,"list":` + list(700, mixed) + `,"n":1}`,
		"before an object":   `{"list":` + list(700, mixed) + `,"after":{"n":[1]}}`,
		"with whitespace":    list(700, func(i int) string { return " \n " + mixed(i) + " \t" }),
	} {
		t.Run(name, func(t *testing.T) {
			whole := NewReader(Options{})
			require.NoError(t, whole.doc.parse([]byte(body)))
			s := whole.doc.scanner
			want := whole.doc.elements(scan.Span{Start: s.Begins, End: s.Ends})
			digest := whole.doc.digest(whole.doc.items, zeroDigest)
			var compared []string
			for _, item := range whole.comparedItems(want) {
				compared = append(compared, string(item))
			}
			for _, size := range []int{1, 13, 31, 64, 100, 5000, len(body)} {
				r := NewReader(Options{})
				source := &arriving{body: []byte(body), size: size}
				first, _, _ := source.Next(nil, nil)
				require.NoError(t, r.doc.parseParts(first, source))
				r.doc.open(source.file, nil)
				at := scan.Span{Start: r.doc.scanner.Begins, End: r.doc.scanner.Ends}
				items := r.doc.elements(at)
				require.True(t, r.doc.arrival.has(&r.doc, at))
				require.Equal(t, digest, r.doc.listDigest(at), size)
				var got []string
				for _, item := range r.comparedItems(items) {
					got = append(got, string(item))
				}
				require.Equal(t, compared, got, size)
			}
		})
	}
}

// A digest does not depend on the parts in which the data comes.
func TestAPartialDigestIsTheDigestOfTheWhole(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	random := rand.New(rand.NewPCG(9, 10))
	data := make([]byte, 2*spool.ResidentBytes+100)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for _, size := range []int{0, 1, 63, 64, 65, 1000, spool.ResidentBytes, spool.ResidentBytes + 1, 2 * spool.ResidentBytes, len(data)} {
		want := zeroDigest
		for part := range slices.Chunk(data[:size], spool.ResidentBytes) {
			want = DigestOf(part, want)
		}
		for _, most := range []int{100, 5000, 1 << 20} {
			var sum summer
			for rest := data[:size]; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(most))
				sum.add(rest[:n])
				rest = rest[n:]
			}
			require.Equal(t, want, sum.sum(), "%d bytes", size)
		}
	}
}
