package apinames

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// The words, in lower case, that tell a message about a failure from one that says that a list is empty or
// has ended, such as "No more users were found".
var (
	endWords       = append([]string{"no", "none", "nothing", "empty", "end", "last", "found", "nodata"}, doneWords...)
	doneWords      = []string{"done", "finished", "ok", "success", "successful"}
	complaintWords = []string{
		"error", "failed", "failure", "denied", "forbidden", "unauthorized", "unauthenticated", "expired", "exceeded", "throttled", "quota",
		"unavailable", "timeout", "invalid", "internal", "unable", "rejected", "aborted", "throttling", "busy",
		"unauthorised", "malformed",
	}
	complaintPhrases = []string{
		"rate limit", "too many", "timed out", "not authorized", "not provided", "call frequency", "query limit", "went wrong",
		"login required", "not logged in", "not authenticated", "out of memory", "circuit breaker",
		"authentication required", "requires authentication", "not processed", "frequency limit",
	}

	// "No permission" is about a failure, unlike "no users" or "no permission sets".
	lackWords = []string{
		"permission", "privilege", "access", "authorization", "authentication", "token", "session", "key", "upstream", "upstreams",
		"server", "backend", "service", "connection", "route", "response", "quota",
	}
	// These end the noun after "no"; what follows one of scopeWords is about the items that are absent.
	verbs      = []string{"is", "are", "was", "were", "has", "have", "could", "can", "available", "found", "left", "to", "granted"}
	givenWords = []string{"provided", "specified", "supplied", "configured"}
	scopeWords = []string{
		"for", "with", "in", "on", "of", "at", "from", "where", "that", "whose", "match", "matching", "matched", "meet", "satisfy",
	}
)

// emptyResult matches a text, or the words of a code, that says that nothing was found: no records found, end of list.
var emptyResult = sync.OnceValue(func() *regexp.Regexp {
	const noun = `(data|entry|entries|items?|match|matches|records?|results?|rows?)`
	const after = `( (is|are|was|were|has|have|found|available|returned|left|yet|exists?|match|matches|matched|matching|` +
		`to|for|with|in|on|of|at|from|where|that)\b|[^ \w]|$)`
	return regexp.MustCompile(`^(there (is|are|was|were) )?(no|0|zero)( more| matching)? ` + noun + after + `|` +
		`^end of (the )?(data|list|results)\b|` +
		`^nothing (was )?found\b|^(data|entries|items|matches|records|results|rows) not found\b|^empty (list|set|results?)\b|` +
		`\b(results? in|returns|returned|yields) an empty (list|set|results?)\b`)
})

// saysEmpty reports whether a text, or the words of a code, says that nothing was found.
func saysEmpty(text string) bool {
	words := strings.ToLower(splitCamel(text))
	if !strings.Contains(words, " ") {
		words = strings.NewReplacer("_", " ", "-", " ").Replace(words)
	}
	return emptyResult().MatchString(words) && !SaysFailure(words)
}

// noMore matches a text that says that there are no items, or no more. "Not found" may be about something else.
var noMore = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(no|none|nothing|empty|end|last|(data|entry|item|page|record|result|row)s? not found)\b`)
})

// clauseEnd matches what separates the clauses of a message.
var clauseEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[.:;,!?()\n]+|\b(due to|because|since|but)\b`) })

// SaysTrouble reports whether the message of a page without a list is about a failure, as
// far as its words tell: it says more than that there are no more items, or something else.
func SaysTrouble(message string) bool {
	ends, fails := judge(withoutAnnouncement(message))
	return fails || !ends && len(wordsOf(message)) > 0
}

// SaysFailure reports whether the message of a page with an empty list says that a request has failed. Its
// words must say so, since many APIs have a message on every page.
func SaysFailure(message string) bool {
	message = withoutAnnouncement(message)
	words := wordsOf(message)
	if len(words) == 0 {
		return false
	}
	ends, fails := judge(message)
	return fails || !ends && (haveFailure(words) || haveTrouble(words))
}

// pastEnd matches a message that the position of a request is after the end of the list. A position after a maximum is not.
var pastEnd = sync.OnceValue(func() *regexp.Regexp {
	const position = `^(?:the )?(?:requested )?(?:page|offset|start|skip|cursor|position)(?: number| index)? (?:is )?`
	return regexp.MustCompile(position + `(?:out of (?:range|bounds)|beyond the (?:end|last)|past the (?:end|last)|` +
		`(?:exceeds|greater than) (?:the )?(?:total|last page|number of (?:pages|records|results|items|rows)))\b[^0-9(]*$`)
})

// SaysPastEnd reports whether a message says that the position of a request is after the end of the list, as APIs do
// for the page after the last one.
func SaysPastEnd(message string) bool { return pastEnd().MatchString(strings.ToLower(message)) }

// SaysNoMore reports whether a message only says that there are no items, or no more, so that a code of
// failure beside it means the same. "Not found" and "success" do not say so.
func SaysNoMore(message string) bool {
	return strings.EqualFold(message, "EOF") || !SaysTrouble(message) && noMore().MatchString(strings.Join(wordsOf(message), " "))
}

// judge reports whether a clause of a message says that there is nothing, or no more, and whether a clause
// tells of a failure.
func judge(message string) (ends, fails bool) {
	for i, clause := range clauseEnd().Split(strings.ToLower(message), -1) {
		words := wordsOf(clause)
		if i == 0 && len(words) > 0 && words[0] == "error" { // "Error: no records found"
			words = words[1:]
		}
		if n := len(words) - 1; n > 0 && words[n] == "error" && !strings.Contains(message, " ") { // NO_DATA_ERROR
			words = words[:n]
		}
		end, failure := judgeClause(words)
		ends, fails = ends || end, fails || failure
	}
	return ends, fails
}

