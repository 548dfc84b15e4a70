package engine

import "github.com/stopwhen/stopwhen/runtime/ahead"

// WithOverlapOfAllPages requests the next page while any page is delivered, however small.
func WithOverlapOfAllPages() RunOption {
	return runOption(func(s *runOptionSet) { s.Ahead = ahead.Policy{Large: 1} })
}
