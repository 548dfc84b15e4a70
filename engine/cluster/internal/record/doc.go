// Package record defines the JSON that the programs of a distributed run store on the server: the
// record of a run, the record of a worker, and the envelope of a page. Package store stores this
// JSON without interpreting it.
package record