// withoutAnnouncement returns a message without what will happen to an endpoint that is deprecated: it tells of no
// failure now.
func withoutAnnouncement(message string) string { return announcement().ReplaceAllString(message, "") }

var announcement = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bdeprecated and will (?:soon )?be unavailable\b`)
})

// judgeClause is judge for the words of a clause.
func judgeClause(words []string) (ends, fails bool) {
	at := slices.IndexFunc(words, func(word string) bool { return slices.Contains(endWords, word) })
	switch {
	case at < 0:
		return false, haveFailure(words)
	case haveFailure(words[:at]):
		return false, true
	case slices.Contains(doneWords, words[at]):
		return at == 0 || words[at-1] != "not", false
	}
	rest := words[at+1:]
	if words[at] == "no" {
		end := slices.IndexFunc(rest, func(word string) bool {
			return slices.Contains(verbs, word) || slices.Contains(scopeWords, word) || slices.Contains(givenWords, word)
		})
		if end < 0 {
			end = len(rest)
		}
		noun := rest[:end]
		if rest = rest[end:]; len(rest) > 0 && slices.Contains(givenWords, rest[0]) ||
			len(noun) > 0 && (noun[0] == "longer" || slices.Contains(lackWords, noun[len(noun)-1])) {
			return false, true
		}
	}
	if scope := slices.IndexFunc(rest, func(word string) bool { return slices.Contains(scopeWords, word) }); scope >= 0 {
		rest = rest[:scope]
	}
	fails = haveFailure(rest)
	return !fails, fails
}

// wordsOf returns the words of a text, in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
}

// troublePhrases returns the phrases that tell of a failure in a message which does not say that there is nothing:
// "Try again later" does, and "Nothing found, try again" does not. The map has the words that follow the first one.
var troublePhrases = sync.OnceValue(func() map[string][][]string {
	all := slices.Concat([]string{
		"try again", "please retry", "retry later", "retry after", "bad request", "bad gateway", "bad credentials", "be logged in",
		"please log in", "must log in", "log in to", "be signed in", "please sign in", "must sign in", "sign in to", "under maintenance",
		"down for maintenance", "took too long", "limit reached", "reached the limit", "over the limit", "over limit",
		"maximum number of requests",
		"subscription required", "payment required", "upgrade your", "contact support", "contact your administrator", "problem occurred",
		"issue occurred", "something broke", "not allowed", "not permitted", "not enabled", "not whitelisted", "not entitled",
		"not subscribed", "not have access", "t have access", "is not ready", "not ready yet", "not yet ready", "still being",
		"still processing", "is missing", "are missing", "is required", "too large", "too deep", "must be less than",
		"must be smaller than",
		"qps limit", "must not exceed", "may not exceed", "cannot exceed", "can not exceed", "only the first", "page depth",
	},
		phrases("gateway|request|connection|operation", "time out"),
		phrases("connection|connections", "lost|refused|reset|closed"),
		phrases("key|token|parameter|parameters", "missing|required"),
		phrases("missing", "key|api|token|parameter|parameters|required|authentication|authorization|credentials"),
		phrases("unexpected", "error|problem|issue|token|exception|response|end|condition"),
		phrases("is|host|server|network|backend|service|upstream|database|gateway|api|cluster|node|nodes|shard|shards|endpoint",
			"unreachable|overloaded"),
		phrases("query|request|operation|statement|execution|search|report|export|job|task|query was|request was|operation was|"+
			"statement was|search was|export was|job was|task was", "cancelled|canceled|killed|terminated|interrupted"),
		phrases("account|user|ip|ip address|client|tenant|subscription",
			"suspended|blocked|banned|disabled|deactivated|revoked|locked|restricted"),
		phrases("data|result|results|report|export|index", "not ready|incomplete"),
		phrases("insufficient", "permission|permissions|privilege|privileges|scope|scopes|access|rights|credit|credits|funds|balance"),
		phrases("been|temporarily|account is|access is|key is|token is|api is|user is|service is",
			"revoked|suspended|blocked|banned|disabled|deactivated|restricted|locked|limited"),
		phrases("could not|couldn t|cannot|can not|can t|could not be|cannot be|can not be|can t be",
			"connect|process|processed|complete|completed|load|loaded|generate|generated|retrieve|retrieved|fetch|fetched|reach|reached|"+
				"authenticate|authenticated|execute|executed|perform|performed|access|accessed"))
	byFirst := make(map[string][][]string, len(all))
	for _, phrase := range all {
		words := strings.Fields(phrase)
		byFirst[words[0]] = append(byFirst[words[0]], words[1:])
	}
	return byFirst
})

// phrases returns each of some first words with each of some second words.
func phrases(first, second string) (all []string) {
	for a := range strings.SplitSeq(first, "|") {
		for b := range strings.SplitSeq(second, "|") {
			all = append(all, a+" "+b)
		}
	}
	return all
}

// haveTrouble reports whether words have one of [troublePhrases].
func haveTrouble(words []string) bool {
	phrases := troublePhrases()
	for i, word := range words {
		for _, rest := range phrases[word] {
			if after := words[i+1:]; len(after) >= len(rest) && slices.Equal(after[:len(rest)], rest) {
				return true
			}
		}
	}
	return false
}

// haveFailure reports whether words have a word or a phrase of failure.
func haveFailure(words []string) bool {
	phrase := strings.Join(words, " ")
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(complaintWords, word) }) ||
		slices.ContainsFunc(complaintPhrases, func(p string) bool { return strings.Contains(phrase, p) })
}
