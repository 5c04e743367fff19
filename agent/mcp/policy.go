package mcp

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"fawn/agent"
)

// launchers returns the commands allowed for servers added through the API, unless the owner allows
// more.
func launchers() []string { return []string{"npx", "uvx"} }

// CheckCommand returns the reason why a stdio server may not be added through the API: its command must be a package
// launcher or allowed, without options that run something else and without variables that make programs load code.
// Servers in the file are up to their owner.
func CheckCommand(command string, args []string, env []string, allowed []string) error {
	if !slices.Contains(launchers(), command) && !slices.Contains(allowed, command) {
		return fmt.Errorf("the command %q is not allowed here: use npx or uvx, name it in "+
			"DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST, or write the server into extensions_config.json yourself",
			agent.Head(command, 80))
	}
	for i := 0; i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "--"; i++ { // the package follows
		flag, value, joined := strings.Cut(args[i], "=")
		if runs(command, flag) {
			return fmt.Errorf("the option %s of %s is not allowed here", agent.Head(flag, 80), agent.Head(command, 80))
		}
		if !joined && takesValue(command, flag) && i+1 < len(args) {
			i++
			value = args[i]
		}
		if isPath(value) {
			return fmt.Errorf("the option %s may not name a file or an address", agent.Head(flag, 80))
		}
	}
	for _, name := range env {
		if loadsCode(name) {
			return fmt.Errorf("the variable %s is not allowed here", agent.Head(name, 80))
		}
	}
	return nil
}

// harmless returns the options allowed for launchers; the effect of others is unknown.
func harmless(command string) []string {
	switch command {
	case "npx":
		return []string{"-y", "--yes", "-q", "--quiet", "-p", "--package", "--prefer-offline", "--prefer-online",
			"--offline", "--no-install"}
	case "uvx":
		return []string{"-q", "--quiet", "--from", "--with", "-p", "--python", "--isolated", "--offline", "--refresh",
			"--no-cache", "--prerelease"}
	}
	return nil
}

// runs reports whether an option may run something.
func runs(command, flag string) bool {
	if list := harmless(command); list != nil {
		return !slices.Contains(list, flag)
	}
	return slices.Contains([]string{"-c", "-e", "-p", "-r", "-i", "--call", "--eval", "--print", "--shell",
		"--script-shell", "--require", "--import", "--command", "--loader", "--experimental-loader", "--node-options"},
		flag) ||
		len(flag) > 2 && flag[0] == '-' && flag[1] != '-' && strings.ContainsAny(flag[1:], "ce")
}

func takesValue(command, flag string) bool {
	return command == "npx" && slices.Contains([]string{"-p", "--package"}, flag) ||
		command == "uvx" && slices.Contains([]string{"--from", "--with", "-p", "--python", "--prerelease"}, flag)
}

// isPath reports whether a value is a path rather than the name of a package.
func isPath(v string) bool {
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, ".") || strings.HasPrefix(v, "~") ||
		strings.Contains(v, ":") || strings.Contains(v, `\`)
}

var dangerous = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|NODE_REPL.*|PYTHON.*|BASH_ENV|BASH_FUNC.*|ENV|` +
		`SHELL|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS|PATH|HOME|PERL5?.*|RUBY.*|GEM_.*|BUNDLE_.*|JAVA_TOOL_OPTIONS|` +
		`_JAVA_OPTIONS|JDK_JAVA_OPTIONS|NPM_CONFIG_.*|YARN_.*|BUN_.*|DENO_.*|UV_.*|PIP_.*|VIRTUAL_ENV|GIT_.*|SSH_.*|` +
		`GCONV_PATH|LOCPATH|TMPDIR|EDITOR|PAGER|BROWSER)$`)
})

// loadsCode reports whether a variable makes programs load code.
func loadsCode(name string) bool {
	return dangerous().MatchString(name) || strings.ContainsAny(name, "=\x00()")
}
