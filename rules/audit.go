package rules

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/lists"
)

// The audit looks for signs that a list which a rule ended is incomplete, because an unnoticed loss
// is the worst failure. A finding is evidence, for which a run refuses the list (except in dialect
// keboola), or a hint, which is a warning: see [Weight].

// Values of [Auditing.Also]. A rule about a sign that the job noticed itself has afterAnyOther. A rule
// about a sign that every failed list has, such as a missing path, has unlessFailed.
var (
	afterAnyOther = []Outcome{Limited, Guarded, Failed}
	unlessFailed  = []Outcome{Limited, Guarded}
)

// roundCounts are sizes at which APIs cap their pages.
const roundCounts = `[10, 20, 25, 30, 48, 50, 64, 96, 100, 128, 200, 250, 256, 300, 500, 512, 1000, 2000, 5000]`

// fullPages is the number of pages with items, of a list whose last page may be empty.
const fullPages = `total.pages - (count == 0 ? 1 : 0)`

// statedSize is true if only a short page ended the list, although the page is full by the page size that the response itself
// states, and nothing else in the response says that the list is complete.
const statedSize = `signs.size == count and list.short and not list.nextGone and signs.more != false` +
	` and signs.total != total.items and signs.pages != total.pages`

// unreadSigns says that a path is probably misspelt, and not just absent.
const unreadSigns = `list.renamed or signs.more == true and not (signs.moreRead or signs.moreIsRough)` +
	` or signs.next != nil and not (signs.nextRead or signs.nextIsRough)` +
	` or signs.total > total.items and not (signs.totalRead or signs.totalIsRough)`

// lastIsEmpty is met if the last of the pages that the response states has no items: a list whose first page is number 0 may have
// been read from number 1.
const lastIsEmpty = `count == 0 and signs.total == nil and signs.pages == total.pages`

// endedAgain is the part of a message that says that a page which came again has ended the list.
const endedAgain = `{list.again ? "; the page before came again, which ended the list: ` +
	`if that is how the API ends it, set guards.samePage to stop" : ""}`

