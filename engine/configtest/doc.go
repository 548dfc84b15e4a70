// Package configtest runs the tests of a configuration: scripted pages and the
// expected result. [Suite.Run] compares each run with its expectations, and reports
// the rules that were never true, or never false, in any test. Package engine offers it as
// Engine.Test.
package configtest
