package config

import (
	"strings"

	"fawn/agent/config/servers"
	"fawn/agent/config/syntax"
)

// Ignored is a key, or a section with all that is in it, that files written for DeerFlow may have although Fawn has no
// use for it. Its value is not checked. Setting it causes a warning.
type Ignored struct {
	Key    string   // keys joined with dots; a last * stands for each key of the section
	Reason string   // why it has no effect
	Fine   []string // values equal to Fawn's behavior, which need no warning; * for all
	Secret bool     // the value is hidden wherever secrets are
}

// Reasons that several keys share.
const (
	alwaysDelta = "checkpoints always store only changes"
	noTasks     = "tools that start, poll and cancel a job are left to the model; tasks of the protocol are followed"
	oneByOne    = "facts are not merged"
	oneStore    = "checkpoints are stored with everything else; see database.url"
	leases      = "a server's right to its runs lasts as cluster.lease says"
	oneProcess  = "runs are in the same process"
	perRun      = "calls are counted per run, not across threads"
	noPython    = "Fawn cannot load Python classes"
	containers  = "Fawn starts its own containers; see sandbox.docker"
)

// IgnoredKeys returns the list of keys in config.yaml that have no effect. None of them is a field of [File]; a test
// proves that every field is read somewhere.
func IgnoredKeys() []Ignored {
	return []Ignored{
		{Key: "config_version", Reason: "Fawn accepts files of every version"},
		{Key: "models.*.output_version", Reason: "Fawn always uses the newest output format of the Responses API"},
		{Key: "tool_groups", Reason: "an agent names the groups of its tools itself", Fine: []string{"*"}},
		{Key: "sandbox.image", Reason: containers},
		{Key: "sandbox.port", Reason: containers},
		{Key: "sandbox.replicas", Reason: containers},
		{Key: "sandbox.overflow_policy", Reason: containers},
		{Key: "sandbox.acquire_timeout", Reason: containers},
		{Key: "sandbox.burst_limit", Reason: containers},
		{Key: "sandbox.container_prefix", Reason: containers},
		{Key: "sandbox.health_check_skip_seconds", Reason: containers},
		{Key: "sandbox.ownership", Reason: containers},
		{Key: "sandbox.thread_data_mounts", Reason: containers},
		{Key: "sandbox.provisioner_url", Reason: containers},
		{Key: "sandbox.provisioner_api_key", Reason: containers, Secret: true},
		{Key: "uploads.pdf_converter", Reason: "Fawn has one converter"},
		{Key: "summarization.preserve_recent_skill_count", Reason: "obsolete, also in DeerFlow"},
		{Key: "summarization.preserve_recent_skill_tokens", Reason: "obsolete, also in DeerFlow"},
		{Key: "summarization.preserve_recent_skill_tokens_per_skill", Reason: "obsolete, also in DeerFlow"},
		{Key: "memory.shutdown_flush_timeout_seconds",
			Reason: "conversations that haven't been processed yet are stored, and processed after the next start"},
		{Key: "memory.manager_class", Reason: "Fawn has one memory", Fine: []string{"deermem"}},
		{Key: "memory.backend_config.token_counting", Reason: "tokens are estimated", Fine: []string{"tiktoken"}},
		{Key: "memory.backend_config.fact_eviction_policy", Reason: "the least certain facts are removed",
			Fine: []string{"confidence"}},
		{Key: "memory.backend_config.consolidation_enabled", Reason: oneByOne, Fine: []string{"false"}},
		{Key: "memory.backend_config.consolidation_min_facts", Reason: oneByOne},
		{Key: "memory.backend_config.consolidation_max_groups_per_cycle", Reason: oneByOne},
		{Key: "memory.backend_config.consolidation_max_sources", Reason: oneByOne},
		{Key: "loop_detection.max_tracked_threads", Reason: perRun},
		{Key: "tool_progress", Reason: "tools that make no progress are not detected yet"},
		{Key: "safety_finish_reason.detectors", Reason: "the detectors are built in"},
		{Key: "database.sqlite_dir", Reason: "the database is in the data folder; see --data"},
		{Key: "database.postgres_schema", Reason: "Fawn's tables have a schema of their own; see database.schema"},
		{Key: "database.echo_sql", Reason: "statements are not logged", Fine: []string{"false"}},
		{Key: "database.pool_recycle", Reason: "connections are closed when they were unused for five minutes"},
		{Key: "database.checkpoint_channel_mode", Reason: alwaysDelta, Fine: []string{"delta"}},
		{Key: "database.checkpoint_delta", Reason: alwaysDelta},
		{Key: "database.checkpoint_graph_cache", Reason: alwaysDelta},
		{Key: "database.checkpoint_cache", Reason: alwaysDelta},
		{Key: "checkpointer.type", Reason: oneStore, Fine: []string{"sqlite"}},
		{Key: "checkpointer.connection_string", Reason: oneStore, Secret: true},
		{Key: "checkpointer.*", Reason: oneStore},
		{Key: "run_events.backend", Reason: "events are stored in the database", Fine: []string{"db"}},
		{Key: "run_events.max_trace_content", Reason: "events are stored in full"},
		{Key: "run_events.track_token_usage", Reason: "tokens are always counted", Fine: []string{"true"}},
		{Key: "run_events.*", Reason: "events are stored in the database"},
		{Key: "agent_storage", Reason: "custom agents are stored as files"},
		{Key: "dedupe_storage", Reason: "deliveries are recorded in the database"},
		{Key: "scheduler.lease_seconds", Reason: leases},
		{Key: "mcp_tasks.lease_seconds", Reason: leases},
		{Key: "run_ownership", Reason: leases},
		{Key: "stream_bridge.type", Reason: "streams come from Fawn's own log", Fine: []string{"memory"}},
		{Key: "stream_bridge.redis_url", Reason: "streams come from Fawn's own log", Secret: true},
		{Key: "stream_bridge.*", Reason: "streams come from Fawn's own log"},
		{Key: "extensions", Reason: noPython},
		{Key: "plugins", Reason: noPython},
	}
}

