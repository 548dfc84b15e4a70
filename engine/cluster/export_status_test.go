package cluster

import "time"

func init() { reportEvery = 50 * time.Millisecond }
