package language

import (
	"fmt"
	"math"
	"slices"
)

func absolute(m *meter, a []any) (any, error) {
	if order(a[0], 0) < 0 {
		return negative(m, a[0])
	}
	return a[0], nil
}

var (
	roundUp   = math.Ceil
	roundDown = math.Floor
	roundHalf = math.Round
)

// roundedBy returns a function that rounds floats. Integers are round, and keep all
// their digits.
func roundedBy(f func(float64) float64) func(*meter, []any) (any, error) {
	return func(_ *meter, a []any) (any, error) {
		if x, ok := a[0].(float64); ok || isLongFraction(a[0]) {
			if !ok {
				x = float(a[0])
			}
			return f(x), nil
		}
		return a[0], nil
	}
}

// bits returns a function on the bits of one or two integers.
func bits(f func(x, y int) int) func(*meter, []any) (any, error) {
	return func(_ *meter, a []any) (any, error) { return f(a[0].(int), a[len(a)-1].(int)), nil }
}

// shifted returns a function that shifts the bits of an integer.
func shifted(name string, f func(x, by int) int) func(*meter, []any) (any, error) {
	return func(_ *meter, a []any) (any, error) {
		distance := a[1].(int)
		if distance < 0 {
			return nil, fmt.Errorf("%s cannot shift by %d bits; the number must not be negative", name, distance)
		}
		return f(a[0].(int), distance), nil
	}
}

// mean returns the average of all numbers in the arguments and in lists among them;
// 0 for an empty list.
func mean(m *meter, a []any) (any, error) {
	numbers, err := numbersOf(m, "mean", a)
	if err != nil || len(numbers) == 0 {
		return 0.0, err
	}
	sum := 0.0
	for _, n := range numbers {
		sum += float(n)
	}
	return sum / float64(len(numbers)), nil
}

func median(m *meter, a []any) (any, error) {
	numbers, err := numbersOf(m, "median", a)
	if err != nil || len(numbers) == 0 {
		return 0.0, err
	}
	sortValues(m, numbers, order)
	n := len(numbers)
	if n%2 == 1 {
		return float(numbers[n/2]), nil
	}
	return (float(numbers[n/2-1]) + float(numbers[n/2])) / 2, nil
}

// sum adds the elements of a list. An element that is absent counts nothing.
func sum(m *meter, a []any) (any, error) {
	var total any = 0
	for _, n := range must(numbersOf(m, "sum", a)) {
		total = must(plus(m, total, n))
	}
	return total, nil
}

// numbersOf returns the numbers in the arguments of a function, and in lists among
// them. It ignores nil.
func numbersOf(m *meter, name string, a []any) ([]any, error) {
	values := leaves(m, nil, a)
	for i, v := range values {
		n, err := number(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		values[i] = n
	}
	return values, nil
}

// leaves appends the values in lists, at any depth, that are not nil.
func leaves(m *meter, to, list []any) []any {
	m.grow(16 * len(list))
	to = slices.Grow(to, len(list))
	for _, v := range list {
		switch v := v.(type) {
		case nil:
		case []any:
			to = leaves(m, to, v)
		default:
			to = append(to, v)
		}
	}
	return to
}
