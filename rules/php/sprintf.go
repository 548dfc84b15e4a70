package php

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// MaxWidth is the greatest width, precision and argument number of a directive of sprintf.
const MaxWidth = 1000

// sprintf is PHP's sprintf(format, args...). The text is limited: widths, precisions and argument
// numbers are at most [MaxWidth]. It fails where PHP does: for a directive without its argument,
// and for one that does not exist.
func sprintf(format string, args []any) (string, error) {
	var b strings.Builder
	next := 0
	for {
		before, rest, found := strings.Cut(format, "%")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if strings.HasPrefix(rest, "%") {
			b.WriteByte('%')
			format = rest[1:]
			continue
		}
		d, err := parseDirective(rest)
		if err != nil {
			return "", err
		}
		format = rest[d.length:]
		if d.argument == 0 {
			next++
			d.argument = next
		}
		if d.argument > len(args) {
			return "", fmt.Errorf("the format needs %d arguments, got %d", d.argument, len(args))
		}
		text, err := d.text(args[d.argument-1])
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
}

// A directive is the text after a percent sign in a format.
type directive struct {
	length    int // the length of its text
	argument  int // from 1; 0: the next one
	left      bool
	plus      bool
	pad       byte
	width     int
	precision int // -1: not given
	verb      byte
}

// directiveForm has the groups argument, flags, width, precision and verb. A padding is one
// byte: PHP, too, refuses a letter beyond ASCII.
var directiveForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(?:([0-9]+)\$)?((?:[-+ 0]|'[[:ascii:]])*)([0-9]*)(\.[0-9]*)?l?(.?)`)
})

// parseDirective reads the directive at the beginning of a text.
func parseDirective(text string) (directive, error) {
	parts := directiveForm().FindStringSubmatch(text)
	d := directive{length: len(parts[0]), pad: ' ', precision: -1}
	if parts[1] != "" {
		if d.argument = number(parts[1]); d.argument == 0 || d.argument > MaxWidth {
			return d, fmt.Errorf("argument %s does not exist", parts[1])
		}
	}
	for flags := parts[2]; flags != ""; flags = flags[1:] {
		switch c := flags[0]; c {
		case '-':
			d.left = true
		case '+':
			d.plus = true
		case '\'':
			d.pad, flags = flags[1], flags[1:]
		default:
			d.pad = c
		}
	}
	d.width = number(parts[3])
	if parts[4] != "" {
		d.precision = number(parts[4][1:])
	}
	if max(d.width, d.precision) > MaxWidth {
		return d, fmt.Errorf("a width or a precision of %d is too large", max(d.width, d.precision))
	}
	if parts[5] == "" {
		return d, errors.New("the format ends within a directive")
	}
	d.verb = parts[5][0]
	return d, nil
}

// text formats an argument.
func (d directive) text(v any) (string, error) {
	switch d.verb {
	case 's':
		text := String(v)
		if d.precision >= 0 && d.precision < len(text) {
			text = text[:d.precision]
		}
		return d.padded(text, false), nil
	case 'd', 'u':
		if d.left && d.pad == '0' { // zeros would change the number
			d.pad = ' '
		}
		if d.verb == 'u' {
			return d.padded(strconv.FormatUint(uint64(Int(v)), 10), true), nil
		}
		return d.padded(d.signed(strconv.Itoa(Int(v))), true), nil
	case 'x', 'X', 'o', 'b':
		if d.precision >= 0 { // in PHP, a precision removes the number
			return d.padded("", false), nil
		}
		return d.padded(fmt.Sprintf("%"+string(d.verb), uint64(Int(v))), false), nil
	case 'c':
		return string([]byte{byte(Int(v))}), nil
	case 'e', 'E', 'f', 'F', 'g', 'G', 'h', 'H':
		return d.padded(d.signed(d.float(Number(v))), true), nil
	}
	return "", fmt.Errorf("unknown directive %%%c", d.verb)
}

func (d directive) signed(text string) string {
	if d.plus && text[0] != '-' {
		return "+" + text
	}
	return text
}

// longExponent matches the zeros before an exponent, which PHP does not write.
var longExponent = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([eE][-+])0([0-9])$`) })

// float formats a number.
func (d directive) float(f float64) string {
	const most = 53 // digits
	precision := 6
	if d.precision >= 0 {
		precision = min(d.precision, most)
	}
	switch verb := d.verb; verb {
	case 'e', 'E':
		return longExponent().ReplaceAllString(strconv.FormatFloat(f, verb, precision, 64), "$1$2")
	case 'f', 'F':
		return strconv.FormatFloat(f, 'f', precision, 64)
	default:
		exponent := map[byte]byte{'g': 'e', 'h': 'e', 'G': 'E', 'H': 'E'}[verb]
		precision = max(precision, 1)
		return string(appendFloat(nil, f, precision-1, precision, exponent))
	}
}

// padded returns a text in its width. Zeros stand between a sign and the number.
func (d directive) padded(text string, isNumber bool) string {
	padding := strings.Repeat(string([]byte{d.pad}), max(d.width-len(text), 0))
	switch {
	case d.left:
		return text + padding
	case isNumber && d.pad == '0' && (text[0] == '-' || text[0] == '+'):
		return text[:1] + padding + text[1:]
	}
	return padding + text
}
