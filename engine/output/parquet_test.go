package output

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A readTable is the content of a Parquet file.
type readTable struct {
	columns []string
	types   map[string]string
	rows    []map[string]parquet.Value
}

func readParquet(t require.TestingT, content []byte) readTable {
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	table := readTable{types: map[string]string{}}
	for _, c := range file.Root().Columns() {
		require.True(t, c.Optional())
		table.columns = append(table.columns, c.Name())
		table.types[c.Name()] = c.Type().String()
	}
	for _, g := range file.RowGroups() {
		rows := g.Rows()
		for err = nil; err == nil; {
			buffer := make([]parquet.Row, 3)
			var n int
			n, err = rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				one := map[string]parquet.Value{}
				for _, v := range row {
					one[table.columns[v.Column()]] = v.Clone()
				}
				table.rows = append(table.rows, one)
			}
		}
		require.ErrorIs(t, err, io.EOF)
		require.NoError(t, rows.Close())
	}
	require.EqualValues(t, len(table.rows), file.NumRows())
	return table
}

// requireParquet compares a table with the items that it was written from.
func requireParquet(t require.TestingT, table readTable, items []json.RawMessage) {
	require.Len(t, table.rows, len(items))
	for i, item := range items {
		want := cells(t, item)
		for name := range want {
			require.Contains(t, table.columns, name)
		}
		for _, name := range table.columns {
			got := ""
			if v := table.rows[i][name]; !v.IsNull() {
				got = v.String()
			}
			if want[name] == "list" {
				require.True(t, json.Valid([]byte(got)), "%s", got)
				got = "list"
			}
			require.True(t, sameCell(want[name], got), "item %d, column %q of %s: want %q, got %q", i, name, items, want[name], got)
		}
	}
}

// sameCell reports whether two texts are equal, or two numbers, as a number in a column of numbers
// loses its spelling.
func sameCell(a, b string) bool {
	one, isNumber := new(big.Rat).SetString(a)
	other, isOther := new(big.Rat).SetString(b)
	return a == b || isNumber && isOther && one.Cmp(other) == 0
}

func TestAParquetFileHasEveryValueOfEveryItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := drawItems(t, 12)
		var b bytes.Buffer
		s := encoding{Options: Options{Format: Format{Kind: Parquet}, Nested: "/"}}.newStream(&b)
		writeParts(t, s.items("users"), items)
		require.NoError(t, s.close())
		requireParquet(t, readParquet(t, b.Bytes()), items)
	})
}

// TestRowsAreAddedToAParquetFile adds items of other columns and types to a file, run by run.
func TestRowsAreAddedToAParquetFile(t *testing.T) {
	dir, table := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		table++
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", table))
		var all []json.RawMessage
		for range 3 {
			items := drawItems(t, 6)
			all = append(all, items...)
			publishParquet(t, path, func(w io.Writer) { writeParts(t, w, items) }, nil)
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		requireParquet(t, readParquet(t, content), all)
	})
}

// publishParquet adds items to a file, or merges them by a key.
func publishParquet(t require.TestingT, path string, write func(w io.Writer), key []string) {
	store := checkpoint.Stateless()
	file, err := encoding{Options: Options{Format: Format{Kind: Parquet}, Nested: "/"}}.openFile(store, path, "users")
	require.NoError(t, err)
	_, err = file.append()
	require.NoError(t, err)
	file.key = key
	write(file)
	part, err := file.part(nil)
	require.NoError(t, err)
	require.NoError(t, store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{part}}))
	require.NoError(t, store.Close())
}

