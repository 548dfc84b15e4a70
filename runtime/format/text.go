package format

import "fmt"

// appendText appends a text as a JSON string. Bytes that are not UTF-8 are kept: the
// page reader reports them.
func appendText[T ~string | ~[]byte](out []byte, text T) []byte {
	out = append(out, '"')
	plain := 0
	for i := range len(text) {
		escaped := escapes[text[i]]
		if escaped == "" {
			continue
		}
		out = append(append(out, text[plain:i]...), escaped...)
		plain = i + 1
	}
	return append(append(out, text[plain:]...), '"')
}

// escapes has the bytes that a JSON string cannot have as they are.
var escapes = func() (table [256]string) {
	for c := range ' ' {
		table[c] = fmt.Sprintf(`\u%04x`, c)
	}
	table['\b'], table['\f'], table['\n'], table['\r'], table['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	table['"'], table['\\'] = `\"`, `\\`
	return table
}()
