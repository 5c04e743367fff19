// Package apidocs is the page that lists the routes of the API, as package openapi describes them.
package apidocs
