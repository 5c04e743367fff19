package api_test

import (
	"strings"
	"testing"
)

func TestStoreItems(t *testing.T) {
	w := open(t, sayAgent("hi"))
	w.table(t, []row{
		{"nothing yet", "GET", "/store/items?namespace=users.u1&key=prefs", "", 200, `null`},
		{"put", "PUT", "/store/items", `{"namespace":["users","u1"],"key":"prefs","value":{"theme":"dark","n":1}}`, 204, ``},
		{"put with nulls", "PUT", "/api/langgraph/store/items", `{"namespace":["users","u2"],"key":"prefs","value":{"theme":"light","n":2,"note":"Likes green tea"},"index":null,"ttl":null}`, 204, ``},
		{"put with a time to live", "PUT", "/store/items", `{"namespace":["users"],"key":"all","value":{"n":3},"index":["n"],"ttl":0.5}`, 204, ``},
		{"get", "GET", "/api/store/items?namespace=users.u1&key=prefs", "", 200, `{"namespace":["users","u1"],"key":"prefs","value":{"theme":"dark","n":1},"created_at":"`},
		{"get with a list", "GET", `/store/items?namespace=["users","u1"]&key=prefs&refresh_ttl=false`, "", 200, `"key":"prefs"`},
		{"search", "POST", "/store/items/search", `{"namespace_prefix":["users","u1"]}`, 200, `{"items":[{"namespace":["users","u1"]`},
		{"search by filter", "POST", "/store/items/search", `{"namespace_prefix":["users"],"filter":{"theme":"dark"}}`, 200, `{"items":[{"namespace":["users","u1"]`},
		{"search by operator", "POST", "/store/items/search", `{"namespace_prefix":["users"],"filter":{"n":{"$gte":3}}}`, 200, `{"items":[{"namespace":["users"],"key":"all"`},
		{"search by words", "POST", "/store/items/search", `{"namespace_prefix":["users"],"query":"GREEN coffee"}`, 200, `"score":0.5}]}`},
		{"search nothing", "POST", "/store/items/search", `{"namespace_prefix":["nobody"],"filter":null,"query":null,"limit":null,"offset":null}`, 200, `{"items":[]}`},
		{"search beyond", "POST", "/store/items/search", `{"offset":9}`, 200, `{"items":[]}`},
		{"namespaces", "POST", "/store/namespaces", ``, 200, `{"namespaces":[["users"],["users","u1"],["users","u2"]]}`},
		{"namespaces cut", "POST", "/store/namespaces", `{"prefix":["users"],"max_depth":1,"suffix":null}`, 200, `{"namespaces":[["users"]]}`},
		{"delete", "DELETE", "/store/items", `{"namespace":["users","u1"],"key":"prefs"}`, 204, ``},
		{"delete by query", "DELETE", "/store/items?namespace=users.u2&key=prefs", "", 204, ``},
		{"delete what is not there", "DELETE", "/store/items", `{"namespace":["users","u1"],"key":"prefs"}`, 204, ``},
		{"gone", "GET", "/store/items?namespace=users.u1&key=prefs", "", 200, `null`},

		{"label with a dot", "PUT", "/store/items", `{"namespace":["a.b"],"key":"k","value":{}}`, 422, `Namespace labels cannot be empty or contain periods. Received: a.b`},
		{"empty label", "PUT", "/store/items", `{"namespace":["a",""],"key":"k","value":{}}`, 422, `"namespace"`},
		{"no namespace", "PUT", "/store/items", `{"key":"k","value":{}}`, 422, `"namespace"`},
		{"no key", "PUT", "/store/items", `{"namespace":["a"],"value":{}}`, 422, `"key"`},
		{"no value", "PUT", "/store/items", `{"namespace":["a"],"key":"k"}`, 422, `object`},
		{"a list as value", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":[1]}`, 422, `dictionary`},
		{"long key", "PUT", "/store/items", `{"namespace":["a"],"key":"` + strings.Repeat("k", 513) + `","value":{}}`, 422, `"key"`},
		{"long label", "PUT", "/store/items", `{"namespace":["` + strings.Repeat("k", 257) + `"],"key":"k","value":{}}`, 422, `"namespace"`},
		{"deep namespace", "PUT", "/store/items", `{"namespace":["a"` + strings.Repeat(`,"a"`, 32) + `],"key":"k","value":{}}`, 422, `"namespace"`},
		{"negative time to live", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"ttl":-1}`, 422, `"ttl"`},
		{"endless time to live", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"ttl":1e300}`, 422, `"ttl"`},
		{"large value", "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"x":"` + strings.Repeat("x", 17<<20) + `"}}`, 413, `server.max_body_bytes`},
		{"get without namespace", "GET", "/store/items?key=k", "", 422, `"namespace"`},
		{"get without key", "GET", "/store/items?namespace=a", "", 422, `"key"`},
		{"get with a bad flag", "GET", "/store/items?namespace=a&key=k&refresh_ttl=x", "", 422, `"refresh_ttl"`},
		{"delete without key", "DELETE", "/store/items", `{"namespace":["a"]}`, 422, `"key"`},
		{"delete nothing", "DELETE", "/store/items", "", 422, `"namespace"`},
		{"unknown operator", "POST", "/store/items/search", `{"filter":{"n":{"$like":1}}}`, 422, `$like`},
		{"filter no object", "POST", "/store/items/search", `{"filter":[]}`, 422, `"filter"`},
		{"search limit", "POST", "/store/items/search", `{"limit":0}`, 422, `"limit"`},
		{"search prefix", "POST", "/store/items/search", `{"namespace_prefix":["a.b"]}`, 422, `"namespace_prefix"`},
		{"namespaces depth", "POST", "/store/namespaces", `{"max_depth":0}`, 422, `"max_depth"`},
		{"namespaces suffix", "POST", "/store/namespaces", `{"suffix":[""]}`, 422, `"suffix"`},
	})
	w.table(t, []row{
		{"somebody else's item", "GET", "/store/items?namespace=users&key=all", "", 200, `null`},
		{"somebody else's search", "POST", "/store/items/search", ``, 200, `{"items":[]}`},
		{"somebody else's namespaces", "POST", "/store/namespaces", ``, 200, `{"namespaces":[]}`},
		{"somebody else deletes", "DELETE", "/store/items", `{"namespace":["users"],"key":"all"}`, 204, ``},
	}, "X-Owner", "eve")
	w.send(t, "GET", "/store/items?namespace=users&key=all", "").holds(t, "/store/items?namespace=users&key=all", `"n":3`)
}
