package workbench

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestEveryOffsetHasItsPosition(t *testing.T) {
	for name, text := range map[string]string{
		"a long line":    strings.Repeat("aä💡", 300),
		"several lines":  strings.Repeat("a💡ä\r\n\nb\r", 200),
		"malformed text": strings.Repeat("\xff\xe4a", 300),
		"nothing":        "",
	} {
		t.Run(name, func(t *testing.T) {
			table := newLineTable(text)
			line, units := 0, 0
			for i, c := range text {
				if !strings.HasPrefix(text[i:], "\n") || i == 0 || text[i-1] != '\r' {
					require.Equal(t, Position{line, units}, table.position(i), "offset %d", i)
					require.Equal(t, i, table.offset(Position{line, units}))
				}
				units += utf16Length(c)
				if _, size := utf8.DecodeRuneInString(text[i:]); c == '\n' || c == '\r' && !strings.HasPrefix(text[i+size:], "\n") {
					line, units = line+1, 0
				}
			}
			require.Equal(t, Position{line, units}, table.position(len(text)))
		})
	}
}
