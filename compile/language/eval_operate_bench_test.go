package language

import "testing"

// BenchmarkTextsAreCompared compares texts that are no dates, times of one form and of two, and dates of an unknown form. The first
// three take as long as each other.
func BenchmarkTextsAreCompared(b *testing.B) {
	less := compare("<", func(order int) bool { return order < 0 })
	for _, texts := range [][2]string{
		{"a1b2c3d4e5f6", "a1b2c3d4e5f7"}, {"12-2025-77", "12-2025-78"}, {"2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"},
		{"2026-03-01T10:00:00Z", "2026-03-01T11:00:00.5Z"}, {"31/12/2025", "01/01/2026"},
	} {
		b.Run(texts[0]+" "+texts[1], func(b *testing.B) {
			var x, y any = texts[0], texts[1]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := less(&meter{}, x, y); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
