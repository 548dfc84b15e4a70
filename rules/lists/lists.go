// Package lists has two functions that package slices of the standard library lacks.
package lists

import "slices"

// Map returns the results of a function for the elements of a list.
func Map[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}

// AppendNew appends an element to a list, unless the list contains it.
func AppendNew[T comparable](list []T, e T) []T {
	if slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}
