package runtime

var guardHints = map[string]string{
	"repeatedExchange": `if this is how the API ends a list, set "guards": {"repeatedExchange": "stop"}`,
	"sameItems":        `if this is how the API ends a list, set "guards": {"sameItems": "stop"}`,
	"samePage":         `if this is how the API ends a list, set "guards": {"samePage": "stop"}`,
	"maxPages":         `if the list is that long, raise "guards": {"maxPages": …}`,
}
