package engine

// WithOverlapOfAllPages requests the next page while any page is delivered, however small.
func WithOverlapOfAllPages() RunOption {
	return runOption(func(s *runSettings) { s.prefetch, s.overlap = 1, 1 })
}