// auditTable is the table of audit rules. They are evaluated on the last page of a
// complete list, and after the outcomes in Also; total.items is then the number of items that were
// emitted since the latest restart.
var auditTable = audits([]Rule{
	{ID: "audit.begin", Audit: &Auditing{Requires: FactList, About: AboutPosition, Also: afterAnyOther,
		Proof: Proof{CountAlone: true, Unless: ProofCondition{`list.backToZero and not (signs.pages > ` + fullPages + `)`,
			"it is a link that names no lower position, or a page 0, which may not exist"}}},
		Source: `list.preceded != "" and not (list.backToZero and (signs.total == total.items or signs.pages == ` + fullPages + `))`,
		Clause: "page 1 says that pages are before it",
		Message: "page 1, with which the list begins, is not the first one of the API: {list.preceded}; " +
			"if the API counts its pages from 0, set firstPage to 0"},
	{ID: "audit.capped", Audit: &Auditing{Requires: FactShort,
		Proof: Proof{If: ProofCondition{`signs.size == count and signs.total != count and signs.more != false`,
			"the response states that size, but not that the list is complete"}}},
		Source: `page == 1 and count > 0 and count < limit and (signs.total > count or signs.next != nil and signs.total != count` +
			` or signs.more == true or signs.more != false and (signs.size == count and signs.total != count or ` +
			`(signs.size == count or signs.total != count) and count in ` + roundCounts + `))`,
		Clause: "the only page is shorter than the limit, although there are signs of more",
		Message: `the only page has {count} of {limit} items{signs.size == count ? ", and " + signs.sizeAt + " is " + text(count) : ""}; ` +
			"the API may cap its pages at {count}: set limit to {count}"},
	{ID: "audit.negative", Audit: &Auditing{Requires: FactList, About: AboutNumber,
		Proof: Proof{If: ProofCondition{Source: `list.negative contains " = -"`}}},
		Source:  `list.negative != ""`,
		Clause:  "a negative number has ended the list",
		Message: "{list.negative}, which is no number of items or pages, has ended the list: there may be more; end it by another setting"},
	{ID: "audit.bound", Audit: &Auditing{Requires: FactList, About: AboutNumber,
		Proof: Proof{If: ProofCondition{`signs.more == true and not signs.moreIsRough or signs.next != nil and not signs.nextIsRough` +
			` or not signs.totalIsRough and (count == limit or page > 1 and count == signs.largestPage)`,
			"the last page has a sign of more, or is full and the number is a lower bound"}}},
		Source: `list.bound != ""`,
		Clause: "a total with a usual name, such as numFound, that the response calls a lower bound or an estimate, or a number of pages " +
			"beside it, has ended the list",
		Message: `{list.bound}, which the response calls {signs.totalIsRough ? "an estimate" : "a lower bound"}, has ended the list: ` +
			"there may be more; end it by another setting"},
	{ID: "audit.lowered", Audit: &Auditing{Requires: FactShort, About: AboutPages,
		Proof: Proof{If: ProofCondition{statedSize, "the response states the size of the page"}}},
		Source: `page > 1 and count > 0 and count < limit and (` + statedSize + ` or signs.largestPage == limit ` +
			`and count in ` + roundCounts +
			` and limit % count == 0 and list.counted and signs.total == nil and signs.pages == nil and signs.next == nil ` +
			`and signs.more == nil)`,
		Clause: "the API may have lowered the size of the last page",
		Message: `page {page} has {count} of {limit} items{signs.size == count ? ", and " + signs.sizeAt + " is " + text(count) : ""}, ` +
			"which ends the list; if the API has lowered its page size to {count}, there are more: set limit to {count}, and compare"},
	{ID: "audit.overfull", Audit: &Auditing{Requires: FactOverfull},
		Source: `limit > 0 and signs.largestPage > limit`,
		Clause: "a page has more items than the limit",
		Message: "a page has {signs.largestPage} items, more than the limit of {limit}; " +
			"if the API ignores the limit, requests that count on it may skip or repeat items"},
	{ID: "audit.total", Audit: &Auditing{Requires: FactTotal,
		Proof: Proof{CountAlone: true, Again: true, Sign: &ReadSign{Read: `signs.totalRead`, Despite: EndedAgain},
			Unless: ProofCondition{`signs.totalIsRough`, "it is an estimate or, as beside currency, an amount of money"}}},
		Source:  `signs.total > total.items`,
		Clause:  "the total of the last page, or else of page 1, exceeds the items read",
		Message: "{signs.totalAt} is {signs.total}, but the number of items read is {total.items}" + endedAgain},
	{ID: "audit.pages", Audit: &Auditing{Requires: FactPages, Proof: Proof{Again: true}},
		Source: `signs.total == nil and signs.more != false and (signs.pages > total.pages or list.pagesBefore > total.pages)`,
		Clause: "a number of pages exceeds the pages read, and there is no total",
		Message: `{signs.pagesAt} is {list.pagesBefore > total.pages ? text(list.pagesBefore) + " on page 1 and " : ""}{signs.pages}` +
			`{list.pagesBefore > total.pages ? " on page " + text(page) + ", with which the list ends" : ""}, ` +
			"but the number of pages read is {total.pages}" + endedAgain},
	{ID: "audit.surplus", Audit: &Auditing{Requires: FactTotal},
		Source:  `signs.total < total.items and not signs.totalIsLeast`,
		Clause:  "the items read exceed the total of the last page",
		Message: "{signs.totalAt} is {signs.total}, but the number of items read is {total.items}; some may be repeated"},
	{ID: "audit.more", Audit: &Auditing{Requires: FactMore,
		Proof: Proof{Unless: ProofCondition{`signs.moreIsRough`, otherMeanings},
			Sign: &ReadSign{Read: `signs.moreRead`, Despite: EndedAgain.and(`list.stuck`, " after the same request")}}},
		Source:  `signs.more == true`,
		Clause:  "the last page has a flag that there is more",
		Message: "{signs.moreAt} says that there is more after page {page}"},
	{ID: "audit.noFlag", Audit: &Auditing{Requires: FactList, About: AboutPages},
		Source: `list.moreBefore != "" and signs.total != total.items and (count == limit or count in ` + roundCounts + `)`,
		Clause: "the last page is full and lacks the flag with which earlier pages say that there is more",
		Message: "page {page}, with which the list ends, is as full as the others and has no {list.moreBefore}, " +
			"which earlier pages have: if the API always sends it, items are missing"},
	{ID: "audit.token", Audit: &Auditing{Requires: FactNext,
		Proof: Proof{Unless: ProofCondition{`signs.nextIsRough and not signs.nextRead`, otherMeanings},
			Sign: &ReadSign{Read: `signs.nextRead`, Differs: true, Despite: EndedAgain.and(`(list.counted or not signs.nextInBody)`,
				" and the token or link differs from the one that was sent")}}},
		Source:  `signs.next != nil and signs.more != false and signs.total != total.items`,
		Clause:  "the last page points to another page, and no flag or total says that it is the last",
		Message: "page {page} is the last, but {signs.nextAt} points to another page" + endedAgain},
	{ID: "audit.ceiling", Audit: &Auditing{Requires: FactMany},
		Source: `total.items >= 10000 and total.items % 5000 == 0 or total.items in [1000, 2000, 5000]` +
			` and (total.pages > 1 or limit == nil and signs.total == nil and signs.more == nil)`,
		Clause: "the number of items is one at which APIs cut lists off",
		Message: "many APIs cut lists off at {total.items} items; " +
			"narrow the requests, for example by date, and compare"},
	{ID: "audit.unpaged", Audit: &Auditing{Requires: FactList, About: AboutUnpaged},
		Source: `(list.asked != "" or list.single and (count > 1 and signs.size == count or count >= 50 and count in ` + roundCounts + `)` +
			`) and signs.total == nil and signs.pages == nil and signs.more == nil and signs.next == nil`,
		Clause: "the job is not paged, and the number of items is that of a full page",
		Message: "the job is not paged, and the response has {count} items, " +
			`{list.asked != "" ? "as many as " + list.asked + " asks for" : signs.size == count ? "as " + signs.sizeAt + " says" : ` +
			`"a round number"}: there may be more, so set pagination`},
	{ID: "audit.repeated", Audit: &Auditing{Requires: FactList, About: AboutPages, Also: afterAnyOther},
		Source: `list.repeatWritten or list.repeats > 0 and signs.total != total.items and signs.more != false` +
			` and list.repeatCount == signs.largestPage` +
			` and (limit == nil or list.repeatCount >= limit or list.repeatOf > 1 or list.repeatCount in ` + roundCounts + `)`,
		Clause: "a page has the items of an earlier page, although another request was made",
		Message: "page {list.repeatPage} has the same {list.repeatCount} items as page {list.repeatOf}, " +
			"although another request was made; " +
			`{list.repeatOf == 1 ? "check the names of the parameters that page through the list" : ` +
			`"the API may return its last page again, or allow no access beyond it: ` +
			`compare with the number of items that it should have"}`},
	{ID: "audit.ignoredParam", Audit: &Auditing{Requires: FactList, About: AboutPages, Also: afterAnyOther},
		Source: `list.firstAgain > 2 or list.firstAgain == 2 and (list.repeatWritten or signs.total != total.items ` +
			`and signs.more != false and (limit == nil or list.repeatCount >= limit or list.repeatCount in ` + roundCounts + `))`,
		Clause: "a later request brings the first page again",
		Message: "page {list.firstAgain} is the first page again, although its request has {list.firstParams}; " +
			"the API may ignore the parameter, have another name for it, or start again after its last page"},
	{ID: "audit.cycle", Audit: &Auditing{Requires: FactList, About: AboutPages, Also: afterAnyOther},
		Source: `list.cycles > 0 or list.stuck and list.cursorPage == 0 and count == signs.largestPage` +
			` and (page > 2 or count == limit or count in ` + roundCounts + `) and signs.total != total.items and signs.more != false`,
		Clause: "an earlier request is repeated, and nothing that rules read has changed",
		Message: `page {list.cycles > 0 ? text(list.cyclePage) : text(page)} repeats an earlier request` +
			`{list.cycles > 0 ? " (" + list.cycleSent + ")" : ", and the page is as full as the others"}` +
			", and nothing that the rules read has changed" +
			`{list.cycles > 1 ? ", on " + text(list.cycles) + " pages in all" : ""}; the API may be in a loop: ` +
			`guards.repeatedRequest can end it`},
	{ID: "audit.shift", Audit: &Auditing{Requires: FactList, About: AboutPages, Also: afterAnyOther},
		Source: `list.duplicates > 0 or list.revised > 0 and list.revised * 10 <= list.identified`,
		Clause: "items of an earlier page occur again",
		Message: "items of earlier pages occur again: {list.duplicates + list.revised}, " +
			"the first on page {list.shiftPage} (identifier {list.duplicate}); " +
			"the list may have changed during the run, so others may be missing: sort by a key that does not change, or page by a cursor"},
	{ID: "audit.cursor", Audit: &Auditing{Requires: FactList, About: AboutPages},
		Source: `list.cursorPage > 0 or list.cursorFirst != "" and (total.items in ` + roundCounts +
			` or signs.more == true or signs.total > total.items) or list.tiePage > 0 and signs.total != total.items`,
		Clause: "the requests continue from the wrong end of the pages, or from a value that two items share",
		Message: `{list.cursorPage > 0 ? ` +
			`"page " + text(list.cursorPage) + " is full and has new items, but the next request was the same" : ` +
			`list.cursorFirst != "" ? "the request after page 1 continues from its first item (" + list.cursorFirst + ` +
			`"), and page 2 is empty" : ` +
			`"the request after page " + text(list.tiePage) + " has " + list.tie + ` +
			`", which its last two items share: items with that value may follow, and be left out"}; ` +
			`{list.cursorPage > 0 or list.cursorFirst != "" ? ` +
			`"if the list begins with the newest or greatest items, continue from the last one (reverse)" : ` +
			`"continue from a value that each item has alone, or from that value on (gte), with a key of the items"}`},
	{ID: "audit.twice", Audit: &Auditing{Requires: FactList, About: AboutOneList, Also: afterAnyOther},
		Source: `list.twice > 0`,
		Clause: "an item with an identifier or a key occurs twice on one page, and is written twice",
		Message: counted("list.twice", "item occurs", "items occur") + ` twice on one page, ` +
			"the first on page {list.twicePage} (identifier {list.twiceID}): remove the duplicates, and check why the API repeats them"},
	{ID: "audit.duplicate", Audit: &Auditing{Requires: FactList, About: AboutKey, Also: afterAnyOther},
		Source: `list.sameKey > 0`,
		Clause: "two items have the same key",
		Message: counted("list.sameKey", "item has", "items have") + ` the key of an earlier one, ` +
			"the first on page {list.sameKeyPage} ({list.keyPaths} = {list.sameKeyText}, as on page {list.sameKeyOf}); " +
			"each item is compared with those before it, the latest 65536: merging writes the last of each key"},
	{ID: "audit.ambiguous", Audit: &Auditing{Requires: FactList, About: AboutKey | AboutPartitions, Also: afterAnyOther},
		Source: `list.ambiguous > 0`,
		Clause: "partitions have other items with one key, which merging loses",
		Message: counted("list.ambiguous", "item has", "items have") + ` the key ({list.keyPaths}) of an item of ` +
			`{list.otherJob == "" ? "an earlier partition" : "job " + list.otherJob}, ` +
			"but other content; merging writes the last of each key and loses the others: " +
			`{list.otherJob == "" ? "add the value of the partition to the key" : ` +
			`"add a member that tells the jobs apart to the key, or give each job its own dataType"}`},
	{ID: "audit.noKey", Audit: &Auditing{Requires: FactList, About: AboutKey, Also: afterAnyOther},
		Source: `list.keyless > 0`,
		Clause: "items lack every member of their key",
		Message: counted("list.keyless", "item has", "items have") + ` no {list.keyPaths}, which is the key of the items, ` +
			"the first on page {list.keylessPage}: name another key, or leave such items out with a filter"},
	{ID: "audit.duplicateKey", Audit: &Auditing{Requires: FactList, Also: afterAnyOther},
		Source:  `list.duplicateKey != ""`,
		Clause:  "an object that is read has a key twice",
		Message: "an object of a response has {list.duplicateKey} twice; only the last value is read"},
	{ID: "audit.lostParams", Audit: &Auditing{Requires: FactList, About: AboutPages, Also: afterAnyOther},
		Source: `list.lostParams != ""`,
		Clause: "the page size changes with the second request, which lacks parameters of the first",
		Message: "page 1 has {list.sizeBefore} items and page 2 has {list.sizeAfter}: " +
			"the requests after the first lack {list.lostParams}, " +
			"so later items may not match; send the parameters with every request (includeParams)"},
	{ID: "audit.position", Audit: &Auditing{Requires: FactList, About: AboutPosition | AboutFirstPosition | AboutPages,
		Also: afterAnyOther, Proof: always},
		Source: `list.skipped != ""`,
		Clause: "a response states a later position than its request, and page 1 states its own",
		Message: "the response to page {list.skippedPage} has another part of the list than was requested: {list.skipped}; " +
			"the items before that position are missing"},
	{ID: "audit.overridden", Audit: &Auditing{Requires: FactList, Proof: always, About: AboutLinks},
		Source: `list.overridden != "" and list.stuck`,
		Clause: "a link has no effect, since a parameter of the job overrides its own",
		Message: "{list.overridden} (includeParams), and page {page} is the page before it again: " +
			"remove the parameter from params, or includeParams"},
	{ID: "audit.totalDecreased", Audit: &Auditing{Requires: FactList, About: AboutPosition | AboutPages},
		Source: `list.decreased > 0`,
		Clause: "a total decreases while requests name positions in the list",
		Message: "{signs.totalAt} has decreased by {list.decreased} since page 1: where items were deleted, others moved up " +
			"and may have been skipped; sort by a key that does not change, or page by a cursor"},
	{ID: "audit.missing", Audit: &Auditing{Requires: FactList, Also: unlessFailed,
		Proof: Proof{If: ProofCondition{unreadSigns, "the last page has a sign of more that no rule reads, such as a greater total, " +
			"or has a list of objects in another place: in its root, or as its only one"}}},
		Source:  `list.missing != ""`,
		Clause:  "no response has the list of items or another path that rules read",
		Message: `no response has {list.missing}{list.missing endsWith "?" or list.missing endsWith "null" ? "" : "; check the spelling"}`},
	{ID: "audit.moved", Audit: &Auditing{Requires: FactList, About: AboutPages | AboutPlace, Also: unlessFailed, Proof: always},
		Source: `list.movedPage > 0`,
		Clause: "a later page lacks the list, but has one of objects that page 1 lacks",
		Message: "page {list.movedPage} lacks the list of items that page 1 has, but has a list at {list.movedTo}; " +
			`items there are {list.movedRead ? "read as if they were of that list" : "not read"}: compare the responses`},
	{ID: "audit.noList", Audit: &Auditing{Requires: FactList, About: AboutPages | AboutPlace | AboutGaps, Also: unlessFailed,
		Proof: Proof{Unless: ProofCondition{`list.lostPage == 0`, "it has null or {} in its place, or another list of several"}}},
		Source: `(list.lostPage > 0 or list.gapPage > 0) and list.movedPage == 0 and list.error == ""`,
		Clause: "a page between others has no list",
		Message: `{list.lostPage > 0 ? "page " + text(list.lostPage) + " has no list of items, not even an empty one, although" : ` +
			`"page " + text(list.gapPage) + " has nothing, null or an empty object in place of the list at " + list.gapList + ", and"} ` +
			"pages before and after it have items; items may be missing: request that page again"},
	{ID: "audit.bareEnd", Audit: &Auditing{Requires: FactList, About: AboutPages | AboutPlace},
		Source: `(list.barePage > 0 and list.barePage == page and (not list.bareBeside or signs.more == true or ` +
			`signs.total > total.items and not signs.totalIsRough) or list.absentPage > 0 and list.absentPage == page)` +
			` and list.movedPage == 0 and list.lostPage == 0 and list.error == "" and signs.total != total.items`,
		Clause: "the last page lacks the list of items, and has a sign of more or nothing else of page 1, or lacks one of several " +
			"lists, although pages before it have items",
		Message: `page {page}, with which the list ended, has no {list.barePage > 0 ? "list of items" : "list at " + list.absentList}, ` +
			"not even an empty one: if that is how the API fails, items are missing"},
	{ID: "audit.redirected", Audit: &Auditing{Requires: FactList},
		Source: `list.landedPage > 0 and signs.total != total.items`,
		Clause: "a page without items comes from a path to which no page before it was redirected",
		Message: "page {list.landedPage}, which has no items, was redirected to {list.landedPath}: " +
			"if that is no page of the list, such as one for logging in, items are missing"},
	{ID: "audit.errorEnd", Audit: &Auditing{Requires: FactList, OnError: ErrorStop},
		Source: `list.endStatus >= 500 or list.endStatus in [401, 408, 429]`,
		Clause: "an onError rule ends the list at a failure of the server, a rate limit or a refused credential",
		Message: "an onError rule ended the list at a response with status {list.endStatus}, which says nothing about its end: " +
			"let the rule name the statuses with which the API ends a list, such as 404"},
	{ID: "audit.beyond", Audit: &Auditing{Requires: FactList, About: AboutPages | AboutAhead},
		Source: `list.beyondPage > 0 and not list.chosen`,
		Clause: "a page after the last one has items",
		Message: "page {page} is the last, but page {list.beyondPage}, which was requested ahead of its turn, has " +
			counted("list.beyondCount", "item", "items") + ` that no page of the list has: the API may have pages in the middle that are ` +
			"empty or short; let the list end by a total or a flag, or at the second empty page in a row"},
	{ID: "audit.noPages", Audit: &Auditing{Requires: FactPages},
		Source: `total.items > 0 and (signs.pages == 0 and not (lower(signs.pagesAt) contains "last") or ` + lastIsEmpty + `)`,
		Clause: "a number of pages is 0, although items were read, or the last of the pages is empty",
		Message: `{signs.pages == 0 ? signs.pagesAt + " is 0, but the number of items read is " + text(total.items) + ` +
			`"; there may be more" : "page " + text(page) + " is empty, although " + signs.pagesAt + " is " + text(signs.pages) + ` +
			`"; if the API counts its pages from 0, set firstPage"}`},
	{ID: "audit.errorBody", Audit: &Auditing{Requires: FactList, Also: unlessFailed,
		Proof: Proof{Unless: ProofCondition{`list.errorDoubt != "" or list.reached`, "it may be part of an item with an identifier, or a " +
			"header of CSV, or only say that a partition is empty, or follows the last of several pages with all items of a total"}}},
		Source: `list.error != ""`,
		Clause: `a successful response reports an error, or has a message other than "no items" in place of the list`,
		Message: "the body of page {list.errorPage} reports an error, although its status is one of success: {list.error}; " +
			"a stop rule with outcome failed makes it an error of the run"},
	{ID: "audit.nested", Audit: &Auditing{Requires: FactList, Also: afterAnyOther},
		Source: `list.nested > 0`,
		Clause: "items say that a list within them is truncated, and no job reads the rest",
		Message: `{list.nested} {list.nestedFor == "" ? "list" : "item"}{list.nested == 1 ? "" : "s"} {list.nested == 1 ? "has" : ` +
			`"have"} {list.nestedSign}, and no job reads the rest: {list.nestedFor == "" ? ` +
			`"read the objects that have the lists as items, and add a job that reads the list of each" : ` +
			`"add a job with " + list.nestedFor}`},
	{ID: "audit.window", Audit: &Auditing{Requires: FactList, Also: afterAnyOther, Splits: true,
		Proof: Proof{If: ProofCondition{`list.windowKept`, "an earlier run has written pages of this window"}}},
		Source: `list.fullWindow != ""`,
		Clause: "the rule that splits windows is met in a window that cannot be split further",
		Message: `splitWhen is met, but {list.windowKept ? "an earlier run has written pages of the window, ` +
			`which cannot be split any more" : "the window cannot be split further"}; items may be missing: ` +
			`{list.windowKept ? "read the list again from its beginning" : "make smallest smaller, or narrow the list in another way"}`},
	{ID: "audit.restart", Audit: &Auditing{Requires: FactList, OnError: ErrorRestart, Also: afterAnyOther},
		Source: `list.rewritten > 0`,
		Clause: "an onError rule restarted the list after items were written",
		Message: `the list was restarted after ` + counted("list.rewritten", "item", "items") + `, written again since; ` +
			"remove the duplicates by their identifiers"},
	{ID: "audit.kept", Audit: &Auditing{Requires: FactList, Also: afterAnyOther, Proof: always, About: AboutKept | AboutUnsent},
		Source: `list.keptUnread != ""`,
		Clause: "in a run with kept values, the first page does not depend on them, so earlier runs obtained its items, too",
		Message: "the items of page 1 come with every run, because the first request does not depend on {list.keptUnread}: " +
			"send it with the first request, by the params of the job or by nextRequest with applyToFirst"},
	{ID: "audit.unsent", Audit: &Auditing{Requires: FactList, Also: afterAnyOther, Adds: true,
		About: AboutKept | AboutFirst | AboutUnbounded},
		Source: `list.keptUnsent != ""`,
		Clause: "in a run with kept values, the first request is the same as without them, so earlier runs obtained its items, too",
		Message: "the first request is the same as without {list.keptUnsent}, and no rule compares the items with it: earlier runs " +
			"obtained them, too; check the expressions that read it, or merge the rows by their key"},
	{ID: "audit.stays", Audit: &Auditing{Requires: FactList, About: AboutKept | AboutFirst, Adds: true},
		Source: `list.keptStays != ""`,
		Clause: "a list with items gives no value, or an empty one, to keep for the next requests, and none of the other kept values " +
			"that they send has changed, so that the next run obtains these items again",
		Message: "{list.keptStays} is nil or empty after a list with items, so it stays as it was, and the next run obtains these items " +
			"again: check its expression under keep; the last page may lack what the end of the list has"},
	{ID: "audit.since", Audit: &Auditing{Requires: FactList, Also: afterAnyOther, About: AboutSent, Adds: true},
		Source: `list.older * 2 > list.olderOf`,
		Clause: "most items are from before the value that was sent for the kept one, by more than a day if it is a time",
		Message: "{list.older} of {list.olderOf} items that were compared are from before the kept value that was sent, the first with " +
			"{list.olderText}: the API may ignore the parameter, so that each run adds the whole list again; check its name, " +
			"or merge the rows by their key"},
	{ID: "audit.again", Audit: &Auditing{Requires: FactList, Also: afterAnyOther, About: AboutSent},
		Source: `list.known > 0 or list.reread != ""`,
		Clause: "an item that is added to a file is not later than the kept value, or with a lag is from before the value that was sent, " +
			"or may be of the last unit of earlier windows",
		Message: `{list.known == 0 ? "the windows begin with " + list.reread + ", whose last unit is requested again" : ` +
			`text(list.known) + ` +
			`(list.known == 1 ? " item is" : " items are") + " not later than the kept value"}: rows that earlier runs ` +
			"have very probably written are added again; merge the rows by their key"},
	{ID: "audit.ahead", Audit: &Auditing{Requires: FactList, About: AboutKept},
		Source: `list.keptAhead != ""`,
		Clause: "the time that is kept for the next run is more than a day later than now",
		Message: "{list.keptAhead} is later than now: the next run begins there, and misses the items that change before that time; " +
			"keep the greatest time of the other items, and read the list again from its beginning"},
	{ID: "audit.contract", Audit: &Auditing{Requires: FactFile, Also: unlessFailed,
		Proof: Proof{If: ProofCondition{`list.frozen`, "it is frozen"}}},
		Source:  `list.drift != ""`,
		Clause:  "the data differ from a contract file",
		Message: "the data differ from the contract in {list.file}: {list.drift}"},
	{ID: "audit.shrank", Audit: &Auditing{Requires: FactFile, Also: unlessFailed},
		Source: `list.had > 2 * list.rows`,
		Clause: "a list has less than half the rows of the file that it replaces",
		Message: `the list has ` + counted("list.rows", "row", "rows") + `, less than half of the {list.had} in {list.file}, ` +
			"which an earlier run has written; check whether the API returns all of it"},
})

