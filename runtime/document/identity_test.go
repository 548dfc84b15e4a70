package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdentityIsTheFirstKeyThatNamesOne(t *testing.T) {
	for item, want := range map[string]string{
		`{"id":7}`: `7`,
		`{"name":"a, \"b\"","tags":[1],"id":"x"}`: `"x"`,
		`{"_id":{"$oid":"5f"},"id":null}`:         `{"$oid":"5f"}`,
		`{"id":null,"uuid":"u"}`:                  `"u"`,
		`{"cursor":"c","node":{"n":1,"id":"x"}}`:  `"x"`,
		`{"owner":{"id":1},"name":"a"}`:           ``,
		`{"id":""}`:                               ``,
		`{"id":[1]}`:                              ``,
		`{}`:                                      ``,
		`[1]`:                                     ``,
		`7`:                                       ``,
		`{"` + strings.Repeat("x", 5000) + `":1,"id":2}`: ``,
	} {
		require.Equal(t, want, string(Identity([]byte(item))), item)
	}
}

func TestTheEndsOfALargePageAreCompared(t *testing.T) {
	for _, dataField := range []string{"", "data"} {
		for count, want := range map[int]int{0: 0, 1: 1, wholePage: wholePage, wholePage + 1: 2 * edgeItems, 1000: 2 * edgeItems} {
			ids := make([]string, count)
			for i := range ids {
				ids[i] = fmt.Sprintf(` {"id": %d}`, i)
			}
			body := "[" + strings.Join(ids, ",") + "]"
			if dataField != "" {
				body = `{"data": ` + body + `}`
			}
			reading, err := NewReader(Options{}).Read(Response{Status: 200, Body: []byte(body)})
			require.NoError(t, err)
			require.Len(t, reading.Compared, want)
			if count > 0 {
				require.Equal(t, `{"id":0}`, string(reading.Compared[0]))
				require.Equal(t, fmt.Sprintf(`{"id":%d}`, count-1), string(reading.Compared[want-1]))
			}
			if count > wholePage {
				require.Equal(t, fmt.Sprintf(`{"id":%d}`, edgeItems-1), string(reading.Compared[edgeItems-1]))
				require.Equal(t, fmt.Sprintf(`{"id":%d}`, count-edgeItems), string(reading.Compared[edgeItems]))
			}
		}
	}
}
