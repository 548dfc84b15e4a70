package requests

import "slices"

// PageStatuses names the statuses of pages: see [IsPage].
const PageStatuses = "200, 201, 203 or 204"

// IsPage reports whether a response with the status is a page of a list, unless a rule of the configuration says
// otherwise.
func IsPage(status int) bool { return slices.Contains([]int{200, 201, 203, 204}, status) }
