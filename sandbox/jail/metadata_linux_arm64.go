package jail

// metadataCallsArch is empty: this system has the newer calls only.
func metadataCallsArch() map[uint32]metadataCall { return nil }
