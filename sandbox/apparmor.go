package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// AppArmorProfile returns the profile that lets this program create user namespaces where AppArmor restricts them.
func AppArmorProfile() string {
	path, err := os.Executable()
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		path = "/usr/local/bin/fawn"
	}
	return AppArmorProfileOf(path)
}

// AppArmorProfileOf returns the profile for the program at a path.
func AppArmorProfileOf(path string) string {
	return fmt.Sprintf("abi <abi/4.0>,\nprofile fawn %s flags=(unconfined) {\n  userns,\n}\n", path)
}