// ignoredChannels returns the ignored keys below channels; the adapters read the others.
func ignoredChannels() []Ignored {
	return []Ignored{
		{Key: "channels.buzz", Reason: "Fawn has no channel for Buzz; remove the section"},
		{Key: "channels.github", Reason: "GitHub needs a public address to call; remove the section"},
		{Key: "channels.langgraph_url", Reason: oneProcess},
		{Key: "channels.gateway_url", Reason: oneProcess},
	}
}

// ignoredExtensions returns the ignored keys of extensions_config.json.
func ignoredExtensions() []Ignored {
	return []Ignored{
		{Key: "mcpServers.*.task_toolsets", Reason: noTasks},
		{Key: "middlewares", Reason: noPython},
	}
}

// paths returns where a key may stand: also in sections that have other names, or whose keys may stand one level
// higher. A section of which all keys are ignored comes after them.
func (ig Ignored) paths() [][]string {
	keys := []string{ig.Key}
	if rest, ok := strings.CutPrefix(ig.Key, "memory.backend_config."); ok {
		keys = append(keys, "memory."+rest)
	}
	if rest, ok := strings.CutPrefix(ig.Key, servers.Keys()[0]); ok {
		for _, alias := range servers.Keys()[1:] {
			keys = append(keys, alias+rest)
		}
	}
	if section, ok := strings.CutSuffix(ig.Key, ".*"); ok {
		keys = append(keys, section)
	}
	out := make([][]string, 0, len(keys))
	for _, key := range keys {
		out = append(out, strings.Split(key, "."))
	}
	return out
}

// ignoredValue holds the value of a key without effect.
type ignoredValue struct {
	value  any
	secret bool
}

// takeIgnored removes the keys of a list from a tree, and warns about each one that would change the behaviour.
func (s *Snapshot) takeIgnored(d *syntax.Decoder, tree *syntax.Node, list []Ignored) {
	for _, ig := range list {
		told := false
		for _, path := range ig.paths() {
			for _, at := range tree.Take(path, "") {
				s.ignored = append(s.ignored, ignoredValue{at.Value.Plain(), ig.Secret})
				if told || !at.Value.Asks(ig.Fine) {
					continue
				}
				told = strings.Contains(ig.Key, "*.") // one entry represents all
				where := &syntax.Node{Source: at.Value.Source, Line: at.Line, Col: at.Col}
				d.Warn(where.Problem("%s has no effect: %s", at.Key, ig.Reason))
			}
		}
	}
}
