package gateway

import (
	"fawn/memory"
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeMemory describes the routes of the user's memory.
func describeMemory() []o.Op {
	const tag = "Memory"
	at := []o.Param{{Name: "revision", Schema: o.Schema{"type": "integer", "minimum": 0},
		Text: "The revision that the change is meant for; if the memory has another by now, the answer is 409"}}
	document := o.Body(o.Opt("user", o.Map(o.Map(nil))), o.Opt("history", o.Map(o.Map(nil))),
		o.Opt("facts", o.List(o.Object(o.Req("content", o.String())))))
	one := route.Answered("The memory", o.Ref("Memory"))
	thread := route.Answered("The switch, and how many facts came from the thread", o.Ref("ThreadMemory"))
	on := o.Reads[enabledBody](o.Req("enabled", o.Bool()))
	return []o.Op{
		{ID: "getMemory", Tag: tag, Text: "Get what is remembered about the user",
			More: "Facts of custom agents aren't part of it.", Out: one},
		{ID: "reloadMemory", Tag: tag, Text: "Import memory.json if it has changed",
			More: "It replaces what is remembered. A file that can't be read is a 500, and changes nothing.",
			Out:  one, Fail: []int{409}},
		{ID: "clearMemory", Tag: tag, Text: "Forget everything", More: "Facts of custom agents too. Memories of projects stay.", Query: at,
			Out: one, Fail: []int{409}},
		{ID: "exportMemory", Tag: tag, Text: "Export the memory", Out: one},
		{ID: "importMemory", Tag: tag, Text: "Replace the memory by a document",
			More: "Such as DeerFlow's memory.json. The revision inside is ignored.", Query: at, Need: true,
			Body: document, Out: one, Fail: []int{400, 409}},
		{ID: "addFact", Example: `{"content": "Prefers short answers", "category": "preference", "confidence": 0.9}`, Tag: tag, Text: "Remember a fact",
			More: "409 if it is remembered already, or surer facts take all the room.", Query: at, Need: true,
			Body: o.Reads[factBody](o.Req("content", o.String())),
			Out:  one, Fail: []int{400, 409}},
		{ID: "changeFact", Tag: tag, Text: "Change a fact; absent fields stay",
			More: "With revision, 409 unless the fact still has it.", Query: at,
			Body: o.Reads[factChange](), Out: one,
			Fail: []int{400, 409}},
		{ID: "deleteFact", Tag: tag, Text: "Forget a fact", Query: at, Out: one, Fail: []int{409}},
		{ID: "getMemoryConfig", Tag: tag, Text: "Get the configuration of the memory", More: "Without API keys.",
			Out: route.Answered("The configuration", o.Of[memoryConfigJSON](o.Is("backend_config", o.Map(nil))))},
		{ID: "getMemoryStatus", Tag: tag, Text: "Get configuration and memory together",
			Out: route.Answered("Both", o.Of[memoryStatusJSON](o.Is("config", o.Of[memoryConfigJSON](o.Is("backend_config", o.Map(nil)))), o.Is("data", o.Ref("Memory"))))},
		{ID: "getMemorySwitch", Tag: tag, Text: "Tell whether the user's threads use the memory",
			Out: route.Answered("The switch", o.Of[memorySwitchJSON]())},
		{ID: "putMemorySwitch", Tag: tag, Text: "Switch the memory of all threads of the user",
			More: "Off, no thread teaches or recalls anything, and what is remembered stays. The configuration wins.", Need: true,
			Body: on, Out: route.Answered("The switch", o.Of[memorySwitchJSON]())},
		{ID: "getThreadMemory", Tag: tag, Text: "Tell whether a thread uses the memory", Out: thread},
		{ID: "putThreadMemory", Tag: tag, Text: "Switch the memory of a thread",
			More: "A thread without it neither teaches nor recalls anything.", Need: true,
			Body: on, Out: thread},
		{ID: "forgetThread", Tag: tag, Text: "Forget what a thread taught", Out: thread},
	}
}

// memorySchemas returns the schemas of describeMemory.
func memorySchemas() map[string]o.Schema {
	section := o.Of[memory.Section]()
	sections := func(names ...string) o.Schema {
		var props []o.Prop
		for _, name := range names {
			props = append(props, o.Req(name, section))
		}
		return o.Object(props...)
	}
	whole := o.Schema{"type": "integer"}
	fact := o.Object(o.Req("id", o.String()), o.Req("content", o.String()), o.Req("category", o.String()),
		o.Req("confidence", o.Number()), o.Req("createdAt", o.String()),
		o.Req("source", o.String()), o.Opt("sourceMessage", o.String()), o.Opt("sourceError", o.String()),
		o.Opt("expected_valid_days", whole), o.Opt("updatedAt", o.String()), o.Opt("revision", whole))
	return map[string]o.Schema{
		"Memory": o.Object(o.Req("version", o.String()), o.Req("revision", whole), o.Req("lastUpdated", o.String()),
			o.Req("user", sections("workContext", "personalContext", "topOfMind")),
			o.Req("history", sections("recentMonths", "earlierContext", "longTermBackground")),
			o.Req("facts", o.List(fact))),
		"ThreadMemory": o.Of[threadMemoryJSON](),
	}
}
