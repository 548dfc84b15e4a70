package shape

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Types is a set of types of JSON values. The bits stay the same from version to version, because
// state files and Parquet files hold them.
type Types uint16

// The types of values.
const (
	Boolean Types = 1 << iota
	Integer       // fits 53 bits, so a 64-bit floating-point number holds it, too
	BigInt        // integer that fits 64 bits
	Number        // other number that a 64-bit floating-point number holds
	Decimal       // other number
	Text
	List
	LongText // text of at least 128 bytes of JSON; it also has the type Text
	Null
	Object // object with members
	Empty  // {}
)

// longText is the size of a [LongText].
const longText = 128

// kinds lists the types for people, in the order in which a set names them. word is the name of the
// type in a file. Types that people do not tell apart have the same name.
var kinds = []struct {
	types              Types
	word, name, plural string
}{
	{Object, "object", "object", "objects"}, {Empty, "empty", "object", "objects"},
	{Boolean, "boolean", "boolean", "booleans"},
	{Integer, "integer", "integer", "integers"}, {BigInt, "bigint", "integer", "integers"},
	{Number, "number", "number", "numbers"}, {Decimal, "decimal", "number", "numbers that 64 bits do not hold"},
	{Text, "text", "text", "texts"}, {List, "list", "list", "lists"}, {Null, "null", "null", "nulls"},
}

// Names returns the types as people know them: object, boolean, integer, number, text, list and null.
func (t Types) Names() (names []string) {
	for _, k := range kinds {
		if t&k.types != 0 {
			names = lists.AppendNew(names, k.name)
		}
	}
	return names
}

// Words returns the words for the types that [ParseType] reads.
func (t Types) Words() (words []string) {
	for _, k := range kinds {
		if t&k.types != 0 {
			words = append(words, k.word)
		}
	}
	return words
}

// ParseType returns the type that a word names, and whether there is one.
func ParseType(word string) (Types, bool) {
	for _, k := range kinds {
		if k.word == word {
			return k.types, true
		}
	}
	return 0, false
}

// TypeWords returns the words for all types.
func TypeWords() []string { return (^Types(0)).Words() }

// String lists the types: "integers, texts and lists".
func (t Types) String() string {
	var words []string
	for _, k := range kinds {
		if t&k.types != 0 {
			words = lists.AppendNew(words, k.plural)
		}
	}
	if last := len(words) - 1; last > 0 {
		words = append(words[:last-1], words[last-1]+" and "+words[last])
	}
	return strings.Join(words, ", ")
}

// TypeOf returns the type of a valid JSON value without whitespace before it.
func TypeOf(value []byte) Types {
	switch value[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Boolean
	case '"':
		if len(value) >= longText {
			return Text | LongText
		}
		return Text
	case '[':
		return List
	case '{':
		if value[scan.SkipSpace(value, 1)] == '}' {
			return Empty
		}
		return Object
	}
	return typeOfNumber(value)
}

// exactDigits is the number of significant digits that every floating-point number of 64 bits preserves. A number with
// more digits may be rounded.
const exactDigits = 15

// maxDigits is the number of significant digits that suffice to tell a floating-point number of 64 bits from others. A
// number with more digits was not meant as a floating-point number.
const maxDigits = 17

func typeOfNumber(value []byte) Types {
	if _, ok := ShortInteger(value); ok {
		return Integer
	}
	if len(value) <= exactDigits+1 && bytes.IndexByte(value, 'e') < 0 && bytes.IndexByte(value, 'E') < 0 && bytes.IndexByte(value, '.') > 0 {
		return Number
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		if -1<<53 <= n && n <= 1<<53 {
			return Integer
		}
		return BigInt
	}
	mantissa := value
	if i := bytes.IndexAny(value, "eE"); i >= 0 {
		mantissa = value[:i]
	}
	digits := significant(mantissa)
	n, err := strconv.ParseFloat(string(value), 64) // too large a number is an error
	if err != nil || len(digits) > maxDigits || n == 0 && len(digits) > 0 || len(digits) > exactDigits && isRounded(digits, n) {
		return Decimal
	}
	return Number
}

