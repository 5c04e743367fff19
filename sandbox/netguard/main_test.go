package netguard_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := m.Run()
	var leaked error
	for end := time.Now().Add(time.Minute); code == 0 && time.Now().Before(end); { // each look takes a while
		if leaked = goleak.Find(); leaked == nil {
			break
		}
	}
	if leaked != nil {
		fmt.Fprintln(os.Stderr, leaked)
		code = 1
	}
	os.Exit(code)
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}
