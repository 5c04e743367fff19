package lead

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fawn/agent/config"
	"fawn/agent/config/servers"
	"fawn/agent/mcp"
)

// EditServers applies a change of the servers by a person without access to the file. agreed are the checksums of
// commands approved by their owner.
func EditServers(s *config.Store, p *mcp.Pool, change func(config.Servers) (config.Servers, error), agreed ...string) error {
	var gone []string
	err := s.EditServers(func(stored config.Servers) (config.Servers, error) {
		next, err := change(maps.Clone(stored))
		if err != nil {
			return nil, err
		}
		gone = slices.DeleteFunc(slices.Collect(maps.Keys(stored)), func(name string) bool { return next[name] != nil })
		return next, checkServers(s, stored, next, agreed)
	})
	if err != nil {
		return err
	}
	p.Set(MCPServers(s.Current()))
	for _, name := range gone {
		if problem := p.Logout(name); !errors.Is(problem, mcp.ErrUnknown) {
			err = errors.Join(err, problem)
		}
	}
	return err
}

// checkServers refuses commands only allowed in the file, unless their owner has approved them.
func checkServers(s *config.Store, stored, next config.Servers, agreed []string) error {
	extra, _ := s.Current().Env("DEER_FLOW_MCP_STDIO_COMMAND_ALLOWLIST")
	allowed := strings.FieldsFunc(extra, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range slices.Sorted(maps.Keys(next)) {
		e, was := next[name], stored[name]
		if strings.TrimSpace(name) == "" || len(name) > 100 {
			return &config.BadServers{Why: "the name of a server has 1 to 100 characters"}
		}
		same := was != nil
		for _, key := range []string{"type", "transport", "command", "args", "env", "sandboxed", "folders"} {
			same = same && reflect.DeepEqual(e[key], was[key])
		}
		command, _ := e["command"].(string)
		if same || command == "" {
			continue
		}
		var args, env []string
		list, _ := e["args"].([]any)
		for _, a := range list {
			args = append(args, fmt.Sprint(a))
		}
		variables, _ := e["env"].(map[string]any)
		for key := range variables {
			env = append(env, key)
		}
		slices.Sort(env)
		if err := mcp.CheckCommand(command, args, env, allowed); err != nil {
			if asks := servers.CommandOf(name, e); !slices.Contains(agreed, asks.Sum) {
				return &config.BadServers{Why: name + ": " + err.Error(), Asks: asks}
			}
		}
	}
	return nil
}

// SwitchServer returns the change that switches a server.
func SwitchServer(name string, on bool) func(config.Servers) (config.Servers, error) {
	return func(list config.Servers) (config.Servers, error) {
		if list[name] == nil {
			return nil, config.ErrNoServer
		}
		e := maps.Clone(list[name])
		e["enabled"] = on
		delete(e, "disabled")
		list[name] = e
		return list, nil
	}
}