// TestTheTypeOfAParquetColumnHoldsItsValues: no value is changed to fit a type.
func TestTheTypeOfAParquetColumnHoldsItsValues(t *testing.T) {
	for _, test := range []struct {
		values string // of the column, one JSON value for each item
		typ    string
		want   string // the values as the reader prints them
		mixed  string // why the column is text
	}{
		{"1 2 null", "INT(64,true)", "1 2 <null>", ""},
		{"9223372036854775807 -9223372036854775808", "INT(64,true)", "9223372036854775807 -9223372036854775808", ""},
		{"1 2.5 1e3", "DOUBLE", "1 2.5 1000", ""},
		{"9007199254740993 0.5", "STRING", "9007199254740993 0.5", "integers and numbers"},
		{"12345678901234567890 1", "STRING", "12345678901234567890 1", "integers and numbers that 64 bits do not hold"},
		{"0.123456789012345678", "STRING", "0.123456789012345678", "numbers that 64 bits do not hold"},
		{"0.12345678901234567", "STRING", "0.12345678901234567", "numbers that 64 bits do not hold"},
		{"9007199254740993.0", "STRING", "9007199254740993.0", "numbers that 64 bits do not hold"},
		{"0.10000000000000001", "DOUBLE", "0.1", ""}, // the number of 64 bits, in 17 digits
		{"1e400 1e-400", "STRING", "1e400 1e-400", "numbers that 64 bits do not hold"},
		{"0.0 -0", "DOUBLE", "0 -0", ""},
		{"true false null", "BOOLEAN", "true false <null>", ""},
		{`"" "a" null`, "STRING", " a <null>", ""},
		{"null null", "STRING", "<null> <null>", ""},
		{`[] ["a",1] {}`, "STRING", `[] ["a",1] {}`, ""},
		{`1 "a" true 1.50 [2]`, "STRING", `1 a true 1.50 [2]`, "booleans, integers, numbers, texts and lists"},
	} {
		t.Run(test.values, func(t *testing.T) {
			var b bytes.Buffer
			s := encoding{Options: Options{Format: Format{Kind: Parquet}}}.newStream(&b)
			for v := range strings.FieldsSeq(test.values) {
				_, err := fmt.Fprintf(s.items("a"), "{\"a\":%s}\n", v)
				require.NoError(t, err)
			}
			mixed := strings.Join(s.encoders["a"].(*parquetWriter).mixed(), ";")
			require.NoError(t, s.close())
			table := readParquet(t, b.Bytes())
			require.Equal(t, test.typ, table.types["a"])
			var got []string
			for _, row := range table.rows {
				got = append(got, row["a"].String())
			}
			require.Equal(t, test.want, strings.Join(got, " "))
			if test.mixed != "" {
				test.mixed = `column "a" has ` + test.mixed
			}
			require.Equal(t, test.mixed, mixed)
		})
	}
}

// TestTypesOfAParquetFileCarryOver: what a column of an earlier run holds decides its type together
// with the new rows, also where the schema does not tell.
func TestTypesOfAParquetFileCarryOver(t *testing.T) {
	for _, test := range []struct{ before, added, typ string }{
		{`null`, `1`, "INT(64,true)"}, // the column of nulls was text
		{`1`, `1.5`, "DOUBLE"},        // the integer fits
		{`1.5`, `2`, "DOUBLE"},        //
		{`1`, `"a"`, "STRING"},        //
		{`"1"`, `2`, "STRING"},        //
		{`[1]`, `null`, "STRING"},     //
		{`true`, `1`, "STRING"},       //
		{`1.5`, `[1.50]`, "STRING"},   //
		{``, `1`, "INT(64,true)"},     // a list without items
	} {
		path := filepath.Join(t.TempDir(), "a.parquet")
		add := func(v string) {
			publishParquet(t, path, func(w io.Writer) {
				if v != "" {
					_, err := fmt.Fprintf(w, "{\"a\":%s}\n", v)
					require.NoError(t, err)
				}
			}, nil)
		}
		add(test.before)
		add(test.added)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		table := readParquet(t, content)
		require.Equal(t, []string{"a"}, table.columns)
		require.Equal(t, test.typ, table.types["a"], "%s, then %s", test.before, test.added)
	}
}

