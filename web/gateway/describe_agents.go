package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeProfiles returns the routes of custom agents and of the user's profile.
func describeProfiles() []o.Op {
	const tag = "Custom agents"
	const off = "403 unless agents_api.enabled is set in the configuration."
	effort := o.Enum("low", "medium", "high")
	parts := []o.Prop{o.Is("description", o.String()), o.Is("model", o.String()), o.Is("tool_groups", o.List(o.String())),
		o.Is("skills", o.List(o.String())), o.Is("knowledge", o.List(o.String())), o.Is("model_settings", o.Map(nil)),
		o.Is("thinking_enabled", o.Bool()), o.Is("reasoning_effort", effort), o.Is("soul", o.String())}
	one := route.Answered("The agent", o.Ref("CustomAgent"))
	text := o.Of[textJSON]()
	return []o.Op{
		{ID: "listAgents", Tag: tag, Text: "List custom agents",
			More: off + " An agent whose files can't be read has an error.",
			Out: route.Answered("The agents by name, without their souls",
				o.Of[agentList](o.Is("agents", o.List(o.Ref("CustomAgent"))))),
			Fail: []int{403}},
		{ID: "checkAgentName", Tag: tag, Text: "Check that a name is valid and free", More: off,
			Query: []o.Param{{Name: "name", Schema: o.String(), Text: "Letters, digits and hyphens"}},
			Out: route.Answered("Whether it is free, and the name as it would be stored",
				o.Of[checkedName]()), Fail: []int{403}},
		{ID: "getAgent", Tag: tag, Text: "Get a custom agent", More: off, Out: one, Fail: []int{403, 409}},
		{ID: "createAgent", Tag: tag, Text: "Create a custom agent", More: off, Need: true,
			Body: o.Reads[agentBody](append(parts, o.Req("name", o.String()))...),
			Out:  []o.Answer{{Status: 201, Text: "The agent", Schema: o.Ref("CustomAgent")}}, Fail: []int{403, 409}},
		{ID: "changeAgent", Tag: tag, Text: "Change a custom agent; absent fields stay, null clears", More: off,
			Body: o.Reads[agentBody](parts...), Out: one, Fail: []int{403, 409}},
		{ID: "deleteAgent", Tag: tag, Text: "Delete a custom agent and its files", More: off,
			Out: route.Emptied("Deleted"), Fail: []int{403}},
		{ID: "getUserProfile", Tag: tag, Text: "Get what agents are told about the user (USER.md)", More: off,
			Out: route.Answered("The text", text), Fail: []int{403, 409}},
		{ID: "putUserProfile", Tag: tag, Text: "Replace what agents are told about the user", More: off, Need: true,
			Body: o.Reads[textBody](o.Req("content", o.String())),
			Out:  route.Answered("The text", text), Fail: []int{403}},
	}
}

// profileSchemas returns the schemas of describeProfiles.
func profileSchemas() map[string]o.Schema {
	return map[string]o.Schema{
		"CustomAgent": o.Of[agentJSON](o.Is("tool_groups", o.Nullable(o.List(o.String()))), o.Is("skills", o.Nullable(o.List(o.String()))),
			o.Is("knowledge", o.Nullable(o.List(o.String())))),
	}
}
