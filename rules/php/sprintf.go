package php

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sprintf is PHP's sprintf(format, args...). The text is limited: widths and precisions
// are at most [MaxWidth]. It fails where PHP does: for a directive without its argument,
// and for one that does not exist.
func Sprintf(format string, args []any) (string, error) {
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
		d, after, err := parseDirective(rest)
		if err != nil {
			return "", err
		}
		format = after
		if d.argument == 0 {
			next++
			d.argument = next
		}
		if d.argument > len(args) {
			return "", fmt.Errorf("the format needs %d arguments, got %d", d.argument, len(args))
		}
		if err := d.write(&b, args[d.argument-1]); err != nil {
			return "", err
		}
	}
}

// MaxWidth is the greatest width and precision of a directive of [Sprintf].
const MaxWidth = 1000

// directive is what follows a percent sign in a format.
type directive struct {
	argument  int // from 1; 0: the next one
	left      bool
	plus      bool
	pad       byte
	width     int
	precision int // -1: none
	verb      byte
}

// parseDirective reads a directive, and returns the text after it.
func parseDirective(text string) (d directive, rest string, err error) {
	d = directive{pad: ' ', precision: -1}
	if n := digits(text); n > 0 && n < len(text) && text[n] == '$' {
		if d.argument, err = strconv.Atoi(text[:n]); err != nil || d.argument == 0 || d.argument > MaxWidth {
			return d, "", fmt.Errorf("argument %s does not exist", text[:n])
		}
		text = text[n+1:]
	}
	text = d.flags(text)
	if d.width, text, err = size(text); err != nil {
		return d, "", err
	}
	if strings.HasPrefix(text, ".") {
		if d.precision, text, err = size(text[1:]); err != nil {
			return d, "", err
		}
	}
	text = strings.TrimPrefix(text, "l")
	if text == "" {
		return d, "", errors.New("the format ends within a directive")
	}
	d.verb = text[0]
	return d, text[1:], nil
}

// flags reads the flags of a directive, and returns the text after them.
func (d *directive) flags(text string) string {
	for ; text != ""; text = text[1:] {
		switch c := text[0]; {
		case c == '-':
			d.left = true
		case c == '+':
			d.plus = true
		case c == ' ', c == '0':
			d.pad = c
		case c == '\'' && len(text) > 1:
			d.pad, text = text[1], text[1:]
		default:
			return text
		}
	}
	return text
}

// size reads a width or a precision, and returns the text after it.
func size(text string) (int, string, error) {
	n := digits(text)
	number, _ := strconv.Atoi("0" + text[:n])
	if number > MaxWidth || n > 9 {
		return 0, "", fmt.Errorf("a width or a precision of %s is too large", text[:n])
	}
	return number, text[n:], nil
}

// write writes an argument.
func (d directive) write(b *strings.Builder, v any) error {
	switch d.verb {
	case 's':
		text := String(v)
		if d.precision >= 0 && d.precision < len(text) {
			text = text[:d.precision]
		}
		d.padded(b, text, false)
	case 'd', 'u':
		if d.left && d.pad == '0' { // zeros would change the number
			d.pad = ' '
		}
		text := strconv.FormatUint(uint64(Int(v)), 10)
		if d.verb == 'd' {
			text = d.signed(strconv.Itoa(Int(v)))
		}
		d.padded(b, text, true)
	case 'x', 'X', 'o', 'b':
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[d.verb]
		text := strconv.FormatUint(uint64(Int(v)), base)
		if d.verb == 'X' {
			text = strings.ToUpper(text)
		}
		if d.precision >= 0 { // in PHP, a precision removes the number
			text = ""
		}
		d.padded(b, text, false)
	case 'c':
		b.WriteByte(byte(Int(v)))
	case 'e', 'E', 'f', 'F', 'g', 'G', 'h', 'H':
		d.padded(b, d.signed(d.float(Number(v))), true)
	default:
		return fmt.Errorf("unknown directive %%%c", d.verb)
	}
	return nil
}

func (d directive) signed(text string) string {
	if d.plus && text[0] != '-' {
		return "+" + text
	}
	return text
}

// float formats a number.
func (d directive) float(f float64) string {
	const most = 53 // digits
	precision := 6
	if d.precision >= 0 {
		precision = min(d.precision, most)
	}
	switch d.verb {
	case 'e', 'E':
		return shortExponent(strconv.FormatFloat(f, d.verb, precision, 64))
	case 'f', 'F':
		return strconv.FormatFloat(f, 'f', precision, 64)
	}
	verb := d.verb + 'E' - 'G' // upper or lower case
	if d.verb == 'h' || d.verb == 'H' {
		verb--
	}
	precision = max(precision, 1)
	return string(appendFloat(nil, f, precision-1, precision, verb))
}

// shortExponent removes the zeros before an exponent: 1.5e+01 is 1.5e+1.
func shortExponent(text string) string {
	i := strings.LastIndexAny(text, "+-")
	return text[:i+1] + strings.TrimLeft(text[i+1:len(text)-1], "0") + text[len(text)-1:]
}

// padded writes a text in its width. Zeros stand between a sign and the number.
func (d directive) padded(b *strings.Builder, text string, number bool) {
	padding := strings.Repeat(string([]byte{d.pad}), max(d.width-len(text), 0))
	switch {
	case d.left:
		b.WriteString(text + padding)
	case number && d.pad == '0' && (text[0] == '-' || text[0] == '+'):
		b.WriteString(text[:1] + padding + text[1:])
	default:
		b.WriteString(padding + text)
	}
}
