package workbench

// SampleTest returns a test of the first job to start from, as the key tests of a configuration. The error says that
// the text does not compile.
func (d *Document) SampleTest() (string, error) {
	e, err := d.load()
	if err != nil {
		return "", err
	}
	return e.SampleTest(), nil
}
