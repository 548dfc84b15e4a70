// Package browsertest drives the studio and the playground in Chromium with a pointer and keys: go test -tags browser.
//
// It is a module of its own, so that nobody else needs what it needs. STUDIO_PICTURES names a folder for pictures of every
// tab at every width, and STUDIO_PLAYGROUND one that has the playground already.
package browsertest
