package rules

import "cmp"

// sharedStops is the table of the stopping rules that all methods share, in the order in which they
// are evaluated: if several are met on a page, the first is the reason. The guards and the user's
// rules with outcome failed come before them, the method's own and the user's other rules after them. The
// first condition of each names the setting that it comes from.
var sharedStops = []StopRule{
	{ID: "limitStop.count", Only: Conditions{IsSet("limitStop.count")}, Outcome: Limited,
		When:    `total.items >= ${limitStop.count}`,
		Clause:  "the limit of ${limitStop.count items} is reached (all items of the last page are kept)",
		Message: "item limit reached: {total.items} of ${limitStop.count}"},
	{ID: "limitStop.field", Only: Conditions{IsSet("limitStop.field")}, Outcome: Complete, Stopping: Stopping{Signal: SignalTotal},
		When:    `total.items >= number(at(${limitStop.field}))`,
		Clause:  "the items read reach ${limitStop.field} of the latest response${asNumber}",
		Message: "the items read ({total.items}) reach ${limitStop.field} of the response"},
	{ID: "limitStop.absent", Only: Conditions{IsSet("limitStop.field")}, Outcome: Complete, Stopping: Stopping{Signal: SignalNoTotal},
		When:    `at(${limitStop.field}) == nil`,
		Clause:  "the response has no ${limitStop.field}",
		Message: "the response to page {page} has no total at ${limitStop.field}"},
	{ID: "forceStop.pages", Only: Conditions{IsSet("forceStop.pages")}, Outcome: Limited,
		When:    `total.pages >= ${forceStop.pages}`,
		Clause:  "the limit of ${forceStop.pages pages} is reached",
		Message: "page limit reached: {total.pages} of ${forceStop.pages}"},
	{ID: "forceStop.time", Only: Conditions{IsSet("forceStop.time")}, Outcome: Limited,
		When:    `total.seconds >= ${forceStop.time}`,
		Clause:  "the time limit of ${forceStop.time seconds} is reached",
		Message: "time limit reached: {total.seconds} of ${forceStop.time seconds}"},
	{ID: "forceStop.volume", Only: Conditions{IsSet("forceStop.volume")}, Outcome: Limited,
		When:    `total.bytes >= ${forceStop.volume}`,
		Clause:  "the limit of ${forceStop.volume bytes} of the responses as minified JSON is reached",
		Message: "volume limit reached: {total.bytes} of ${forceStop.volume bytes}"},
	{ID: "nextPageFlag", Only: Conditions{IsSet("nextPageFlag")}, Outcome: Complete,
		Stopping: Stopping{Signal: SignalFlag, ExpectsRead: true},
		When: `truthy(has(${nextPageFlag.field}) ? at(${nextPageFlag.field}) : ${nextPageFlag.ifNotSet})` +
			` == ${nextPageFlag.stopOn}`,
		Clause:  "${nextPageFlag.field} ${orMissing}counts as ${nextPageFlag.stopOn}",
		Message: `{has(${nextPageFlag.field source}) ? "" : "the absence of "}${nextPageFlag.field} says that page {page} is the last`},
	{ID: "hasMore", Only: Conditions{IsSet("hasMore")}, Outcome: Complete, Stopping: Stopping{Signal: SignalFlag},
		When:    `not truthy(at(${hasMore}))`,
		Clause:  "${hasMore} is missing or counts as false",
		Message: `{has(${hasMore source}) ? "" : "the absence of "}${hasMore} says that page {page} is the last`},
}

// optionPages is the stopping rule of an option of the run, not of the configuration
// ([Options].Pages). It comes after all others: a list that ends on the last page
// allowed is complete. Its ID is also the name of its setting.
var optionPages = StopRule{ID: "option.maxPages", Outcome: Limited,
	When:    `total.pages >= ${option.maxPages}`,
	Clause:  "the limit of ${option.maxPages pages} of this run is reached",
	Message: "page limit of this run reached: {total.pages} of ${option.maxPages}"}

// stopsIn returns the rows of a table as a dialect has them, without those that are not in force there.
func stopsIn(dialect Dialect, rows []StopRule) []StopRule {
	var in []StopRule
	for _, row := range rows {
		if row.When = cmp.Or(dialect.row().stops[row.ID], row.When); row.When != Off {
			in = append(in, row)
		}
	}
	return in
}
