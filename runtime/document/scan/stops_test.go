package scan

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStopsAreFoundAsByLookingAtEachByte(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []byte("\"\\\x00\x1f\x20\x21\x23\x5b\x5d\x7f\x80\xff/u09")
	for range 2000 {
		data := make([]byte, 64*(1+r.IntN(3)))
		wantStops, wantSlashes, wantHigh := make([]byte, len(data)/8), make([]uint64, len(data)/64), false
		for i := range data {
			if data[i] = byte(r.Uint32()); r.IntN(2) == 0 {
				data[i] = special[r.IntN(len(special))]
			}
			if r.IntN(4) > 0 {
				data[i] &= 0x7f // so that some have ASCII only
			}
			if data[i] == '"' || data[i] < ' ' {
				wantStops[i/8] |= 1 << (i % 8)
			}
			if data[i] == '\\' {
				wantSlashes[i/64] |= 1 << (i % 64)
			}
			wantHigh = wantHigh || data[i] >= 0x80
		}
		for _, find := range []func(data, stops []byte, slashes []uint64) bool{findStops, findStopsPortably} {
			stops, slashes := make([]byte, len(wantStops)), make([]uint64, len(wantSlashes))
			require.Equal(t, wantHigh, find(data, stops, slashes))
			require.Equal(t, wantStops, stops)
			require.Equal(t, wantSlashes, slashes)
		}
	}
	ascii := bytes.Repeat([]byte("a"), 64)
	require.False(t, findStops(ascii, make([]byte, 8), make([]uint64, 1)))
	require.False(t, findStopsPortably(ascii, make([]byte, 8), make([]uint64, 1)))
}

// Strings are moved over the borders of words and blocks, byte by byte.
func TestStringsMayCrossTheBordersOfBlocks(t *testing.T) {
	for _, c := range []struct {
		name, text string
		problem    string // "": none
	}{
		{"plain", `"abc"`, ""},
		{"escaped quote", `"a\"b"`, ""},
		{"escaped backslashes", `"\\\\\\"`, ""},
		{"hexadecimal escape", `"\u00e9\/"`, ""},
		{"surrogate pair", `"\ud83d\ude00"`, ""},
		{"characters of two to four bytes", `"é日😀"`, ""},
		{"cut character", "\"a\xe6\x97\"", "invalid UTF-8 (0xe6) in a string"},
		{"lone continuation", "\"\x97\"", "invalid UTF-8 (0x97) in a string"},
		{"continuation after a character", "\"日\x97\"", "invalid UTF-8 (0x97) in a string"},
		{"half a character after a whole one", "\"😀\xf0\x9f\x98é\"", "invalid UTF-8 (0xf0) in a string"},
		{"first half of a pair", `"a\ud83d"`, `unpaired surrogate \ud83d in a string`},
		{"second half of a pair", `"\ud83d\ude00\ude00"`, `unpaired surrogate \ude00 in a string`},
		{"unknown escape", `"a\x"`, "invalid character 'x' in an escape"},
		{"cut hexadecimal escape", `"\u00e"`, `invalid character '"' in a \u escape`},
		{"control character", "\"a\nb\"", "control character 0x0a in a string"},
		{"control character after a backslash", "\"a\\\nb\"", `invalid character '\n' in an escape`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, border := range []int{64, 128, blockBytes, 2 * blockBytes, 3 * blockBytes} {
				for before := border - len(c.text) - 3; before <= border+1; before++ {
					body := `["` + strings.Repeat("x", before-4) + `",` + c.text + `]`
					s := New(Targets{})
					err := s.Scan([]byte(body))
					switch c.problem {
					case "":
						require.NoError(t, err, "at %d", before)
						minimal, _ := json.Marshal(json.RawMessage(body))
						require.Equal(t, len(minimal), s.Size)
					default:
						syntax := (*SyntaxError)(nil)
						require.ErrorAs(t, err, &syntax, "at %d", before)
						require.Equal(t, c.problem, syntax.Message)
						require.Contains(t, c.text, body[syntax.Offset:syntax.Offset+1])
					}
				}
			}
		})
	}
}

func TestADocumentMayEndAtTheBorderOfABlock(t *testing.T) {
	for _, size := range []int{64, blockBytes, 2 * blockBytes} {
		for _, end := range []string{`"]`, `\"]`, `\\"]`, `\`, `\u00e`, `"`, ``, "\xe6\x97"} {
			for more := -2; more <= 2; more++ {
				body := `["` + strings.Repeat("x", size+more-2-len(end)) + end
				require.Len(t, body, size+more)
				err := New(Targets{}).Scan([]byte(body))
				require.Equal(t, json.Valid([]byte(body)), err == nil, "%s: %v", end, err)
				if err != nil {
					require.EqualError(t, err, (&SyntaxError{Offset: size + more, Message: "unexpected end of the document"}).Error())
				}
			}
		}
	}
}
