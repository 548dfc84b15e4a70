// Package rules models configurations: it has the tables of methods, guards and stopping
// rules and the names that their expressions can read, decodes a configuration ([Decode]), and
// turns it into rules ([Config.Lower]). It evaluates no expression.
//
// To see how an API is paged, read the table of methods (method.go), then the tables of the guards (guard.go), of
// the stopping rules that all methods share (stop.go), and of the audit rules (audit.go, with the facts that they
// read in audit_facts.go, and the conditions under which a finding is evidence in audit_proof.go). Their expressions
// can name the fields of [Context] (context.go) and the functions of package compile/language. A method is added as
// one row of its table.
//
// The names of the files begin with their groups, in the order in which a configuration goes
// through them:
//
//	config*.go   read a configuration. config_json.go turns the text into values and marks their
//	             positions ([ParseJSON]), config_decode.go reads the values ([Decode]), and each
//	             part of a [Config] has a file of its own. config_pagination.go reads a pagination
//	             object by the row of its method
//	field*.go    read one object by its table of fields (field.go), whose kinds are the table of
//	             field_kind.go; field_settings.go holds the result. field_schema.go and
//	             field_keys.go describe the tables, for editors and for comments
//	keboola*.go  keboola_methods.go has the methods as dialect keboola has them; the others translate
//	             the parts of a configuration that only this dialect has
//	lower*.go    make one list of [Rule] (rule.go) for each job ([Config.Lower]): lower_pager.go
//	             the rules that page a job, from the tables, and lower_phrases.go what their
//	             clauses say of several settings together; lower_request.go the parts of the next
//	             request; lower_job_request.go the computed values of the first; lower_for.go the
//	             variables of for; lower_auth.go the credentials
//	catalog*.go  describe the tables of methods and guards for the reference, and add and check
//	             the methods and guards of a program
//
// Package compile compiles these lists.
//
// Package keypath has the forms of paths in responses, and package times those of times.
//
// Config paths are strings, such as api.pagination.stopRules[0], without positions: they are keys in results,
// traces and comments of explain, and only the position of a value that is reported is looked up.
//
// The children, iterations, functions and credentials that only the reference implementation has (dialect
// keboola) are translated while a configuration is read, in the files keboola*.go. They are not a separate
// package, because they share most names with this one, above all for reading jobs, headers and secrets.
// Translating the configuration before it is read would not make the reader simpler: the columns of [Field]
// for this dialect are part of the schema and of the reference, and each place in the result would need its
// place in the user's file.
//
// # Decisions
//
// Methods, guards and limits are data in the rule language, and the loop knows none of them by name. The
// command explain prints these sources: a test pastes them into a configuration and compares the
// requests.
//
// A dialect is data, too: a row of dialect.go, with the rows of keboola_methods.go, which replace expressions of
// the tables, and with switches. No code compares the name of a dialect.
//
// Settings become literals in the sources when a configuration is lowered. So a source is complete as it is
// printed, and a configuration cannot inject syntax.
//
// Decoding, lowering and compiling return their diagnostics, and never change their input.
//
// The environment is read only for the names that the user allows, because a configuration may come from
// somebody who must not read it.
//
// The tables and their lowering are one package: apart, each would need dozens of names of the other.
//
// A [Catalog] is a value: a method or guard that a program adds belongs to one engine. Its expressions are
// compiled when the engine is made, whether the configuration uses it or not.
package rules
