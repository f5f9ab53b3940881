package host

import (
	"fmt"
	"slices"

	"github.com/axishost/axishost/abi"
	"github.com/axishost/axishost/host/fetch"
	"github.com/axishost/axishost/host/internal/event"
	"github.com/axishost/axishost/plugins"
)

// What a plugin can be granted.
const (
	GrantHTTP        = "http"         // requests to a host with public addresses, or to the address that is named
	GrantHTTPPrivate = "http-private" // requests to a host wherever its name leads
)

// Grant lets a plugin do something besides computing.
type Grant struct {
	// Plugin is its name; empty: each plugin of the task.
	Plugin string
	// Capability is GrantHTTP or GrantHTTPPrivate, Limit the host that it is for.
	Capability string
	Limit      string
}

// pinGrants gives what a task pins of its grants. The error is a *PluginSetError: a mistake of the caller's.
func pinGrants(grants []Grant, inspections []*plugins.Inspection) ([]event.Grant, error) {
	var out []event.Grant
	for _, g := range grants {
		if g.Capability != GrantHTTP && g.Capability != GrantHTTPPrivate {
			return nil, &PluginSetError{fmt.Sprintf("there is no capability %q to be granted: http and http-private are", g.Capability)}
		}
		if g.Plugin != "" && !slices.ContainsFunc(inspections, func(i *plugins.Inspection) bool { return i.Manifest.Name == g.Plugin }) {
			return nil, &PluginSetError{fmt.Sprintf("a grant is for plugin %q, and no plugin of that name is given", g.Plugin)}
		}
		parsed, err := fetch.ParseGrant(g.Limit)
		if err != nil {
			return nil, &PluginSetError{err.Error()}
		}
		out = append(out, event.Grant{Plugin: g.Plugin, Capability: g.Capability, Limits: []string{parsed.Host}})
	}
	return out, nil
}

// clientFor gives the client with what a plugin was granted.
func clientFor(name string, grants []event.Grant) (*fetch.Client, error) {
	var own []fetch.Grant
	for _, g := range grants {
		if g.Plugin != "" && g.Plugin != name {
			continue
		}
		for _, host := range g.Limits {
			own = append(own, fetch.Grant{Host: host, Private: g.Capability == GrantHTTPPrivate})
		}
	}
	return fetch.New(own, fetch.Options{MaxResponse: abi.MaxFetchBodyBytes})
}
