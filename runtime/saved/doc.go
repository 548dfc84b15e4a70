// Package saved writes values as JSON so that a later run reads the same values.
//
// A checkpoint and the values for the next run hold values that rules computed. Some contain
// secrets, such as a next link that repeats a key, or a secret input. A [Concealer] replaces each
// secret by its name and a short digest, except for times, which stay. When the
// values are read again, it replaces the name by the secret. A token that the run fetches, and in a
// checkpoint a random key, may have changed in the meantime, and the new one is used. Any other
// secret that has changed is an error, because the value with the new text would be another value.
package saved
