package initbin

import _ "embed"

//go:embed sbxinit_linux_amd64.gz
var packed []byte
