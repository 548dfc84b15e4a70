package rules

// sharedStops is the table of the stopping rules that all methods share, in the
// order in which they give the reason. The guards come before them, the method's
// own and the user's after them.
var sharedStops = []Template{
	{ID: "limitStop.count", When: `total.items >= ${limitStop.count}`, Outcome: Limited, Only: "limitStop.count",
		Clause: "${limitStop.count} items are extracted (the last page is completed)", Message: "{total.items} items reach the limit of ${limitStop.count}"},
	{ID: "limitStop.field", When: `total.items >= number(at(${limitStop.field}))`, Keboola: `total.items >= phpTotal(at(${limitStop.field}))`, Outcome: Complete, Only: "limitStop.field",
		Clause: "as many items are extracted as the response says there are, at ${limitStop.field}", Message: "{total.items} items reach the total that the response gives at ${limitStop.field}"},
	{ID: "limitStop.absent", When: `at(${limitStop.field}) == nil`, Keboola: Off, Outcome: Complete, Only: "limitStop.field",
		Clause: "the response does not have ${limitStop.field}", Message: "the response to page {page} has no total at ${limitStop.field}"},
	{ID: "forceStop.pages", When: `total.pages >= ${forceStop.pages}`, Outcome: Limited, Only: "forceStop.pages",
		Clause: "${forceStop.pages} pages are extracted", Message: "{total.pages} pages reach the limit of ${forceStop.pages}"},
	{ID: "forceStop.time", When: `total.seconds >= ${forceStop.time}`, Outcome: Limited, Only: "forceStop.time",
		Clause: "${forceStop.time} seconds have passed", Message: "{total.seconds} seconds reach the limit of ${forceStop.time}"},
	{ID: "forceStop.volume", When: `total.bytes >= ${forceStop.volume}`, Keboola: `total.bytes > ${forceStop.volume}`, Outcome: Limited, Only: "forceStop.volume",
		Clause: "${forceStop.volume} bytes of minified JSON are extracted", Message: "{total.bytes} bytes reach the limit of ${forceStop.volume}"},
	{ID: "nextPageFlag", When: `truthy(has(${nextPageFlag.field}) ? at(${nextPageFlag.field}) : ${nextPageFlag.ifNotSet}) == ${nextPageFlag.stopOn}`,
		Keboola: `phpTruthy(at(${nextPageFlag.field}) ?? ${nextPageFlag.ifNotSet}) == ${nextPageFlag.stopOn}`, Outcome: Complete, Only: "nextPageFlag",
		Clause: "${nextPageFlag.field}, as a boolean, is ${nextPageFlag.stopOn} (absent: ${nextPageFlag.ifNotSet})", Message: "${nextPageFlag.field} says that page {page} is the last"},
	{ID: "hasMore", When: `not truthy(at(${hasMore}))`, Outcome: Complete, Only: "hasMore",
		Clause: "${hasMore} is false or absent", Message: "${hasMore} says that page {page} is the last"},
}
