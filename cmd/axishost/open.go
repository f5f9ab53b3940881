package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/axishost/axishost/host/config"
	"github.com/axishost/axishost/host/model"
	"github.com/axishost/axishost/host/model/script"
)

const scriptPrefix = "script:"

// endpoint is where a task's model is asked. The zero value asks none.
type endpoint struct {
	client *model.Client
	server *script.Server // of a scripted model; else nil
}

func (e *endpoint) close() {
	e.client.Close()
	if e.server != nil {
		_ = e.server.Close()
	}
}

// openModel connects to the model that is configured. retry gives the command line to suggest where nothing
// is, with a model in it.
func openModel(m config.Model, retry func(model string) string) (*endpoint, error) {
	name, baseURL, key := m.Name, m.BaseURL, os.Getenv("OPENAI_API_KEY")
	e := &endpoint{}
	switch file, scripted := strings.CutPrefix(name, scriptPrefix); {
	case scripted && file == "":
		return nil, usage(errors.New("--model script: names no file; give it one, script:FILE.yaml"))
	case scripted:
		s, err := script.Load(file)
		if err != nil {
			return nil, usage(err)
		}
		if e.server, err = script.Serve(s); err != nil {
			return nil, err
		}
		baseURL, key, name = e.server.URL(), "", "scripted"
	case baseURL == "" && key == "":
		return nil, noEndpoint(name, retry)
	case name == "":
		return nil, usage(errors.New("no model is named: add --model NAME or set OPENAI_MODEL"))
	case baseURL == "":
		baseURL = "https://api.openai.com/v1"
	}
	client, err := model.New(model.Options{BaseURL: baseURL, APIKey: key, Model: name})
	if err != nil {
		if e.server != nil {
			_ = e.server.Close()
		}
		return nil, usage(err)
	}
	e.client = client
	return e, nil
}

// noEndpoint shows two commands that work once a key or a server is there.
func noEndpoint(name string, retry func(model string) string) error {
	local, hosted := name, name
	if name == "" {
		local, hosted = "llama3.2", "gpt-4o-mini"
	}
	return usage(fmt.Errorf(`no model endpoint is configured; give an API key, or the address of an OpenAI-compatible server:
  OPENAI_API_KEY=sk-... %s
  OPENAI_BASE_URL=http://localhost:11434/v1 %s`, retry(hosted), retry(local)))
}
