package studio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/rules/value"
)

// masks are the secrets in the text of the configuration, which the page sees as marks: •1••. A mark has as
// many characters as the secret, if that suffices for its number, so that positions stay.
type masks struct {
	mu      sync.Mutex
	secrets []string // as they are written; the mark of the first has the number 1
}

var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`•(\d+)•+`) })

// hide returns a text of the configuration with marks in the place of its secrets.
func (m *masks) hide(text string, secrets []workbench.ByteRange) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	end := 0
	for _, p := range secrets {
		b.WriteString(text[end:p.Start])
		b.WriteString(m.markOf(text[p.Start:p.End]))
		end = p.End
	}
	return b.String() + text[end:]
}

// markOf returns the mark of a secret. The caller holds the lock.
func (m *masks) markOf(text string) string {
	i := slices.Index(m.secrets, text)
	if i < 0 {
		i = len(m.secrets)
		m.secrets = append(m.secrets, text)
	}
	number := strconv.Itoa(i + 1)
	return "•" + number + strings.Repeat("•", max(1, utf8.RuneCountInString(text)-1-len(number)))
}

// showJSON returns the parameters of a call with the secrets in their texts. A client may write a mark with
// escapes, as many encoders do.
func (m *masks) showJSON(params []byte) []byte {
	var plain any
	if bytes.Contains(params, []byte(`\u`)) && value.Unmarshal(params, &plain) == nil {
		if text, err := value.Marshal(plain); err == nil {
			params = text
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return mark().ReplaceAllFunc(params, func(found []byte) []byte {
		n, err := strconv.Atoi(string(mark().FindSubmatch(found)[1]))
		if err != nil || n < 1 || n > len(m.secrets) {
			return found
		}
		return inJSON(m.secrets[n-1])
	})
}

// inJSON returns a text as it stands within a text in JSON.
func inJSON(text string) []byte {
	quoted, _ := json.Marshal(text) // a text always encodes
	return quoted[1 : len(quoted)-1]
}

// shortest is the length, in bytes, of the shortest secret that is searched for in results: shorter ones occur
// in too many words.
const shortest = 4

// hideJSON returns a result of a call with marks in the place of secrets. The workbench has hidden them already,
// except in parts of the text of the configuration, such as edits.
func (m *masks) hideJSON(result []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, text := range m.secrets {
		if len(text) < shortest {
			continue
		}
		result = bytes.ReplaceAll(result, inJSON(text), fmt.Appendf(nil, "•%d•", i+1))
	}
	return result
}
