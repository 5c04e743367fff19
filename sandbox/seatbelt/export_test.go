package seatbelt

var (
	SeatbeltString = seatbeltString
	SeatbeltLimits = seatbeltLimits
)

// SeatbeltTest is what a probe runs.
const SeatbeltTest = seatbeltTest

// SeatbeltProfile is the text for what may be read, what is secret, the folders
// of a thread, and those of them that may only be read.
func SeatbeltProfile(read, secrets, own, closed []string) (string, error) {
	return seatbeltRules{read: read, secrets: secrets, own: own, closed: closed}.profile()
}