// TestLargeRowGroupsAreCopied adds rows to a file of several row groups, which keep their bytes, and
// joins small ones.
func TestLargeRowGroupsAreCopied(t *testing.T) {
	fixtures.SkipUnderRace(t, "it allocates much")
	path := filepath.Join(t.TempDir(), "a.parquet")
	text := strings.Repeat("x", 1<<20)
	publishParquet(t, path, func(w io.Writer) {
		for i := range 2*groupBytes>>20 + 1 {
			_, err := fmt.Fprintf(w, "{\"id\":%d,\"text\":%q}\n", i, text)
			require.NoError(t, err)
		}
	}, nil)
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range 3 {
		publishParquet(t, path, func(w io.Writer) {
			_, err := fmt.Fprintf(w, "{\"id\":%d}\n", 1000+i)
			require.NoError(t, err)
		}, nil)
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	require.NoError(t, err)
	require.Len(t, file.RowGroups(), 3)
	table := readParquet(t, content)
	require.Len(t, table.rows, 2*groupBytes>>20+1+3)
	for i, row := range table.rows[:len(table.rows)-3] {
		require.EqualValues(t, i, row["id"].Int64())
		require.Len(t, row["text"].ByteArray(), len(text))
	}
	require.EqualValues(t, 1002, table.rows[len(table.rows)-1]["id"].Int64())
	end := int(file.Metadata().RowGroups[1].FileOffset)
	require.True(t, bytes.Equal(first[:end], content[:end]))
}

// FuzzOpenParquet opens and copies damaged files.
func FuzzOpenParquet(f *testing.F) {
	var b bytes.Buffer
	s := encoding{Options: Options{Format: Format{Kind: Parquet}}}.newStream(&b)
	_, err := io.WriteString(s.items("a"), "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"c\":[true]}\n{\"c\":[true],\"d\":1.5}\n")
	require.NoError(f, err)
	require.NoError(f, s.close())
	valid := b.Bytes()
	f.Add(0, byte(0))
	f.Fuzz(func(t *testing.T, at int, with byte) {
		damaged := bytes.Clone(valid)
		damaged[uint(at)%uint(len(damaged))] ^= with
		file, err := openParquet(bytes.NewReader(damaged))
		if err == nil {
			_ = newRowGroups(io.Discard, file.head, ".").copy(file)
		}
	})
}

// madeItems makes items while they are read, and measures the memory.
type madeItems struct {
	line  func(i int) string
	count int // of items
	made  int
	rest  []byte
	reads int
	peak  uint64 // bytes that are reachable
}

func (m *madeItems) Read(p []byte) (int, error) {
	for len(m.rest) < len(p) && m.made < m.count {
		m.rest = append(m.rest, m.line(m.made)...)
		m.made++
	}
	n := copy(p, m.rest)
	m.rest = append(m.rest[:0], m.rest[n:]...)
	if m.reads++; m.reads%25 == 0 {
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		m.peak = max(m.peak, now.HeapAlloc)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestTheMemoryOfAParquetFileIsBounded encodes lists of several row groups. The garbage collector lets
// the heap grow to twice what is reachable, so half of 64 MB must suffice, besides two texts of 1 MB that may
// have been copied since the garbage was collected.
func TestTheMemoryOfAParquetFileIsBounded(t *testing.T) {
	fixtures.SkipUnderRace(t, "it takes much more memory there")
	columns := func(n int) func(i int) string {
		return func(i int) string {
			var b strings.Builder
			for c := range n {
				fmt.Fprintf(&b, `,"c%d":"%d"`, c, (i*7919+c)%100_000)
			}
			return "{" + b.String()[1:] + "}\n"
		}
	}
	long := strings.Repeat("0123456789abcdef", 1<<16)
	for _, test := range []struct {
		name  string
		line  func(i int) string
		count int
	}{
		{"as many columns as possible", columns(maxParquetColumns), 3000},
		{"long texts", func(i int) string { return fmt.Sprintf("{\"id\":%d,\"text\":\"%d%s\"}\n", i, i, long) }, 100},
		{"numbers", func(i int) string { return fmt.Sprintf("{\"id\":%d,\"total\":%d.5}\n", i, i) }, 1_500_000},
		{"random texts", func(i int) string {
			return fmt.Sprintf("{\"id\":%d,\"text\":\"%x\"}\n", i, sha512.Sum512([]byte{byte(i), byte(i >> 8), byte(i >> 16)}))
		}, 300_000},
		{"50 columns", columns(50), 60_000},
	} {
		t.Run(test.name, func(t *testing.T) {
			debug.FreeOSMemory()
			first := newParquet(encoding{}, &streamRows{stream: &stream{w: io.Discard, closed: true}}, "", head{}).(*parquetWriter)
			_, err := io.WriteString(first, test.line(0)+test.line(test.count-1))
			require.NoError(t, err)
			items := &madeItems{line: test.line, count: test.count}
			start := time.Now()
			require.NoError(t, encodeParquet(io.Discard, head{first.columns, first.seen}, ".", nil, items, nil))
			t.Logf("%d MB are reachable at most, %s", items.peak>>20, time.Since(start))
			require.Less(t, items.peak, uint64((32+2)<<20))
		})
	}
}

// TestAKeyOfAParquetFileMayChangeItsType merges runs whose only key is a number or a text with the same digits, and another
// text, which stays.
func TestAKeyOfAParquetFileMayChangeItsType(t *testing.T) {
	dir, table := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		table++
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", table))
		ids, last := rapid.SampledFrom([]string{"100", "100.0", "1e2", `"100"`}), 0
		for n := range rapid.IntRange(2, 5).Draw(t, "runs") {
			publishParquet(t, path, func(w io.Writer) {
				_, err := fmt.Fprintf(w, "{\"id\":%s,\"n\":%d}\n", ids.Draw(t, "id"), n)
				require.NoError(t, err)
				if n == 0 {
					_, err = io.WriteString(w, "{\"id\":\"100.0\",\"n\":-1}\n")
					require.NoError(t, err)
				}
			}, []string{"id"})
			last = n
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		rows := readParquet(t, content).rows
		require.Len(t, rows, 2)
		require.EqualValues(t, -1, rows[0]["n"].Int64())
		require.EqualValues(t, last, rows[1]["n"].Int64())
	})
}

// TestNullAndAnEmptyTextAreTwoKeysOfParquet merges rows whose keys differ in null and an empty text alone.
func TestNullAndAnEmptyTextAreTwoKeysOfParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.parquet")
	merge := func(rows string) {
		publishParquet(t, path, func(w io.Writer) {
			_, err := io.WriteString(w, rows)
			require.NoError(t, err)
		}, []string{"order", "variant"})
	}
	merge("{\"order\":1,\"variant\":null,\"n\":5}\n{\"order\":1,\"variant\":\"\",\"n\":7}\n{\"order\":1,\"variant\":\"L\",\"n\":9}\n")
	merge("{\"order\":1,\"n\":6}\n")
	merge("{\"order\":1,\"variant\":\"\",\"n\":8}\n")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	requireParquet(t, readParquet(t, content), []json.RawMessage{
		json.RawMessage(`{"order":1,"variant":"L","n":9}`), json.RawMessage(`{"order":1,"n":6}`), json.RawMessage(`{"order":1,"variant":"","n":8}`),
	})
}

// TestAMergedParquetFileHasTheLastRowOfEachKey merges run by run, with keys that are numbers, texts or both,
// and compares with a map of all rows. A row without a key stays.
func TestAMergedParquetFileHasTheLastRowOfEachKey(t *testing.T) {
	dir, table := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		table++
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", table))
		ids := rapid.SampledFrom([]string{"1", "2", "3.5", "4", `"a"`, `"b"`, "1780000000.123456789", "1780000000.123456788", "9007199254740993.5"})
		publishParquet(t, path, func(w io.Writer) {
			_, err := io.WriteString(w, "{\"n\":-1}\n")
			require.NoError(t, err)
		}, nil)
		want, n := []json.RawMessage{json.RawMessage(`{"n":-1}`)}, 0
		for range 3 {
			publishParquet(t, path, func(w io.Writer) {
				for range rapid.IntRange(0, 8).Draw(t, "rows") {
					id := ids.Draw(t, "id")
					want = slices.DeleteFunc(want, func(row json.RawMessage) bool { return strings.HasPrefix(string(row), `{"id":`+id+`,`) })
					row := fmt.Sprintf(`{"id":%s,"n":%d}`, id, n)
					want = append(want, json.RawMessage(row))
					n++
					_, err := io.WriteString(w, row+"\n")
					require.NoError(t, err)
				}
			}, []string{"id"})
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		requireParquet(t, readParquet(t, content), want)
	})
}
