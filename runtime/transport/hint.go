package transport

import (
	"fmt"
	"net/http"
	"net/url"
)

// The hints of errors name settings of the configuration. This file is the only one of the package
// that knows their names.
const (
	hintTooLarge     = "raise api.http.maxBodyBytes, or request smaller pages"
	hintUnknownHost  = "check api.baseUrl"
	hintRedirect     = "configure that URL instead"
	hintSecretInBody = "secrets are only sent to the origin of baseUrl; if the API has moved, configure its new address"
	hintPrivate      = "only the host of baseUrl, or an IP address listed in api.allowedOrigins, may be private"
	hintEncoding     = "the configuration has a header Accept-Encoding: remove it, so that only gzip and zstd are requested"
	hintGzipOnly     = "set the header Accept-Encoding to gzip"
	hintCharset      = `no setting reads another charset: ask the API for UTF-8, for example with the header "Accept-Charset": "utf-8"`
	settingTimeout   = "api.http.timeout"
)

// hintOrigin returns the hint for a request to another origin.
func hintOrigin(u *url.URL) string {
	return fmt.Sprintf("to allow it, add %q to api.allowedOrigins; credentials are not sent there", OriginOf(u))
}

// hintLostPath returns the hint for a request without the last part of the path of baseUrl.
func hintLostPath(last string) string {
	return fmt.Sprintf("the request does not have %q, since api.baseUrl does not end with a slash: end it with %s/", last, last)
}

// statusHint returns the usual remedy for a status, or "" if no remedy is usual.
func statusHint(status int) string {
	const pastTheEnd = "if this page is past the end of the list, " +
		"stop before it with nextPageFlag, forceStop or stopRules, or stop there with onError"
	switch status {
	case http.StatusAccepted:
		return "to read such a response as a page, set api.http.ignoreErrors to [202]; to repeat the request, add 202 to api.http.codes"
	case http.StatusNotModified:
		return `if nothing is new, end the list with onError: {"when": "status == 304", "do": "stop"}`
	case http.StatusUnauthorized, http.StatusForbidden:
		return "check api.authentication"
	case http.StatusNotFound, http.StatusGone:
		return "check baseUrl and endpoint; " + pastTheEnd
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return pastTheEnd
	case http.StatusProxyAuthRequired:
		return "the proxy refused the request, not the API"
	}
	return ""
}
