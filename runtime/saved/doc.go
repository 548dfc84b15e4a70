// Package saved writes values as JSON so that a later run reads the same values.
//
// A checkpoint and the values for the next run hold values that rules computed. Some contain
// secrets, such as a next link that repeats a key, or a secret input. A [Concealer] replaces each
// secret by its name. When the values are read again, it replaces the name by the current value of
// the secret, which may have changed in the meantime.
package saved
