// Package model asks a model for a reply: a client for any OpenAI-compatible endpoint, streaming, over
// go-openai. It judges nothing about a reply; it gives either one whole reply or an *Error that says what
// went wrong, whether trying again can help, and what to do.
//
// It does not retry: the one retry layer is the core's, which knows what an attempt costs. It knows nothing
// of events, tasks or recipes. host imports it; package script beside it is the scripted endpoint.
//
// Invariants: a reply that was cut off is never returned as a whole one. Ids and arguments of tool calls are
// the endpoint's own, put together and not repaired (only halves of characters that never found their other
// half become U+FFFD, so that all text is valid UTF-8). No error shows the API key, a password or a query. No
// byte goes to another scheme, host or port than the configured one, and none through a proxy that was not
// asked for.
package model
