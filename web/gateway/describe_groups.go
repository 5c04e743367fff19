package gateway

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

// describeGroups describes the routes of groups, permissions and announcements.
func describeGroups() []o.Op {
	const tag = "Groups"
	said := route.Answered("Done", o.Of[messageJSON]())
	one := o.Ref("Group")
	names := o.Nullable(o.List(o.String()))
	body := o.Reads[groupBody](o.Req("name", o.String()), o.Is("roles", o.List(o.Enum("user", "admin"))), o.Is("tokens_per_day", o.Int(0)),
		o.Is("runs_per_day", o.Int(0)))
	const rules = "A list that is null or left out allows everything, an empty one nothing; a limit of 0 is none. People in several groups " +
		"may use what any of them allows, with the highest limit. Owners aren't limited."
	return []o.Op{
		{ID: "getAccess", Tag: tag, Text: "Tell what the asker may use, and what they used today",
			More: "A list that is null stands for everything.",
			Out: route.Answered("The rights", o.Of[accessJSON](o.Is("models", names), o.Is("agents", names),
				o.Is("skills", names), o.Is("mcp_servers", names),
				o.Is("today", o.Nullable(o.Of[todayJSON](o.Is("until", o.Time()))))))},
		{ID: "listGroups", Tag: tag, Text: "List groups of users",
			Out: route.Answered("The groups by name", o.Of[groupList](o.Is("groups", o.List(one)))), Fail: []int{404}},
		{ID: "createGroup", Tag: tag, Text: "Create a group of users", More: rules, Need: true, Body: body,
			Out: []o.Answer{{Status: 201, Text: "The group", Schema: one}}, Fail: []int{404, 409}},
		{ID: "getGroup", Tag: tag, Text: "Get a group", Out: route.Answered("The group", one)},
		{ID: "changeGroup", Tag: tag, Text: "Replace a group", More: rules, Need: true, Body: body,
			Out: route.Answered("The group", one), Fail: []int{409}},
		{ID: "deleteGroup", Tag: tag, Text: "Delete a group; its members stay", Out: said},
		{ID: "listAnnouncements", Tag: tag, Text: "List announcements that have not ended and were not dismissed",
			Query: []o.Param{{Name: "all", Schema: o.Bool(), Text: "For administrators: also those that ended or were dismissed"}},
			Out:   route.Answered("The announcements, newest first", o.Of[announcementList](o.Is("announcements", o.List(o.Ref("Announcement"))))),
			Fail:  []int{404}},
		{ID: "createAnnouncement", Tag: tag, Text: "Show a text on everybody's pages", Need: true,
			Body: o.Reads[announcementBody](o.Req("text", o.String()), o.Is("level", o.Enum("info", "warning"))),
			Out:  []o.Answer{{Status: 201, Text: "The announcement", Schema: o.Ref("Announcement")}}, Fail: []int{404}},
		{ID: "deleteAnnouncement", Tag: tag, Text: "Delete an announcement", Out: said},
		{ID: "dismissAnnouncement", Tag: tag, Text: "Hide an announcement from the asker", Out: said},
	}
}

// groupSchemas returns the schemas of describeGroups.
func groupSchemas() map[string]o.Schema {
	names := o.Nullable(o.List(o.String()))
	return map[string]o.Schema{
		"Group":        o.Of[groupJSON](o.Is("models", names), o.Is("agents", names), o.Is("skills", names), o.Is("mcp_servers", names)),
		"Announcement": o.Of[announcementJSON](o.Is("level", o.Enum("info", "warning"))),
	}
}
