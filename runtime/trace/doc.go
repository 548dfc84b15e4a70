// Package trace defines the records of a run: one for each page, with the request, the verdicts of
// the rules and the decision. A trace is a file of such records, one JSON object per line.
package trace
