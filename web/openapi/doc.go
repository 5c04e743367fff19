// Package openapi describes the routes of the API as data and makes the OpenAPI 3.1
// document from it.
//
// A description is what clients may rely on: tests walk it to send every route what it
// must refuse, and check that answers are what it says.
package openapi
