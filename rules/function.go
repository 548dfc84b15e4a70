package rules

// Function is a function that an expression may call, beside those of the
// expression language. The package compile holds what it does.
type Function struct {
	Name      string
	Signature string
	Doc       string
	Example   string // an expression
	Result    string // what it gives, as JSON; the body is {"meta":{"next":"p2","total":25},"done":"no","flags":[]}
}

// Functions is the table of functions.
var Functions = []Function{
	{"at", `at([v, ]"a.b")`, "the value at a path of the body, or of v, nil when absent; `\\.` is a dot in a key, a number indexes a list", `at("meta.next")`, `"p2"`},
	{"has", `has([v, ]"a.b")`, "whether the body, or v, has the path, be it null", `has("meta.prev")`, `false`},
	{"truthy", `truthy(v)`, "the specification's boolean (2.2): false, 0, null, \"0\" and [] are false, all else is true", `truthy(body.done)`, `true`},
	{"empty", `empty(v)`, "the specification's empty value (3.1): absent, null, \"\" or false", `empty(body.meta.prev)`, `true`},
	{"number", `number(v)`, "a number as it is, a string that holds one as that number, nil as nil; anything else ends the run", `number("25") + 1`, `26`},
	{"text", `text(v)`, "a scalar as the text that is sent: numbers with all their digits; nil as nil; a list or object ends the run", `text(body.meta.total)`, `"25"`},
	{"query", `query(url[, name])`, "the value of a parameter in a URL or query string, nil when absent; without name all of them, as an object", `query("/x?page=2&q=a", "page")`, `"2"`},
	{"greatest", `greatest(items, "id"[, v])`, "the greatest of v and the values at a path in the items: numbers as numbers, strings as strings when none holds a number; an item that lacks it ends the run", `greatest([{"id": 3}, {"id": 7}], "id", 5)`, `7`},
	{"least", `least(items, "id"[, v])`, "the least, likewise", `least([{"id": 3}, {"id": 7}], "id", 5)`, `3`},
	{"jsonpath", `jsonpath("$..x")`, "the values that a JSONPath finds in the body, as a list", `jsonpath("$.meta.*")`, `["p2",25]`},
	{"phpTruthy", `phpTruthy(v)`, "dialect keboola: the reference's boolean; \"\" is false too", `phpTruthy("")`, `false`},
	{"phpEmpty", `phpEmpty(v)`, "dialect keboola: the reference's empty value; 0, \"0\" and [] are empty too", `phpEmpty(body.flags)`, `true`},
	{"phpInt", `phpInt(v)`, "dialect keboola: the reference's whole number of any value", `phpInt("7 items")`, `7`},
	{"phpNumeric", `phpNumeric(v)`, "dialect keboola: whether the reference takes it for a number", `phpNumeric("1e2")`, `true`},
	{"phpTotal", `phpTotal(v)`, "dialect keboola: how the reference compares a total with a count", `phpTotal("3 items")`, `3`},
	{"phpQuery", `phpQuery(v)`, "dialect keboola: a query string as the reference takes it apart", `phpQuery("?a=1").a`, `"1"`},
	{"phpGreatest", `phpGreatest(items, "id"[, v])`, "dialect keboola: the greatest identifier, as whole numbers", `phpGreatest([{"id": "3"}, {"id": 7.9}], "id")`, `7`},
	{"phpLeast", `phpLeast(items, "id"[, v])`, "dialect keboola: the least, likewise", `phpLeast([{"id": "3"}, {"id": 7.9}], "id")`, `3`},
}
