package compile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// maxDigits limits the results of arithmetic with long integers.
const maxDigits = 1000

func isNumber(v any) bool {
	switch v.(type) {
	case int, int64, float64, json.Number:
		return true
	}
	return false
}

// bigInteger returns a value as an integer of any length, if it is one.
func bigInteger(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case int64:
		return big.NewInt(v), true
	case json.Number:
		return new(big.Int).SetString(v.String(), 10)
	}
	return nil, false
}

// shortest returns an integer as an int if it fits.
func shortest(n *big.Int) any {
	if n.IsInt64() {
		return int(n.Int64())
	}
	return json.Number(n.String())
}

func float(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	case json.Number:
		f, _ := v.Float64()
		return f
	}
	return math.NaN()
}

// order compares two numbers exactly.
func order(a, b any) int {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y)
		}
	}
	return exact(a).Cmp(exact(b))
}

func exact(v any) *big.Float {
	if n, ok := bigInteger(v); ok {
		return new(big.Float).SetInt(n)
	}
	if f := float(v); !math.IsNaN(f) {
		return new(big.Float).SetFloat64(f)
	}
	return new(big.Float)
}

// number converts a number, or a string that holds one.
func number(v any) (any, error) {
	switch v := v.(type) {
	case nil, int, int64, float64, json.Number:
		return v, nil
	case string:
		text := strings.TrimSpace(v)
		if n, err := strconv.Atoi(text); err == nil {
			return n, nil
		}
		if n, ok := bigInteger(json.Number(text)); ok {
			return shortest(n), nil
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, nil
		}
	}
	return nil, fmt.Errorf("want a number, got %s (%s)", value.KindOf(v), value.Preview(v))
}

// integer returns int(v), or an error if an int cannot hold the value.
func integer(v any) (any, error) {
	n, err := number(v)
	if err != nil || n == nil {
		return nil, err
	}
	if f, ok := n.(float64); ok {
		if math.Abs(f) >= 1<<63 {
			return nil, fmt.Errorf("int(%s): the number is too large", value.Preview(f))
		}
		return int(f), nil
	}
	return n, nil
}

// arithmetic returns an operator from its forms for integers and for floats.
func arithmetic(operator string, ints func(a, b *big.Int) (any, error), floats func(a, b float64) float64) binaryOperator {
	return func(a, b any) (any, error) {
		if a == nil || b == nil {
			return nil, nil
		}
		if !isNumber(a) || !isNumber(b) {
			return nil, mismatch(operator, a, b)
		}
		x, isInteger := bigInteger(a)
		y, both := bigInteger(b)
		if isInteger && both && ints != nil {
			return ints(x, y)
		}
		f := floats(float(a), float(b))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s %s %s is not a number", value.Preview(a), operator, value.Preview(b))
		}
		return f, nil
	}
}

func integers(f func(z, a, b *big.Int) *big.Int) func(a, b *big.Int) (any, error) {
	return func(a, b *big.Int) (any, error) {
		if a.BitLen()+b.BitLen() > 4*maxDigits {
			return nil, errors.New("the result has more than a thousand digits")
		}
		return shortest(f(new(big.Int), a, b)), nil
	}
}

func remainder(a, b *big.Int) (any, error) {
	if b.Sign() == 0 {
		return nil, errors.New("division by zero")
	}
	return shortest(new(big.Int).Rem(a, b)), nil
}

// negative returns -v.
func negative(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	return minus(0, v)
}