// isRounded reports whether the nearest number to some significant digits is written with other ones.
func isRounded(digits []byte, n float64) bool {
	mantissa, _, _ := bytes.Cut(strconv.AppendFloat(nil, n, 'e', len(digits)-1, 64), []byte("e"))
	return !bytes.Equal(digits, significant(mantissa))
}

// significant returns the digits of a number without an exponent, without zeros at either end.
func significant(mantissa []byte) []byte {
	return bytes.Trim(bytes.ReplaceAll(bytes.TrimPrefix(mantissa, minus), []byte("."), nil), "0")
}

// ShortInteger returns the value of an integer of at most 15 digits.
func ShortInteger(value []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(value, minus)
	if len(digits) > 15 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(value) {
		n = -n
	}
	return n, true
}

var minus = []byte{'-'}

// formats are the formats of texts, with their names in JSON Schema.
var formats = []string{"date", "date-time", "uri", "uuid", "email"}

// formatOf returns the format of a text, or "".
func formatOf(text []byte) string {
	for _, format := range formats {
		if HasFormat(text, format) {
			return format
		}
	}
	return ""
}

// HasFormat reports whether a text has a format.
func HasFormat(text []byte, format string) bool {
	switch format {
	case "date":
		return len(text) == len("2006-01-02") && isDate(text)
	case "date-time":
		return isDateTime(text)
	case "uri":
		return len(text) > 8 && len(text) <= 2048 && (string(text[:7]) == "http://" || string(text[:8]) == "https://")
	case "uuid":
		return isUUID(text)
	case "email":
		return isEmail(text)
	}
	return false
}

// matches reports whether a text begins with a pattern, in which 0 stands for a digit.
func matches(text []byte, pattern string) bool {
	if len(text) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if c := text[i]; pattern[i] == '0' && (c < '0' || c > '9') || pattern[i] != '0' && c != pattern[i] {
			return false
		}
	}
	return true
}

// number returns the value of two digits.
func number(text []byte) int { return int(text[0]-'0')*10 + int(text[1]-'0') }

func isDate(text []byte) bool {
	if !matches(text, "0000-00-00") {
		return false
	}
	year, month, day := number(text)*100+number(text[2:]), number(text[5:]), number(text[8:])
	if month < 1 || month > 12 || day < 1 {
		return false
	}
	days := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days++
	}
	return day <= days
}

// isDateTime reports whether a text is a time of RFC 3339, as in 2026-01-02T03:04:05.678+01:00.
func isDateTime(text []byte) bool {
	const seconds = "0000-00-00T00:00:00"
	if len(text) <= len(seconds) || text[10] != 'T' || !isDate(text[:10]) || !matches(text[11:], "00:00:00") {
		return false
	}
	if number(text[11:]) > 23 || number(text[14:]) > 59 || number(text[17:]) > 59 {
		return false
	}
	zone := text[len(seconds):]
	if zone[0] == '.' {
		digits := 1
		for digits < len(zone) && zone[digits] >= '0' && zone[digits] <= '9' {
			digits++
		}
		if digits == 1 {
			return false
		}
		zone = zone[digits:]
	}
	if len(zone) == len("+00:00") && (zone[0] == '+' || zone[0] == '-') {
		return matches(zone[1:], "00:00") && number(zone[1:]) < 24 && number(zone[4:]) < 60
	}
	return string(zone) == "Z"
}

func isUUID(text []byte) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range text {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'):
			return false
		}
	}
	return true
}

// ofAddresses are the characters of email addresses without quotes.
var ofAddresses = func() (set [256]bool) {
	for c := byte('!'); c < 0x7f; c++ {
		set[c] = !strings.ContainsRune(`"(),:;<>[\]/`, rune(c))
	}
	return set
}()

// isEmail reports whether a text is an address such as ada@example.com.
func isEmail(text []byte) bool {
	name, domain, found := bytes.Cut(text, []byte{'@'})
	if !found || len(name) == 0 || len(text) > 254 || bytes.IndexByte(domain, '.') < 1 {
		return false
	}
	for _, c := range text {
		if !ofAddresses[c] {
			return false
		}
	}
	last := domain[len(domain)-1]
	return bytes.IndexByte(domain, '@') < 0 && last != '.' && last != '-'
}
