package runtime

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// largePage is a page of more than size bytes, indented or not, and its items as
// they must come out.
func largePage(size int, indented bool) (page, items []byte) {
	var b, lines bytes.Buffer
	b.WriteString(`{"data":[`)
	for n := 0; b.Len() < size; n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		if indented {
			fmt.Fprintf(&b, "\n  { \"id\" : %d,\n    \"text\": \"a, b] \\\"%d\\\"\" }", n, n)
		} else {
			fmt.Fprintf(&b, `{"id":%d,"text":"a, b] \"%d\""}`, n, n)
		}
		fmt.Fprintf(&lines, `{"id":%d,"text":"a, b] \"%d\""}`+"\n", n, n)
	}
	b.WriteString(`],"last":true}`)
	return b.Bytes(), lines.Bytes()
}

func documentOf(t *testing.T, r *Response) *Document {
	t.Helper()
	d := &Document{limit: DefaultDepth, facts: &scanner{compact: true, window: r.window, keys: make([]foretold, 64)}, tree: newPathTree([][]string{{"data"}, {"last"}})}
	d.tree.at([]string{"data"}).items = true
	require.NoError(t, d.parse(r.Body))
	return d
}

// TestALargeResponseStandsInAFile reads the same page from memory and from a
// file: content, digests and items are the same, however it was sent.
func TestALargeResponseStandsInAFile(t *testing.T) {
	for _, indented := range []bool{false, true} {
		page, items := largePage(5<<20, indented)
		for name, length := range map[string]string{"chunked": "", "with its length": strconv.Itoa(len(page))} {
			t.Run(fmt.Sprint(name, indented), func(t *testing.T) {
				api, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) {
					if length != "" {
						w.Header().Set("Content-Length", length)
					}
					_, _ = w.Write(page)
				})
				c, _ := clientFor(t, api.URL)
				into := &Buffer{}
				defer into.Release()
				for range 2 { // the second time the buffer is used again
					r, err := c.Do(t.Context(), Call{Method: "GET", URL: api.URL, Into: into}, nil)
					require.NoError(t, err)
					require.Equal(t, canMap, r.window != nil)
					spooled := documentOf(t, r)
					inMemory := documentOf(t, &Response{Body: bytes.Clone(page)})
					list := spooled.place([]string{"data"})
					content, digest := spooled.digests(list, nil)
					content2, digest2 := inMemory.digests(inMemory.place([]string{"data"}), nil)
					require.Equal(t, content2, content)
					require.Equal(t, digest2, digest)
					got := spooled.elements(list)
					require.Equal(t, bytes.Count(items, []byte("\n")), got.Len())
					var written bytes.Buffer
					n, err := got.WriteTo(&written)
					require.NoError(t, err)
					require.EqualValues(t, len(items), n)
					require.True(t, bytes.Equal(items, written.Bytes()))
					var each bytes.Buffer
					for item := range got.All() {
						each.Write(append(item, '\n'))
					}
					require.True(t, bytes.Equal(items, each.Bytes()))
					spooled.whole(func() {
						last, err := Project(spooled, [][]string{{"last"}, {"absent"}})
						require.NoError(t, err)
						require.Equal(t, map[string]any{"last": true}, last)
					})
					kept := got.Clone()
					into.Release()
					require.True(t, bytes.Equal(items, kept.Bytes()), "what was cloned stays")
				}
			})
		}
	}
}

func TestALargeResponseThatBreaksOffIsNoPage(t *testing.T) {
	page, _ := largePage(5<<20, false)
	api, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page[:len(page)-1])
	})
	c, _ := clientFor(t, api.URL)
	_, err := c.once(t.Context(), Call{Method: "GET", URL: api.URL})
	var fault *Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, ClassTransient, fault.Class)
	require.Contains(t, fault.Message, fmt.Sprintf("broke off after %d bytes", len(page)-1))
}

func TestWithoutRoomForALargeResponseTheCureIsNamed(t *testing.T) {
	if !canMap {
		t.Setenv("TMPDIR", t.TempDir()) // nothing is put aside here: there is nothing to see
		return
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	b := &Buffer{}
	b.begin(spoolBytes + 1)
	page, _ := largePage(spoolBytes+1, false)
	r := bytes.NewReader(page)
	var err error
	for err == nil {
		_, err = b.readFrom(r)
	}
	var fault *Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, ClassIO, fault.Class)
	require.Contains(t, fault.Hint, "set TMPDIR to another folder")
	require.NotErrorIs(t, err, io.EOF)
	require.ErrorIs(t, err, os.ErrNotExist)
}
