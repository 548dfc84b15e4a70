package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/document"
)

func TestAListWithinAnItemMaySayThatItIsTruncated(t *testing.T) {
	for item, want := range map[string]string{
		`{"lines":{"data":[1],"has_more":true}}`:                           "lines.has_more=true",
		`{"lines":{"data":[1],"hasMore":false}}`:                           "lines",
		`{"lines":{"data":[1,2],"totalCount":2}}`:                          "lines",
		`{"lines":{"data":[1,2],"totalCount":3}}`:                          "lines.totalCount=3",
		`{"lines":{"data":[1],"isLast":false}}`:                            "lines.isLast=false",
		`{"lines":{"records":[1],"totalSize":1,"done":false}}`:             "lines.done=false",
		`{"fields":{"comment":{"comments":[1],"total":7,"maxResults":1}}}`: "fields.comment.total=7",
		`{"node":{"a":{"nodes":[1],"pageInfo":{"hasNextPage":true}}}}`:     "node.a.pageInfo.hasNextPage=true",
		`{"a":{"b":{"c":{"data":[],"has_more":true}}}}`:                    "a.b.c.has_more=true",
		`{"data":[1],"has_more":true,"total_count":9}`:                     "has_more=true",
		`{"data":[1],"total_count":9,"next":"https://api.example.com/2"}`:  "", // of the item itself
		`{"node":{"data":[1],"has_more":true}}`:                            "node.has_more=true",
		`{"files":[1],"files_truncated":true}`:                             "files_truncated=true",
		`{"files":[1],"filesTruncated":false}`:                             "files",
		`{"a":[],"comments":[1],"has_more_comments":true}`:                 "has_more_comments=true",
		`{"name":"a","name_truncated":true,"tags":[]}`:                     "", // not about a list
		`{"members":[1],"members@odata.nextLink":"https://a.example/2"}`:   "members@odata.nextLink=\"https://a.example/2\"",
		`{"members":[1],"members@odata.count":3}`:                          "members@odata.count=3",
		`{"members":[1],"members@odata.count":1}`:                          "members",
		`{"members@odata.nextLink":"https://a.example/2","tags":[]}`:       "",
		`{"invoice":{"lines":[1],"total":120}}`:                            "", // an amount
		`{"cart":{"products":[1],"item_count":3}}`:                         "",
		`{"task":{"steps":[1],"done":false}}`:                              "",
		`{"lines":{"has_more":true}}`:                                      "", // no list
		`{"lines":{"data":[1],"more":[2],"has_more":true}}`:                "lines.has_more=true",
		`{"lines":{"data":[1],"more":[2],"totalCount":9}}`:                 "", // of either list
		`{"lines":{"data":[1],"has_more":"true"}}`:                         "",
		`{"lines":{"data":[1],"info":{"total":12}}}`:                       "",

		`{"issues":{"nodes":[{"labels":{"nodes":[1],"pageInfo":{"hasNextPage":true}}}]}}`:         "issues.nodes.0.labels.pageInfo.hasNextPage=true",
		`{"a":{"edges":[{"node":{"b":{"edges":[],"pageInfo":{"hasNextPage":true}}}}]}}`:           "a.edges.0.node.b.pageInfo.hasNextPage=true",
		`{"lines":[{"id":1,"parts":{"data":[1],"has_more":true}},{"id":2,"parts":{"data":[1]}}]}`: "lines.0.parts.has_more=true",
		`{"lines":[{"id":1,"parts":{"data":[1],"has_more":false}}]}`:                              "lines.0.parts",
		`{"steps":[{"id":1,"isLast":false,"fields":[1]}]}`:                                        "", // of the step
		`{"steps":[{"id":1,"files":[1],"files_truncated":true}]}`:                                 "steps.0.files_truncated=true",
		`{"a":[{"b":{"c":[{"d":{"data":[1],"has_more":true}}]}}]}`:                                "", // too deep

		`{"lines":{"items":[1],"totalItems":30}}`:                       "lines.totalItems=30",
		`{"lines":{"items":[{"id":1}],"totalItems":1}}`:                 "lines",
		`{"lines":{"nodes":[{"id":1}],"count":30}}`:                     "lines.count=30",
		`{"lines":[{"id":1}],"lines_total":30}`:                         "lines_total=30",
		`{"id":7,"lines":[{"id":1}],"linesCount":2}`:                    "linesCount=2",
		`{"id":7,"lines":[{"id":1}],"total_lines":1}`:                   "lines",
		`{"lines":[{"id":1,"parts":["a"],"parts_count":2}]}`:            "lines.0.parts_count=2",
		`{"cart":{"items":[{"sku":"a","qty":3}],"totalItems":3}}`:       "",     // units
		`{"items":[{"price":3}],"items_total":2000}`:                    "",     // an amount
		`{"scores":[10,20],"scores_total":30}`:                          "",     // a sum
		`{"lines":{"data":[{"id":1}],"total":120}}`:                     "",     // may be an amount
		`{"stats":{"values":[0.5],"count":120}}`:                        "",     // of anything
		`{"comments":[],"comments_count":3,"tags":["a"],"tag_count":1}`: "tags", // comments are left out on purpose

		`[1]`: "", `7`: "", `{}`: "", `{"lines":null}`: "",
	} {
		var got []string
		document.NestedLists([]byte(item), func(list document.NestedList) {
			text := strings.Join(list.Path, ".")
			if list.Sign != nil {
				text = strings.Join(list.Sign, ".") + "=" + list.Value
			}
			got = append(got, text)
		})
		require.Equal(t, want, strings.Join(got, " "), item)
	}
}
