// Package engine extracts lists from paged HTTP APIs. [LoadFile] compiles a configuration
// file, and [New] a configuration in Go; [Engine.Pages] and [Engine.Run] run it. Options pass
// in everything that a run needs. See docs/guide/embedding.md and docs/guide/extending.md.
package engine

// Read engine.go first (New, Load and Engine.With), then check.go (the errors before the first request), run.go
// (a run, from its options to its loop) and sinkgate.go (its pages on their way to the sink). option.go and
// extend.go have the options, types.go has the aliases of the types of package runtime, and info.go and
// fingerprint.go describe a configuration. auth.go has the credentials that an option sets. session.go and
// distribution.go are for runs on many machines, written_secrets.go checks that a configuration can be sent to
// them, auditor.go is for programs that publish files, and suite.go, evaluate.go and stress.go are for tools.
//
// The types of pages and results are aliases, so that no page is copied between the runtime and a sink.
