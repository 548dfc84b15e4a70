package lsp

// NewMessages is for tests.
var NewMessages = newMessages
