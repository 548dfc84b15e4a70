package stress_test

import (
	"os"
	"testing"

	"github.com/stopwhen/stopwhen/fixtures"
)

func TestMain(m *testing.M) { os.Exit(fixtures.Run(m)) }
