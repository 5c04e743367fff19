package pool

// MachineMemory reads how much memory there is from another /proc.
func MachineMemory(proc string) int64 { return machineMemory(proc) }
