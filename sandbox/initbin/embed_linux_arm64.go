package initbin

import _ "embed"

//go:embed sbxinit_linux_arm64.gz
var packed []byte
