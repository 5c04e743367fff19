package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time all threads of a process have used so far. The
// kernel's per-process clock counts nanoseconds; /proc/PID/stat only ticks of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	const scheduled = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, fmt.Errorf("cpu time of %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