// counted returns the part of a message that gives a number with its noun.
func counted(number, one, many string) string {
	return fmt.Sprintf("{%s} {%s == 1 ? %q : %q}", number, number, one, many)
}

// audits completes the rows of the table.
func audits(rows []Rule) []Rule {
	for i := range rows {
		rows[i].Role, rows[i].Origin = RoleAudit, Origin{By: Author{Kind: AuthorDefault}}
	}
	return rows
}

// commonAudit holds the rules for jobs whose windows are not split.
var commonAudit = slices.DeleteFunc(slices.Clone(auditTable), func(r Rule) bool { return r.Audit.Splits })

// partitionAudits is the table of audit rules about the partitions of a job. They are evaluated when all have
// ended. Their ids are those of [auditTable], so that audit.ignore leaves out both.
var partitionAudits = audits([]Rule{
	{ID: "audit.restart", Audit: &Auditing{},
		Source: `partitions.restarted`,
		Clause: "an onError rule restarted the list of the parent",
		Message: "the list of {partitions.parent} was restarted, so partitions for its first items ran twice; " +
			"remove the duplicates by their identifiers"},
	{ID: "audit.missing", Audit: &Auditing{Proof: Proof{If: ProofCondition{Source: `partitions.absentInAll`}}},
		Source:  `partitions.absent != ""`,
		Clause:  "no item of the parent has a path that the job reads",
		Message: "no item of {partitions.parent} has {partitions.absent}, which {job.id} reads; check the spelling"},
	{ID: "audit.missing", Audit: &Auditing{Proof: Proof{If: ProofCondition{Source: `partitions.of > 1`}}},
		Source: `partitions.failed > 0 and partitions.failed == partitions.of`,
		Clause: "every partition failed and was skipped",
		Message: `{partitions.of == 1 ? "the only partition" : "each of " + text(partitions.of) + " partitions"} failed and was skipped, ` +
			"so no list was read to its end: look for a cause that they share"},
	{ID: "audit.missing", Audit: &Auditing{Proof: Proof{If: ProofCondition{Source: `partitions.nilInAll`}}},
		Source: `partitions.nilIn > 0`,
		Clause: "a value of the requests is nil in a partition",
		Message: `{partitions.nil} ({partitions.nilSource}) {partitions.nilParts ? "has a value that is" : "is"} nil ` +
			`{partitions.nilInAll ? "in every partition (" + text(partitions.nilOf) + "), so that no request had" : ` +
			`"in " + text(partitions.nilIn) + " of " + text(partitions.nilOf) + " partitions, whose requests lack"} it; ` +
			`check the path or, if it may be nil, {partitions.nilParts ? "add ?? nil to it" : ` +
			`"say so: " + partitions.nilSource + " ?? nil"}`},
	{ID: "audit.missing", Audit: &Auditing{},
		Source: `partitions.detail != ""`,
		Clause: "the only list of responses that may be items themselves was read",
		Message: "responses look like items themselves, with an identifier, but their only list, {partitions.detail}, " +
			`has been read as the items: set dataField to "." if each response is an item, or to the path of the list`},
	{ID: "audit.errorBody", Audit: &Auditing{Proof: always},
		Source: `partitions.otherHeader != ""`,
		Clause: "the headers of CSV differ between partitions, and response.columns replaces them",
		Message: "the header of a partition is {partitions.header}, and that of another one is {partitions.otherHeader}, " +
			"so that response.columns has the wrong names for one of them"},
	{ID: "audit.repeated", Audit: &Auditing{},
		Source: `partitions.alike > 1`,
		Clause: "the first pages of all partitions have the same items",
		Message: "the first pages of all partitions that have items ({partitions.alike}) have the same items; " +
			"check the names of the parameters that differ from partition to partition: the API may ignore them"},
	{ID: "audit.duplicate", Audit: &Auditing{},
		Source: `partitions.duplicates > 0 and partitions.alike < 2`,
		Clause: "items of a partition occur in an earlier one",
		Message: `{partitions.key == "" ? "earlier windows have the same items, too: " + text(partitions.duplicates) + ` +
			`"; the API may include the end of a window: set granularity" : ` +
			`"the key (" + partitions.key + ") of " + text(partitions.duplicates) + (partitions.duplicates == 1 ? " item" : " items") + ` +
			`" occurs in an earlier partition, too; merging writes the last of each key: ` +
			`if the items are not the same, add the value of the partition to the key"}`},
})

// PartitionAudits returns the audit rules about the partitions of a job. Callers must not change them.
func PartitionAudits() []Rule { return partitionAudits }

func auditIDs() []string { return lists.Map(auditTable, func(r Rule) string { return r.ID }) }
