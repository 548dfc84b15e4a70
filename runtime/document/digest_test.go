package document

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// compacted returns a document as the Reader has it.
func compacted(t *testing.T, body string, paths ...[]string) *document {
	t.Helper()
	d := &document{scanner: scan.New(scan.Targets{Body: scan.NewTree(nil, paths), Compact: true, MaxDepth: 512})}
	require.NoError(t, d.parse([]byte(body)))
	return d
}

// content returns the digest of a body without the ignored paths.
func content(t *testing.T, body string, ignore ...[]string) Digest {
	t.Helper()
	d := compacted(t, body, ignore...)
	var gaps []scan.Span
	for _, path := range ignore {
		if at := d.find(path); at.Present() {
			gaps = append(gaps, at)
		}
	}
	slices.SortFunc(gaps, func(a, b scan.Span) int { return a.Start - b.Start })
	digest, _ := d.digests(scan.Span{}, gaps)
	return digest
}

func TestContentsThatDifferInWhitespaceAreTheSame(t *testing.T) {
	for _, c := range []struct {
		name string
		same []string
	}{
		{"object", []string{
			`{"a":[1,2],"é":"x y"}`, "\ufeff { \"a\" : [ 1 ,\t2 ] ,\r\n\"é\":\"x y\" } ", "{\"a\":[1,2],\"é\":\"x y\"\n}",
		}},
		{"list", []string{`[]`, ` [ ] `}},
		{"number", []string{`1`, ` 1`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, body := range c.same {
				require.Equal(t, content(t, c.same[0]), content(t, body), body)
			}
		})
	}
}

func TestContentsThatDifferInAnythingElseAreNotTheSame(t *testing.T) {
	seen := map[Digest]string{}
	for _, body := range []string{
		`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1.0,"b":2}`, `{"a":1,"b":2,"b":2}`, `{"a":"1","b":2}`,
		`["\ufffd"]`, `["\\ud800"]`,
		`["a b"]`, `["ab"]`, `["\u0000"]`, `["a\"b"]`, `[]`, `{}`, `[1,2]`, `[12]`, `null`, `"null"`,
	} {
		digest := content(t, body)
		require.Empty(t, seen[digest], body)
		seen[digest] = body
	}
}

func TestIgnoredValuesDoNotCount(t *testing.T) {
	const page = `{"took":1,"data":[{"id":1,"at":"x"},{"id":2}],"meta":{"at":{"s":1}}}`
	const escapedKey = `{"t\u006fok": 25,"data":[{"id":1,"at":[]},{"id":2}],"meta":{"at":null}}`
	const otherIgnored = ` {"took": 25, "data":[{"id":1,"at":[]},{"id":2}],"meta":{"at":null}}`
	const otherItem = `{"took":1,"data":[{"id":1,"at":"x"},{"id":3}],"meta":{"at":{"s":1}}}`
	ignore := split("took", "data.0.at", "meta.at", "not.there")
	nested := append(slices.Clone(ignore), []string{"data", "0"})
	for _, c := range []struct {
		name, other string
		ignore      [][]string
		same        bool
	}{
		{"nothing is ignored", escapedKey, nil, false},
		{"a key is spelled in another way", escapedKey, ignore, false},
		{"only ignored values differ", otherIgnored, ignore, true},
		{"not all that differ are ignored", otherIgnored, ignore[:1], false},
		{"one ignored value is in another", otherIgnored, nested, true},
		{"an item differs", otherItem, ignore, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.same, content(t, page, c.ignore...) == content(t, c.other, c.ignore...))
		})
	}
}

// Each bit of texts of every length up to four blocks is changed in turn.
func TestDigestsDependOnEveryBitAndOnTheLength(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	seen := map[Digest]bool{}
	add := func(text []byte, seed Digest) {
		d := DigestOf(text, seed)
		require.False(t, seen[d])
		require.NotEqual(t, zeroDigest, d)
		seen[d] = true
	}
	for n := range 257 {
		text := make([]byte, n)
		add(text, zeroDigest)
		add(text, Digest{1, 0})
		add(text, Digest{0, 1})
		for bit := range 8 * n {
			text[bit/8] ^= 1 << (bit % 8)
			add(text, zeroDigest)
			text[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestADigestIsTheSameInEveryProcess(t *testing.T) {
	// An independent implementation, in Python, gave this value.
	digest := Digest{0xe35391001c33d5a4, 0xeff690ba88288ad0}
	require.Equal(t, digest, DigestOf([]byte("a page"), zeroDigest))

	text, err := json.Marshal(digest)
	require.NoError(t, err)
	require.Equal(t, `"e35391001c33d5a4eff690ba88288ad0"`, string(text))
	var restored Digest
	require.NoError(t, json.Unmarshal(text, &restored))
	require.Equal(t, digest, restored)
	require.EqualError(t, restored.UnmarshalText([]byte("e3")), "not a digest: e3")
}
