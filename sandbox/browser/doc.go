// Package browser has a browser for each thread that asks for one: an agent opens pages in it, reads them as numbered
// elements, clicks and types, and a person can watch and take it over. All that it asks of the network goes through a
// proxy that judges each address.
package browser
