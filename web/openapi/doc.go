// Package openapi describes the API's routes as data and generates the OpenAPI 3.1 document.
//
// Clients may rely on the descriptions: tests use them to send invalid requests to every route, and to validate
// responses.
package openapi
