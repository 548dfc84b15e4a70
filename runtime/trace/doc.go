// Package trace has the records that tell what a run did: one for each page, with the request,
// the verdicts of the rules and the decision. As JSON they are the lines of a trace.
package trace
