package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const (
	configName     = "config.yaml"
	extensionsName = "extensions_config.json"
	settingsName   = "settings.yaml"
	secretsName    = "secrets.env"
	dotEnvName     = ".env"
)

// find returns the configuration file to use: the flag's value, $FAWN_CONFIG, $DEER_FLOW_CONFIG_PATH, ./config.yaml,
// DIR/config.yaml. The first three are used even if the file doesn't exist, so that a typo doesn't select another file.
// found is false if there is none.
func find(flag, dataDir string, lookup func(string) (string, bool)) (string, bool) {
	if flag != "" {
		return flag, true
	}
	for _, name := range [...]string{"FAWN_CONFIG", "DEER_FLOW_CONFIG_PATH"} {
		if v, _ := lookup(name); v != "" {
			return v, true
		}
	}
	for _, path := range [...]string{configName, filepath.Join(dataDir, configName)} {
		if isFile(path) {
			return path, true
		}
	}
	return "", false
}

// findExtensions returns where the extensions file is, or where it would be written.
func findExtensions(configPath, dataDir string, lookup func(string) (string, bool)) string {
	if v, _ := lookup("DEER_FLOW_EXTENSIONS_CONFIG_PATH"); v != "" {
		return v
	}
	if configPath != "" {
		if beside := filepath.Join(filepath.Dir(configPath), extensionsName); isFile(beside) {
			return beside
		}
	}
	return filepath.Join(dataDir, extensionsName)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// DataDir returns the folder Fawn writes to, as an absolute path: the flag's value, $FAWN_HOME,
// $DEER_FLOW_HOME, else the user's data folder. It does not create it.
func DataDir(flag string) (string, error) {
	for _, dir := range [...]string{flag, os.Getenv("FAWN_HOME"), os.Getenv("DEER_FLOW_HOME")} {
		if dir != "" {
			return absolute(dir)
		}
	}
	dir, err := userData()
	if err != nil {
		return "", fmt.Errorf("find the data folder: %w; name one with --data or FAWN_HOME", err)
	}
	return absolute(dir)
}

func absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data folder %s: %w", dir, err)
	}
	return abs, nil
}

func userData() (string, error) {
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "Fawn"), nil
		}
		return "", errors.New("LocalAppData is not set")
	case "darwin", "ios":
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, "Library", "Application Support", "Fawn"), nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fawn"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "share", "fawn"), nil
}
