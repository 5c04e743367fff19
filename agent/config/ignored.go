package config

import (
	"strings"

	"fawn/agent/config/syntax"
)

// Ignored is a key, or a section with all that is in it, which is read and checked so that files written for DeerFlow
// load, but has no effect. Setting it causes a warning.
type Ignored struct {
	Key    string   // keys joined with dots; a last * stands for each key of the section
	Reason string   // why it has no effect
	Fine   []string // values equal to Fawn's behavior, which need no warning; * for all
}

// Reasons that several keys share.
const (
	alwaysDelta = "checkpoints always store only changes"
	noTasks     = "tools that start, poll and cancel a job are left to the model; tasks of the protocol are followed"
	oneByOne    = "facts are not merged"
	oneStore    = "checkpoints are stored with everything else; see database.url"
	onlyOne     = "a single Fawn process owns all its runs"
	oneProcess  = "runs are in the same process"
	perRun      = "calls are counted per run, not across threads"
	noPython    = "Fawn cannot load Python classes"
	containers  = "Fawn starts its own containers; see sandbox.docker"
)

// IgnoredKeys returns the one list of keys in config.yaml that have no effect. A test proves that every other key is
// read somewhere, and that none of these is.
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
		{Key: "sandbox.provisioner_api_key", Reason: containers},
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
		{Key: "checkpointer.*", Reason: oneStore},
		{Key: "run_events.backend", Reason: "events are stored in the database", Fine: []string{"db"}},
		{Key: "run_events.max_trace_content", Reason: "events are stored in full"},
		{Key: "run_events.track_token_usage", Reason: "tokens are always counted", Fine: []string{"true"}},
		{Key: "agent_storage", Reason: "custom agents are stored as files"},
		{Key: "dedupe_storage", Reason: "deliveries are recorded in the database"},
		{Key: "scheduler.lease_seconds", Reason: onlyOne},
		{Key: "mcp_tasks.lease_seconds", Reason: onlyOne},
		{Key: "run_ownership", Reason: onlyOne},
		{Key: "stream_bridge.type", Reason: "streams come from Fawn's own log", Fine: []string{"memory"}},
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

// warnIgnored warns about keys without effect, each once.
func (s *Snapshot) warnIgnored(d *syntax.Decoder) {
	told := map[*syntax.Node]bool{}
	for _, part := range [...]struct {
		tree *syntax.Node
		list []Ignored
	}{{s.tree, IgnoredKeys()}, {s.tree, ignoredChannels()}, {s.ext, ignoredExtensions()}} {
		for _, ig := range part.list {
			for _, at := range part.tree.Matching(strings.Split(ig.Key, "."), "") {
				if told[at.Value] || !at.Value.Asks(ig.Fine) {
					told[at.Value] = true
					continue
				}
				told[at.Value] = true
				where := &syntax.Node{Source: at.Value.Source, Line: at.Line, Col: at.Col}
				d.Warn(where.Problem("%s has no effect: %s", at.Key, ig.Reason))
				if strings.Contains(ig.Key, "*.") {
					break // one entry represents all
				}
			}
		}
	}
}
