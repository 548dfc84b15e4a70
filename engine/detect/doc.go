// Package detect writes a configuration for an API, given only the address of a list.
//
// It makes at most [MaxRequests] requests, or none if it reads a recording. The first
// brings a page. From the page and its request it concludes which configurations may
// page through the list (hypotheses.go), and it lets the engine run them, the
// likeliest first, until one obtains a second page with other items. So every setting
// that it writes was used by the engine on a response of the API. What no response has
// shown is stated as a doubt.
//
// # Decisions
//
// Candidates are proved by running them, so there is no second reading of pages, links and
// tokens that could differ from that of a run.
package detect
