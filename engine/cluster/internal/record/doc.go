// Package record has what the programs of a run on many machines store on the server, as JSON:
// the record of a run, that of a worker, and the envelope of a page. Package store knows how it
// is stored, and nothing of its meaning.
package record
