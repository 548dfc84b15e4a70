// Package configtest runs the tests that a configuration holds: scripted pages
// and what must come of them. [Suite.Run] compares each test with what happened
// and reports which rules no test shows to be both true and false. Package engine
// offers it as Engine.Test.
package configtest
