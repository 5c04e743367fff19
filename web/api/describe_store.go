package api

import (
	"fawn/web/route"

	o "fawn/web/openapi"
)

func describeStore() []o.Op {
	const tag = "Store"
	labels := o.List(o.String())
	item := []o.Prop{o.Req("namespace", labels), o.Req("key", o.String())}
	page := []o.Prop{o.Is("limit", o.Range(1, route.MaxPage)), o.Is("offset", o.Int(0))}
	return []o.Op{
		{ID: "putItem", Example: `{"namespace": ["docs", "animals"], "key": "deer", "value": {"legs": 4}}`, Tag: tag, Text: "Write an item", Need: true, More: "ttl is in minutes.",
			Body: o.Reads[itemBody](append(item[:2:2], o.Req("value", o.Map(nil)))...),
			Out:  route.Emptied("Written")},
		{ID: "getItem", Tag: tag, Text: "Get an item, or null", Need: true,
			Query: []o.Param{{Name: "namespace", Schema: o.String(), Text: "Labels joined by dots"},
				{Name: "key", Schema: o.String()}, {Name: "refresh_ttl", Schema: o.Bool()}},
			Out: route.Answered("The item", o.Nullable(o.Ref("Item")))},
		{ID: "deleteItem", Tag: tag, Text: "Delete an item, if it exists", Need: true, Body: o.Reads[itemName](item...),
			Out: route.Emptied("Deleted, or did not exist")},
		{ID: "searchItems", Example: `{"namespace_prefix": ["docs"], "filter": {"legs": {"$gte": 2}}, "limit": 10}`, Tag: tag, Text: "Search items below a namespace",
			More: "filter compares members of the value: {\"n\": 1} or {\"n\": {\"$gte\": 1}}. query finds words and sets score.",
			Body: o.Reads[itemQuery](append(page[:2:2], o.Is("filter", o.Map(nil)))...),
			Out:  route.Answered("A page of items", o.Of[itemList](o.Is("items", o.List(o.Ref("Item")))))},
		{ID: "listNamespaces", Tag: tag, Text: "List namespaces that contain items",
			Body: o.Reads[namespaceQuery](append(page[:2:2], o.Is("max_depth", o.Int(1)))...),
			Out:  route.Answered("The namespaces", o.Of[namespaceList]())},
	}
}
