// Package saved writes values as JSON so that a later run reads the same values.
//
// A checkpoint and the values for the next run hold values that rules computed. Some
// contain secrets: a next link that repeats a key, or a secret input. A [Concealer]
// replaces each secret by its name, and the name by the present value of the secret
// when the values are read again, since the secret may have changed in between.
package saved
