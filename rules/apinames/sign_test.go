package apinames_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/apinames"
)

func TestASignIsFoundInAnySpelling(t *testing.T) {
	for kind, names := range map[apinames.SignKind][]string{
		apinames.SignTotal: {
			"total", "Total", "TOTAL", "totalCount", "total_count", "TotalCount", "total-count", "rowCount", "recordsTotal",
			"recordsFiltered", "num_results", "found", "matched", "numberMatched", "total_entries", "RecordCount", "item_count",
			"numFound", "@odata.count", "odata.count", "hydra:totalItems", "opensearch:totalResults", "hitCount", "total-results", "TotalRecords", "totalRows", "number_of_results",
		},
		apinames.SignPages: {"totalPages", "total_pages", "TotalPages", "pages", "PageCount", "num-pages", "last_page"},
		apinames.SignNext:  {"next", "Next", "nextPageToken", "next_page_token", "NextToken", "@odata.nextLink", "next-cursor", "n:nextPage"},
		apinames.SignMore:  {"hasMore", "has_more", "HasMore", "more", "MoreAvailable", "IsTruncated", "has-next-page", "numGroupsLimitReached"},
		apinames.SignLast:  {"isLast", "is_last", "last", "IsLastPage", "eof", "end_of_stream", "lastPage"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			for _, name := range names {
				require.True(t, apinames.Key(name).Is(kind), name)
			}
		})
	}
	for _, name := range []string{"", "_", "id", "totally", "subtotal", "next_of_kin", "counter", "pagesize"} {
		require.Empty(t, apinames.Key(name).Signs(), name)
	}
	for _, name := range []string{"meta", "Meta", "page_info", "pageInfo", "response_metadata", "_links", "search-results"} {
		require.True(t, apinames.Key(name).HoldsSigns(), name)
	}
	require.False(t, apinames.Key("next").HoldsSigns())
}

func TestAFlagHasTheMeaningOfItsName(t *testing.T) {
	for name, kind := range map[string]apinames.SignKind{
		"hasMore": apinames.SignMore, "Next": apinames.SignMore, "incomplete": apinames.SignMore,
		"last_page": apinames.SignLast, "Complete": apinames.SignLast, "final": apinames.SignLast, "total": "", "": "",
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, kind, apinames.Key(name).FlagKind())
		})
	}
}

func TestANameMayHaveThatOfTheListBesideIt(t *testing.T) {
	for name, want := range map[string][2]string{
		"members@odata.nextLink": {"members", "odata.nextLink"}, "members@odata.count": {"members", "odata.count"},
		"files_truncated": {"files", "truncated"}, "filesIsTruncated": {"files", "istruncated"}, "has_more_comments": {"comments", "hasmore"},
		"comments_has_more": {"comments", "hasmore"}, "moreReplies": {"replies", "more"},
	} {
		t.Run(name, func(t *testing.T) {
			list, sign, ok := apinames.Key(name).SplitList()
			require.True(t, ok)
			require.Equal(t, want, [2]string{list, sign})
		})
	}
	for _, name := range []string{"truncated", "has_more", "@odata.nextLink", "members@odata.type", "files", ""} {
		t.Run(name, func(t *testing.T) {
			_, _, ok := apinames.Key(name).SplitList()
			require.False(t, ok)
		})
	}
}

func TestANumberMayHaveTheNameOfAList(t *testing.T) {
	for name, list := range map[string]string{
		"total_users": "users", "usersCount": "users", "user_count": "users", "release-group-count": "release-groups", "numUsers": "users",
		"totalUsersCount": "users", "total_user_count": "users",
	} {
		t.Run(name, func(t *testing.T) {
			require.True(t, apinames.Key(name).CountsList(list))
		})
	}
	for name, list := range map[string]string{"users": "users", "user_id": "users", "total_spent": "users", "total_count": "users", "usersMax": "users", "total": "users"} {
		t.Run(name, func(t *testing.T) {
			require.False(t, apinames.Key(name).CountsList(list))
		})
	}
}

func TestSomeObjectsHaveOneKindOfSigns(t *testing.T) {
	require.True(t, apinames.Key("hydra:view").MayHold("next", apinames.SignNext))
	require.False(t, apinames.Key("view").MayHold("total", apinames.SignTotal))
	require.True(t, apinames.Key("context").MayHold("total", apinames.SignTotal))
	require.False(t, apinames.Key("@context").MayHold("next", apinames.SignNext))
	require.True(t, apinames.Key("meta").MayHold("next", apinames.SignNext))
}

func TestATotalMayBeALowerBound(t *testing.T) {
	for _, c := range []struct {
		v     any
		n     int
		least bool
		ok    bool
	}{
		{25, 25, false, true},
		{"25", 25, false, true},
		{0, 0, false, true},
		{map[string]any{"value": 25}, 25, false, true},
		{map[string]any{"value": 25, "relation": "eq"}, 25, false, true},
		{map[string]any{"value": 10000, "relation": "gte"}, 10000, true, true},
		{-1, -1, false, false},
		{"025", 25, false, false},
		{true, 0, false, false},
		{nil, 0, false, false},
	} {
		t.Run(fmt.Sprintf("%#v", c.v), func(t *testing.T) {
			n, least, ok := apinames.Total(c.v)
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, c.n, n)
				require.Equal(t, c.least, least)
			}
		})
	}
}
