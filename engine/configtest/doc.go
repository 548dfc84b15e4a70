// Package configtest runs the tests of a configuration: scripted pages and the
// expected result. [Suite.Run] compares each run with its expectations, and reports
// the rules that no test shows to be both true and false. Package engine offers it as
// Engine.Test.
package configtest
