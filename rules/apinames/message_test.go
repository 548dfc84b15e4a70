package apinames_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/apinames"
)

func TestAMessageThatThereIsNothingIsNoComplaint(t *testing.T) {
	for _, text := range []string{
		"No more users", "No users were found.", "no data", "NO_DATA_ERROR", "NODATA_ERROR", "End of list.", "OK", "Page not found",
		"No failed payments", "No timeout entries found", "Error: No records found", "order has no lines", "No data. Try another filter.",
		"No permission sets found", "No access tokens", "No results found for failed", "No items match the filters provided",
		"No data available for this period", "Nothing to show", "No data; this endpoint is deprecated and will be unavailable soon", "Request successful",
	} {
		require.False(t, apinames.SaysTrouble(text), text)
		require.False(t, apinames.SaysFailure(text), text)
	}
	for _, text := range []string{
		"No permission", "No access", "No healthy upstream", "No token provided", "No API key found in request",
		"no data: permission denied", "No data available due to internal error", "No records could be loaded: timeout",
		"You have no permission to view this", "No server is available to handle this request.", "Internal error, no data",
		"The last request timed out", "This endpoint is no longer available", "No route to host",
		"No data (rate limit)", "Empty response: timeout",
	} {
		require.True(t, apinames.SaysTrouble(text), text)
		require.True(t, apinames.SaysFailure(text), text)
	}
	for text, failure := range map[string]bool{
		"Please try again later": true, "Access token has been revoked": true, "Could not be loaded": true,
		"Nothing found, try again later": false, "Entries of the log in March": false, "Welcome": false, "not successful": false, "Deprecated and will be unavailable soon": false, "": false, "Rate limit exceeded": true,
	} {
		require.Equal(t, failure, apinames.SaysFailure(text), text)
		require.Equal(t, text != "" && !strings.HasPrefix(text, "Nothing"), apinames.SaysTrouble(text), text)
	}
}

func TestAMessageBesideACodeMustSayThatThereIsNoMore(t *testing.T) {
	for text, want := range map[string]bool{
		"No more pages": true, "Data not found": true, "no data": true, "Empty list": true, "The last page is 3": true,
		"EOF": true, "unexpected EOF": false,
		"Not found": false, "User not found": false, "success": false, "No permission": false, "": false,
	} {
		require.Equal(t, want, apinames.SaysNoMore(text), text)
	}
}

func TestAMessageThatAPositionIsAfterTheEnd(t *testing.T) {
	for text, want := range map[string]bool{
		"Page out of range": true, "Page number is out of range.": true, "The requested offset is beyond the end of the list": true,
		"Offset exceeds total number of records": true, "offset exceeds the maximum": false, "Page out of range (1-100)": false,
		"Value out of range": false, "Offset exceeds the total limit of 10000": false, "": false,
	} {
		require.Equal(t, want, apinames.SaysPastEnd(text), text)
	}
}
