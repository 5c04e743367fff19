package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeStore() []o.Op {
	const tag = "Store"
	labels := o.List(o.String())
	item := []o.Prop{o.Req("namespace", labels), o.Req("key", o.String())}
	refresh := o.Opt("refresh_ttl", o.Bool())
	return []o.Op{
		{ID: "putItem", Tag: tag, Text: "Write an item", Need: true, More: "ttl is in minutes.",
			Body: o.Body(append(item[:2:2], o.Req("value", o.Map(nil)), o.Opt("ttl", o.Number()),
				o.Opt("index", o.Any()))...),
			Out: route.Emptied("Written")},
		{ID: "getItem", Tag: tag, Text: "Get an item, or null", Need: true,
			Query: []o.Param{{Name: "namespace", Schema: o.String(), Text: "Labels joined by dots"},
				{Name: "key", Schema: o.String()}, {Name: "refresh_ttl", Schema: o.Bool()}},
			Out: route.Answered("The item", o.Nullable(o.Ref("Item")))},
		{ID: "deleteItem", Tag: tag, Text: "Delete an item, if it exists", Need: true, Body: o.Body(item...),
			Out: route.Emptied("Deleted, or did not exist")},
		{ID: "searchItems", Tag: tag, Text: "Search items below a namespace",
			More: "filter compares members of the value: {\"n\": 1} or {\"n\": {\"$gte\": 1}}. query finds words and sets score.",
			Body: o.Body(o.Opt("namespace_prefix", labels), o.Opt("filter", o.Map(nil)), o.Opt("query", o.String()),
				o.Opt("limit", o.Range(1, route.MaxPage)), o.Opt("offset", o.Int(0)), refresh),
			Out: route.Answered("A page of items", o.Object(o.Req("items", o.List(o.Ref("Item")))))},
		{ID: "listNamespaces", Tag: tag, Text: "List namespaces that contain items",
			Body: o.Body(o.Opt("prefix", labels), o.Opt("suffix", labels), o.Opt("max_depth", o.Int(1)),
				o.Opt("limit", o.Range(1, route.MaxPage)), o.Opt("offset", o.Int(0))),
			Out: route.Answered("The namespaces", o.Object(o.Req("namespaces", o.List(labels))))},
	}
}

func describedItem() o.Schema {
	return o.Object(o.Req("namespace", o.List(o.String())), o.Req("key", o.String()), o.Req("value", o.Map(nil)),
		o.Req("created_at", o.Time()),
		o.Req("updated_at", o.Time()), o.Opt("score", o.Number()))
}
