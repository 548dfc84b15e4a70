//go:build !linux

package main

// stdoutMayBeClosed returns false: here, a failed write tells that standard output is closed.
func (a *app) stdoutMayBeClosed() (bool, error) { return false, nil }
