package netguard_test

import (
	"testing"

	"fawn/sandbox/netguard/netguardtest"
)

func TestMain(m *testing.M) { netguardtest.Main(m) }
