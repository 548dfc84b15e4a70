// Package contract describes the data of an API in a file, so that a later run notices that the API sends
// other data: a member of the items that is new, gone or of another type, or pages of another size or with
// other signs of how the list goes on.
//
// A run describes its data in a [Contract] of its own with [Contract.AddItems] and
// [Contract.AddPage]. [Contract.Drift] compares it with the contract of the runs before, and
// [Contract.Learn] adds it to that contract.
//
// # Decisions
//
// A member counts as gone only if every one of dozens of objects had it, and no object of this run has
// it: an optional member is not missed. A contract holds neither values nor numbers of items, so it
// changes only when the data do, and can be kept in a repository.
package contract
