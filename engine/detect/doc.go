// Package detect writes a configuration for an API, given only the address of a list.
//
// It makes at most [MaxRequests] requests, and no request if it reads a recording. The first request
// fetches a page. A table of signs (hypotheses.go) gives the paginations that fit the page and its
// request. The engine runs them, the likeliest first, until one obtains a second page with other
// items. So the engine has used every setting of the configuration on a response of the API. An
// assumption that no response has confirmed is reported as a doubt.
//
// Read detect.go first, then request.go and page.go (the first request and its page), hypotheses.go,
// candidate.go, signs.go, counter.go and flags.go (the candidates), search.go and trial.go (running
// them), end.go and refine.go (the end of the list, and doubts), write.go (the configuration), and
// test.go (its test). credentials.go finds secrets in a request, session.go makes each request only
// once, and recording.go reads a recording instead.
//
// # Decisions
//
// Candidates are proved by running them, so pages, links and tokens are read by the same code as in a run.
package detect
